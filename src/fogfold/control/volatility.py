"""How restless a cluster is, in [0, 1]: by its pressures, by how forecasts fail, and by how soon its load will turn.

One figure says how soon to decide again (`schedule`). It is the largest of four parts. *Change*: nodes' pressures move
from one reading to the next, be it by load or by what was done. *Error*: the last forecast missed by more than it
usually does, so what was decided on it is stale. *Turn*: load is expected to leave the band about where it stands now;
the next decision should come no later than that. *Work*: the last decision ordered something, and whoever decides piece
by piece has more to order. Where a part is not known it says nothing; where none is, the whole is unknown, which is
neither calm nor storm.

Everything here is pure. Who reads, forecasts and remembers is `gauge`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fogfold.errors import ModelError
from fogfold.model.resources import check_number

__all__ = ["Usual", "VolatilitySettings", "change_of", "change_part", "error_part", "turn_part", "volatility"]


@dataclass(frozen=True, slots=True)
class VolatilitySettings:
    """What counts as a storm.

    Raises:
        ModelError: if a figure is out of its range.
    """

    high_change: float = 0.2
    """Mean change of pressure between two readings that counts as 1."""
    high_error: float = 4.0
    """Error of a forecast, over its usual size, that counts as 1; the usual size itself counts as 0."""
    band: float = 0.1
    """Share of the present load within which it may wander without being about to turn."""
    smoothing: float = 0.3
    """Weight of the newest change of pressure."""
    usual_memory: float = 0.05
    """Weight of the newest error in their usual size: what errors were 20 readings ago counts a third."""
    usual_least: int = 6
    """Errors from which on there is a usual size."""
    work: float = 0.5
    """What it counts that the last decision ordered something; 0 forgets it. At 0.5 the next comes in the geometric
    middle of the shortest and the longest interval: 8 min of 2 and 30."""

    def __post_init__(self) -> None:
        for name in ("high_change", "band"):
            check_number(name, getattr(self, name), above=True)
        check_number("high_error", self.high_error, low=1.0, above=True)
        for name in ("smoothing", "usual_memory"):
            check_number(name, getattr(self, name), above=True, high=1.0)
        check_number("usual_least", self.usual_least, low=1)
        check_number("work", self.work, high=1.0)


@dataclass(frozen=True, slots=True)
class Usual:
    """The usual size of something that is seen again and again."""

    size: float = 0.0
    """Mean of the sizes seen, older ones counting less."""
    seen: int = 0

    def taking(self, size: float, settings: VolatilitySettings) -> Usual:
        """The same after one size more.

        Raises:
            ModelError: if it is negative or not finite.
        """
        check_number("size", size)
        weight = max(settings.usual_memory, 1.0 / (self.seen + 1))
        return Usual(self.size + weight * (size - self.size), self.seen + 1)


def change_of(before: Mapping[str, float], now: Mapping[str, float]) -> float | None:
    """Mean change of pressure over the nodes that were read both times; None where there is none.

    >>> change_of({"a": 0.5, "b": 0.5}, {"a": 0.75, "c": 0.1})
    0.25
    """
    both = before.keys() & now.keys()
    if not both:
        return None
    return sum(abs(now[node] - before[node]) for node in both) / len(both)


def change_part(change: float, settings: VolatilitySettings) -> float:
    """The part of a (smoothed) change of pressure."""
    return min(1.0, change / settings.high_change)


def error_part(error: float, usual: Usual, settings: VolatilitySettings) -> float | None:
    """The part of an error: 0 up to its usual size, 1 at `high_error` times that; None where there is no usual size.

    Args:
        error: size of the last error, from 0.
        usual: sizes of those before it.
        settings: what counts as a storm.
    """
    if usual.seen < settings.usual_least or usual.size <= 0.0:
        return None
    return min(1.0, max(0.0, (error / usual.size - 1.0) / (settings.high_error - 1.0)))


def turn_part(lead_s: float | None, shortest_s: float, longest_s: float) -> float:
    """The volatility at which the next decision comes when load is expected to turn; 0 where it is not.

    The interval is longest x (shortest / longest)^v (`schedule.interval_s_at`); this is the v that makes it the lead.

    Args:
        lead_s: time until load turns; None where it does not within the forecast.
        shortest_s: shortest interval.
        longest_s: longest interval.

    Raises:
        ModelError: if the intervals are not in rising order above 0.
    """
    if not 0.0 < shortest_s < longest_s:
        raise ModelError(f"intervals are {shortest_s:g} and {longest_s:g} s; give the shorter first, above 0")
    if lead_s is None or lead_s >= longest_s:
        return 0.0
    if lead_s <= shortest_s:
        return 1.0
    return math.log(longest_s / lead_s) / math.log(longest_s / shortest_s)


def volatility(*parts: float | None) -> float | None:
    """The largest of the parts that are known; None where none is.

    >>> volatility(0.2, None, 0.7)
    0.7
    """
    known = [part for part in parts if part is not None]
    return max(known) if known else None
