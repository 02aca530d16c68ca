"""Fit of the chance that an attempt at a move fails."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from fogfold.calibrate.beliefs import Beliefs, Described
from fogfold.calibrate.chances import base_chance, jeffreys, log_loss
from fogfold.calibrate.estimate import CalibrationSettings, Estimate, Parameter, Verdict
from fogfold.calibrate.records import Moves
from fogfold.calibrate.sift import column_of
from fogfold.compiled import Array
from fogfold.cost.migration import failure_probability

__all__ = ["attempts_of", "failure_estimate"]


def attempts_of(cluster: Described, moves: Moves) -> tuple[Bool[Array, " attempts"], Float[Array, " attempts"]]:
    """Which attempts failed, and what jitter and loss of their paths add to the chance of it."""
    nodes = {str(name): n for name, n in cluster.built.cluster.node_index.items()}
    a = cluster.site[column_of(moves.source, nodes)]
    b = cluster.site[column_of(moves.target, nodes)]
    params, apart = cluster.built.params, a != b
    jitter = np.where(apart, cluster.jitter_ms[a] + cluster.jitter_ms[b], 0.0)
    loss = np.where(apart, 1.0 - (1.0 - cluster.loss[a]) * (1.0 - cluster.loss[b]), 0.0)
    added = np.array(
        [
            failure_probability(one, other, 0.0, params.migration_failure_per_jitter, params.migration_failure_per_loss)
            for one, other in zip(jitter.tolist(), loss.tolist(), strict=True)
        ]
    )
    return ~moves.arrived, added


def failure_estimate(
    cluster: Described, beliefs: Beliefs, moves: Moves, held: Bool[Array, " moves"], settings: CalibrationSettings
) -> Estimate:
    """The base chance of a failure, judged by the log loss of the held-back attempts; its interval is Jeffreys'.

    The interval is that of the share of attempts that failed, less what jitter and loss add in the mean.
    """
    failed, added = attempts_of(cluster, moves)
    train = ~held
    count, hits = int(train.sum()), int(failed[train].sum())
    was = np.array([beliefs.failure_base])
    blank = Estimate(Parameter.FAILURE, "", "", was, None, None, None, count)
    if count < settings.least_attempts:
        return blank.left_as_it_is(Verdict.TOO_FEW, f"{count} attempts; {settings.least_attempts} are needed")
    base = base_chance(failed[train], added[train])
    low, high = jeffreys(hits, count)
    shift = float(added[train].mean())
    estimate = replace(
        blank,
        fitted=np.array([base]),
        low=np.array([max(0.0, low - shift)]),
        high=np.array([max(0.0, high - shift)]),
        why=f"{hits} of {count} attempts failed; jitter and loss explain {shift:.3g} of each",
    )
    errors = [
        log_loss(failed[held], np.minimum(1.0, value + added[held])) if held.any() else math.nan
        for value in (was[0], base)
    ]
    return estimate.judged(int(held.sum()), settings.held_attempts, errors[0], errors[1], "log loss")
