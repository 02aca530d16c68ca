"""Carries out the moves of one optimisation: start, 90 % on the source and 10 % on the target, arrival.

A move lasts the VM's memory over 62.5 MB/s: 9.808, 13.92 or 27.84 s, whatever else moves. With the correction
`waking` a move to a host that was off starts when that host is up. All end before the next optimisation.
"""

from __future__ import annotations

import numpy as np

from fogfold.compiled import Array, compiled
from fogfold.evaluate.planetlab.events import advance, unlist, update_all
from fogfold.evaluate.planetlab.fleet import Fleet, State
from fogfold.evaluate.planetlab.machines import MIGRATION_MB_S

__all__ = ["carry_out", "migration_s"]


@compiled
def migration_s(ram_mb: float) -> float:
    """Time that a VM of this memory takes to move, in s."""
    return ram_mb / MIGRATION_MB_S


@compiled
def carry_out(fleet: Fleet, state: State, vms: Array, targets: Array, moves: int) -> None:
    """Starts the moves, and plays on until the last has arrived.

    Args:
        fleet: what stays.
        state: at a scheduling event; afterwards at the last arrival.
        vms: VM of each move, int (at least `moves`,).
        targets: host of each move, int (at least `moves`,).
        moves: how many.
    """
    up_s = state.tally[0].clock_s + fleet.wake_s
    chosen = np.empty((2, moves), np.int64)
    early = late = 0
    for i in range(moves):
        if fleet.wake_s > 0.0 and state.host[targets[i]].used_mips == 0.0:
            chosen[1, late] = i
            late += 1
        else:
            chosen[0, early] = i
            early += 1
    for turn, many in enumerate((early, late)):
        if many > 0:
            if turn == 1:
                advance(fleet, state, up_s)
            _play(fleet, state, vms, targets, chosen[turn, :many])
    state.tally[0].migrations += moves


@compiled
def _play(fleet: Fleet, state: State, vms: Array, targets: Array, chosen: Array) -> None:
    """Starts the chosen moves now and plays until they have arrived, the smallest memory first."""
    for i in chosen:
        state.vm[vms[i]].moving = True
        _list_last(state, targets[i], vms[i])
    update_all(fleet, state)
    start_s = state.tally[0].clock_s
    arrived_mb = 0.0
    while True:
        ram_mb = 1e300
        for i in chosen:
            if arrived_mb < fleet.vm[vms[i]].ram_mb < ram_mb:
                ram_mb = fleet.vm[vms[i]].ram_mb
        if ram_mb == 1e300:
            return
        advance(fleet, state, start_s + migration_s(ram_mb))
        for i in chosen:
            if fleet.vm[vms[i]].ram_mb == ram_mb:
                vm = state.vm[vms[i]]
                unlist(state, vm.home, vms[i])
                unlist(state, targets[i], vms[i])
                _list_last(state, targets[i], vms[i])
                vm.home = targets[i]
                vm.moving = False
        update_all(fleet, state)
        arrived_mb = ram_mb


@compiled
def _list_last(state: State, host: int, vm: int) -> None:
    """Puts a VM at the end of a host's list."""
    state.listed[host, state.host[host].vms_on] = vm
    state.host[host].vms_on += 1
