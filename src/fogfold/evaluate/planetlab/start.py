"""Where VMs start: first fit, or spread by least added power, at their sold MIPS, memory and bandwidth.

Start-up is the same with all corrections: every host counts as idle, so the rule that adds least power spreads VMs
over nearly empty hosts, and the first optimisation moves hundreds of them. The overload test of the rule never
speaks here: it sees only the new VM, which takes less than half of any host.
"""

from __future__ import annotations

from fogfold.compiled import compiled
from fogfold.evaluate.planetlab.fleet import Fleet, State
from fogfold.evaluate.planetlab.machines import BANDWIDTH_SLOTS
from fogfold.evaluate.planetlab.power import power_w, utilisation

__all__ = ["START_S", "place_all"]

START_S = 0.1
"""When the VMs' work starts; scheduling events follow every 300 s, at 300.1 s first."""


@compiled
def place_all(fleet: Fleet, state: State, spread: bool) -> int:
    """Places every VM in order; returns the first that fits nowhere, or -1.

    Args:
        fleet: what stays.
        state: what changes; no VM is placed yet.
        spread: least added power (policies that migrate) instead of first fit (those that do not).
    """
    for i in range(len(fleet.vm)):
        mips, ram_mb, best, least = fleet.vm[i].mips, fleet.vm[i].ram_mb, -1, 1e300
        for j in range(len(fleet.host)):
            kind, host = fleet.host[j], state.host[j]
            if kind.core_mips < mips or host.free_mips < mips or host.vms_on >= BANDWIDTH_SLOTS:
                continue
            left_mb = kind.ram_mb
            for k in range(host.vms_on):
                left_mb -= fleet.vm[state.listed[j, k]].ram_mb
            if left_mb < ram_mb:
                continue
            if not spread:
                best = j
                break
            load = utilisation(host.used_mips + mips, kind.mips)
            added = power_w(fleet.host_power_w, j, load) - fleet.host_power_w[j, 0]
            if added < least:
                best, least = j, added
        if best < 0:
            return i
        state.vm[i].home = best
        host = state.host[best]
        state.listed[best, host.vms_on] = i
        host.vms_on += 1
        host.free_mips -= mips
        host.used_mips += mips
    # Nothing has run yet: CloudSim's utilisation is 0 until the first event, which makes the first interval free.
    for j in range(len(fleet.host)):
        state.host[j].used_mips = 0.0
    return -1
