"""What the days of an ablation say: a row a day, a line a variant, differences paired by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fogfold.evaluate.foresight.day import Day
from fogfold.evaluate.foresight.peaks import peaks_of, violations_near_peaks
from fogfold.evaluate.result import Terms
from fogfold.evaluate.statistics import Interval, mean_interval, ratio_interval
from fogfold.units import HOUR_S

__all__ = ["COMPARED", "DayRow", "VariantLine", "equal_energy", "row_of", "summarise_rows"]

COMPARED = (
    "total_cost",
    "energy_kwh",
    "sla_violation_rate",
    "peak_violation_rate",
    "peak_violations_an_hour",
    "decisions",
    "moves",
)
"""Figures of a day that are summed up and compared."""


@dataclass(frozen=True, slots=True)
class DayRow:
    """One day of one variant."""

    scenario: str
    variant: str
    policy: str
    seed: int
    total_cost: float
    terms: Terms
    energy_kwh: float
    sla_violation_rate: float
    peak_hours: tuple[float, ...]
    """Hours since the start at which load peaked."""
    peak_violation_rate: float
    """Share of the requests in the hours before and after peaks that were late, failed or unserved."""
    peak_violations_an_hour: float
    decisions: int
    moves: int
    refused: int

    def as_json(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class VariantLine:
    """One variant over its seeds."""

    scenario: str
    variant: str
    against: str
    seeds: int
    figures: dict[str, Interval]
    relative: dict[str, Interval | None]
    """Each figure as a share of the other's, less 1, paired by seed; None where the other's is 0."""

    def as_json(self) -> dict[str, Any]:
        """`{scenario, variant, against, seeds, <figure>: {mean, low, high, relative: {...} or null}}`."""
        found: dict[str, Any] = {
            "scenario": self.scenario,
            "variant": self.variant,
            "against": self.against,
            "seeds": self.seeds,
        }
        for name, interval in self.figures.items():
            relative = self.relative[name]
            found[name] = {**interval.as_json(), "relative": None if relative is None else relative.as_json()}
        return found


def row_of(day: Day) -> DayRow:
    """The row of a day."""
    result = day.result
    rate, an_hour = violations_near_peaks(day)
    return DayRow(
        scenario=result.scenario,
        variant=day.variant,
        policy=result.policy,
        seed=result.seed,
        total_cost=result.total_cost,
        terms=result.terms,
        energy_kwh=result.energy_kwh,
        sla_violation_rate=result.sla_violation_rate,
        peak_hours=tuple(float(k + 0.5) * day.step_s / HOUR_S for k in peaks_of(day.load_cores, day.step_s)),
        peak_violation_rate=rate,
        peak_violations_an_hour=an_hour,
        decisions=day.decisions,
        moves=result.moves,
        refused=result.refused,
    )


def summarise_rows(rows: Sequence[DayRow], against: str) -> list[VariantLine]:
    """A line a variant, in the order of their first rows; differences are over the seeds that both played."""
    by_variant: dict[str, dict[int, DayRow]] = {}
    for row in rows:
        by_variant.setdefault(row.variant, {})[row.seed] = row
    base = by_variant.get(against, {})
    lines = []
    for variant, days in by_variant.items():
        both = sorted(days.keys() & base.keys())
        figures, relative = {}, {}
        for name in COMPARED:
            figures[name] = mean_interval(np.array([float(getattr(days[s], name)) for s in sorted(days)]))
            relative[name] = _ratio(days, base, both, name) if both and variant != against else None
        scenario = next(iter(days.values())).scenario
        lines.append(VariantLine(scenario, variant, against, len(days), figures, relative))
    return lines


def _ratio(days: dict[int, DayRow], base: dict[int, DayRow], seeds: Sequence[int], name: str) -> Interval | None:
    own = np.array([float(getattr(days[s], name)) for s in seeds])
    other = np.array([float(getattr(base[s], name)) for s in seeds])
    return ratio_interval(own, other)


def equal_energy(target: Sequence[DayRow], settings: Sequence[Sequence[DayRow]], within: float = 0.01) -> int:
    """Which setting of a rule to hold against a policy at equal energy.

    Of those whose mean energy over the same seeds is within that share of the policy's, the one with the fewest
    violations near peaks: chosen knowing the outcome, in favour of the rule. Where none is so near, the nearest.

    Args:
        target: days of the policy.
        settings: for each setting of the rule, its days on the same seeds.
        within: share of the policy's energy.
    """
    wanted = float(np.mean([row.energy_kwh for row in target]))
    energy = np.array([np.mean([row.energy_kwh for row in rows]) for rows in settings])
    harm = np.array([np.mean([row.peak_violation_rate for row in rows]) for rows in settings])
    off = np.abs(energy / wanted - 1.0)
    if (off > within).all():
        return int(np.argmin(off))
    return int(np.argmin(np.where(off <= within, harm, np.inf)))
