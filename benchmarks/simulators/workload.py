"""The day that all simulators play: nodes, containers, where they begin, and the moves of each step.

Whole numbers throughout (thousandths of a core, MiB), so that sums are exact in every order: LEAF refuses to release
what rounding made a hair more than was reserved. Only the standard library is used here, since this file is read in
environments that have nothing else in common. What happens to a move is each simulator's affair; here it is instant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

STEP_S = 300.0
"""Time between two decisions."""
TICKS_A_STEP = 10
"""fogfold's resolution: 30 s. Some simulators are asked to play at it as well."""


@dataclass(frozen=True)
class Day:
    """One day of a cluster, as plain values."""

    seed: int
    capacity_mcpu: list[int]
    """What each node offers, in thousandths of a reference core."""
    capacity_mib: list[int]
    idle_w: list[float]
    """Power of each node without load; it grows linearly to `peak_w` at full load."""
    peak_w: list[float]
    request_mcpu: list[int]
    """What each container was promised, which is what it uses where demand is steady."""
    request_mib: list[int]
    placement: list[int]
    """Node of each container before the first step."""
    moves: list[list[tuple[int, int]]]
    """For each step the moves ordered at its end, as container and target node."""
    demand_mcpu: list[list[int]]
    """For each tick what each container uses where demand changes; at most its request."""
    site: list[int]
    """Site of each node, for simulators with links."""
    user_site: list[int]
    """Site where most users of each container are."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.capacity_mcpu)

    @property
    def containers(self) -> int:
        """Number of containers."""
        return len(self.request_mcpu)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.moves)

    def first(self, steps: int) -> Day:
        """The same day, broken off after so many steps."""
        return replace(self, moves=self.moves[:steps], demand_mcpu=self.demand_mcpu[: steps * TICKS_A_STEP])

    def demands(self, ticks_a_step: int, *, changing: bool) -> list[list[int]]:
        """What each container uses, tick by tick, with so many ticks a step (a divisor of 10)."""
        if not changing:
            return [self.request_mcpu] * (self.steps * ticks_a_step)
        return self.demand_mcpu[:: TICKS_A_STEP // ticks_a_step]

    def placements(self) -> Iterator[list[int]]:
        """Where the containers are in each step, and once more after the last moves, if every move is instant."""
        where = list(self.placement)
        for moves in self.moves:
            yield list(where)
            for container, node in moves:
                where[container] = node
        yield where

    def last_placement(self) -> list[int]:
        """Where the containers are at the end."""
        return list(self.placements())[-1]

    def unused_w(self) -> list[float]:
        """For each step the power of all nodes on which nothing runs, with demand that changes with every step."""
        power_w = []
        for where, demand, _ in zip(self.placements(), self.demands(1, changing=True), self.moves):
            used = {node for node, load in zip(where, demand) if load}
            power_w.append(sum(idle for node, idle in enumerate(self.idle_w) if node not in used))
        return power_w

    def energy_kwh(self, ticks_a_step: int, *, changing: bool) -> float:
        """Energy of the day if every move is instant and power linear: what LEAF and ECLYPSE must both find."""
        energy_j, tick_s = 0.0, STEP_S / ticks_a_step
        demands = iter(self.demands(ticks_a_step, changing=changing))
        for where, _ in zip(self.placements(), self.moves):
            for _ in range(ticks_a_step):
                used = [0] * self.nodes
                for demand, node in zip(next(demands), where):
                    used[node] += demand
                for node, load in enumerate(used):
                    share = load / self.capacity_mcpu[node]
                    energy_j += tick_s * (self.idle_w[node] + (self.peak_w[node] - self.idle_w[node]) * share)
        return energy_j / 3.6e6

    def save(self, path: Path) -> None:
        """Write the day as JSON."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


def load_day(path: Path) -> Day:
    """The day that `Day.save` wrote."""
    read = json.loads(path.read_text(encoding="utf-8"))
    read["moves"] = [[(container, node) for container, node in moves] for moves in read["moves"]]
    return Day(**read)
