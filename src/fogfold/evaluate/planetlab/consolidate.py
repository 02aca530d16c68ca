"""One optimisation of the benchmark: relieve overloaded hosts, then empty the least used ones.

CloudSim's `PowerVmAllocationPolicyMigrationAbstract` with minimum-migration-time selection and placement by least
added power. Its oddities are kept, as they are in every published figure: a VM that was sent to a host which is
then emptied moves twice at once, and a host that could not be emptied receives nothing for the rest of the round.
Nothing moves here: the result is a list of moves.
"""

from __future__ import annotations

from fogfold.compiled import Array, compiled, compiled_inline
from fogfold.evaluate.planetlab.desk import Desk, add_up, lay_out, put, take_last
from fogfold.evaluate.planetlab.fleet import Fleet, State
from fogfold.evaluate.planetlab.overload import THR, history_depth, is_overloaded
from fogfold.evaluate.planetlab.power import power_w, utilisation

__all__ = ["choose_moves"]


@compiled
def choose_moves(
    fleet: Fleet, state: State, desk: Desk, rule: int, parameter: float, step: int, vms: Array, targets: Array
) -> int:
    """Writes the moves of one optimisation in order; returns how many.

    Args:
        fleet: what stays.
        state: the state at a scheduling event; only list entries past each host's own VMs are written.
        desk: working tables.
        rule: overload rule, see `overload`.
        parameter: its parameter.
        step: the scheduling step.
        vms: VM of each move, int (2 x vms,).
        targets: host of each move, int (2 x vms,).
    """
    depth = history_depth(rule, step)
    lay_out(fleet, state, desk, depth, step)
    queued = _relieve(fleet, state, desk, rule, parameter, depth, step)
    moves = _place_relieved(fleet, state, desk, rule, parameter, depth, step, vms, targets, queued)
    return _empty_least_used(fleet, state, desk, rule, parameter, depth, step, vms, targets, moves)


@compiled
def _relieve(fleet: Fleet, state: State, desk: Desk, rule: int, parameter: float, depth: int, step: int) -> int:
    """Picks VMs of smallest memory, first in the list on ties, off each overloaded host until it is not."""
    listed, picked, history, rows = state.listed, desk.picked, desk.history, desk.rows
    hosts, kinds, vm_kinds = desk.host, fleet.host, fleet.vm
    queued = 0
    for host in range(len(hosts)):
        here, mips = hosts[host], kinds[host].mips
        over = is_overloaded(rule, parameter, here.wanted_mips / mips, history[host, :depth], rows)
        here.over = over
        here.no_target = over
        while over:
            vm, least = -1, 1e300
            for i in range(here.vms_on):
                candidate = listed[host, i]
                if not picked[candidate] and vm_kinds[candidate].ram_mb < least:
                    vm, least = candidate, vm_kinds[candidate].ram_mb
            if vm < 0:
                break
            desk.queue[queued] = vm
            queued += 1
            picked[vm] = True
            add_up(fleet, state, desk, depth, step, host)
            over = is_overloaded(rule, parameter, here.wanted_mips / mips, history[host, :depth], rows)
    return queued


@compiled
def _place_relieved(
    fleet: Fleet,
    state: State,
    desk: Desk,
    rule: int,
    parameter: float,
    depth: int,
    step: int,
    vms: Array,
    targets: Array,
    queued: int,
) -> int:
    """Finds a host for each VM that was picked, largest demand first; one that finds none stays. Returns the moves."""
    queue, sizes = desk.queue, desk.sizes
    _sort_by_demand(state.vm, queue, queued)
    moves = 0
    for i in range(queued):
        vm = queue[i]
        host = _find_awake(fleet, state, desk, rule, parameter, depth, step, vm)
        host = _or_asleep(fleet, state, desk, vm, host)
        if host < 0:
            continue
        if desk.host[host].given_mips == 0.0 and desk.host[host].load == 0.0 and state.vm[vm].demand_mips > 0.0:
            desk.awake[sizes[0]] = host
            sizes[0] += 1
        put(fleet, state, desk, depth, step, host, vm, i)
        vms[moves], targets[moves] = vm, host
        moves += 1
    return moves


@compiled
def _sort_by_demand(vm: Array, queue: Array, queued: int) -> None:
    """Largest demand first; equal ones keep their order."""
    for i in range(1, queued):
        one = queue[i]
        demand = vm[one].demand_mips
        j = i - 1
        while j >= 0 and vm[queue[j]].demand_mips < demand:
            queue[j + 1] = queue[j]
            j -= 1
        queue[j + 1] = one


@compiled
def _refuses(
    rule: int,
    parameter: float,
    load: float,
    host_history: Array,
    vm_history_mips: Array,
    mips: float,
    rows: Array,
) -> bool:
    """Whether a host would be overloaded with one more VM.

    Args:
        rule: overload rule.
        parameter: its parameter.
        load: demand over MIPS, the VM included.
        host_history: of the host without it, newest first, float (samples,).
        vm_history_mips: of the VM, oldest first, float (samples,).
        mips: MIPS of the host.
        rows: working rows, float (2, 30).
    """
    if rule == THR:
        return load > parameter
    depth = len(host_history)
    history = rows[0, :depth]
    for age in range(depth):
        history[age] = host_history[age] + vm_history_mips[depth - 1 - age] / mips
    return is_overloaded(rule, parameter, load, history, rows)


@compiled
def _find_awake(
    fleet: Fleet, state: State, desk: Desk, rule: int, parameter: float, depth: int, step: int, vm: int
) -> int:
    """The host that is on to which the VM adds least power, smallest id on ties; -1 if none will have it.

    The overload test comes last, as it is dear and has no side effect.
    """
    awake, hosts, kinds, curves, history = desk.awake, desk.host, fleet.host, fleet.host_power_w, desk.history
    demand, ram_mb = state.vm[vm].demand_mips, _asked_mb(fleet, vm)
    vm_history_mips, rows, awakes = state.observed_mips[vm, step - depth + 1 : step + 1], desk.rows, desk.sizes[0]
    best, least = -1, 1e300
    for i in range(awakes):
        host = awake[i]
        here, kind = hosts[host], kinds[host]
        if here.no_target or here.free_mips < demand or kind.core_mips < demand:
            continue
        added = power_w(curves, host, utilisation(here.given_mips + demand, kind.mips)) - here.power_now_w
        if added > least or (added == least and host > best) or here.held_mb + ram_mb > kind.ram_mb:
            continue
        if here.given_mips != 0.0:
            load = (here.wanted_mips + demand) / kind.mips
            if _refuses(rule, parameter, load, history[host, :depth], vm_history_mips, kind.mips, rows):
                continue
        best, least = host, added
    return best


@compiled
def _or_asleep(fleet: Fleet, state: State, desk: Desk, vm: int, best: int) -> int:
    """The host `best`, or one that is off if the VM adds less power there, or if `best` is -1.

    Only the first with room of each kind is looked at: the others add the same watts and have larger ids. None is
    overloaded, as none has load.
    """
    asleep, hosts, kinds, curves = desk.asleep, desk.host, fleet.host, fleet.host_power_w
    demand, ram_mb = state.vm[vm].demand_mips, _asked_mb(fleet, vm)
    least = 1e300
    if best >= 0:
        load = utilisation(hosts[best].given_mips + demand, kinds[best].mips)
        least = power_w(curves, best, load) - hosts[best].power_now_w
    seen_mips, asleeps = -1.0, desk.sizes[1]
    for i in range(asleeps):
        host = asleep[i]
        here, kind = hosts[host], kinds[host]
        if kind.mips == seen_mips or here.given_mips != 0.0:
            continue
        if here.free_mips < demand or kind.core_mips < demand or here.held_mb + ram_mb > kind.ram_mb:
            continue
        added = power_w(curves, host, utilisation(demand, kind.mips)) - here.power_now_w
        if added < least or (added == least and host < best):
            best, least = host, added
        if seen_mips >= 0.0:
            break
        seen_mips = kind.mips
    return best


@compiled_inline
def _asked_mb(fleet: Fleet, vm: int) -> float:
    """Memory that a target must have free: none unless the correction `ram` is on."""
    return float(fleet.vm[vm].ram_mb) if fleet.checks_ram else -1e300


@compiled
def _empty_least_used(
    fleet: Fleet,
    state: State,
    desk: Desk,
    rule: int,
    parameter: float,
    depth: int,
    step: int,
    vms: Array,
    targets: Array,
    moves: int,
) -> int:
    """Empties hosts, least used first, where all their VMs find another host that is on; returns the moves so far.

    Targets of this step are not emptied themselves; those of the relief before are (CloudSim starts with an empty
    list of targets).
    """
    hosts, awake, awakes, queue = desk.host, desk.awake, desk.sizes[0], desk.queue
    for host in range(len(hosts)):
        closed = hosts[host].over or hosts[host].load == 0.0
        hosts[host].no_source = closed
        hosts[host].no_target = closed
    while True:
        source, least = -1, 1.0
        for i in range(awakes):
            host = awake[i]
            if not hosts[host].no_source and hosts[host].load < least:
                source, least = host, hosts[host].load
        if source < 0:
            return moves
        hosts[source].no_source = True
        hosts[source].no_target = True
        queued = hosts[source].vms_on
        for i in range(queued):
            queue[i] = state.listed[source, i]
        _sort_by_demand(state.vm, queue, queued)
        placed = 0
        for i in range(queued):
            host = _find_awake(fleet, state, desk, rule, parameter, depth, step, queue[i])
            if host < 0:
                break
            put(fleet, state, desk, depth, step, host, queue[i], i)
            vms[moves + i], targets[moves + i] = queue[i], host
            placed += 1
        if placed == queued:
            for i in range(placed):
                hosts[targets[moves + i]].no_source = True
            moves += placed
        else:
            for i in range(placed - 1, -1, -1):
                take_last(desk, depth, targets[moves + i], i)
