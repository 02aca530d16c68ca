"""How a host shares its MIPS among its VMs (CloudSim's `VmSchedulerTimeSharedOverSubscription`).

A VM on its way out gets 90 % of what it asks, and one on its way in takes 10 %. A host that cannot give all that
is asked scales everybody down and rounds down to whole MIPS.
"""

from __future__ import annotations

from math import floor

from fogfold.compiled import Array, compiled
from fogfold.evaluate.planetlab.fleet import Fleet, State

__all__ = ["ARRIVING", "LEAVING", "RESIDENT", "share_mips", "update_host"]

RESIDENT, LEAVING, ARRIVING = 0, 1, 2

OUT_SHARE, IN_SHARE = 0.9, 0.1
"""Share of its MIPS a VM gets on the source, and takes on the target, while it moves (Beloglazov and Buyya 2012:
10 % degradation)."""


@compiled
def share_mips(sharing: Array, vms: int, host_mips: float) -> float:
    """Replaces the MIPS that a host's VMs ask by what each is given; returns the MIPS left over.

    Args:
        sharing: MIPS asked, each at most one core, and role (`RESIDENT`, `LEAVING`, `ARRIVING`) of each VM, records
            (at least `vms`,); the MIPS are overwritten.
        vms: how many VMs the host has.
        host_mips: MIPS of all cores.
    """
    free = host_mips
    enough = True
    total = 0.0
    for i in range(vms):
        one = sharing[i]
        weight = one.mips * IN_SHARE if one.role == ARRIVING else one.mips
        total += weight
        if free >= weight:
            free -= weight
        else:
            enough = False
    scale = host_mips / total
    for i in range(vms):
        one = sharing[i]
        if enough:
            if one.role == LEAVING:
                one.mips *= OUT_SHARE
            elif one.role == ARRIVING:
                one.mips *= IN_SHARE
        elif one.role == LEAVING:
            one.mips = floor(one.mips * scale * OUT_SHARE)
        elif one.role == ARRIVING:
            one.mips = floor(one.mips * IN_SHARE * scale)
        else:
            one.mips = floor(one.mips * scale)
    return free if enough else 0.0


@compiled
def update_host(fleet: Fleet, state: State, host: int) -> None:
    """Shares the host's MIPS by the present demand and writes its utilisation.

    A VM on its way out counts as if it were not slowed (what it gets, over 0.9); one on its way in counts with the
    10 % it takes, but is wanted in full. That is why a host that receives a VM looks short in SLATAH.
    """
    here, vms_state, listed, sharing = state.host[host], state.vm, state.listed, state.sharing
    core_mips, vms = fleet.host[host].core_mips, here.vms_on
    for i in range(vms):
        vm = vms_state[listed[host, i]]
        sharing[i].mips = min(vm.demand_mips, core_mips)
        sharing[i].role = RESIDENT if not vm.moving else (LEAVING if vm.home == host else ARRIVING)
    here.free_mips = share_mips(sharing, vms, fleet.host[host].mips)
    used = wanted = 0.0
    for i in range(vms):
        vm = vms_state[listed[host, i]]
        given = sharing[i].mips
        if sharing[i].role != ARRIVING:
            vm.allocated_mips = given
        used += given / OUT_SHARE if sharing[i].role == LEAVING else given
        wanted += vm.demand_mips
    here.used_mips = used
    here.wanted_mips = wanted
