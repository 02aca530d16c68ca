"""Plays one day: start-up, then 287 scheduling events, each with demand, an optimisation and its moves.

The benchmark's own policies and a `MovePolicy` from outside are played by the same loop: they differ in who chooses
the moves. What comes back are the figures of the day, by CloudSim's formulas and not the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fogfold.compiled import Array
from fogfold.errors import PlacementError
from fogfold.evaluate.planetlab.consolidate import choose_moves
from fogfold.evaluate.planetlab.corrections import Corrections
from fogfold.evaluate.planetlab.desk import desk_of
from fogfold.evaluate.planetlab.events import advance, book_switching
from fogfold.evaluate.planetlab.fleet import Fleet, State, fleet_of, state_of
from fogfold.evaluate.planetlab.machines import HOSTS
from fogfold.evaluate.planetlab.moves import carry_out
from fogfold.evaluate.planetlab.rules import Rule
from fogfold.evaluate.planetlab.seam import MovePolicy, checked_moves, observe
from fogfold.evaluate.planetlab.start import START_S, place_all
from fogfold.evaluate.planetlab.trace import SAMPLE_S, DayTrace
from fogfold.units import J_PER_KWH

__all__ = ["DayFigures", "play_day"]

Choose = Callable[[int], tuple[Array, Array, int]]
"""Gives the moves of a scheduling step: their VMs, their targets, and how many entries count."""


@dataclass(frozen=True, slots=True)
class DayFigures:
    """What one day gives; shares are in [0, 1]."""

    energy_kwh: float
    """From the first scheduling event on; before it CloudSim counts nothing (without power management: from 0 s)."""
    wake_kwh: float
    """Part of it that waking hosts took (correction `waking`)."""
    migrations: int
    slatah: float
    """Time with less given than wanted over active time, both summed over all hosts."""
    pdm: float
    """MIPS-seconds lost by VMs that moved over MIPS-seconds wanted by all."""
    overall_sla: float
    """MIPS-seconds wanted and not given over MIPS-seconds wanted."""
    average_sla: float
    """Mean missing share over the VM intervals that miss any."""
    host_shutdowns: int
    """Changes of a host from on to off; a host that was never used counts once."""
    seconds_before_shutdown: float
    """Mean time that a host had been on when it went off."""
    host_wakes: int
    """Changes of a host from off to on."""
    removed_vms: int

    @property
    def slav(self) -> float:
        """SLATAH x PDM."""
        return self.slatah * self.pdm

    @property
    def esv(self) -> float:
        """Energy x SLAV, in kWh."""
        return self.energy_kwh * self.slav


def play_day(trace: DayTrace, policy: Rule | MovePolicy, corrections: Corrections, hosts: int = HOSTS) -> DayFigures:
    """The figures of one day under one policy.

    Raises:
        PlacementError: if a VM fits on no host at the start, or a `MovePolicy` returns a move that cannot be.
        ModelError: if there is no host.
    """
    fleet = fleet_of(trace, corrections, hosts)
    state = state_of(fleet)
    stuck = place_all(fleet, state, policy.migrates if isinstance(policy, Rule) else True)
    if stuck >= 0:
        raise PlacementError(
            f"VM {stuck} ({trace.names[stuck]}) of day {trace.day} fits on none of {hosts} hosts at the start; "
            "give more hosts"
        )
    choose = _rule_of(fleet, state, policy) if isinstance(policy, Rule) else _outside(fleet, state, policy)
    time_s = START_S
    for step in range(1, fleet.vm_share.shape[1] - 1):
        time_s += SAMPLE_S
        advance(fleet, state, time_s)
        state.observed_mips[:, step] = state.vm["demand_mips"]
        vms, targets, moves = choose(step)
        carry_out(fleet, state, vms, targets, moves)
    book_switching(fleet, state)
    if isinstance(policy, Rule) and policy.all_on:
        state.tally["energy_j"] = fleet.host_power_w[:, -1].sum() * time_s
    return _figures(state)


def _rule_of(fleet: Fleet, state: State, rule: Rule) -> Choose:
    """How one of the benchmark's policies chooses its moves."""
    most = 2 * len(state.vm)
    vms, targets = np.zeros(most, np.int64), np.zeros(most, np.int64)
    if not rule.migrates:
        return lambda _: (vms, targets, 0)
    desk = desk_of(fleet)

    def choose(step: int) -> tuple[Array, Array, int]:
        moves = choose_moves(fleet, state, desk, rule.overload, rule.parameter, step, vms, targets)
        return vms, targets, moves

    return choose


def _outside(fleet: Fleet, state: State, policy: MovePolicy) -> Choose:
    """How a policy from outside chooses: it is shown the state, and its answer is checked."""

    def choose(step: int) -> tuple[Array, Array, int]:
        seen = observe(fleet, state, step)
        vms, targets = checked_moves(policy.name, seen, policy.moves(seen))
        return vms, targets, len(vms)

    return choose


def _share(part: float, whole: float) -> float:
    """One sum over another; 0 where nothing was there to take part of."""
    return part / whole if whole > 0.0 else 0.0


def _figures(state: State) -> DayFigures:
    tally = {name: state.tally[name][0].item() for name in state.tally.dtype.names or ()}
    demanded = tally["demanded_mips_s"]
    return DayFigures(
        energy_kwh=tally["energy_j"] / J_PER_KWH,
        wake_kwh=tally["wake_j"] / J_PER_KWH,
        migrations=tally["migrations"],
        slatah=_share(tally["short_s"], tally["active_s"]),
        pdm=_share(tally["lost_mips_s"], demanded),
        overall_sla=_share(demanded - tally["allocated_mips_s"], demanded),
        average_sla=_share(tally["shortfall"], float(tally["short_intervals"])),
        host_shutdowns=tally["shutdowns"],
        seconds_before_shutdown=_share(tally["before_shutdown_s"], float(tally["shutdowns"])),
        host_wakes=tally["wakes"],
        removed_vms=tally["removed"],
    )
