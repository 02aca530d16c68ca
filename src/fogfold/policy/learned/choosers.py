"""Who chooses: weights that take the likeliest option or draw one, or whoever does what the rule does."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.policy.learned.deciding import Context
from fogfold.policy.learned.rows import Stage
from fogfold.policy.learned.weights import Weights, softmax

__all__ = ["Drawn", "Follower", "Likeliest"]


class Likeliest:
    """The option with the highest score; of equals the first."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._summary: Float[Array, " summary"] = np.zeros(0)

    def begin(self, context: Context) -> None:
        """A new decision."""
        self._summary = self._weights.summary(context)

    def choose(
        self, stage: Stage, rows: Float[Array, "options rows"], lead: Float[Array, " options"]
    ) -> tuple[int, float]:
        """The option; nothing is drawn, so its chance is 1."""
        return int(self._weights.logits(stage, rows, lead, self._summary).argmax()), 0.0


class Drawn:
    """An option drawn by its chance."""

    def __init__(self, weights: Weights, rng: np.random.Generator) -> None:
        self.weights = weights
        self._rng = rng
        self._summary: Float[Array, " summary"] = np.zeros(0)

    def begin(self, context: Context) -> None:
        """A new decision."""
        self._summary = self.weights.summary(context)

    def choose(
        self, stage: Stage, rows: Float[Array, "options rows"], lead: Float[Array, " options"]
    ) -> tuple[int, float]:
        """The option, and the logarithm of its chance."""
        chance = softmax(self.weights.logits(stage, rows, lead, self._summary))
        below = np.cumsum(chance)
        chosen = min(int(np.searchsorted(below, self._rng.random() * below[-1], side="right")), len(chance) - 1)
        return chosen, float(np.log(max(chance[chosen], 1e-30)))


class Follower:
    """Does what the rule does; the yardstick of the chain itself."""

    def begin(self, context: Context) -> None:
        """A new decision."""

    def choose(
        self, stage: Stage, rows: Float[Array, "options rows"], lead: Float[Array, " options"]
    ) -> tuple[int, float]:
        """The first option that the rule would take."""
        del stage, rows
        return int(np.argmax(lead)), 0.0
