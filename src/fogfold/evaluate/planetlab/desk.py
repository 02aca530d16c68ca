"""The working tables of one optimisation: the placement as it would be, while the real one stays untouched.

A VM that is tried on a host stands behind the host's own VMs in its list, so sums grow by one term in the order in
which CloudSim adds them up; taking the last one off puts the saved numbers back. Both are exact to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fogfold.compiled import Array, compiled
from fogfold.evaluate.planetlab.fleet import Fleet, State
from fogfold.evaluate.planetlab.overload import HISTORY
from fogfold.evaluate.planetlab.power import power_w, utilisation

__all__ = ["Desk", "add_up", "desk_of", "lay_out", "put", "take_last"]

HOST_DESK = np.dtype(
    [
        ("vms_on", np.int64),  # VMs in its row of `State.listed`, tried ones included
        ("given_mips", np.float64),  # sum of what they are given
        ("free_mips", np.float64),
        ("wanted_mips", np.float64),  # sum of their demand
        ("held_mb", np.float64),  # sum of their memory
        ("load", np.float64),  # utilisation at the last event, in [0, 1]
        ("power_now_w", np.float64),  # what the placement rule takes for its power before a placement
        ("over", np.bool_),  # overloaded
        ("no_source", np.bool_),  # not, or no longer, looked at as under-used
        ("no_target", np.bool_),  # may not receive in this round
    ],
    align=True,
)

SAVED = np.dtype(
    [("given_mips", np.float64), ("free_mips", np.float64), ("wanted_mips", np.float64), ("held_mb", np.float64)],
    align=True,
)


class Desk(NamedTuple):
    """Tables written anew at each optimisation."""

    host: Array
    """`HOST_DESK` (hosts,)."""
    history: Array
    """Demand over MIPS at the last events, newest first, float (hosts, 30)."""
    picked: Array
    """VMs taken off an overloaded host, bool (vms,)."""
    queue: Array
    """VMs to be placed, int (vms,)."""
    awake: Array
    """Hosts with load by id, then hosts that a tried VM woke, int (hosts,)."""
    asleep: Array
    """Hosts without load, by id, int (hosts,)."""
    sizes: Array
    """How many of `awake` and `asleep` are valid, int (2,)."""
    saved: Array
    """What each `put` overwrote, `SAVED` (vms,)."""
    saved_history: Array
    """The same of the history, float (vms, 30)."""
    rows: Array
    """Working rows of the overload rules, float (2, 30)."""


def desk_of(fleet: Fleet) -> Desk:
    """An empty desk for this fleet."""
    hosts, vms = len(fleet.host), len(fleet.vm)
    return Desk(
        host=np.zeros(hosts, HOST_DESK),
        history=np.zeros((hosts, HISTORY)),
        picked=np.zeros(vms, np.bool_),
        queue=np.zeros(vms, np.int64),
        awake=np.zeros(hosts, np.int64),
        asleep=np.zeros(hosts, np.int64),
        sizes=np.zeros(2, np.int64),
        saved=np.zeros(vms, SAVED),
        saved_history=np.zeros((vms, HISTORY)),
        rows=np.zeros((2, HISTORY)),
    )


@compiled
def lay_out(fleet: Fleet, state: State, desk: Desk, depth: int, step: int) -> None:
    """Copies the present placement onto the desk and sorts hosts into awake and asleep.

    Args:
        fleet: what stays.
        state: what changes.
        desk: written.
        depth: samples of history that the rule looks at.
        step: the scheduling step, newest column of the histories.
    """
    awake, asleep, picked, desks, hosts, kinds = desk.awake, desk.asleep, desk.picked, desk.host, state.host, fleet.host
    awakes = asleeps = 0
    for vm in range(len(picked)):
        picked[vm] = False
    for host in range(len(desks)):
        here, there = desks[host], hosts[host]
        load = utilisation(there.used_mips, kinds[host].mips)
        here.load = load
        here.vms_on = there.vms_on
        here.free_mips = there.free_mips
        here.power_now_w = power_w(fleet.host_power_w, host, load)
        if load > 0.0:
            awake[awakes] = host
            awakes += 1
        else:
            asleep[asleeps] = host
            asleeps += 1
            if fleet.counts_off_as_zero:
                here.power_now_w = 0.0
        add_up(fleet, state, desk, depth, step, host)
    desk.sizes[0], desk.sizes[1] = awakes, asleeps


@compiled
def add_up(fleet: Fleet, state: State, desk: Desk, depth: int, step: int, host: int) -> None:
    """Sums of one host over the VMs it has, those picked left out, in the order of its list."""
    listed, observed_mips, history, mips = state.listed, state.observed_mips, desk.history, fleet.host[host].mips
    picked, vms, kinds = desk.picked, state.vm, fleet.vm
    given = wanted = held = 0.0
    for age in range(depth):
        history[host, age] = 0.0
    for i in range(state.host[host].vms_on):
        vm = listed[host, i]
        if picked[vm]:
            continue
        given += vms[vm].allocated_mips
        wanted += vms[vm].demand_mips
        held += kinds[vm].ram_mb
        for age in range(depth):
            history[host, age] += observed_mips[vm, step - age] / mips
    here = desk.host[host]
    here.given_mips = given
    here.wanted_mips = wanted
    here.held_mb = held


@compiled
def put(fleet: Fleet, state: State, desk: Desk, depth: int, step: int, host: int, vm: int, place: int) -> None:
    """Tries a VM on a host that has room for it, and keeps what was there in row `place` of `saved`."""
    saved_history, history, observed_mips = desk.saved_history, desk.history, state.observed_mips
    here, saved, mips, demand = desk.host[host], desk.saved[place], fleet.host[host].mips, state.vm[vm].demand_mips
    for age in range(depth):
        saved_history[place, age] = history[host, age]
        history[host, age] += observed_mips[vm, step - age] / mips
    saved.given_mips = here.given_mips
    saved.free_mips = here.free_mips
    saved.wanted_mips = here.wanted_mips
    saved.held_mb = here.held_mb
    state.listed[host, here.vms_on] = vm
    here.vms_on += 1
    here.given_mips += demand
    here.free_mips -= demand
    here.wanted_mips += demand
    here.held_mb += fleet.vm[vm].ram_mb


@compiled
def take_last(desk: Desk, depth: int, host: int, place: int) -> None:
    """Undoes the `put` that was kept in row `place`; the last one of a host goes first."""
    saved_history, history = desk.saved_history, desk.history
    here, saved = desk.host[host], desk.saved[place]
    here.vms_on -= 1
    here.given_mips = saved.given_mips
    here.free_mips = saved.free_mips
    here.wanted_mips = saved.wanted_mips
    here.held_mb = saved.held_mb
    for age in range(depth):
        history[host, age] = saved_history[place, age]
