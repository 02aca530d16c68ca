"""What a family of candidates is: simple forecasts that a panel keeps score of.

A family carries its own state forward and writes its candidates for every series and step. It knows nothing of scores,
weights or intervals.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from jaxtyping import Float, Float32, Int

from fogfold.compiled import Array

__all__ = ["Family"]


@runtime_checkable
class Family(Protocol):
    """One or more simple ways to forecast, with one state."""

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each candidate."""
        ...

    def observe(self, readings: Float[Array, " series"]) -> None:
        """Carry the state one step forward; NaN where there is no reading."""
        ...

    def write(self, candidates: Float32[Array, "series steps candidates"], first: int) -> None:
        """Write the candidates for the next steps into the columns from `first` on; NaN where nothing can be said."""
        ...

    def take(self, columns: Int[Array, " series"]) -> None:
        """Follow other series: for each the old column, or `base.FRESH`."""
        ...
