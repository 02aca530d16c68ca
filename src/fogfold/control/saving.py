"""What a plan really saves, beside what it was to save: its nodes' power before, and in the half hour after.

All nodes that a plan touched are looked at together, since what sleeps on one runs on another. Power is that of the
meter; where there is none it follows from the load by the node's curve, and a node that sleeps draws what its
description says. A node whose power nobody can tell is unknown, and with it the saving: nothing is taken as zero.

Following ends early where one of its sleeping nodes comes up, or another plan touches one of its nodes: what is saved
from then on is not this plan's. Load that changes by itself meanwhile is part of the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from fogfold.control.collect import Collected
from fogfold.control.deciding import Decision
from fogfold.control.outcome import ExecutionReport
from fogfold.control.readings import Readings
from fogfold.cost.power import curve_rows, node_power_w
from fogfold.model.identity import NodeId
from fogfold.model.node import Node, NodeState
from fogfold.model.resources import check_number
from fogfold.units import HOUR_S, MINUTE_S

__all__ = ["Draw", "SavingSettings", "Savings", "node_draw"]

_UP = (NodeState.ON, NodeState.DRAINING)
_OFF = (NodeState.ASLEEP, NodeState.GOING_TO_SLEEP)


@dataclass(frozen=True, slots=True)
class SavingSettings:
    """How long a plan is followed."""

    window_s: float = 30 * MINUTE_S
    """Long enough for a mean over bursts, short enough that the load is still that of the plan."""
    gap_s: float = 180.0
    """Longest time for which one look stands; what lies beyond is not known."""
    least_share: float = 0.5
    """Share of the time for which a node's power must be known, or it counts as unknown."""

    def __post_init__(self) -> None:
        for name in ("window_s", "gap_s"):
            check_number(name, float(getattr(self, name)), above=True)
        check_number("least_share", self.least_share, high=1.0, above=True)


class _End(StrEnum):
    WINDOW = "window over"
    WOKEN = "node woken"
    ANOTHER = "another plan"
    CLOSED = "service closed"


@dataclass(frozen=True, slots=True)
class Draw:
    """Power of a node at one look."""

    power_w: float
    is_measured: bool
    """Whether a meter said so."""


def node_draw(node: Node, readings: Readings, collected: Collected) -> Draw | None:
    """What a node draws, as far as anybody can tell; None where nobody can."""
    snapshot = collected.snapshot
    state = snapshot.states.get(node.id)
    reading = readings.nodes.get(node.id)
    if node.id in collected.blind:
        return None
    if reading is not None and reading.power_w is not None:
        return Draw(reading.power_w, is_measured=True)
    if state is NodeState.ASLEEP:
        return Draw(node.sleep_w, is_measured=False)
    if state not in _UP:
        # What boots, shuts down or has failed draws what no curve tells.
        return None
    if reading is not None and reading.usage is not None:
        cores = reading.usage[0]
    else:
        here = [container for container, where in snapshot.placement.items() if where == node.id]
        if any(container not in snapshot.usage for container in here):
            return None
        cores = sum(snapshot.usage[container].cpu_cores for container in here)
    load = min(1.0, cores / node.capacity.cpu_cores)
    power_w = node_power_w(np.array([load]), curve_rows([node.power_curve]))
    return Draw(float(power_w[0]), is_measured=False)


@dataclass
class _Sum:
    """Power of one node over time."""

    last: Draw | None = None
    known_s: float = 0.0
    energy_j: float = 0.0


@dataclass
class _Following:
    """A plan that is followed."""

    decision: int
    predicted_w: float
    before: Mapping[NodeId, Draw]
    asleep: frozenset[NodeId]
    nodes: tuple[NodeId, ...]
    sums: dict[NodeId, _Sum]
    is_measured: bool
    """Whether every figure so far came from a meter, those of sleeping nodes aside."""
    began_s: float | None = None
    last_s: float = 0.0
    seen_off: set[NodeId] = field(default_factory=set)


class Savings:
    """Follows the plans that were carried out.

    Args:
        settings: how long; defaults where None.
    """

    def __init__(self, settings: SavingSettings | None = None) -> None:
        self.ended: list[dict[str, Any]] = []
        """Outcomes that are to be written to the journal, and taken out once they are."""
        self._settings = settings or SavingSettings()
        self._followed: list[_Following] = []

    def begin(self, number: int, decision: Decision, report: ExecutionReport) -> None:
        """Follow a plan that was carried out, from the next look on; nothing of it done is nothing to follow.

        Args:
            number: of its decision.
            decision: what was decided, and the readings before.
            report: what was done.
        """
        done = [step for step in report.steps if step.has_left]
        if not (done or report.asleep or report.woken):
            return
        touched = [step.move.source for step in done] + [step.runs_on for step in done if step.runs_on is not None]
        touched += [sleep.node for sleep in decision.plan.sleep]
        touched += [*decision.plan.wake, *report.asleep, *report.woken]
        nodes = tuple(sorted(set(touched)))
        known = decision.known
        cluster = known.collected.snapshot.cluster
        before = {}
        for name in nodes:
            if name in cluster.node_index:
                draw = node_draw(cluster.nodes[cluster.node_index[name]], known.readings, known.collected)
                if draw is not None:
                    before[name] = draw
        self._end_those_of(set(nodes))
        states = known.collected.snapshot.states
        measured = all(draw.is_measured or states[name] in _OFF for name, draw in before.items())
        self._followed.append(
            _Following(
                number,
                decision.saving_w,
                before,
                frozenset(report.asleep),
                nodes,
                {name: _Sum() for name in nodes},
                measured,
            )
        )

    def look(self, readings: Readings, collected: Collected, at_s: float) -> None:
        """One look at the cluster.

        Args:
            readings: what was read.
            collected: what is known by that.
            at_s: when, on a clock that never goes back.
        """
        cluster, states = readings.cluster, collected.snapshot.states
        for one in tuple(self._followed):
            self._advance(one, at_s)
            for name in one.nodes:
                k = cluster.node_index.get(name)
                draw = None if k is None else node_draw(cluster.nodes[k], readings, collected)
                one.sums[name].last = draw
                if draw is not None and not draw.is_measured and states[name] not in _OFF:
                    one.is_measured = False
            one.seen_off |= {name for name in one.asleep if states.get(name) in _OFF}
            up = [name for name in one.asleep & one.seen_off if states.get(name) not in _OFF]
            if up:
                self._end(one, _End.WOKEN)
            elif one.began_s is not None and at_s - one.began_s >= self._settings.window_s:
                self._end(one, _End.WINDOW)

    def close(self) -> None:
        """End all: nobody looks any more."""
        for one in tuple(self._followed):
            self._end(one, _End.CLOSED)

    def _end_those_of(self, nodes: set[NodeId]) -> None:
        for one in tuple(self._followed):
            if nodes & set(one.nodes):
                self._end(one, _End.ANOTHER)

    def _advance(self, one: _Following, at_s: float) -> None:
        """Count what the last look said up to this one."""
        if one.began_s is None:
            one.began_s = one.last_s = at_s
            return
        end_s = min(at_s, one.began_s + self._settings.window_s)
        lasted_s = min(end_s - one.last_s, self._settings.gap_s)
        for found in one.sums.values():
            if found.last is not None and lasted_s > 0.0:
                found.known_s += lasted_s
                found.energy_j += lasted_s * found.last.power_w
        one.last_s = end_s

    def _end(self, one: _Following, why: _End) -> None:
        self._followed.remove(one)
        window_s = one.last_s - one.began_s if one.began_s is not None else 0.0
        if window_s <= 0.0:
            return
        least_s = self._settings.least_share * window_s
        unknown = [name for name in one.nodes if name not in one.before or one.sums[name].known_s < least_s]
        before_w = after_w = real_w = None
        if not unknown:
            before_w = sum(one.before[name].power_w for name in one.nodes)
            after_w = sum(found.energy_j / found.known_s for found in one.sums.values())
            real_w = before_w - after_w
        self.ended.append(
            {
                "decision": one.decision,
                "predicted_w": round(float(one.predicted_w), 3),
                "real_w": _rounded(real_w),
                "real_wh": _rounded(None if real_w is None else real_w * window_s / HOUR_S),
                "before_w": _rounded(before_w),
                "after_w": _rounded(after_w),
                "window_s": round(window_s, 3),
                "ended_by": why.value,
                "how": "measured" if one.is_measured else "modelled",
                "nodes": list(one.nodes),
                "asleep": sorted(one.asleep),
                "unknown": unknown,
            }
        )


def _rounded(value: float | None) -> float | None:
    # Adding nothing makes zero of minus zero.
    return None if value is None else round(value, 3) + 0.0
