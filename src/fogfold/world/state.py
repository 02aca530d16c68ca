"""What a world is made of: figures that do not change (`WorldFrame`), futures (`Tape`), and its state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int, UInt8

from fogfold.compiled import Array
from fogfold.cost.latency import round_trip_ms
from fogfold.encoding.arrays import FleetArrays
from fogfold.errors import ModelError
from fogfold.units import BITS_PER_BYTE, TICK_S
from fogfold.world.faults import FaultSchedule
from fogfold.world.params import WorldParams
from fogfold.world.rows import (
    CI,
    NI,
    C,
    K,
    N,
    P,
    S,
    Total,
)
from fogfold.world.workload.base import Workload

__all__ = ["Tape", "WorldFrame", "WorldState", "blank_state", "frame_of", "tape_of"]


@dataclass(frozen=True)
class WorldFrame:
    """What does not change while a world runs: the fleet, the calm network and the constants."""

    fleet: FleetArrays
    params: WorldParams
    round_trip_ms: Float[Array, "sites sites"]
    """Between sites, on a calm network."""
    constants: Float[Array, " constants"]
    request: Float[Array, "containers 4"]
    """Requests, a row a container: four neighbours in memory are added at once."""


@dataclass(frozen=True)
class Tape:
    """The futures of a batch of worlds, all that does not depend on what is done: demand, surges and faults."""

    level: Float32[Array, "worlds samples containers"]
    memory_level: Float32[Array, "worlds memory_samples containers"]
    """Without samples where memory follows the CPU level; the two below likewise."""
    network_level: Float32[Array, "worlds network_samples containers"]
    disk_level: Float32[Array, "worlds disk_samples containers"]
    surge: Float32[Array, "worlds ticks sites"]
    fault: Int[Array, "worlds 4 faults"]
    """Tick, kind, target and length of each fault in order; padded with a tick that never comes."""
    fault_magnitude: Float[Array, "worlds faults"]
    sample_ticks: int
    ticks: int
    start_s: float


@dataclass
class WorldState:
    """The state of a batch of worlds, rows as in `world.rows`. Copy it, and you have another future to try."""

    node: Float[Array, "worlds node_rows nodes"]
    node_int: Int[Array, "worlds node_int_rows nodes"]
    container: Float[Array, "worlds container_rows containers"]
    container_int: Int[Array, "worlds container_int_rows containers"]
    image: UInt8[Array, "worlds nodes images"]
    """1 where the node has the image."""
    site: Float[Array, "worlds site_rows sites"]
    clock: Int[Array, "worlds counters"]
    total: Float[Array, "worlds totals"]
    used: Float[Array, "worlds nodes 4"]
    """Demand on each node in the last tick."""

    @property
    def worlds(self) -> int:
        """Number of worlds in the batch."""
        return int(self.node.shape[0])

    def copy(self) -> WorldState:
        """A state that shares nothing with this one."""
        return WorldState(*(array.copy() for array in self.arrays()))

    def arrays(self) -> tuple[Array, ...]:
        """All arrays, in the order of the fields."""
        return (
            self.node,
            self.node_int,
            self.container,
            self.container_int,
            self.image,
            self.site,
            self.clock,
            self.total,
            self.used,
        )

    def fingerprint(self) -> bytes:
        """All bytes of the state: equal for two states exactly where they are the same."""
        return b"".join(array.tobytes() for array in self.arrays())


def frame_of(fleet: FleetArrays, params: WorldParams, *, sample_ticks: int = 10) -> WorldFrame:
    """The frame of a world.

    Args:
        fleet: the cluster's arrays.
        params: the constants.
        sample_ticks: ticks between two samples of the workload.
    """
    constants = np.zeros(len(P))
    for row, value in {
        P.CEILING: params.ceiling,
        P.LOAD_BOUND: params.load_bound,
        P.LINK_SHARE: params.migration_link_share,
        P.LINK_FLOOR: params.migration_link_floor,
        P.RATE_CAP_BYTE_S: params.migration_cap_bit_s / BITS_PER_BYTE,
        P.STOP_BYTES: params.precopy_stop_bytes,
        P.TRAFFIC_LIMIT: params.precopy_traffic_limit,
        P.RESTORE_S: params.restore_s,
        P.OVERHEAD: params.migration_overhead,
        P.FAILURE_BASE: params.migration_failure_base,
        P.FAILURE_PER_JITTER: params.migration_failure_per_jitter,
        P.FAILURE_PER_LOSS: params.migration_failure_per_loss,
        P.ATTEMPTS: params.migration_attempts,
        P.RETRY_S: params.migration_retry_s,
        P.TIMEOUT_S: params.migration_timeout_s,
        P.RESCHEDULE_S: params.reschedule_s,
        P.IDLE_MEMORY: params.idle_memory_share,
        P.KEEP_IMAGES: float(params.keep_images),
        P.SAMPLE_TICKS: sample_ticks,
    }.items():
        constants[row] = value
    trip = round_trip_ms(
        fleet.site_km,
        path_stretch=params.path_stretch,
        fibre_km_per_ms=params.fibre_km_per_ms,
        hop_ms=params.hop_ms,
    )
    return WorldFrame(fleet, params, np.ascontiguousarray(trip), constants, np.ascontiguousarray(fleet.request.T))


def tape_of(futures: list[tuple[Workload, FaultSchedule]]) -> Tape:
    """The futures of a batch of worlds, one pair of workload and faults each.

    Raises:
        ModelError: if there is none, or they differ in containers, sites, length or sampling.
    """
    if not futures:
        raise ModelError("a batch of worlds needs at least one future")
    first = futures[0][0]
    for workload, _ in futures:
        same = (
            workload.level.shape == first.level.shape
            and workload.surge.shape == first.surge.shape
            and workload.sample_s == first.sample_s
            and workload.start_s == first.start_s
        )
        if not same:
            raise ModelError(
                "the futures of a batch differ in containers, sites, length or sampling; batch like with like"
            )
    own = {first.memory_level is None, first.network_level is None, first.disk_level is None}
    if len(own) > 1:
        raise ModelError("a workload gives some of memory, network and disk levels but not all; give all three or none")
    longest = max(1, *(len(faults) for _, faults in futures))
    fault = np.full((len(futures), 4, longest), np.iinfo(np.int32).max, np.int32)
    magnitude = np.ones((len(futures), longest))
    for world, (_, faults) in enumerate(futures):
        for row, column in enumerate((faults.tick, faults.kind, faults.target, faults.ticks)):
            fault[world, row, : len(faults)] = column
        magnitude[world, : len(faults)] = faults.magnitude

    def stacked(name: str) -> Float32[Array, "worlds samples containers"]:
        levels = [getattr(workload, name) for workload, _ in futures]
        if any((level is None) != (levels[0] is None) for level in levels):
            raise ModelError(f"some futures of a batch give {name} and some do not; batch like with like")
        if levels[0] is None:
            return np.zeros((len(futures), 0, first.containers), np.float32)
        return np.stack(levels)

    return Tape(
        level=stacked("level"),
        memory_level=stacked("memory_level"),
        network_level=stacked("network_level"),
        disk_level=stacked("disk_level"),
        surge=np.stack([workload.surge for workload, _ in futures]),
        fault=fault,
        fault_magnitude=magnitude,
        sample_ticks=round(first.sample_s / TICK_S),
        ticks=min(workload.ticks for workload, _ in futures),
        start_s=first.start_s,
    )


def blank_state(fleet: FleetArrays, keys: list[int]) -> WorldState:
    """States in which every node is on and no container has been placed, one a key.

    Args:
        fleet: the cluster's arrays.
        keys: for each world, the key of its draws that depend on what is done.
    """
    worlds = len(keys)
    state = WorldState(
        node=np.zeros((worlds, len(N), fleet.nodes)),
        node_int=np.zeros((worlds, len(NI), fleet.nodes), np.int32),
        container=np.zeros((worlds, len(C), fleet.containers)),
        container_int=np.zeros((worlds, len(CI), fleet.containers), np.int32),
        image=np.zeros((worlds, fleet.nodes, max(1, fleet.images)), np.uint8),
        site=np.zeros((worlds, len(S), fleet.sites)),
        clock=np.zeros((worlds, len(K)), np.int64),
        total=np.zeros((worlds, len(Total))),
        used=np.zeros((worlds, fleet.nodes, 4)),
    )
    state.node[:, N.SLACK] = 1.0
    state.node[:, N.SERVED] = 1.0
    state.container_int[:, CI.PLACEMENT] = -1
    state.container_int[:, CI.TARGET] = -1
    state.container_int[:, CI.TROUBLE] = 1
    state.container[:, : len(fleet.request)] = fleet.request
    state.site[:, S.FACTOR] = 1.0
    state.clock[:, K.KEY] = keys
    state.clock[:, K.UNPLACED] = fleet.containers
    state.clock[:, K.TROUBLED] = fleet.containers
    return state
