"""What goes wrong on a day of chaos, how often, and what the service is held to meanwhile."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from fogfold.adapters.simulated.clocks import MONDAY_S
from fogfold.control.deciding import Limits
from fogfold.control.load_evidence import EvidenceSettings
from fogfold.control.power_rules import PowerRules
from fogfold.errors import ModelError, did_you_mean
from fogfold.model.resources import check_number
from fogfold.units import HOUR_S, MINUTE_S

__all__ = ["ChaosSettings", "Trouble", "lively", "troubles_of"]


class Trouble(StrEnum):
    """Kinds of trouble beside kills and moves that fail."""

    ANSWERS = "answers"
    """Answers of orchestrator, power and store are lost, half of them after the act."""
    NODES = "nodes"
    """Nodes die: the source of a move, its target, or one where nothing moves."""
    READINGS = "readings"
    """Readings of a node stop, lag or lie; or nobody can read the cluster."""
    STORE = "store"
    """The database is locked or gone for a minute."""
    PORTS = "ports"
    """Orchestrator, or power, does not answer for a minute."""
    CLOCK = "clock"
    """The wall clock is set back or forth by an hour."""
    PAUSES = "pauses"
    """An instance stands still for longer than its lease, in the middle of whatever it does, and goes on."""
    RIVAL = "rival"
    """Two instances run at once, all the time."""


def troubles_of(names: str) -> frozenset[Trouble]:
    """Kinds by their names with commas between; `all` are all, and `none` are none.

    Raises:
        ModelError: if one is not known.
    """
    out: set[Trouble] = set()
    known = [*(trouble.value for trouble in Trouble), "all", "none"]
    for name in (part.strip() for part in names.split(",") if part.strip()):
        if name not in known:
            raise ModelError(f"trouble {name!r} is not known; {did_you_mean(name, known)}")
        if name == "all":
            out |= set(Trouble)
        elif name != "none":
            out.add(Trouble(name))
    return frozenset(out)


def lively() -> Limits:
    """Limits under which much happens: no rates and rests, and nodes go to sleep and are woken within minutes.

    The rules of safety (room, evidence, spare, capped waves) are as always.
    """
    evidence = EvidenceSettings(quiet_s=MINUTE_S, busy_s=MINUTE_S)
    power = PowerRules(evidence, woken_rest_s=10 * MINUTE_S)
    return Limits(Limits.none().guard, power=power, week_began_s=MONDAY_S)


@dataclass(frozen=True)
class ChaosSettings:
    """One day of chaos."""

    kills: int = 200
    """How often the service is killed."""
    hours: float = 24.0
    """How long it all goes on, the calm at the end included."""
    calm_s: float = HOUR_S
    """How long nothing goes wrong any more at the end; in the second half of it nothing new is begun."""
    move_failure: float = 0.3
    """Share of moves that break, beside those that the world breaks."""
    troubles: frozenset[Trouble] = frozenset()
    lost_answers: float = 0.05
    """Share of answers that are lost."""
    node_losses_h: float = 1.5
    """Mean number of nodes that die in an hour, beside those of the scenario."""
    repair_s: float = 10 * MINUTE_S
    """Mean time until one is repaired."""
    bad_readings_h: float = 4.0
    outages_h: float = 1.0
    """Mean number of outages in an hour, of the store and of the other ports each."""
    outage_s: float = MINUTE_S
    clock_jumps_h: float = 0.5
    clock_jump_s: float = HOUR_S
    pauses_h: float = 3.0
    pause_s: float = 90.0
    """Half as long again as a lease."""
    restart_s: float = 10.0
    """Mean time from a death until the next instance begins."""
    limits: Limits = field(default_factory=lively)

    def __post_init__(self) -> None:
        if self.kills < 0:
            raise ModelError(f"kills is {self.kills}; give 0 or more")
        check_number("hours", self.hours, above=True)
        check_number("calm_s", self.calm_s, above=True)
        if not self.hours * HOUR_S > self.calm_s:
            raise ModelError(
                f"hours is {self.hours:g} and calm_s {self.calm_s:g}; the day must be longer than the calm at its end"
            )
        for name in ("move_failure", "lost_answers"):
            check_number(name, getattr(self, name), high=1.0)
        for name in ("node_losses_h", "bad_readings_h", "outages_h", "clock_jumps_h", "pauses_h", "restart_s"):
            check_number(name, getattr(self, name))
        for name in ("repair_s", "outage_s", "pause_s"):
            check_number(name, getattr(self, name), above=True)
        if not math.isfinite(self.clock_jump_s):
            raise ModelError(f"clock_jump_s is {self.clock_jump_s}; give a finite number of seconds")
