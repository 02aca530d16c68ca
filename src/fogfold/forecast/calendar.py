"""Where a step stands in the day and in the week: which part of the daily and weekly profile it belongs to.

Profiles are kept in at most 48 parts a day (half hours): a five-minute profile would be learned from one noisy
reading a day. Steps longer than half an hour have a part each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.units import DAY_S, HOUR_S

__all__ = ["DAYS_A_WEEK", "Calendar"]

DAYS_A_WEEK = 7
_MOST_PARTS = 48


@dataclass(frozen=True)
class Calendar:
    """The time of each step.

    Raises:
        ModelError: if a day is no whole number of steps, or a step is longer than a day.
    """

    step_s: float
    """Time between steps."""
    start_s: float = 0.0
    """World time of step 0, in seconds since Monday 00:00 UTC."""

    def __post_init__(self) -> None:
        check_number("step_s", self.step_s, above=True, high=DAY_S)
        check_number("start_s", self.start_s, low=-1e12)
        steps = DAY_S / self.step_s
        if abs(steps - round(steps)) > 1e-6:
            raise ModelError(f"step_s is {self.step_s:g}; a day must be a whole number of steps (300 s and 60 s are)")

    @property
    def steps_a_day(self) -> int:
        """How many steps a day has."""
        return round(DAY_S / self.step_s)

    @property
    def steps_an_hour(self) -> int:
        """How many steps an hour has, at least 1."""
        return max(1, round(HOUR_S / self.step_s))

    @property
    def parts_a_day(self) -> int:
        """How many parts the daily profile has."""
        return min(_MOST_PARTS, self.steps_a_day)

    def part_of_week(self, first: int, count: int) -> Int[Array, " steps"]:
        """Part of the week of `count` steps from step `first` on; modulo `parts_a_day` it is the part of the day."""
        time_s = self.start_s + np.arange(first, first + count) * self.step_s
        # A hair is added so that steps which end on a part's border in binary fractions fall on its right side.
        part = np.floor((time_s + 1e-6) / (DAY_S / self.parts_a_day)).astype(np.int64)
        return part % (DAYS_A_WEEK * self.parts_a_day)
