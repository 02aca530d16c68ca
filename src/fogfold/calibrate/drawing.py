"""Fits of what nodes draw and how long they boot, machine by machine."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.calibrate.beliefs import Beliefs, Described
from fogfold.calibrate.estimate import CalibrationSettings, Estimate, Parameter, Verdict
from fogfold.calibrate.monotone import fit_curve, hat_weights, interval_of_curve
from fogfold.calibrate.records import Boots, NodeReadings, beyond_s
from fogfold.calibrate.sift import cores_of, machine_of_rows
from fogfold.compiled import Array
from fogfold.seeding import stream

__all__ = ["boot_estimates", "curve_estimates", "predicted_boot_s", "predicted_w"]


def predicted_w(cluster: Described, beliefs: Beliefs, rows: NodeReadings) -> Float[Array, " rows"]:
    """Draw that the beliefs foretell at each reading's load, in W."""
    kinds = machine_of_rows(cluster, rows.node, rows.machine)
    curves = np.stack([beliefs.curve_w[kind] for kind in kinds.tolist()]) if len(kinds) else np.zeros((0, 11))
    return (hat_weights(_load(cluster, rows)) * curves).sum(axis=1)


def predicted_boot_s(cluster: Described, beliefs: Beliefs, rows: Boots) -> Float[Array, " rows"]:
    """Boot time that the beliefs foretell, in s."""
    kinds = machine_of_rows(cluster, rows.node, rows.machine)
    return np.array([beliefs.wake_s[kind] for kind in kinds.tolist()])


def _load(cluster: Described, rows: NodeReadings) -> Float[Array, " rows"]:
    return np.clip(rows.cpu_cores / cores_of(cluster, rows), 0.0, 1.0)


def curve_estimates(
    cluster: Described,
    beliefs: Beliefs,
    rows: NodeReadings,
    held: Bool[Array, " rows"],
    settings: CalibrationSettings,
) -> list[Estimate]:
    """A power curve for each kind of machine, judged by the mean absolute error of its held-back readings."""
    kinds, found = machine_of_rows(cluster, rows.node, rows.machine), []
    load = _load(cluster, rows)
    for name in cluster.machines:
        mine = kinds == name
        train = mine & ~held
        was = beliefs.curve_w[name]
        count = int(train.sum())
        blank = Estimate(Parameter.CURVE, name, "W", was, None, None, None, count)
        if count < settings.least_readings:
            found.append(
                blank.left_as_it_is(Verdict.TOO_FEW, f"{count} readings; {settings.least_readings} are needed")
            )
            continue
        if (was <= 0).any():
            found.append(blank.left_as_it_is(Verdict.IMPOSSIBLE, "the curve to start from has points of 0 W"))
            continue
        fit = fit_curve(load[train], rows.power_w[train], was)
        if fit.points_w[0] < cluster.machines[name].sleep_w:
            sleep_w = cluster.machines[name].sleep_w
            found.append(
                blank.left_as_it_is(
                    Verdict.IMPOSSIBLE, f"{fit.points_w[0]:.3g} W idle is below its {sleep_w:g} W asleep"
                )
            )
            continue
        low, high = interval_of_curve(
            load[train],
            rows.power_w[train],
            was,
            _blocks(rows.take(train), settings.block_s),
            resamples=settings.resamples,
            rng=stream(settings.seed, "calibrate", "curve", name),
        )
        seen = ", ".join(f"{10 * k}" for k in np.flatnonzero(fit.is_fitted))
        why = f"readings near {seen} % load, the rest keeps its shape"
        if fit.is_fitted.all():
            why = "readings at all loads"
        if fit.outliers:
            why += f"; {fit.outliers} outliers count little"
        judge = rows.take(mine & held)
        errors = [
            float(np.abs(hat_weights(_load(cluster, judge)) @ curve - judge.power_w).mean()) if len(judge) else math.nan
            for curve in (was, fit.points_w)
        ]
        estimate = Estimate(Parameter.CURVE, name, "W", was, fit.points_w, low, high, count, why=why)
        found.append(estimate.judged(len(judge), settings.held_readings, errors[0], errors[1], "MAE in W"))
    return found


def _blocks(rows: NodeReadings, block_s: float) -> Int[Array, " rows"]:
    """Number of the node and hour (or whatever a block lasts) of each reading."""
    span = np.floor((rows.time_s - rows.time_s.min()) / block_s).astype(np.int64)
    node = np.unique(rows.node, return_inverse=True)[1]
    return np.asarray(node * (int(span.max()) + 1) + span)


def boot_estimates(
    cluster: Described, beliefs: Beliefs, rows: Boots, held: Bool[Array, " rows"], settings: CalibrationSettings
) -> list[Estimate]:
    """The median boot time of each kind of machine; the 95th percentile (nearest rank) is told beside it."""
    kinds, found = machine_of_rows(cluster, rows.node, rows.machine), []
    up = rows.outcome == "up"
    for name in cluster.machines:
        train = (kinds == name) & up & ~held
        took = np.sort(rows.took_s[train])
        half = rows.resolution_s[train][np.argsort(rows.took_s[train])] / 2.0
        ends = np.stack([took - half, took + half], axis=1)
        was = np.array([beliefs.wake_s[name]])
        blank = Estimate(Parameter.BOOT, name, "s", was, None, None, None, len(took))
        if len(took) < settings.least_boots:
            found.append(blank.left_as_it_is(Verdict.TOO_FEW, f"{len(took)} boots; {settings.least_boots} are needed"))
            continue
        median = float(np.median(ends))
        late = float(took[math.ceil(0.95 * len(took)) - 1])
        rng = stream(settings.seed, "calibrate", "boot", name)
        drawn = np.median(ends[rng.integers(len(took), size=(settings.resamples, len(took)))], axis=1)
        # What the clock leaves open is open however many boots there were.
        low, high = np.percentile(drawn[:, 0], 2.5), np.percentile(drawn[:, 1], 97.5)
        judge = rows.take((kinds == name) & up & held)
        errors = [
            float(beyond_s(value, judge.took_s, judge.resolution_s).mean()) if len(judge) else math.nan
            for value in (np.full(len(judge), was[0]), np.full(len(judge), median))
        ]
        failed = int(((kinds == name) & ~up).sum())
        why = f"p50 {median:.4g} s, p95 {late:.4g} s" + (f"; {failed} never came up" if failed else "")
        estimate = Estimate(
            Parameter.BOOT,
            name,
            "s",
            was,
            np.array([median]),
            np.array([low]),
            np.array([high]),
            len(took),
            why=why,
        )
        found.append(estimate.judged(len(judge), settings.held_boots, errors[0], errors[1], "MAE in s"))
    return found
