"""Figures of every node in a decision: what it carries, what it saves asleep, and whose requests come late there.

Made once from the cluster as it stands; what the plan changes on the way (load, room) is read from its draft.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array, borrowed, compiled, compiled_inner
from fogfold.cost.total import ExchangeRates
from fogfold.encoding.rows import NodeInt
from fogfold.encoding.rows import NodeRow as StaticRow
from fogfold.model.node import NodeState
from fogfold.policy.learned.foreseeing import HOUR_STEPS, crossing, foresee, highest, peak
from fogfold.policy.learned.rows import GlobalRow, TokenRow
from fogfold.policy.plan import Plan
from fogfold.policy.sheet import Sheet, lend
from fogfold.policy.targets import late_on
from fogfold.policy.worth import requests_per_s
from fogfold.units import DAY_S, HOUR_S, WEEK_S

__all__ = [
    "MOST_COST",
    "MOST_LOAD",
    "SHORT_SAMPLES",
    "NodeFigures",
    "global_row",
    "late_cost_of",
    "late_cost_wh_h",
    "node_figures",
    "token_rows",
    "trend_of",
]

SHORT_SAMPLES = 6
"""Decisions that make half an hour."""
MOST_COST = 4.0
"""Where figures of cost are cut off, in mean spans."""
MOST_LOAD = 2.0
"""Where loads that are expected are cut off."""
_HOT = 0.6
_STEP_S = 300.0
"""Time between two samples."""


@dataclass(frozen=True)
class NodeFigures:
    """What a decision knows of its nodes beside the draft."""

    span_w: float
    """Mean span from idle to peak, in W: the unit of all power and cost below."""
    history: Float[Array, "nodes samples"]
    """CPU load that each node's present containers made together, newest last; the last column is now."""
    past: Float[Array, "samples containers"]
    """CPU usage of each container at the same times."""
    rate_per_s: Float[Array, " containers"]
    """Requests a second of each container."""
    peak: Float[Array, " nodes"]
    """Largest load in `history`."""
    trend: Float[Array, " nodes"]
    """Change of the load over the last half hour."""
    idle: Float[Array, " nodes"]
    """Idle power, in units of `span_w`."""
    saving: Float[Array, " nodes"]
    """Wh saved by a sleep of the expected length, in the same unit."""
    move_cost: Float[Array, " nodes"]
    """Wh-equivalents that moving all containers of a node costs, in the same unit, at most `MOST_COST`."""
    cores: Float[Array, " nodes"]
    """Cores over the fleet's mean."""
    idle_per_core: Float[Array, " nodes"]
    """Idle power for each core, over the fleet's mean."""
    memory_bytes: float
    """Memory of a mean node."""
    late_cost: Float[Array, " nodes"]
    """Wh-equivalents an hour of requests that come late on each node as it stands, in units of `span_w`."""
    since_woken: Float[Array, " nodes"]
    """Hours since each node was woken, at most 4, over 4."""
    peak_soon: Float[Array, " nodes"]
    """CPU load that each will stay under until a node that is woken now is on."""
    peak_hour: Float[Array, " nodes"]
    """The same for the next hour."""
    turn: Float[Array, " nodes"]
    """When its load crosses the mark of hot nodes, as `foreseeing.crossing` says it."""
    hour: Float[Array, " containers"]
    """Cores that each container is expected to use at most in the next hour, in the mean."""


@compiled_inner
def late_cost_of(n: int, load: float, rate: Array, by_node: Array, first: Array, trip_ms: Array, sheet: Sheet) -> float:
    """Late requests a second on a node at that load, of those that run there and stay there by the plan."""
    total = 0.0
    for i in range(first[n], first[n + 1]):
        c = by_node[i]
        if sheet.target[c] < 0:
            total += rate[c] * late_on(c, n, trip_ms, load, sheet)
    return total


@compiled
def _late_rates(rate: Array, by_node: Array, first: Array, trip_ms: Array, sheet: Sheet, out: Array) -> None:
    own = lend(sheet)
    trips, rates, order, edges = borrowed(trip_ms), borrowed(rate), borrowed(by_node), borrowed(first)
    for n in range(len(out)):
        load = (own.foreseen[0, n] - own.leaving[0, n]) / own.node[0, n]
        out[n] = late_cost_of(n, load, rates, order, edges, trips, own)


def late_cost_wh_h(rate_per_s: float) -> float:
    """Wh-equivalents an hour of so many late requests a second."""
    return rate_per_s * HOUR_S * ExchangeRates().late_request_wh


def node_figures(
    plan: Plan, since_woken_s: Float[Array, " nodes"], trip_ms: Float[Array, "containers sites"]
) -> NodeFigures:
    """The figures of every node at the start of a decision."""
    view, draft = plan.view, plan.draft
    fleet = view.fleet
    by_node, first = draft.by_node, draft.first
    samples = np.concatenate([view.cpu_history, view.usage[:1]]) if len(view.cpu_history) else view.usage[:1]
    if len(by_node):
        sums = np.add.reduceat(
            np.concatenate([samples[:, by_node], np.zeros((len(samples), 1))], axis=1), first[:-1], axis=1
        )
        sums[:, first[:-1] == first[1:]] = 0.0
    else:
        sums = np.zeros((len(samples), fleet.nodes))
    history = np.ascontiguousarray((sums / fleet.capacity[0]).T)
    span_w = plan.targets.taste.span_w
    rate = requests_per_s(view)
    late = np.zeros(fleet.nodes)
    _late_rates(rate, by_node, first, trip_ms, draft.sheet, late)
    cost_wh = np.bincount(view.placement[by_node], plan.cost_wh[by_node], fleet.nodes)
    per_core = fleet.idle_w / fleet.capacity[0]
    seen = foresee(history.T)
    boot_steps = max(1, math.ceil(float(fleet.node[StaticRow.WAKE_S].mean()) / _STEP_S))
    return NodeFigures(
        span_w=span_w,
        history=history,
        past=samples,
        rate_per_s=rate,
        peak=history.max(axis=1),
        trend=trend_of(history, SHORT_SAMPLES),
        idle=fleet.idle_w / span_w,
        saving=plan.saving_wh / span_w,
        move_cost=np.minimum(cost_wh / span_w, MOST_COST),
        cores=fleet.capacity[0] / fleet.capacity[0].mean(),
        idle_per_core=per_core / per_core.mean(),
        memory_bytes=float(fleet.capacity[1].mean()),
        late_cost=late_cost_wh_h(1.0) * late / span_w,
        since_woken=np.minimum(since_woken_s / HOUR_S, 4.0) / 4.0,
        peak_soon=np.minimum(peak(seen, boot_steps), MOST_LOAD),
        peak_hour=np.minimum(peak(seen, HOUR_STEPS), MOST_LOAD),
        turn=crossing(history[:, -1], seen, _HOT),
        hour=highest(foresee(samples), HOUR_STEPS),
    )


def trend_of(history: Float[Array, "rows samples"], samples: int) -> Float[Array, " rows"]:
    """Change over the last so many samples; 0 where fewer are known."""
    if history.shape[1] <= samples:
        return np.zeros(len(history))
    return history[:, -1] - history[:, -1 - samples]


def token_rows(plan: Plan, figures: NodeFigures) -> Float[Array, "nodes figures"]:
    """Figures of every node among all, (nodes, `TokenRow`)."""
    view, draft = plan.view, plan.draft
    fleet, load = view.fleet, draft.load()
    out = np.empty((fleet.nodes, len(TokenRow)), np.float32)
    on = (draft.state == NodeState.ON) | (draft.state == NodeState.DRAINING)
    asleep = draft.state == NodeState.ASLEEP
    out[:, TokenRow.ON] = on
    out[:, TokenRow.ASLEEP] = asleep
    out[:, TokenRow.ABSENT] = ~(on | asleep)
    out[:, TokenRow.CPU_LOAD] = load[0]
    out[:, TokenRow.PEAK_LOAD] = figures.peak
    out[:, TokenRow.TREND] = figures.trend
    out[:, TokenRow.SPACE_LOAD] = load[1:].max(axis=0)
    out[:, TokenRow.PROMISED] = (draft.requested / fleet.capacity).max(axis=0)
    out[:, TokenRow.IDLE_POWER] = figures.idle
    out[:, TokenRow.SAVING] = figures.saving
    out[:, TokenRow.MOVE_COST] = figures.move_cost
    out[:, TokenRow.LATE_COST] = np.minimum(figures.late_cost, MOST_COST)
    out[:, TokenRow.CORES] = figures.cores
    out[:, TokenRow.NEVER_SLEEPS] = fleet.node_int[NodeInt.NEVER_SLEEP]
    out[:, TokenRow.PEAK_HOUR] = figures.peak_hour
    out[:, TokenRow.TURN] = figures.turn
    return out


def global_row(plan: Plan, figures: NodeFigures, calm: int) -> Float[Array, " figures"]:
    """Figures of the whole cluster, `GlobalRow`."""
    view, fleet = plan.view, plan.view.fleet
    state = view.state
    on = view.on
    asleep = state == NodeState.ASLEEP
    capacity = np.maximum(fleet.capacity[:, on].sum(axis=1), 1e-9)
    cores = fleet.capacity[0]
    used = (figures.history * cores[:, None]).sum(axis=0, keepdims=True) / cores.sum()
    angle = 2.0 * np.pi * (view.time_s % DAY_S) / DAY_S
    out = np.empty(len(GlobalRow), np.float32)
    out[GlobalRow.LOAD] = min(view.usage[0].sum() / capacity[0], 2.0)
    out[GlobalRow.PROMISED] = min((fleet.request.sum(axis=1) / capacity).max(), 2.0)
    out[GlobalRow.ASLEEP] = asleep.mean()
    out[GlobalRow.ABSENT] = (~(on | asleep)).mean()
    out[GlobalRow.HOUR_SIN] = np.sin(angle)
    out[GlobalRow.HOUR_COS] = np.cos(angle)
    out[GlobalRow.WEEKEND] = float(view.time_s % WEEK_S >= 5.0 * DAY_S)
    out[GlobalRow.TREND_SHORT] = 4.0 * trend_of(used, SHORT_SAMPLES)[0]
    out[GlobalRow.TREND_LONG] = 4.0 * (used[0, -1] - used[0, 0])
    out[GlobalRow.LATE_COST] = min(figures.late_cost.mean(), MOST_COST)
    out[GlobalRow.IN_FLIGHT] = (view.target >= 0).mean()
    out[GlobalRow.CALM] = min(calm, 8) / 8.0
    out[GlobalRow.HOT] = float((figures.history[:, -1] > _HOT).mean())
    ahead = peak(foresee(used.T), HOUR_STEPS)[0] * cores.sum()
    out[GlobalRow.PEAK_HOUR] = min(ahead / capacity[0], MOST_LOAD)
    out[GlobalRow.BUDGET] = min(10.0 * plan.draft.room_for_moves / max(fleet.containers, 1), 2.0)
    return out
