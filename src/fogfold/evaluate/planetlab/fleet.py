"""The tables of one day: what stays the same (`Fleet`) and what moves (`State`), as records for compiled loops.

One record per host and per VM keeps what is read together side by side, and the tables few: each array that a
compiled function takes costs more to hand on than most of these functions do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.evaluate.planetlab.corrections import Corrections
from fogfold.evaluate.planetlab.machines import HOST_KINDS, HOSTS, VM_KINDS, WAKE_S, vm_kind_of
from fogfold.evaluate.planetlab.trace import DayTrace

__all__ = ["Fleet", "State", "fleet_of", "state_of"]

HOST = np.dtype(
    [
        ("mips", np.float64),  # of all cores
        ("core_mips", np.float64),  # of one core: no VM is given more
        ("ram_mb", np.float64),
    ],
    align=True,
)

VM = np.dtype(
    [
        ("mips", np.float64),  # what it was sold
        ("ram_mb", np.float64),
    ],
    align=True,
)

HOST_STATE = np.dtype(
    [
        ("vms_on", np.int64),  # VMs in its row of `State.listed`, those that move in counted
        ("used_mips", np.float64),  # CloudSim's utilisation after the last update
        ("before_mips", np.float64),  # the same before it
        ("wanted_mips", np.float64),  # demand, VMs that move in counted in full
        ("free_mips", np.float64),  # what sharing left over, 0 on a host that is short
        ("was_active", np.bool_),  # whether it had load at the event before the last
        ("on_since_s", np.float64),
    ],
    align=True,
)

VM_STATE = np.dtype(
    [
        ("home", np.int64),  # its host, -1 once it was removed
        ("moving", np.bool_),  # it is then listed on its home and on its targets
        ("demand_mips", np.float64),
        ("allocated_mips", np.float64),  # what its home gives it
    ],
    align=True,
)

SHARING = np.dtype([("mips", np.float64), ("role", np.int64)], align=True)

TALLY = np.dtype(
    [
        ("clock_s", np.float64),  # time of the last event
        ("events", np.int64),
        ("energy_j", np.float64),
        ("wake_j", np.float64),  # part of the energy that waking took (correction `waking`)
        ("demanded_mips_s", np.float64),
        ("allocated_mips_s", np.float64),
        ("lost_mips_s", np.float64),  # wanted and not got by VMs while they moved
        ("active_s", np.float64),  # host-seconds with some load
        ("short_s", np.float64),  # host-seconds, of the active ones, with less given than wanted
        ("short_intervals", np.int64),  # VM intervals with less given than wanted
        ("shortfall", np.float64),  # sum over them of the missing share
        ("before_shutdown_s", np.float64),  # sum over shutdowns of the time since the host was last switched on
        ("shutdowns", np.int64),
        ("wakes", np.int64),
        ("migrations", np.int64),
        ("removed", np.int64),
    ],
    align=True,
)


class Fleet(NamedTuple):
    """What does not change during a day."""

    host: Array
    """`HOST` (hosts,)."""
    host_power_w: Array
    """Watts at 0, 10, ..., 100 % of the MIPS, float (hosts, 11)."""
    vm: Array
    """`VM` (vms,)."""
    vm_share: Array
    """Demand over sold MIPS in [0, 1], float (vms, samples + 1); the last sample stands twice, as in CloudSim."""
    counts_off_as_zero: bool
    """Correction `wake`."""
    keeps_idle: bool
    """Correction `keep`."""
    checks_ram: bool
    """Correction `ram`."""
    wake_s: float
    """Time to wake a host, 0 without the correction `waking`."""


class State(NamedTuple):
    """What changes during a day; every array is written in place."""

    host: Array
    """`HOST_STATE` (hosts,)."""
    vm: Array
    """`VM_STATE` (vms,)."""
    listed: Array
    """VMs of each host in CloudSim's order, int (hosts, vms); sums run in this order, which decides ties."""
    observed_mips: Array
    """Demand at each scheduling event, float (vms, samples): a VM's history."""
    sharing: Array
    """Working row of sharing, `SHARING` (vms,)."""
    tally: Array
    """What adds up over the day, `TALLY` (1,)."""


def fleet_of(trace: DayTrace, corrections: Corrections, hosts: int = HOSTS) -> Fleet:
    """The fleet of a day: `hosts` hosts of alternating kinds, VMs of kinds by position.

    Raises:
        ModelError: if there is no host.
    """
    if hosts < 1:
        raise ModelError(f"the benchmark was given {hosts} hosts; it needs at least one")
    host_kinds = [HOST_KINDS[i % len(HOST_KINDS)] for i in range(hosts)]
    vm_kinds = [VM_KINDS[i] for i in vm_kind_of(len(trace.names))]
    share = trace.cpu_percent.astype(np.float64) / 100.0
    return Fleet(
        host=np.array([(kind.mips, kind.core_mips, kind.ram_mb) for kind in host_kinds], HOST),
        host_power_w=np.array([kind.power_w for kind in host_kinds], np.float64),
        vm=np.array([(kind.mips, kind.ram_mb) for kind in vm_kinds], VM),
        vm_share=np.ascontiguousarray(np.concatenate([share, share[:, -1:]], axis=1)),
        counts_off_as_zero=corrections.wake,
        keeps_idle=corrections.keep,
        checks_ram=corrections.ram,
        wake_s=WAKE_S if corrections.waking else 0.0,
    )


def state_of(fleet: Fleet) -> State:
    """The state at time 0, before any VM is placed; hosts count as on."""
    hosts, vms = len(fleet.host), len(fleet.vm)
    host, vm = np.zeros(hosts, HOST_STATE), np.zeros(vms, VM_STATE)
    host["free_mips"] = fleet.host["mips"]
    host["was_active"] = True
    vm["home"] = -1
    return State(
        host=host,
        vm=vm,
        listed=np.zeros((hosts, vms), np.int64),
        observed_mips=np.zeros((vms, fleet.vm_share.shape[1] - 1)),
        sharing=np.zeros(vms, SHARING),
        tally=np.zeros(1, TALLY),
    )
