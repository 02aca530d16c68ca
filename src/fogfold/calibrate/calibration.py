"""The whole of a calibration: records sifted, the latest held back, parameters fitted, judged, and written back.

What is adopted is what predicted the held-back records better than the old value, parameter by parameter. The same
records then tell the error of the calibrated world, so that figure is a little kind: it has chosen between two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from fogfold.calibrate.beliefs import Beliefs, Described, beliefs_of, described
from fogfold.calibrate.chances import brier, log_loss
from fogfold.calibrate.changes import Change, calibrated_scenario, scenario_text
from fogfold.calibrate.copies import Copies, copies_of, predicted_durations_s, read_copies, told_rates
from fogfold.calibrate.dirtying import dirty_estimates, judge_copies
from fogfold.calibrate.drawing import boot_estimates, curve_estimates, predicted_boot_s, predicted_w
from fogfold.calibrate.estimate import CalibrationSettings, Estimate, Verdict, with_value
from fogfold.calibrate.failing import attempts_of, failure_estimate
from fogfold.calibrate.links import bandwidth_estimates
from fogfold.calibrate.records import Observations, Refused, beyond_s
from fogfold.calibrate.sift import sift
from fogfold.compiled import Array
from fogfold.units import BITS_PER_BYTE, MBIT
from fogfold.world.scenario.build import BuiltScenario
from fogfold.world.scenario.schema import Scenario

__all__ = ["Calibration", "Prediction", "calibrate", "held_back"]


@dataclass(frozen=True)
class Prediction:
    """How well held-back records of one quantity are predicted, before and after."""

    quantity: str
    unit: str
    held_back: int
    before: Mapping[str, float]
    """Error by its measure: mae and mape, or log_loss and brier."""
    after: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "quantity": self.quantity,
            "unit": self.unit,
            "held_back": self.held_back,
            "before": dict(self.before),
            "after": dict(self.after),
        }


@dataclass(frozen=True)
class Calibration:
    """What came of it."""

    scenario: Scenario
    """The calibrated one."""
    changes: tuple[Change, ...]
    estimates: tuple[Estimate, ...]
    predictions: tuple[Prediction, ...]
    pairs: tuple[Mapping[str, Any], ...]
    """Rates between sites: how many moves, and the median seen, believed and calibrated, in Mbit/s."""
    refused: Refused
    records: Mapping[str, int]
    unused: Mapping[str, int]
    """Moves that could not tell of bandwidth, by the reason."""

    def as_json(self) -> dict[str, Any]:
        """As plain values, keys as documented."""
        return {
            "scenario": self.scenario.name,
            "records": dict(self.records),
            "refused": self.refused.as_json(),
            "unused": dict(self.unused),
            "parameters": [one.as_json() for one in self.estimates],
            "predictions": [one.as_json() for one in self.predictions],
            "pairs": [dict(pair) for pair in self.pairs],
            "changes": list(self.changes),
        }

    def text(self) -> str:
        """The calibrated scenario as a file."""
        return scenario_text(self.scenario, list(self.changes))


def held_back(at_s: Float[Array, " rows"], share: float) -> Bool[Array, " rows"]:
    """Which rows, in order of time, are the latest share; rows of one time stay together."""
    if not len(at_s):
        return np.zeros(0, bool)
    first = min(len(at_s) - 1, round(len(at_s) * (1.0 - share)))
    return np.asarray(at_s >= at_s[first], dtype=bool)


def calibrate(
    built: BuiltScenario, observations: Observations, settings: CalibrationSettings | None = None
) -> Calibration:
    """Fit a scenario's parameters to records of the cluster that it describes.

    Args:
        built: the scenario under the seed with which it describes the cluster.
        observations: what was measured.
        settings: how much a fit needs, and how much is held back.

    Raises:
        ModelError: if most of the records cannot be.
    """
    settings = settings or CalibrationSettings()
    cluster = described(built)
    before = beliefs = beliefs_of(cluster)
    usable, refused = sift(observations, cluster)
    estimates: list[Estimate] = []
    predictions: list[Prediction] = []
    pairs: list[Mapping[str, Any]] = []
    unused: dict[str, int] = {}
    readings, moves, boots = usable.readings, usable.moves, usable.boots
    if readings is not None:
        held = held_back(readings.time_s, settings.hold_back)
        estimates += curve_estimates(cluster, before, readings, held, settings)
    if boots is not None:
        held_boots = held_back(boots.ordered_s, settings.hold_back)
        estimates += boot_estimates(cluster, before, boots, held_boots, settings)
    if moves is not None:
        held_moves = held_back(moves.at_s, settings.hold_back)
        copies = copies_of(cluster, moves, held_moves)
        unused = {"too_short": copies.too_short, "by_restart": copies.by_restart, "untimed": copies.untimed}
        links = bandwidth_estimates(cluster, before, copies, settings)
        dirty = dirty_estimates(cluster, before, copies, settings)
        links, dirty, _ = judge_copies(cluster, before, copies, links, dirty, settings)
        estimates += [*links, *dirty, failure_estimate(cluster, before, moves, held_moves, settings)]
    beliefs = with_value(before, [one for one in estimates if one.verdict is Verdict.ADOPTED])
    if readings is not None:
        judge = readings.take(held)
        predictions.append(
            _errors("power", "W", judge.power_w, [predicted_w(cluster, b, judge) for b in (before, beliefs)])
        )
    if boots is not None:
        came = boots.take(held_boots & (boots.outcome == "up"))
        told = [predicted_boot_s(cluster, b, came) for b in (before, beliefs)]
        predictions.append(_errors("boot time", "s", came.took_s, told, came.resolution_s))
    if moves is not None:
        took_s = copies.moves.took_s[copies.held]
        told = [predicted_durations_s(cluster, b, copies)[copies.held] for b in (before, beliefs)]
        clock_s = copies.moves.resolution_s[copies.held]
        predictions.append(_errors("duration of moves", "s", took_s, told, clock_s))
        failed, added = attempts_of(cluster, moves.take(held_moves))
        predictions.append(_failures(failed, [np.minimum(1.0, b.failure_base + added) for b in (before, beliefs)]))
        pairs = _pairs(cluster, before, beliefs, copies)
    scenario, changes = calibrated_scenario(cluster, before, beliefs)
    counts = {"readings": readings, "moves": moves, "boots": boots}
    return Calibration(
        scenario,
        tuple(changes),
        tuple(estimates),
        tuple(one for one in predictions if one.held_back),
        tuple(pairs),
        refused,
        {name: 0 if rows is None else len(rows) for name, rows in counts.items()},
        unused,
    )


def _errors(
    quantity: str,
    unit: str,
    seen: Float[Array, " rows"],
    told: list[Float[Array, " rows"]],
    resolution: Float[Array, " rows"] | None = None,
) -> Prediction:
    errors = []
    clock = np.zeros(len(seen)) if resolution is None else resolution
    for values in told:
        off = beyond_s(values, seen, clock)
        errors.append({"mae": float(off.mean()), "mape": float((off / seen).mean())} if len(seen) else {})
    return Prediction(quantity, unit, len(seen), errors[0], errors[1])


def _failures(failed: Bool[Array, " rows"], chances: list[Float[Array, " rows"]]) -> Prediction:
    errors = [
        {"log_loss": log_loss(failed, chance), "brier": brier(failed, chance)} if len(failed) else {}
        for chance in chances
    ]
    return Prediction("failure of moves", "", len(failed), errors[0], errors[1])


def _pairs(cluster: Described, before: Beliefs, after: Beliefs, copies: Copies) -> list[Mapping[str, Any]]:
    sites = [site.id for site in cluster.built.cluster.sites]
    seen = read_copies(cluster, after, copies).rate_byte_s
    told = [told_rates(cluster, beliefs, copies) for beliefs in (before, after)]
    a, b = cluster.site[copies.source], cluster.site[copies.target]
    found: list[Mapping[str, Any]] = []
    for one, other in sorted(set(zip(a.tolist(), b.tolist(), strict=True))):
        mine = (a == one) & (b == other)
        medians = [float(np.median(rate[mine])) * BITS_PER_BYTE / MBIT for rate in (seen, *told)]
        found.append(
            {
                "source_site": str(sites[one]),
                "target_site": str(sites[other]),
                "moves": int(mine.sum()),
                "seen_mbit_s": medians[0],
                "before_mbit_s": medians[1],
                "after_mbit_s": medians[2],
            }
        )
    return found
