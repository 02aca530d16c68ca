"""Figures of every node in a decision: what it carries, what it saves asleep, and whose requests come late there.

Made once from the cluster as it stands; what the plan changes on the way (load, room) is read from its draft.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array, borrowed, compiled, compiled_inner
from fogfold.cost.total import ExchangeRates
from fogfold.encoding.rows import ContainerRow, NodeInt
from fogfold.model.node import NodeState
from fogfold.policy.learned.rows import GlobalRow, TokenRow
from fogfold.policy.plan import Plan
from fogfold.policy.sheet import Sheet, lend
from fogfold.policy.targets import late_on
from fogfold.units import HOUR_S, MS_PER_S

__all__ = ["NodeFigures", "global_row", "late_cost_wh_h", "node_figures", "token_rows"]

_SHORT_SAMPLES = 6
"""Decisions that make half an hour."""
_DAY_S = 24.0 * HOUR_S
_WEEK_S = 7.0 * _DAY_S
_HOT = 0.6


@dataclass(frozen=True)
class NodeFigures:
    """What a decision knows of its nodes beside the draft."""

    span_w: float
    """Mean span from idle to peak, in W: the unit of all power and cost below."""
    history: Float[Array, "nodes samples"]
    """CPU load that each node's present containers made together, newest last; the last column is now."""
    rate_per_s: Float[Array, " containers"]
    """Requests a second of each container by its usage (utilisation law)."""
    by_node: Int[Array, " placed"]
    """Containers that run somewhere, node after node."""
    first: Int[Array, " edges"]
    """Where each node's containers start in `by_node`; one more at the end."""
    move_cost_wh: Float[Array, " nodes"]
    """What moving all containers of a node costs."""
    late_cost: Float[Array, " nodes"]
    """Wh-equivalents an hour of requests that come late on each node as it stands, in units of `span_w`."""
    since_woken: Float[Array, " nodes"]
    """Hours since each node was woken, at most 4, over 4."""


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
    here = np.flatnonzero(view.placement >= 0)
    by_node = here[np.argsort(view.placement[here], kind="stable")]
    first = np.searchsorted(view.placement[by_node], np.arange(fleet.nodes + 1))
    samples = np.concatenate([view.cpu_history, view.usage[:1]]) if len(view.cpu_history) else view.usage[:1]
    if len(by_node):
        sums = np.add.reduceat(
            np.concatenate([samples[:, by_node], np.zeros((len(samples), 1))], axis=1), first[:-1], axis=1
        )
        sums[:, first[:-1] == first[1:]] = 0.0
    else:
        sums = np.zeros((len(samples), fleet.nodes))
    span_w = max(float((fleet.power_curve[:, -1] - fleet.power_curve[:, 0]).mean()), 1e-9)
    rate = view.usage[0] * MS_PER_S / fleet.container[ContainerRow.SERVICE_MS]
    late = np.zeros(fleet.nodes)
    _late_rates(rate, by_node, first, trip_ms, draft.sheet, late)
    placed = view.placement[here]
    return NodeFigures(
        span_w=span_w,
        history=np.ascontiguousarray((sums / fleet.capacity[0]).T),
        rate_per_s=rate,
        by_node=by_node,
        first=first,
        move_cost_wh=np.bincount(placed, plan.cost_wh[here], fleet.nodes),
        late_cost=late_cost_wh_h(1.0) * late / span_w,
        since_woken=np.minimum(since_woken_s / HOUR_S, 4.0) / 4.0,
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
    out[:, TokenRow.PEAK_LOAD] = figures.history.max(axis=1)
    out[:, TokenRow.TREND] = trend_of(figures.history, _SHORT_SAMPLES)
    out[:, TokenRow.SPACE_LOAD] = load[1:].max(axis=0)
    out[:, TokenRow.PROMISED] = (draft.requested / fleet.capacity).max(axis=0)
    out[:, TokenRow.IDLE_POWER] = fleet.idle_w / figures.span_w
    out[:, TokenRow.SAVING] = plan.saving_wh / figures.span_w
    out[:, TokenRow.MOVE_COST] = np.minimum(figures.move_cost_wh / figures.span_w, 4.0)
    out[:, TokenRow.LATE_COST] = np.minimum(figures.late_cost, 4.0)
    out[:, TokenRow.CORES] = fleet.capacity[0] / fleet.capacity[0].mean()
    out[:, TokenRow.NEVER_SLEEPS] = fleet.node_int[NodeInt.NEVER_SLEEP]
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
    angle = 2.0 * np.pi * (view.time_s % _DAY_S) / _DAY_S
    out = np.empty(len(GlobalRow), np.float32)
    out[GlobalRow.LOAD] = min(view.usage[0].sum() / capacity[0], 2.0)
    out[GlobalRow.PROMISED] = min((fleet.request.sum(axis=1) / capacity).max(), 2.0)
    out[GlobalRow.ASLEEP] = asleep.mean()
    out[GlobalRow.ABSENT] = (~(on | asleep)).mean()
    out[GlobalRow.HOUR_SIN] = np.sin(angle)
    out[GlobalRow.HOUR_COS] = np.cos(angle)
    out[GlobalRow.WEEKEND] = float(view.time_s % _WEEK_S >= 5.0 * _DAY_S)
    out[GlobalRow.TREND_SHORT] = 4.0 * trend_of(used, _SHORT_SAMPLES)[0]
    out[GlobalRow.TREND_LONG] = 4.0 * (used[0, -1] - used[0, 0])
    out[GlobalRow.LATE_COST] = min(figures.late_cost.mean(), 4.0)
    out[GlobalRow.IN_FLIGHT] = (view.target >= 0).mean()
    out[GlobalRow.CALM] = min(calm, 8) / 8.0
    out[GlobalRow.HOT] = float((figures.history[:, -1] > _HOT).mean())
    return out
