"""How a simulator's process is called and answers: a day and a variant on its command line, one line of JSON back.

Each simulator is asked for the same day in several ways: first for the least (its best speed), then for what is nearer
to what fogfold plays (demand that changes, fogfold's ticks of 30 s, traffic or several applications), and then as its
own examples are set up, with the readings and reports that they make.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulators.workload import TICKS_A_STEP, Day, load_day


@dataclass(frozen=True)
class Variant:
    """One way to ask for the day."""

    name: str
    ticks_a_step: int = 1
    changing: bool = False
    """Whether demand changes with every tick."""
    meter_a_node: bool = False
    """LEAF: whether each node has a power meter of its own, so that its energy can be told; one reads all otherwise."""
    traffic: bool = False
    """LEAF: whether each container is an application, with traffic to and from its users over links."""
    applications: int = 1
    """ECLYPSE: applications whose services the containers are."""
    example: str = ""
    """Which of the simulator's own examples it is set up as; none where the day is asked for and no more."""
    steps: int | None = None
    """Steps to break off after, where a whole day would take minutes; speed is per node-step either way."""


VARIANTS = {
    "leaf": (
        Variant("steady demand"),
        Variant("demand by step", changing=True),
        Variant("demand by step, a meter a node", changing=True, meter_a_node=True),
        Variant("demand by 30 s", ticks_a_step=TICKS_A_STEP, changing=True),
        Variant("demand by 30 s, traffic", ticks_a_step=TICKS_A_STEP, changing=True, traffic=True),
        Variant("as its README", changing=True, example="readme", steps=48),
        Variant("as its placement example", changing=True, traffic=True, example="placement"),
        Variant("as its smart city example", changing=True, traffic=True, example="smart city", steps=4),
    ),
    "eclypse": (
        Variant("steady demand"),
        Variant("demand by step", changing=True),
        Variant("demand by 30 s", ticks_a_step=TICKS_A_STEP, changing=True),
        Variant("demand by step, 30 apps", changing=True, applications=30),
        Variant("demand by 30 s, 30 apps", ticks_a_step=TICKS_A_STEP, changing=True, applications=30, steps=24),
        Variant("demand by step, one app each", changing=True, applications=240, steps=24),
        Variant("as its local example", changing=True, applications=30, example="local", steps=48),
    ),
}


def say(
    simulator: str,
    play: Callable[[Day, Variant], dict[str, Any]],
    version: str,
    effects: Sequence[str],
    lacks: Sequence[str],
) -> None:
    """Play the day of the command line, check that it was that day, and print what it cost.

    Raises:
        SystemExit: if the simulator did not make the moves, the steps or the energy of the day.
    """
    path, name = sys.argv[1:]
    variant = next(variant for variant in VARIANTS[simulator] if variant.name == name)
    day = load_day(Path(path))
    day = day.first(day.steps if variant.steps is None else variant.steps)
    played = fastest(lambda: play(day, variant))
    played["process_cpu_s"] = time.process_time()
    ticks = day.steps * variant.ticks_a_step
    if played.pop("ticks") != ticks or played.pop("last_placement") != day.last_placement():
        raise SystemExit(f"did not play the {ticks} ticks of the day, or ended elsewhere than its moves lead to")
    expected_kwh = day.energy_kwh(variant.ticks_a_step, changing=variant.changing)
    if abs(played["energy_kwh"] - expected_kwh) > 1e-9 * expected_kwh:
        raise SystemExit(f"found {played['energy_kwh']} kWh where the day takes {expected_kwh}")
    print(json.dumps(answer(day, played, version, effects, lacks)))


def fastest(play: Callable[[], dict[str, Any]], most: int = 10, enough_s: float = 1.0) -> dict[str, Any]:
    """The play that took least CPU time, of at most so many and until enough time has gone into them.

    Other work on the machine can only slow one down, and a day takes some simulators but hundredths of a second.
    """
    plays = [play()]
    while len(plays) < most and sum(played["cpu_s"] for played in plays) < enough_s:
        plays.append(play())
    return min(plays, key=lambda played: played["cpu_s"])


def answer(
    day: Day, played: dict[str, Any], version: str, effects: Sequence[str], lacks: Sequence[str], worlds: int = 1
) -> dict[str, Any]:
    """What a process prints: all of a run but who it was."""
    outcome = {key: value for key, value in played.items() if key not in ("cpu_s", "process_cpu_s")}
    return {
        "version": version,
        "nodes": day.nodes,
        "containers": day.containers,
        "steps": day.steps,
        "worlds": worlds,
        "moves": sum(len(moves) for moves in day.moves),
        "cpu_s": played["cpu_s"],
        "process_cpu_s": played["process_cpu_s"],
        "effects": list(effects),
        "lacks": list(lacks),
        "outcome": outcome,
    }
