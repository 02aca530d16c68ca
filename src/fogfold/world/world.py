"""A batch of worlds to hold in the hand: reset, step, look. The rules are in `dynamics`; nothing is decided here."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array, compiled, compiled_inner
from fogfold.encoding.arrays import ClusterView, FleetArrays, view_of
from fogfold.encoding.feasibility import reason_row
from fogfold.encoding.rows import ContainerInt
from fogfold.errors import PlacementError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.model.resources import RESOURCE_COUNT
from fogfold.model.snapshot import Snapshot
from fogfold.seeding import key
from fogfold.units import TICK_S
from fogfold.world.dynamics import Orders, advance, fixed_of, one_world
from fogfold.world.faults import FaultSchedule
from fogfold.world.live import Fixed, Live
from fogfold.world.moves import reckon
from fogfold.world.nodes import best_start, place
from fogfold.world.params import WorldParams
from fogfold.world.rows import CI, NI, C, K
from fogfold.world.state import Tape, WorldFrame, WorldState, blank_state, frame_of, tape_of
from fogfold.world.workload.base import Workload

__all__ = ["World"]

_HISTORY_SAMPLES = 30
"""How many decisions' usage a view carries: what the detection rules of Beloglazov and Buyya read."""


@compiled_inner
def _place_all(order: Array, ceiling: float, fixed: Fixed, live: Live) -> int:
    for i in range(len(order)):
        c = int(order[i])
        n = best_start(c, ceiling, fixed, live)
        if n < 0:
            return c
        place(c, n, fixed, live)
        live.image[n, fixed.container_int[ContainerInt.IMAGE, c]] = 1
    return -1


@compiled
def _first_placement(order: Array, given: Array, ceiling: float, fixed: Fixed, state: Live, w: int) -> int:
    live = one_world(state, w)
    for c in range(len(given)):
        if given[c] >= 0:
            place(c, int(given[c]), fixed, live)
            live.image[given[c], fixed.container_int[ContainerInt.IMAGE, c]] = 1
    left = order[given[order] < 0]
    failed = _place_all(left, ceiling, fixed, live)
    reckon(fixed, live)
    return failed


class World:
    """A batch of worlds of one cluster, each with a future of its own.

    The worlds start with every node on and every container placed where a plain orchestrator would put it: the node
    with the most room, near its users. First placements are no moves and are counted nowhere as such.

    Raises:
        PlacementError: if a container fits nowhere, naming it and what stands in the way.
    """

    def __init__(
        self,
        fleet: FleetArrays,
        params: WorldParams,
        futures: Sequence[tuple[Workload, FaultSchedule]],
        *,
        seed: int,
        placement: dict[ContainerId, NodeId] | None = None,
    ) -> None:
        self.tape: Tape = tape_of(list(futures))
        self.frame: WorldFrame = frame_of(fleet, params, sample_ticks=self.tape.sample_ticks)
        self.state: WorldState = blank_state(fleet, [key(seed, "world", w) for w in range(len(futures))])
        self._history: list[Float[Array, "worlds containers"]] = []
        self._place(placement or {})

    def _place(self, placement: dict[ContainerId, NodeId]) -> None:
        fleet = self.frame.fleet
        given = np.full(fleet.containers, -1, np.int32)
        for container, node in placement.items():
            given[fleet.cluster.container_index[container]] = fleet.cluster.node_index[node]
        # Those with the fewest choices first, then the largest: first fit decreasing, as packers do.
        size = (fleet.request / fleet.capacity.max(axis=1)[:, None]).max(axis=0)
        bound = (
            fleet.container_int[[ContainerInt.ACCELERATOR_KIND, ContainerInt.PINNED, ContainerInt.DATA_SITE]] >= 0
        ).any(axis=0)
        order = np.lexsort((np.arange(fleet.containers), -size, ~bound)).astype(np.int32)
        live, fixed = Live(*self.state.arrays()), fixed_of(self.frame)
        for w in range(self.worlds):
            failed = _first_placement(order, given, 1.0, fixed, live, w)
            if failed >= 0:
                raise PlacementError(self._why_nowhere(failed))

    def _why_nowhere(self, container: int) -> str:
        fleet = self.frame.fleet
        cluster = fleet.cluster
        blank = Snapshot(cluster, {}, {node.id: NodeState.ON for node in cluster.nodes})
        alone = [Reason(int(r)) for r in reason_row(view_of(blank, fleet), container)]
        name = cluster.containers[container].id
        if Reason.NONE in alone:
            return (
                f"container {name!r} fits nowhere once the others are placed; "
                "add nodes, ask for less, or relax the rules of its group"
            )
        reasons = ", ".join(
            f"{alone.count(reason)} x {reason.name}" for reason in dict.fromkeys(sorted(alone, key=int))
        )
        return f"container {name!r} fits on no node, even on empty ones ({reasons}); change its request or its rules"

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return self.state.worlds

    @property
    def tick(self) -> int:
        """Ticks since the start."""
        return int(self.state.clock[0, K.TICK])

    @property
    def ticks_left(self) -> int:
        """Ticks until the workload ends."""
        return self.tape.ticks - self.tick

    def step(self, orders: Orders, *, threads: Executor | None = None) -> Float[Array, "worlds totals"]:
        """Carry out the orders, let a step's ticks pass, and give what happened (rows of `world.rows.Total`)."""
        before = self.state.total.copy()
        advance(self.frame, self.tape, self.state, orders, threads=threads)
        usage = self.state.container[:, C.USAGE_CPU]
        self._history.append(usage.copy())
        del self._history[:-_HISTORY_SAMPLES]
        return self.state.total - before

    def remember(self) -> tuple[WorldState, list[Float[Array, "worlds containers"]]]:
        """All that `recall` needs to come back to now, however the world goes on."""
        return self.state.copy(), list(self._history)

    def recall(self, state: WorldState, past: list[Float[Array, "worlds containers"]]) -> None:
        """Go back to what `remember` gave; that stays as it is, to be gone back to again."""
        self.state, self._history = state.copy(), list(past)

    def view(self, world: int = 0) -> ClusterView:
        """One world as a policy sees it: nothing that a real cluster could not show."""
        state, fleet = self.state, self.frame.fleet
        history = (
            np.stack([sample[world] for sample in self._history]) if self._history else np.zeros((0, fleet.containers))
        )
        return ClusterView(
            fleet=fleet,
            state=state.node_int[world, NI.STATE].copy(),
            placement=state.container_int[world, CI.PLACEMENT].copy(),
            target=state.container_int[world, CI.TARGET].copy(),
            usage=state.container[world, :RESOURCE_COUNT].copy(),
            image_present=state.image[world, :, : fleet.images].astype(bool),
            cpu_history=history,
            time_s=self.tape.start_s + self.tick * TICK_S,
        )
