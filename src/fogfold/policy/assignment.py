"""The full model of one decision: one yes or no for each container and node, solved to a proven optimum.

Where the compact model speaks of amounts, this one says who goes where, with every hard constraint and every bend of
every power curve. It is exact, and therefore small: twenty nodes with a hundred and fifty containers take seconds.

Room is read in one of two ways. *Held*: what a container leaves does not become free within the same decision, as the
world and every draft of a plan have it, so the plan can be carried out in any order. *Final*: only the end counts, as
if all moved at once; this is the reading of the literature, and its optimum is never above the other.

A spread must hold at the end. A group that breaks its spread as things stand is not moved, and a node that holds more
than its room may keep as much: two rare starts in which this model is a little off the world's rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.cost.power import node_power_w
from fogfold.encoding.rows import ContainerInt, NodeInt
from fogfold.errors import InvariantError
from fogfold.model.node import POWER_CURVE_POINTS
from fogfold.model.placement import SLACK
from fogfold.policy.compact import most_usage
from fogfold.policy.covers import cover_rows, put_covers
from fogfold.policy.folding import Folding
from fogfold.policy.group_rows import add_group_rows, groups_out_of_balance
from fogfold.policy.minorant import convex_minorant
from fogfold.policy.pairs import Pairs, pairs_of
from fogfold.policy.program import Columns, Rows, solve

__all__ = ["Assignment", "pair_count", "solve_assignment"]


@dataclass(frozen=True)
class Assignment:
    """The best plan that was found, and what was proven about it."""

    where: Int[Array, " containers"]
    """Node of each container after the plan; -1 for those that are left out of the folding."""
    awake: Bool[Array, " nodes"]
    cost_w: float
    """Mean power that the plan leads to, its moves included."""
    bound_w: float
    """No plan costs less."""
    proven: bool
    """Whether the two agree to the gap that was asked for."""

    @property
    def gap(self) -> float:
        """How far the cost may be above the optimum, relative to the bound."""
        return max(0.0, self.cost_w - self.bound_w) / max(abs(self.bound_w), 1e-9)


def pair_count(folding: Folding) -> int:
    """How many pairs of a container and a node the full model would have to decide about, at most."""
    reachable = folding.reach.sum(axis=1)
    return int(reachable[folding.kind[folding.movable]].sum())


def solve_assignment(
    folding: Folding,
    budget: int | None = None,
    *,
    held: bool,
    gap: float = 1e-4,
    time_limit_s: float | None = None,
    node_limit: int | None = None,
    rows: Float[Array, "rows nodes"] | None = None,
    asleep: Bool[Array, " nodes"] | None = None,
) -> Assignment:
    """The best plan of a decision.

    Args:
        folding: the decision.
        budget: how many containers may be moved at most; None for no limit.
        held: whether room that a container leaves stays taken within the decision.
        gap: relative gap at which the plan counts as optimal.
        time_limit_s: time after which to stop with what there is, in s; None for no limit.
        node_limit: branch-and-bound nodes after which to stop; None for no limit.
        rows: further rows `row . awake >= 1` that the plan must keep.
        asleep: nodes that must be asleep after the plan, where some are given; if there is no such plan, the cost and
            the bound are infinite.

    Raises:
        MissingExtraError: if HiGHS is not installed.
    """
    model = _Model(folding, held=held)
    model.add_budget(budget)
    if asleep is not None:
        model.add_sleep(asleep)
    model.add_covers(cover_rows(folding) if rows is None else np.concatenate([cover_rows(folding), rows]))
    program = model.columns.program(model.rows)
    solution = solve(program, gap=gap, time_limit_s=time_limit_s, node_limit=node_limit)
    bound_w = solution.bound + model.fixed_w
    if solution.values is None and solution.proven and asleep is not None:
        return Assignment(folding.home, folding.awake_anyway, np.inf, np.inf, proven=True)
    if solution.values is None and solution.proven:
        raise InvariantError(
            f"the full model of {len(folding.may_run)} nodes has no solution, though doing nothing is one; "
            "please report it with the snapshot"
        )
    if solution.values is None:
        return Assignment(folding.home, folding.awake_anyway, folding.anyway_w, bound_w, proven=False)
    where, awake = model.read(solution.values)
    return Assignment(where, awake, folding.mean_power_w(where, awake), bound_w, solution.proven)


class _Model:
    """The program of a decision: variables for nodes awake, then for pairs, then for pieces of power curves."""

    def __init__(self, folding: Folding, *, held: bool) -> None:
        self._folding = folding
        self._pairs: Pairs = pairs_of(folding, held=held, frozen=groups_out_of_balance(folding))
        self.columns = Columns()
        self.rows = Rows()
        pairs, nodes = self._pairs, folding.view.fleet.nodes
        self._settled = pairs.settled(folding)
        self.fixed_w = float(folding.asleep_w.sum() + folding.move_w[pairs.movers].sum())
        high = folding.may_run.astype(np.float64)
        kept = self._fixed(np.ones(len(folding.home))) > 0.0
        self._awake = self.columns.add(
            nodes,
            cost=folding.awake_w - folding.asleep_w,
            low=np.minimum(np.where(folding.may_rest & ~kept, 0.0, 1.0), high),
            high=high,
            whole=True,
        )
        self._load_w = self._slope_of_straight_curves()
        pair_w = self._load_w[pairs.node] * folding.amount[4, pairs.container]
        pair_w -= np.where(pairs.is_home, folding.move_w[pairs.container], 0.0)
        self._pair = self.columns.add(pairs.count, cost=pair_w, high=1.0, whole=True)
        self._add_places()
        self._add_room(held=held)
        self._add_accelerators(held=held)
        self._add_curves()
        add_group_rows(folding, pairs, self._awake, self._pair, self.columns, self.rows, held=held)

    def _fixed(self, amount: Float[Array, " containers"]) -> Float[Array, " nodes"]:
        """Sum over those who stay where they are."""
        return self._folding.by_home(np.where(self._settled, amount, 0.0))

    def _add_places(self) -> None:
        """Every container is somewhere, and only where a node is awake."""
        pairs, rows = self._pairs, self.rows
        which = rows.add(len(pairs.movers), low=1.0, high=1.0)
        rows.put(which[np.searchsorted(pairs.movers, pairs.container)], self._pair, 1.0)
        each = rows.add(pairs.count, high=0.0)
        rows.put(each, self._pair, 1.0)
        rows.put(each, self._awake[pairs.node], -1.0)

    def _add_room(self, *, held: bool) -> None:
        """What arrives (or, where room is not held, what is there in the end) fits, by requests and by usage.

        Each row is an equation with its room left free as a variable: HiGHS 1.16 was seen to strengthen an inequality
        of odd fractions without end, past any limit of time; equations it leaves alone.
        """
        folding, pairs = self._folding, self._pairs
        view, nodes = folding.view, folding.view.fleet.nodes
        taken = np.concatenate([view.requested, view.used])
        counted = np.flatnonzero(~pairs.is_home) if held else np.arange(pairs.count)
        for r, amount in enumerate(folding.amount):
            left = folding.room[r] - taken[r] if held else folding.most[r] - self._fixed(amount)
            left = np.maximum(left, 0.0) + SLACK * folding.room[r]
            entry = amount[pairs.container[counted]]
            at = pairs.node[counted]
            short = np.bincount(at, entry, nodes) > left
            scale = np.where(folding.room[r] > 0.0, folding.room[r], 1.0)
            row = np.full(nodes, -1)
            row[short] = self.rows.add(int(short.sum()), low=0.0, high=0.0)
            chosen = short[at]
            self.rows.put(row[at[chosen]], self._pair[counted[chosen]], entry[chosen] / scale[at[chosen]])
            self.rows.put(row[short], self._awake[short], -(left / scale)[short])
            self.rows.put(row[short], self.columns.add(int(short.sum()), high=(left / scale)[short]), 1.0)

    def _add_accelerators(self, *, held: bool) -> None:
        """No node gives more accelerators than it has; those that a container leaves count as taken while held."""
        view, fleet, pairs = self._folding.view, self._folding.view.fleet, self._pairs
        kind, count = (
            fleet.container_int[ContainerInt.ACCELERATOR_KIND],
            fleet.container_int[ContainerInt.ACCELERATOR_COUNT],
        )
        need = np.where(kind >= 0, count, 0).astype(np.float64)
        has = fleet.node_int[NodeInt.ACCELERATOR_COUNT].astype(np.float64)
        most = (
            has - view.accelerators_taken if held else np.maximum(has, self._folding.by_home(need)) - self._fixed(need)
        )
        counted = (need[pairs.container] > 0.0) & ~(pairs.is_home & held)
        for n in np.flatnonzero(fleet.node_int[NodeInt.ACCELERATOR_KIND] >= 0):
            here = np.flatnonzero(counted & (pairs.node == n))
            if len(here):
                row = int(self.rows.add(1, high=max(float(most[n]), 0.0))[0])
                self.rows.put(row, self._pair[here], need[pairs.container[here]])

    def _reach_cores(self) -> Float[Array, " nodes"]:
        folding = self._folding
        return np.where(folding.may_run, np.maximum(most_usage(folding), folding.at_home[4]), 0.0)

    def _slope_of_straight_curves(self) -> Float[Array, " nodes"]:
        """W for each core on nodes whose curve is one line as far as they go; 0 for the others, which have pieces."""
        fleet = self._folding.view.fleet
        lines = convex_minorant(fleet.power_curve, fleet.capacity[0], self._reach_cores())
        straight = lines.exact & (np.bincount(lines.node, minlength=fleet.nodes) == 1)
        slope = np.zeros(fleet.nodes)
        slope[lines.node] = lines.slope_w
        slope = np.where(straight, slope, 0.0)
        self._bent = np.flatnonzero(self._folding.may_run & ~straight & (self._reach_cores() > 0.0))
        self.fixed_w += float((slope * self._fixed(self._folding.amount[4])).sum())
        return slope

    def _add_curves(self) -> None:
        """Load on the pieces of a curve, each to be filled before the next (the incremental formulation)."""
        fleet, pairs = self._folding.view.fleet, self._pairs
        cores, reach = self._folding.amount[4], self._reach_cores()
        fixed = self._fixed(cores)
        for n in self._bent:
            capacity = float(fleet.capacity[0, n])
            corner = np.minimum(np.linspace(0.0, capacity, POWER_CURVE_POINTS), reach[n])
            corner = np.unique(np.append(corner, reach[n]))
            share = np.minimum(corner / capacity, 1.0)
            power = node_power_w(share, np.repeat(fleet.power_curve[n : n + 1], len(share), axis=0))
            width = np.diff(corner)
            piece = self.columns.add(len(width), cost=np.diff(power) / width, high=width)
            begun = self.columns.add(len(width) - 1, high=1.0, whole=True)
            full = self.rows.add(len(begun), low=0.0)
            self.rows.put(full, piece[:-1], 1.0)
            self.rows.put(full, begun, -width[:-1])
            after = self.rows.add(len(begun), high=0.0)
            self.rows.put(after, piece[1:], 1.0)
            self.rows.put(after, begun, -width[1:])
            here = np.flatnonzero(pairs.node == n)
            row = int(self.rows.add(1, low=float(fixed[n]), high=float(fixed[n]))[0])
            self.rows.put(row, piece, 1.0)
            self.rows.put(row, self._pair[here], -cores[pairs.container[here]])

    def add_budget(self, budget: int | None) -> None:
        """At most so many containers leave home."""
        homes = np.flatnonzero(self._pairs.is_home)
        if budget is not None and len(homes):
            self.rows.put(int(self.rows.add(1, low=float(len(homes) - budget))[0]), self._pair[homes], 1.0)

    def add_sleep(self, asleep: Bool[Array, " nodes"]) -> None:
        """These nodes are not awake."""
        which = self._awake[np.flatnonzero(asleep)]
        self.rows.put(self.rows.add(len(which), high=0.0), which, 1.0)

    def add_covers(self, covers: Float[Array, "rows nodes"]) -> None:
        """Rows `row . awake >= 1`."""
        put_covers(covers, self._awake, self.rows)

    def read(self, values: Float[Array, " variables"]) -> tuple[Int[Array, " containers"], Bool[Array, " nodes"]]:
        """Where each container is in a solution, and which nodes are awake."""
        where = self._folding.home.copy()
        chosen = values[self._pair] > 0.5
        where[self._pairs.container[chosen]] = self._pairs.node[chosen]
        return where, values[self._awake] > 0.5
