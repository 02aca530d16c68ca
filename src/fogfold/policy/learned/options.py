"""The options of a choice, with their figures: which node next, and where a container may go.

Short lists keep a choice as long on a thousand nodes as on twenty: nodes that save most for each move, the fullest
targets near the users. What stands on a list is legal; the first option (stop, stay) always is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array, borrowed, compiled, compiled_inner
from fogfold.cost.power import curve_power_w
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeInt
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.learned.nodes import (
    MOST_COST,
    MOST_LOAD,
    SHORT_SAMPLES,
    NodeFigures,
    late_cost_of,
    late_cost_wh_h,
)
from fogfold.policy.learned.rows import NodeRow, TargetRow
from fogfold.policy.plan import Plan
from fogfold.policy.sheet import Sheet, lend, refused
from fogfold.policy.targets import BARRED, Ceiling, Taste, fit_of, has_room, is_narrow, late_on
from fogfold.units import GIB

__all__ = ["MOST_TARGETS", "NodeOptions", "TargetOptions", "node_options", "target_options"]

MOST_FOLDS = 16
MOST_RELIEFS = 6
MOST_WAKES = 4
MOST_FULL = 16
"""Nodes on the short list of a container that would be fullest, its users near."""
MOST_THRIFTY = 16
"""Nodes on it that would add least power."""
MOST_TARGETS = MOST_FULL + MOST_THRIFTY
"""Nodes on it in all, beside staying."""
_WH_H = late_cost_wh_h(1.0)
# Looking up a member of an enumeration costs a microsecond, as long as a figure itself.
_TARGET_ROWS = len(TargetRow)
_STAY = int(TargetRow.STAY)
_SHARED = [int(row) for row in (TargetRow.FOLDING, TargetRow.SIZE, TargetRow.MEMORY, TargetRow.LEFT)]
"""Figures that all options of a container share."""
_KEPT = 1e6
"""Score that puts a target before all that are not to be kept."""


@dataclass(frozen=True)
class NodeOptions:
    """Options of the second stage: the first is to stop."""

    kind: Int[Array, " options"]
    """A `NodeRow` from STOP to WAKE."""
    node: Int[Array, " options"]
    """-1 where the option is to stop."""
    rows: Float[Array, "options node_rows"]


@dataclass(frozen=True)
class TargetOptions:
    """Options of the third stage: the first is to stay."""

    node: Int[Array, " options"]
    """-1 where the option is to stay."""
    rows: Float[Array, "options target_rows"]


def _first(nodes: Int[Array, " some"], score: Float[Array, " some"], most: int, keep: set[int]) -> Int[Array, " few"]:
    """The nodes with the largest scores, best first, and all those of `keep` that are among the nodes."""
    order = nodes[np.argsort(-score, kind="stable")]
    if len(order) <= most:
        return order
    late = [n for n in order[most:].tolist() if n in keep]
    return np.concatenate([order[:most], np.array(late, order.dtype)])


def node_options(
    plan: Plan,
    figures: NodeFigures,
    *,
    fold: bool,
    tried: set[int],
    fixed: Int[Array, " nodes"],
    keep: set[int],
    before: int,
) -> NodeOptions:
    """What may be done next: stop, wake a node, relieve one, or fold one (where `fold`).

    Args:
        plan: the plan so far.
        figures: of its nodes.
        fold: whether nodes may be folded.
        tried: nodes chosen before in this decision.
        fixed: as `emptying.fixed_by` gives it.
        keep: nodes that stay on the short list however they score.
        before: how many nodes were chosen before.
    """
    draft, fleet = plan.draft, plan.view.fleet
    load = draft.load()
    free = np.ones(fleet.nodes, bool)
    free[list(tried)] = False
    on = (draft.state == NodeState.ON) & free
    room = draft.room_for_moves
    used = np.flatnonzero(on & (draft.staying > 0)) if room > 0 else np.zeros(0, np.int64)
    reliefs = _first(used, figures.late_cost[used] + load[0, used], MOST_RELIEFS, keep)
    folds = np.zeros(0, np.int64)
    if fold:
        may = on & (fleet.node_int[NodeInt.NEVER_SLEEP] == 0) & (draft.arriving == 0) & (fixed == 0)
        may &= (draft.staying <= room) & (plan.saving_wh > 0.0)
        cold = np.flatnonzero(may)
        folds = _first(cold, plan.saving_wh[cold] / np.maximum(draft.staying[cold], 0.5), MOST_FOLDS, keep)
    asleep = np.flatnonzero((draft.state == NodeState.ASLEEP) & (plan.view.state == NodeState.ASLEEP) & free)
    wakes = _first(asleep, -fleet.idle_w[asleep] / fleet.capacity[0, asleep], MOST_WAKES, keep)
    node = np.concatenate([[-1], wakes, reliefs, folds]).astype(np.int64)
    kind = np.repeat(
        np.array([NodeRow.STOP, NodeRow.WAKE, NodeRow.RELIEVE, NodeRow.FOLD]),
        [1, len(wakes), len(reliefs), len(folds)],
    )
    rows = np.zeros((len(node), len(NodeRow)), np.float32)
    rows[np.arange(len(node)), kind] = 1.0
    rows[:, NodeRow.CHOSEN_BEFORE] = min(8.0 * before / fleet.nodes, 4.0)
    n, out = node[1:], rows[1:]
    capacity = fleet.capacity
    open_to = (draft.state == NodeState.ON) | (draft.state == NodeState.WAKING)
    total = capacity[:, open_to].sum(axis=1)
    change = np.where(kind[1:] == NodeRow.FOLD, -1.0, np.where(kind[1:] == NodeRow.WAKE, 1.0, 0.0))
    after = np.maximum(total[:, None] + change * capacity[:, n], 1e-9)
    out[:, NodeRow.CPU_LOAD] = load[0, n]
    out[:, NodeRow.PEAK_LOAD] = figures.peak[n]
    out[:, NodeRow.TREND] = figures.trend[n]
    out[:, NodeRow.SPACE_LOAD] = load[1:, n].max(axis=0)
    out[:, NodeRow.PROMISED] = (draft.requested[:, n] / capacity[:, n]).max(axis=0)
    out[:, NodeRow.RESIDENTS] = draft.staying[n] / 10.0
    out[:, NodeRow.IDLE_POWER] = figures.idle[n]
    out[:, NodeRow.SAVING] = figures.saving[n]
    out[:, NodeRow.MOVE_COST] = figures.move_cost[n]
    out[:, NodeRow.LATE_COST] = np.minimum(figures.late_cost[n], MOST_COST)
    out[:, NodeRow.LOAD_AFTER] = np.minimum(plan.view.usage[0].sum() / after[0], 2.0)
    out[:, NodeRow.PROMISED_AFTER] = np.minimum((fleet.request.sum(axis=1)[:, None] / after).max(axis=0), 2.0)
    out[:, NodeRow.SINCE_WOKEN] = figures.since_woken[n]
    out[:, NodeRow.CORES] = figures.cores[n]
    out[:, NodeRow.SHARE_LEFT] = np.minimum(room / np.maximum(draft.staying[n], 1), 1.0)
    out[:, NodeRow.SAVING_A_MOVE] = np.minimum(figures.saving[n] / np.maximum(draft.staying[n], 0.5), MOST_COST)
    out[:, NodeRow.PEAK_SOON] = figures.peak_soon[n]
    out[:, NodeRow.PEAK_HOUR] = figures.peak_hour[n]
    out[:, NodeRow.TURN] = figures.turn[n]
    return NodeOptions(kind, node, rows)


@compiled_inner
def _added_w(c: int, n: int, own: Sheet) -> float:
    """Power that a container adds to a node by the plan so far, in W; with idle power where the node is empty."""
    cores = own.node[0, n]
    before = max(own.foreseen[0, n] - own.leaving[0, n], 0.0) / cores
    curve = own.curve[n]
    power = curve_power_w(min(before + own.usage[0, c] / cores, 1.0), curve) - curve_power_w(min(before, 1.0), curve)
    if own.staying[n] + own.arriving[n] == 0:
        power += curve[0]
    return power


@compiled_inner
def _insert(n: int, value: float, count: int, score: Array, out: Array) -> int:
    """Put a node where its score belongs, the highest first; gives how many there are now."""
    if count < len(out):
        count += 1
    i = count - 1
    while i > 0 and score[i - 1] < value:
        score[i] = score[i - 1]
        out[i] = out[i - 1]
        i -= 1
    score[i] = value
    out[i] = n
    return count


@compiled
def _short_list(
    c: int,
    ceiling: Ceiling,
    wanted: Array,
    taste: Taste,
    trip_ms: Array,
    most_crossing: Array,
    sheet: Sheet,
    keep: Array,
    out: Array,
) -> int:
    """The fullest targets of a container and those to keep, then those of least power; gives how many."""
    own, trips, most = lend(sheet), borrowed(trip_ms), borrowed(most_crossing)
    full, thrifty = np.empty(MOST_FULL, np.int64), np.empty(MOST_THRIFTY, np.int64)
    full_score, thrifty_score = np.empty(MOST_FULL), np.empty(MOST_THRIFTY)
    fulls, thrifties = 0, 0
    widest = max(ceiling.cpu, ceiling.space)
    image = own.container_int[ContainerInt.IMAGE, c]
    pull = taste.image_per_gib * own.container[ContainerRow.IMAGE_BYTES, c] / GIB
    patience = own.container[ContainerRow.OBJECTIVE_MS, c]
    here = own.placement[c]
    trip_here = trips[c, own.node_int[NodeInt.SITE, here]]
    for n in range(len(wanted)):
        if wanted[n] == BARRED or not has_room(c, n, ceiling, own) or is_narrow(c, n, most, own):
            continue
        trip = trips[c, own.node_int[NodeInt.SITE, n]]
        if trip >= patience and trip > trip_here:
            continue
        value = fit_of(c, n, taste, False, own) - taste.trip_per_ms * trip
        if not own.image_present[n, image]:
            value -= pull
        for i in range(len(keep)):
            if n == keep[i]:
                value += _KEPT
        thrift = -_added_w(c, n, own)
        is_full = fulls < MOST_FULL or value > full_score[fulls - 1]
        is_thrifty = thrifties < MOST_THRIFTY or thrift > thrifty_score[thrifties - 1]
        if not is_full and not is_thrifty:
            continue
        reason = refused(c, n, widest, own)
        if reason == Reason.IN_FLIGHT or reason == Reason.NEVER_MOVES or reason == Reason.GROUP_BUDGET:
            return 0
        if reason != Reason.NONE:
            continue
        if is_full:
            fulls = _insert(n, value, fulls, full_score, full)
        if is_thrifty:
            thrifties = _insert(n, thrift, thrifties, thrifty_score, thrifty)
    count = fulls
    for i in range(fulls):
        out[i] = full[i]
    for i in range(thrifties):
        is_new = True
        for k in range(fulls):
            if full[k] == thrifty[i]:
                is_new = False
        if is_new:
            out[count] = thrifty[i]
            count += 1
    return count


@compiled
def _fill_targets(
    c: int,
    few: Array,
    trip_ms: Array,
    most_crossing: Array,
    rate: Array,
    by_node: Array,
    first: Array,
    history: Array,
    past: Array,
    peak_hour: Array,
    hour: Array,
    idle_per_core: Array,
    span_w: float,
    sheet: Sheet,
    out: Array,
) -> None:
    own, trips, most = lend(sheet), borrowed(trip_ms), borrowed(most_crossing)
    ahead, hours, per_core = borrowed(peak_hour), borrowed(hour), borrowed(idle_per_core)
    rates, order, edges, loads, own_past = borrowed(rate), borrowed(by_node), borrowed(first), borrowed(history), past
    here = own.placement[c]
    patience = own.container[ContainerRow.OBJECTIVE_MS, c]
    site_here = own.node_int[NodeInt.SITE, here]
    load_here = max(own.foreseen[0, here] - own.leaving[0, here], 0.0) / own.node[0, here]
    late_here = late_on(c, here, trips, load_here, own)
    image = own.container_int[ContainerInt.IMAGE, c]
    samples = loads.shape[1]
    for i in range(len(few)):
        n = few[i]
        row = out[i]
        cores = own.node[0, n]
        before = max(own.foreseen[0, n] - own.leaving[0, n], 0.0) / cores
        after = before + own.usage[0, c] / cores
        row[TargetRow.CPU_LOAD] = before
        row[TargetRow.CPU_AFTER] = after
        # What others of this plan bring is added to every sample as it is now.
        extra = before - loads[n, samples - 1]
        peak = 0.0
        for s in range(samples):
            peak = max(peak, loads[n, s] + own_past[s, c] / cores)
        row[TargetRow.PEAK_AFTER] = peak + extra
        k = samples - 1 - SHORT_SAMPLES
        if k >= 0:
            row[TargetRow.TREND_AFTER] = (
                loads[n, samples - 1] - loads[n, k] + (own_past[samples - 1, c] - own_past[k, c]) / cores
            )
        space, promised = 0.0, 0.0
        for r in range(4):
            if r > 0:
                used = (own.foreseen[r, n] - own.leaving[r, n] + own.usage[r, c]) / own.node[r, n]
                space = max(space, used)
            promised = max(promised, (own.requested[r, n] + own.container[r, c]) / own.node[r, n])
        row[TargetRow.SPACE_AFTER] = space
        row[TargetRow.PROMISED_AFTER] = promised
        row[TargetRow.IDLE_PER_CORE] = per_core[n]
        row[TargetRow.POWER] = _added_w(c, n, own) / span_w
        expected = ahead[n] + extra + hours[c] / cores
        row[TargetRow.PEAK_HOUR_AFTER] = max(min(expected, MOST_LOAD), 0.0)
        late = late_on(c, n, trips, after, own)
        row[TargetRow.LATE_HERE] = late_here
        row[TargetRow.LATE_THERE] = late
        rise = late_cost_of(n, after, rates, order, edges, trips, own) - late_cost_of(
            n, before, rates, order, edges, trips, own
        )
        row[TargetRow.NEIGHBOURS_COST] = min(rise * _WH_H / span_w, MOST_COST)
        row[TargetRow.OWN_COST] = max(min((late - late_here) * rates[c] * _WH_H / span_w, MOST_COST), -MOST_COST)
        site = own.node_int[NodeInt.SITE, n]
        row[TargetRow.TRIP] = (trips[c, site] - trips[c, site_here]) / min(patience, 1000.0)
        if not own.image_present[n, image]:
            row[TargetRow.IMAGE] = 1.0
        if site == site_here:
            row[TargetRow.SAME_SITE] = 1.0
        else:
            row[TargetRow.CROSSING] = max(own.crossing[site] / most[site], own.crossing[site_here] / most[site_here])
        if own.state[n] == NodeState.WAKING:
            row[TargetRow.WAKING] = 1.0


def target_options(
    plan: Plan,
    figures: NodeFigures,
    container: int,
    *,
    wanted: Int[Array, " nodes"],
    ceiling: Ceiling,
    trip_ms: Float[Array, "containers sites"],
    keep: tuple[int, ...],
    folding: bool,
    left: int,
) -> TargetOptions:
    """Where a container may go by the plan so far; staying is the first option.

    Args:
        plan: the plan so far.
        figures: of its nodes.
        container: its column.
        wanted: `OPEN` for each node that may receive, else `BARRED`.
        ceiling: how far a target may be filled.
        trip_ms: as `targets.trip_to_users_ms` gives it.
        keep: nodes that stay on the short list however they score.
        folding: whether its node is being folded.
        left: containers of its node that are still to be placed after it.
    """
    sheet, draft = plan.draft.sheet, plan.draft
    few, kept = np.empty(MOST_TARGETS + 1, np.int64), np.array(keep, np.int64)
    few[0] = -1
    count = 1 + _short_list(
        container, ceiling, wanted, plan.targets.taste, trip_ms, plan.targets.most_crossing, sheet, kept, few[1:]
    )
    few = few[:count]
    rows = np.zeros((count, _TARGET_ROWS), np.float32)
    rows[0, _STAY] = 1.0
    rows[:, _SHARED] = (
        float(folding),
        min(plan.size[container], 2.0),
        min(plan.view.usage[1, container] / figures.memory_bytes, 2.0),
        left / 10.0,
    )
    if count > 1:
        _fill_targets(
            container,
            few[1:],
            trip_ms,
            plan.targets.most_crossing,
            figures.rate_per_s,
            draft.by_node,
            draft.first,
            figures.history,
            figures.past,
            figures.peak_hour,
            figures.hour,
            figures.idle_per_core,
            figures.span_w,
            sheet,
            rows[1:],
        )
    return TargetOptions(few, rows)
