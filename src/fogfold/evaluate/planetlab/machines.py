"""The machines of the benchmark: two kinds of host, four kinds of VM, as CloudSim 3.0.3's PlanetLab example has them.

Watts are SPECpower_ssj2008 results at 0, 10, ..., 100 % load, as CloudSim ships them (classes
`PowerModelSpecPowerHpProLiantMl110G4Xeon3040` and `...G5Xeon3075`). VMs get their kind by position: four equal
blocks in the order of the trace files. MIPS and MB are the benchmark's own units and stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from fogfold.compiled import Array
from fogfold.errors import ModelError

__all__ = [
    "BANDWIDTH_SLOTS",
    "HOSTS",
    "HOST_KINDS",
    "MIGRATION_MB_S",
    "VM_KINDS",
    "WAKE_S",
    "HostKind",
    "VmKind",
    "vm_kind_of",
]

HOSTS = 800
"""Hosts in the benchmark; host `i` is of kind `i mod 2`."""

BANDWIDTH_SLOTS = 10
"""VMs that start on one host at most: 1,000,000 kbit/s shared in nominal slices of 100,000 (start-up only)."""

MIGRATION_MB_S = 1_000_000 / (2 * 8000)
"""Rate of a migration, 62.5 MB/s: half of a host's 1,000,000 kbit/s; parallel moves do not share it."""

WAKE_S = 260.0
"""Time to wake a host, in s, at its full power (correction `waking`). Gandhi, Harchol-Balter, Raghunathan and Kozuch,
AutoScale, ACM TOCS 30(4), 2012, section 2.1: servers took about 260 s to set up and drew their busy power meanwhile."""


@dataclass(frozen=True, slots=True)
class HostKind:
    """One kind of host."""

    name: str
    cores: int
    core_mips: float
    """MIPS of one core: the most that a VM, which has one virtual core, can be given."""
    ram_mb: float
    power_w: tuple[float, ...]
    """Watts at 0, 10, ..., 100 % of all MIPS."""

    @property
    def mips(self) -> float:
        """MIPS of all cores."""
        return self.cores * self.core_mips


@dataclass(frozen=True, slots=True)
class VmKind:
    """One kind of VM: what it was sold."""

    name: str
    mips: float
    ram_mb: float


HOST_KINDS: tuple[HostKind, ...] = (
    HostKind(
        "HP ProLiant ML110 G4",
        cores=2,
        core_mips=1860.0,
        ram_mb=4096.0,
        power_w=(86.0, 89.4, 92.6, 96.0, 99.5, 102.0, 106.0, 108.0, 112.0, 114.0, 117.0),
    ),
    HostKind(
        "HP ProLiant ML110 G5",
        cores=2,
        core_mips=2660.0,
        ram_mb=4096.0,
        power_w=(93.7, 97.0, 101.0, 105.0, 110.0, 116.0, 121.0, 125.0, 129.0, 133.0, 135.0),
    ),
)

VM_KINDS: tuple[VmKind, ...] = (
    VmKind("high-CPU medium", mips=2500.0, ram_mb=870.0),
    VmKind("extra large", mips=2000.0, ram_mb=1740.0),
    VmKind("small", mips=1000.0, ram_mb=1740.0),
    VmKind("micro", mips=500.0, ram_mb=613.0),
)


def vm_kind_of(vms: int) -> Int[Array, " vms"]:
    """Index into `VM_KINDS` of each of so many VMs: blocks of `ceil(vms / 4)` in the order of the trace.

    Raises:
        ModelError: if there is no VM.
    """
    if vms < 1:
        raise ModelError(f"the benchmark was given {vms} VMs; it needs at least one")
    block = -(-vms // len(VM_KINDS))
    return np.arange(vms) // block
