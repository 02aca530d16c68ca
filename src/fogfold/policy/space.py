"""Which values of a rule's parameters are worth trying: what a search for good defaults draws from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["Space"]


@dataclass(frozen=True)
class Space:
    """Candidate values of some parameters of a rule, by the parameter's name; the others keep their defaults."""

    values: Mapping[str, tuple[int | float, ...]]

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return math.prod(len(values) for values in self.values.values())

    def grid(self) -> Iterator[dict[str, int | float]]:
        """All combinations, the last parameter changing fastest."""
        for combination in itertools.product(*self.values.values()):
            yield dict(zip(self.values, combination, strict=True))

    def draw(self, rng: np.random.Generator) -> dict[str, int | float]:
        """One combination, each value with equal chance."""
        return {name: values[int(rng.integers(len(values)))] for name, values in self.values.items()}
