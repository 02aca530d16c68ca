"""Fit of dirty rates, service by service; and what links and dirty rates together predict of moves held back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fogfold.calibrate.beliefs import Beliefs, Described
from fogfold.calibrate.copies import Copies, duration_error_s, read_copies
from fogfold.calibrate.estimate import CalibrationSettings, Estimate, Parameter, Verdict, with_value
from fogfold.calibrate.links import median_interval
from fogfold.seeding import stream

__all__ = ["dirty_estimates", "judge_copies"]


def dirty_estimates(
    cluster: Described, beliefs: Beliefs, copies: Copies, settings: CalibrationSettings
) -> list[Estimate]:
    """A factor on the dirty rates of each service; not judged yet."""
    said = read_copies(cluster, beliefs, copies)
    known = ~copies.held & np.isfinite(said.dirty_byte_s).all(axis=1) & (copies.dirty_byte_s > 0)
    service, found = np.array(copies.service, dtype=object), []
    for name, was in beliefs.dirty_factor.items():
        mine = known & (service == name)
        count = int(mine.sum())
        seen = int((~copies.held & (service == name)).sum())
        blank = Estimate(Parameter.DIRTY, name, "of the scenario's", np.array([was]), None, None, None, count)
        if seen and not count:
            why = f"none of {seen} moves tells its bytes sent or a downtime that is fine enough"
            found.append(blank.left_as_it_is(Verdict.NOT_IDENTIFIED, why))
            continue
        if count < settings.least_moves:
            why = f"{count} moves; {settings.least_moves} are needed"
            found.append(blank.left_as_it_is(Verdict.TOO_FEW, why))
            continue
        ratio = said.dirty_byte_s[mine] / copies.dirty_byte_s[mine, None]
        middle = float(np.median(ratio))
        if middle <= 0:
            found.append(blank.left_as_it_is(Verdict.IMPOSSIBLE, f"its median is {middle:.3g}, not above 0"))
            continue
        rng = stream(settings.seed, "calibrate", "dirty", name)
        found.append(replace(blank, fitted=np.array([middle])))
        interval = median_interval(ratio, copies.moves.container[mine], settings.resamples, rng)
        if interval is not None:
            low, high = (np.array([middle + end]) for end in interval)
            found[-1] = replace(found[-1], low=low, high=high)
    return found


def judge_copies(
    cluster: Described,
    beliefs: Beliefs,
    copies: Copies,
    links: list[Estimate],
    dirty: list[Estimate],
    settings: CalibrationSettings,
) -> tuple[list[Estimate], list[Estimate], Beliefs]:
    """Links all together, then each service's dirty rate, by the held-back durations; and the beliefs that result.

    Rate and dirty rate explain one time together, so the links are adopted where they predict better with the dirty
    rates of before or with the new ones, whichever is nearer on each side.
    """
    held, count = copies.held, int(copies.held.sum())
    service = np.array(copies.service, dtype=object)
    fitted = with_value(beliefs, links)
    before = min(duration_error_s(cluster, with_value(beliefs, some), copies, held) for some in ([], dirty))
    after = min(duration_error_s(cluster, with_value(fitted, some), copies, held) for some in ([], dirty))
    judged_links = [
        one if one.fitted is None else one.judged(count, settings.held_moves, before, after, "MAE in s, links together")
        for one in links
    ]
    beliefs = with_value(beliefs, [one for one in judged_links if one.verdict is Verdict.ADOPTED])
    judged_dirty = []
    for one in dirty:
        if one.fitted is None:
            judged_dirty.append(one)
            continue
        mine = held & (service == one.of)
        errors = [duration_error_s(cluster, with_value(beliefs, some), copies, mine) for some in ([], [one])]
        judged_dirty.append(one.judged(int(mine.sum()), settings.held_moves, errors[0], errors[1], "MAE in s"))
    return (
        judged_links,
        judged_dirty,
        with_value(beliefs, [one for one in judged_dirty if one.verdict is Verdict.ADOPTED]),
    )
