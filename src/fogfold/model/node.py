"""A machine that runs containers: what it has, what it draws, and the states it can be in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from fogfold.errors import ModelError
from fogfold.model.identity import NodeId, SiteId, check_id
from fogfold.model.resources import Resources, check_number

__all__ = [
    "NODE_TRANSITIONS",
    "POWER_CURVE_POINTS",
    "Accelerator",
    "Architecture",
    "Node",
    "NodeState",
    "PowerCurve",
    "Tier",
]

POWER_CURVE_POINTS = 11


class Architecture(IntEnum):
    """Instruction set of a node's processor."""

    AMD64 = 0
    ARM64 = 1
    RISCV64 = 2


class Tier(StrEnum):
    """How far from the users a node stands."""

    EDGE = "edge"
    FOG = "fog"
    CLOUD = "cloud"


class NodeState(IntEnum):
    """The states of a node; `NODE_TRANSITIONS` says which may follow which."""

    ON = 0
    """Runs containers and may receive more."""
    DRAINING = 1
    """Runs containers, receives none, goes to sleep when the last has left."""
    GOING_TO_SLEEP = 2
    """Empty, shutting down."""
    ASLEEP = 3
    """Draws its sleep power, runs nothing."""
    WAKING = 4
    """Booting; may be promised containers, which start when it is on."""
    FAILED = 5
    """Draws nothing that counts, runs nothing, until it is repaired."""


NODE_TRANSITIONS: dict[NodeState, frozenset[NodeState]] = {
    NodeState.ON: frozenset({NodeState.DRAINING, NodeState.GOING_TO_SLEEP, NodeState.FAILED}),
    NodeState.DRAINING: frozenset({NodeState.ON, NodeState.GOING_TO_SLEEP, NodeState.FAILED}),
    NodeState.GOING_TO_SLEEP: frozenset({NodeState.ASLEEP, NodeState.FAILED}),
    NodeState.ASLEEP: frozenset({NodeState.WAKING}),
    NodeState.WAKING: frozenset({NodeState.ON, NodeState.FAILED}),
    NodeState.FAILED: frozenset({NodeState.WAKING}),
}
"""Which state may follow which: the one table. A node that failed comes back by booting."""


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """Power drawn at 0, 10, ..., 100 % CPU load, in W, with where the figures come from.

    Raises:
        ModelError: if there are not eleven finite points, one is negative, or no source is given.
    """

    name: str
    points_w: tuple[float, ...]
    source: str

    def __post_init__(self) -> None:
        if len(self.points_w) != POWER_CURVE_POINTS:
            raise ModelError(
                f"power curve {self.name!r} has {len(self.points_w)} points; "
                f"give {POWER_CURVE_POINTS}, in W at 0, 10, ..., 100 % CPU load"
            )
        for load, watts in zip(range(0, 101, 10), self.points_w, strict=True):
            check_number(f"power curve {self.name!r} at {load} %", watts)
        if self.points_w[0] > self.points_w[-1]:
            raise ModelError(
                f"power curve {self.name!r} falls from {self.points_w[0]:g} W idle to {self.points_w[-1]:g} W "
                "at full load; give the points in order of rising load"
            )
        if not self.source:
            raise ModelError(f"power curve {self.name!r} has no source; say where its figures come from")

    @property
    def idle_w(self) -> float:
        """Power at no load, in W."""
        return self.points_w[0]

    @property
    def peak_w(self) -> float:
        """Power at full load, in W."""
        return self.points_w[-1]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """Accelerators of one kind, and how many: what a node has or a container needs."""

    kind: str
    count: int

    def __post_init__(self) -> None:
        check_id("accelerator", self.kind)
        if self.count < 1:
            raise ModelError(f"accelerator {self.kind!r} has count {self.count}; leave it out where there is none")


@dataclass(frozen=True, slots=True)
class Node:
    """A machine that runs containers. All figures are of this one machine; none is optional without a reason."""

    id: NodeId
    site: SiteId
    capacity: Resources
    """What it offers: reference cores (cores x core_speed), bytes, bit/s up, IOPS."""
    network_down_bit_s: float
    """What its link takes in: memory and images of containers that move here arrive on it."""
    power_curve: PowerCurve
    sleep_w: float
    """Power while asleep, in W (0 is right only for a machine whose plug is cut)."""
    shutdown_s: float
    """Time from the order to sleep until it draws its sleep power."""
    wake_s: float
    """Time from the order to wake until it can run containers."""
    shutdown_energy_j: float
    """Energy drawn in all while it shuts down."""
    wake_energy_j: float
    """Energy drawn in all while it boots."""
    wake_failure_probability: float = 0.0
    """Share of wake orders after which it does not come up and needs repair."""
    architecture: Architecture = Architecture.AMD64
    core_speed: float = 1.0
    """Speed of one core against the reference core; a request takes service time / core_speed."""
    accelerator: Accelerator | None = None
    tier: Tier = Tier.EDGE
    mtbf_s: float = float("inf")
    """Mean time between failures; infinite where it is not to fail."""
    mttr_s: float = 3600.0
    """Mean time to repair."""
    never_sleep: bool = False
    """Whether it must stay on (control plane, storage, gateway)."""

    def __post_init__(self) -> None:
        check_id("node", self.id)
        where = f"node {self.id!r}: "
        check_number(where + "cpu_cores", self.capacity.cpu_cores, above=True)
        check_number(where + "memory_bytes", self.capacity.memory_bytes, above=True)
        check_number(where + "network_bit_s", self.capacity.network_bit_s, above=True)
        check_number(where + "disk_iops", self.capacity.disk_iops, above=True)
        check_number(where + "network_down_bit_s", self.network_down_bit_s, above=True)
        check_number(where + "sleep_w", self.sleep_w)
        if self.sleep_w > self.power_curve.idle_w:
            raise ModelError(
                f"{where}sleep_w is {self.sleep_w:g} W, above its idle power of {self.power_curve.idle_w:g} W; "
                "sleeping would cost energy"
            )
        check_number(where + "shutdown_s", self.shutdown_s, above=True)
        check_number(where + "wake_s", self.wake_s, above=True)
        check_number(where + "shutdown_energy_j", self.shutdown_energy_j)
        check_number(where + "wake_energy_j", self.wake_energy_j)
        check_number(where + "wake_failure_probability", self.wake_failure_probability, high=1.0)
        check_number(where + "core_speed", self.core_speed, above=True)
        if self.mtbf_s != float("inf"):
            check_number(where + "mtbf_s", self.mtbf_s, above=True)
        check_number(where + "mttr_s", self.mttr_s, above=True)
