"""The field's classic benchmark: CloudSim 3.0.3's PlanetLab consolidation, digit for digit.

Beloglazov and Buyya, Concurrency and Computation 24(13), 2012: 800 hosts, some thousand VMs driven by a day of CPU
use on PlanetLab, seven policies. It is a model of its own beside `fogfold.world`
(`docs/decisions/0002-planetlab-beside-the-world.md`), so that fogfold's figures can stand beside published ones,
and beside the same ones with four known faults put right (`Corrections`).
"""

from __future__ import annotations

from fogfold.evaluate.planetlab.bench import PlanetlabRow, Progress, run, run_day
from fogfold.evaluate.planetlab.bound import lower_bound_kwh
from fogfold.evaluate.planetlab.corrections import Corrections
from fogfold.evaluate.planetlab.day import DayFigures, play_day
from fogfold.evaluate.planetlab.rules import RULES, Rule, rule_named
from fogfold.evaluate.planetlab.seam import MovePolicy, Observation
from fogfold.evaluate.planetlab.trace import DayTrace, known_days, read_day, trace_folder

__all__ = [
    "RULES",
    "Corrections",
    "DayFigures",
    "DayTrace",
    "MovePolicy",
    "Observation",
    "PlanetlabRow",
    "Progress",
    "Rule",
    "known_days",
    "lower_bound_kwh",
    "play_day",
    "read_day",
    "rule_named",
    "run",
    "run_day",
    "trace_folder",
]
