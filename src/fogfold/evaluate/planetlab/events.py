"""Moves time on to the next event: books the interval that ends, reads the demand, shares anew, removes the idle.

Nothing here decides anything. All figures of the day are sums over intervals between events.
"""

from __future__ import annotations

from fogfold.compiled import compiled
from fogfold.evaluate.planetlab.fleet import Fleet, State
from fogfold.evaluate.planetlab.power import interval_energy_j, power_w, utilisation
from fogfold.evaluate.planetlab.sharing import update_host
from fogfold.evaluate.planetlab.trace import SAMPLE_S

__all__ = ["advance", "book_switching", "unlist", "update_all"]


@compiled
def advance(fleet: Fleet, state: State, time_s: float) -> None:
    """Plays the interval up to `time_s`, in s, and updates every host there.

    The first event books nothing: CloudSim has no state to compare with before it.
    """
    tally = state.tally[0]
    seconds = time_s - tally.clock_s
    if tally.events > 0:
        _book_service(state, seconds)
        book_switching(fleet, state)
    tally.clock_s = time_s
    tally.events += 1
    _read_demand(fleet, state, time_s)
    hosts, kinds, curves = state.host, fleet.host, fleet.host_power_w
    for host in range(len(hosts)):
        hosts[host].before_mips = hosts[host].used_mips
    update_all(fleet, state)
    for host in range(len(hosts)):
        mips = kinds[host].mips
        before = utilisation(hosts[host].before_mips, mips)
        if before > 0.0:
            after = utilisation(hosts[host].used_mips, mips)
            tally.energy_j += interval_energy_j(curves, host, before, after, seconds)


@compiled
def update_all(fleet: Fleet, state: State) -> None:
    """Shares anew on every host at the same instant, after VMs changed place, and removes the idle."""
    hosts = state.host
    for host in range(len(hosts)):
        # Most hosts are empty, and a call costs more than this.
        if hosts[host].vms_on > 0:
            update_host(fleet, state, host)
        else:
            hosts[host].used_mips = 0.0
            hosts[host].wanted_mips = 0.0
            hosts[host].free_mips = fleet.host[host].mips
    _remove_idle(fleet, state)


@compiled
def _read_demand(fleet: Fleet, state: State, time_s: float) -> None:
    """Demand of all VMs now: straight between the two samples around the instant."""
    sample = int(time_s / SAMPLE_S)
    exact = time_s % SAMPLE_S == 0.0
    offset = time_s - sample * SAMPLE_S
    vms, kinds, shares = state.vm, fleet.vm, fleet.vm_share
    for vm in range(len(vms)):
        if vms[vm].home < 0:
            continue
        share = shares[vm, sample]
        if not exact:
            share = share + (shares[vm, sample + 1] - share) / SAMPLE_S * offset
        vms[vm].demand_mips = share * kinds[vm].mips


@compiled
def _book_service(state: State, seconds: float) -> None:
    """What VMs wanted and got, and how long hosts were active and short, since the last event."""
    tally, vms, hosts = state.tally[0], state.vm, state.host
    demanded = allocated = 0.0
    for i in range(len(vms)):
        vm = vms[i]
        if vm.home < 0:
            continue
        demanded += vm.demand_mips * seconds
        allocated += vm.allocated_mips * seconds
        missing = vm.demand_mips - vm.allocated_mips
        if missing > 0.0:
            tally.short_intervals += 1
            tally.shortfall += missing / vm.demand_mips
            if vm.moving:
                tally.lost_mips_s += missing * seconds
    tally.demanded_mips_s += demanded
    tally.allocated_mips_s += allocated
    for i in range(len(hosts)):
        host = hosts[i]
        if host.used_mips > 0.0:
            tally.active_s += seconds
            if host.used_mips < host.wanted_mips:
                tally.short_s += seconds


@compiled
def book_switching(fleet: Fleet, state: State) -> None:
    """Hosts that went off or on at the last event, as it was left. All count as on before the first."""
    tally, hosts = state.tally[0], state.host
    for i in range(len(hosts)):
        host = hosts[i]
        active = host.used_mips > 0.0
        if host.was_active and not active:
            tally.shutdowns += 1
            tally.before_shutdown_s += tally.clock_s - host.on_since_s
        elif active and not host.was_active:
            host.on_since_s = tally.clock_s
            tally.wakes += 1
            joules = power_w(fleet.host_power_w, i, 1.0) * fleet.wake_s
            tally.wake_j += joules
            tally.energy_j += joules
        host.was_active = active


@compiled
def _remove_idle(fleet: Fleet, state: State) -> None:
    """Takes away for good every VM that wants nothing now, unless it moves (correction `keep`: none)."""
    if fleet.keeps_idle:
        return
    vms = state.vm
    for i in range(len(vms)):
        vm = vms[i]
        if vm.home >= 0 and vm.demand_mips == 0.0 and not vm.moving:
            unlist(state, vm.home, i)
            vm.home = -1
            state.tally[0].removed += 1


@compiled
def unlist(state: State, host: int, vm: int) -> None:
    """Takes a VM off a host's list; the others keep their order."""
    listed, last = state.listed, state.host[host].vms_on - 1
    found = False
    for i in range(last):
        if listed[host, i] == vm:
            found = True
        if found:
            listed[host, i] = listed[host, i + 1]
    state.host[host].vms_on = last
