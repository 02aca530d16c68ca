"""Fit of bandwidth: what moves got, held against what the world would give them with the links shared as they were.

Moves that the same link held back share one factor, the median of those ratios: links of nodes give the share of a link
that moves may take, uplinks a factor of their site group's, the limit of a move itself. A link that held nobody back is
not fitted. Where two of them would explain the same, the share of links goes first.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from fogfold.calibrate.beliefs import Beliefs, Described
from fogfold.calibrate.copies import Copies, Said, read_copies, told_rates
from fogfold.calibrate.estimate import CalibrationSettings, Estimate, Parameter, Verdict
from fogfold.calibrate.monotone import LEAST_BLOCKS
from fogfold.calibrate.sharing import Bound, rates_of
from fogfold.compiled import Array
from fogfold.seeding import stream

__all__ = ["bandwidth_estimates", "median_interval"]

_MOSTLY = 0.8
"""Share of its time for which a link must have held a move back to speak for it."""
_ROUNDS = 10
_SETTLED = 1e-3
_NODE, _CAP, _MIXED = "\0node", "\0cap", "\0mixed"


def bandwidth_estimates(
    cluster: Described, beliefs: Beliefs, copies: Copies, settings: CalibrationSettings
) -> list[Estimate]:
    """Share of links, limit of a move, and uplinks of each site group; not judged yet."""
    said = read_copies(cluster, beliefs, copies)
    train = ~copies.held
    sure = train & said.is_identified
    rests_on_belief = int(sure.sum()) < settings.least_moves
    rows = train if rests_on_belief else sure
    fitted, classes = _fit_links(cluster, beliefs, copies, said, rows, settings)
    spread = np.log(said.rate_byte_s / told_rates(cluster, fitted, copies))
    note = "rests on the dirty rates that are believed" if rests_on_belief else ""
    share, cap = (beliefs.link_share, fitted.link_share), (beliefs.cap_bit_s, fitted.cap_bit_s)
    options = [(Parameter.LINK_SHARE, "", "", *share, _NODE), (Parameter.CAP, "", "bit/s", *cap, _CAP)]
    options += [
        (Parameter.UPLINK, name, "of the scenario's", beliefs.uplink_factor[name], fitted.uplink_factor[name], name)
        for name in dict.fromkeys(cluster.group)
    ]
    nobody = "it held no move back" if len(copies) else "no move tells of bandwidth"
    found = []
    for parameter, of, unit, was, now, held_by in options:
        mine = classes == held_by
        count = int(mine.sum())
        blank = Estimate(parameter, of, unit, np.array([was]), None, None, None, count)
        if not count:
            found.append(blank.left_as_it_is(Verdict.NOT_IDENTIFIED, nobody))
            continue
        if count < settings.least_moves:
            why = f"it held {count} moves back; {settings.least_moves} are needed"
            found.append(blank.left_as_it_is(Verdict.TOO_FEW, why))
            continue
        rng = stream(settings.seed, "calibrate", parameter.name, of)
        found.append(replace(blank, fitted=np.array([now]), why=note))
        interval = median_interval(spread[mine], copies.moves.container[mine], settings.resamples, rng)
        if interval is not None:
            low, high = (np.array([now * math.exp(end)]) for end in interval)
            found[-1] = replace(found[-1], low=low, high=high)
    return found


def _classes(cluster: Described, beliefs: Beliefs, copies: Copies, rows: Bool[Array, " moves"]) -> Array:
    """What held each move back for most of its time (a site group's name: its uplinks)."""
    _, held = rates_of(cluster, beliefs, copies.spans, copies.moves.took_s)
    group_a = [cluster.group[int(site)] for site in cluster.site[copies.source]]
    group_b = [cluster.group[int(site)] for site in cluster.site[copies.target]]
    classes = []
    for k, (a, b) in enumerate(zip(group_a, group_b, strict=True)):
        on_uplink = {a: 0.0, b: 0.0}
        on_uplink[a] += float(held[k, Bound.UPLINK_A])
        on_uplink[b] += float(held[k, Bound.UPLINK_B])
        shares = {_NODE: float(held[k, Bound.NODE]), _CAP: float(held[k, Bound.CAP]), **on_uplink}
        best = max(shares, key=lambda name: shares[name])
        classes.append(best if rows[k] and shares[best] >= _MOSTLY else _MIXED)
    return np.array(classes, dtype=object)


def _fit_links(
    cluster: Described,
    beliefs: Beliefs,
    copies: Copies,
    said: Said,
    rows: Bool[Array, " moves"],
    settings: CalibrationSettings,
) -> tuple[Beliefs, Array]:
    """The links whose medians agree with what the moves got, found in rounds: who held whom back changes with them."""
    for _ in range(_ROUNDS):
        moved = 0.0
        for parameter in (Parameter.LINK_SHARE, Parameter.CAP, Parameter.UPLINK):
            classes = _classes(cluster, beliefs, copies, rows)
            names = {Parameter.LINK_SHARE: [_NODE], Parameter.CAP: [_CAP]}.get(
                parameter, list(dict.fromkeys(cluster.group))
            )
            for name in names:
                mine = classes == name
                if int(mine.sum()) < settings.least_moves:
                    continue
                told = told_rates(cluster, beliefs, copies)
                step = float(np.median(np.log(said.rate_byte_s[mine] / told[mine])))
                beliefs, done = _stepped(beliefs, parameter, name, math.exp(step))
                moved = max(moved, abs(math.log(done)))
        if moved < _SETTLED:
            break
    return beliefs, _classes(cluster, beliefs, copies, rows)


def _stepped(beliefs: Beliefs, parameter: Parameter, name: str, factor: float) -> tuple[Beliefs, float]:
    """The beliefs with one of the links so much faster, and how much faster it could be made."""
    if parameter is Parameter.LINK_SHARE:
        share = min(1.0, beliefs.link_share * factor)
        return replace(beliefs, link_share=share), share / beliefs.link_share
    if parameter is Parameter.CAP:
        return replace(beliefs, cap_bit_s=beliefs.cap_bit_s * factor), factor
    faster = {**beliefs.uplink_factor, name: beliefs.uplink_factor[name] * factor}
    return replace(beliefs, uplink_factor=faster), factor


def median_interval(
    values: Float[Array, "moves 2"], blocks: Array, resamples: int, rng: np.random.Generator
) -> tuple[float, float] | None:
    """95 % bootstrap interval of the median, less the median itself; whole blocks are drawn. None from too few.

    Moves of one container err alike: of one size, they end at the same place between two ticks of a clock.
    """
    names, of = np.unique(blocks.astype(np.str_), return_inverse=True)
    if len(names) < LEAST_BLOCKS:
        return None
    rows = [np.flatnonzero(of == k) for k in range(len(names))]
    drawn = [
        float(np.median(values[np.concatenate([rows[k] for k in rng.integers(len(rows), size=len(rows))])]))
        for _ in range(resamples)
    ]
    low, high = np.percentile(np.array(drawn) - np.median(values), [2.5, 97.5])
    return float(low), float(high)
