"""A kind of machine: what one of them offers, draws and does when it sleeps, with a source for every figure.

The catalogue in `fogfold.cost.machines` holds real ones. A machine has no site and no id; `node` makes a node of it.
A figure without a source cannot be entered, and an assumption is marked as one: its source begins with "assumed".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fogfold.errors import ModelError, did_you_mean
from fogfold.model.identity import NodeId, SiteId, check_id
from fogfold.model.node import Accelerator, Architecture, Node, PowerCurve, Tier
from fogfold.model.resources import Resources, check_number

__all__ = ["FIGURES", "Machine", "MachineKind", "break_even_s", "node"]

FIGURES = (
    "cores",
    "core_speed",
    "memory_bytes",
    "network_up_bit_s",
    "network_down_bit_s",
    "disk_iops",
    "architecture",
    "accelerator",
    "power_curve",
    "sleep_w",
    "shutdown_s",
    "wake_s",
    "shutdown_energy_j",
    "wake_energy_j",
    "wake_failure_probability",
    "mtbf_s",
    "mttr_s",
)
"""The fields of a machine that need a source each."""


class MachineKind(StrEnum):
    """What sort of machine it is: it tells where one would stand."""

    SERVER = "server"
    EDGE_BOX = "edge-box"
    ARM_BOARD = "arm-board"
    GPU_BOX = "gpu-box"


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of machine, with where each figure comes from.

    Raises:
        ModelError: if a figure is out of range, has no source, or a source belongs to no figure.
    """

    name: str
    """Lower case with hyphens."""
    description: str
    kind: MachineKind
    cores: int
    """Physical cores."""
    core_speed: float
    """Throughput of one core, all of them busy, over that of the reference core (`fogfold.cost.catalogue.speed`)."""
    memory_bytes: float
    """All that is fitted; what the operating system keeps is not taken off."""
    network_up_bit_s: float
    network_down_bit_s: float
    disk_iops: float
    """Random operations of 4 KiB a second: of reads and writes the slower."""
    architecture: Architecture
    accelerator: Accelerator | None
    power_curve: PowerCurve
    """Over CPU load; what an accelerator draws beyond idle is in it only where the source says so."""
    sleep_w: float
    """Off, or so deep asleep that it has to boot, but ready to be woken over the network, its BMC or its plug."""
    shutdown_s: float
    wake_s: float
    """From the order to wake until it can run containers."""
    shutdown_energy_j: float
    wake_energy_j: float
    wake_failure_probability: float
    mtbf_s: float
    mttr_s: float
    sources: Mapping[str, str] = field(hash=False, repr=False)
    """Where each of `FIGURES` comes from."""

    def __post_init__(self) -> None:
        check_id("machine", self.name)
        if self.name != self.name.lower() or not set(self.name).isdisjoint("_.:/@"):
            raise ModelError(f"machine name {self.name!r} is not allowed; use lower-case letters, digits and hyphens")
        where = f"machine {self.name!r}: "
        for figure in FIGURES:
            if not self.sources.get(figure):
                raise ModelError(f"{where}{figure} has no source; say where it comes from, or what is assumed and why")
        for figure in self.sources:
            if figure not in FIGURES:
                raise ModelError(
                    f"{where}the source of {figure!r} belongs to no figure; {did_you_mean(figure, FIGURES)}"
                )
        if self.sources["power_curve"] != self.power_curve.source:
            raise ModelError(f"{where}the source of power_curve is not the curve's own; give it once, in the curve")
        if self.cores < 1:
            raise ModelError(f"{where}cores is {self.cores}; it must be at least 1")
        check_number(where + "mtbf_s", self.mtbf_s, above=True)
        # All other figures are checked by the node that is made of it: one rule, one place.
        node(self, NodeId("trial"), SiteId("trial"))

    @property
    def capacity(self) -> Resources:
        """What one machine offers: reference cores, bytes, bit/s up, IOPS."""
        return Resources(self.cores * self.core_speed, self.memory_bytes, self.network_up_bit_s, self.disk_iops)


def node(machine: Machine, node_id: NodeId, site: SiteId, tier: Tier = Tier.EDGE, *, never_sleep: bool = False) -> Node:
    """A node that is one machine of this kind; `dataclasses.replace` varies it further.

    Args:
        machine: what it is.
        node_id: its id, unique within the cluster.
        site: where it stands.
        tier: how far from the users.
        never_sleep: whether it must stay on.

    Raises:
        ModelError: if an id or a figure is not allowed.
    """
    return Node(
        id=node_id,
        site=site,
        capacity=machine.capacity,
        network_down_bit_s=machine.network_down_bit_s,
        power_curve=machine.power_curve,
        sleep_w=machine.sleep_w,
        shutdown_s=machine.shutdown_s,
        wake_s=machine.wake_s,
        shutdown_energy_j=machine.shutdown_energy_j,
        wake_energy_j=machine.wake_energy_j,
        wake_failure_probability=machine.wake_failure_probability,
        architecture=machine.architecture,
        core_speed=machine.core_speed,
        accelerator=machine.accelerator,
        tier=tier,
        mtbf_s=machine.mtbf_s,
        mttr_s=machine.mttr_s,
        never_sleep=never_sleep,
    )


def break_even_s(machine: Machine) -> float:
    """Shortest time, from the order to sleep until it is up again, for which sleeping takes no more than idling.

    With T that time, E both transitions' energy and t their duration: sleeping costs E + sleep_w (T - t), idling
    idle_w T, so T = (E - sleep_w t) / (idle_w - sleep_w); never less than t. Infinite where it saves no power to
    sleep. A failed wake is not counted.
    """
    duration_s = machine.shutdown_s + machine.wake_s
    saved_w = machine.power_curve.idle_w - machine.sleep_w
    if saved_w <= 0.0:
        return math.inf
    energy_j = machine.shutdown_energy_j + machine.wake_energy_j
    return max(duration_s, (energy_j - machine.sleep_w * duration_s) / saved_w)
