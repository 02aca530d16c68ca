"""Surges of whole regions: bursts that feed themselves, and flash crowds that come fast and leave slowly.

A surge multiplies the demand of all containers that serve a region, tick by tick of 30 s, so it holds what a
five-minute trace cannot show. Bursts are a Hawkes process (Hawkes, Biometrika 58(1), 1971): each event may set off
others. It is drawn by its branching construction (Hawkes and Oakes, J. Appl. Prob. 11, 1974): first comers arrive at
random, and each event has a Poisson number of children at exponential delays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float32

from fogfold.compiled import Array, compiled
from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.seeding import stream
from fogfold.units import DAY_S, TICK_S
from fogfold.world.workload.pareto import bounded_pareto, bounded_pareto_mean

__all__ = ["SurgeParams", "draw_surges"]

TICKS_PER_DAY = round(DAY_S / TICK_S)


@dataclass(frozen=True, slots=True)
class SurgeParams:
    """How often and how high a region's demand surges. A rate of 0 switches the kind off.

    No public trace shows regions at 30 s, so these values are chosen: bursts add 1.1 % to the mean, flash crowds
    0.5 %, and a region meets one flash crowd a week. What is known of spikes is that their steepness, height and
    length vary widely (Bodik et al., SoCC 2010).

    Raises:
        ModelError: if a value lies outside its range; above all if `branching` is not below 1.
    """

    first_comers_per_day: float = 4.0
    """Mean number of events of a region in a day that no other event set off."""
    branching: float = 0.6
    """Mean number of events that one event sets off, [0, 1[: at 1 and above bursts never end (Hawkes 1971). At 0.6
    a burst has 2.5 events on average."""
    child_delay_s: float = 300.0
    """Mean time from an event to one that it sets off, in s."""
    burst_gain: float = 0.15
    """Mean share that one event adds to a region's demand; exponentially distributed, and events add up."""
    burst_decay_s: float = 600.0
    """Time in which an event's effect falls to 1/e, in s."""
    flash_crowds_per_day: float = 1.0 / 7.0
    """Mean number of flash crowds of a region in a day."""
    flash_gain: float = 0.6
    """Least share that a flash crowd adds at its peak; 0.6 is the lower end of the Pareto law of heights."""
    flash_tail: float = 1.5
    """Exponent of the Pareto tail of heights, above 0."""
    flash_bound: float = 4.0
    """Greatest share that a flash crowd adds at its peak: at 4 demand is five times the usual."""
    flash_rise_s: float = 300.0
    """Time from its start to its peak, in s: shorter than a decision's step, so it cannot be waited for."""
    flash_decay_s: float = 2700.0
    """Time after the peak in which it falls to 1/e, in s."""
    ceiling: float = 6.0
    """Greatest factor of all surges together, at least 1: access links end there."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_number(f"surge {field.name}", getattr(self, field.name))
        if self.branching >= 1.0:
            raise ModelError(
                f"surge branching is {self.branching:g}; it must be below 1, or bursts would feed themselves for ever "
                "(a Hawkes process is stationary below 1 only)"
            )
        for name in ("child_delay_s", "burst_decay_s", "flash_rise_s", "flash_decay_s", "flash_tail", "flash_gain"):
            check_number(f"surge {name}", getattr(self, name), above=True)
        check_number("surge flash_bound", self.flash_bound, low=self.flash_gain)
        check_number("surge ceiling", self.ceiling, low=1.0)

    @staticmethod
    def none() -> SurgeParams:
        """No surges: every factor is 1."""
        return SurgeParams(first_comers_per_day=0.0, flash_crowds_per_day=0.0)

    @property
    def events_per_day(self) -> float:
        """Mean number of burst events of a region in a day, in the long run: first comers / (1 - branching)."""
        return self.first_comers_per_day / (1.0 - self.branching)

    @property
    def mean_factor(self) -> float:
        """Mean factor in the long run, before the ceiling cuts it: what surges add to the demand of a day."""
        bursts = self.events_per_day * self.burst_gain * _decay_sum_ticks(self.burst_decay_s)
        rise_ticks = max(1, round(self.flash_rise_s / TICK_S))
        shape_ticks = (rise_ticks + 1) / 2 + _decay_sum_ticks(self.flash_decay_s) - 1.0
        height = bounded_pareto_mean(self.flash_gain, self.flash_bound, self.flash_tail)
        return 1.0 + (bursts + self.flash_crowds_per_day * height * shape_ticks) / TICKS_PER_DAY


def _decay_sum_ticks(decay_s: float) -> float:
    """Sum over all ticks of exp(-t / decay), which is 1 at the first."""
    return 1.0 / (1.0 - math.exp(-TICK_S / decay_s))


def draw_surges(params: SurgeParams, *, sites: int, ticks: int, seed: int) -> Float32[Array, "ticks sites"]:
    """The factor on each region's demand, tick by tick, at least 1.

    A day before the start is drawn as well, so that the first hour is like any other. A longer horizon begins with
    the same values as a shorter one.

    Raises:
        ModelError: if there is no site or no tick.
    """
    if sites < 1 or ticks < 1:
        raise ModelError(f"surges for {sites} sites and {ticks} ticks; both must be at least 1")
    days = 1 + math.ceil(ticks / TICKS_PER_DAY)
    burst = np.zeros((days * TICKS_PER_DAY, sites))
    flash = np.zeros((days * TICKS_PER_DAY, sites))
    if params.first_comers_per_day > 0:
        draw_bursts(
            stream(seed, "workload", "bursts"),
            burst,
            params.first_comers_per_day,
            params.branching,
            params.child_delay_s,
            params.burst_gain,
        )
    if params.flash_crowds_per_day > 0:
        draw_flash_crowds(
            stream(seed, "workload", "flash-crowds"),
            flash,
            params.flash_crowds_per_day,
            params.flash_gain,
            params.flash_bound,
            params.flash_tail,
            max(1, round(params.flash_rise_s / TICK_S)),
            math.exp(-TICK_S / params.flash_decay_s),
        )
    surge = np.empty((ticks, sites), np.float32)
    add_up(burst, math.exp(-TICK_S / params.burst_decay_s), flash, params.ceiling, surge)
    return surge


@compiled
def draw_bursts(
    rng: np.random.Generator, impulse: Array, first_comers: float, branching: float, delay_s: float, gain: float
) -> int:
    """Add the height of each burst event to its tick and region; give the number of events within the horizon."""
    ticks, sites = impulse.shape
    horizon_s = ticks * TICK_S
    events = 0
    for day in range(ticks // TICKS_PER_DAY):
        for site in range(sites):
            for _ in range(rng.poisson(first_comers)):
                # Families are independent of each other: one is drawn to its end before the next.
                waiting = [(day + rng.random()) * DAY_S]
                while len(waiting) > 0:
                    at_s = waiting.pop()
                    height = gain * rng.standard_exponential()
                    if at_s < horizon_s:
                        impulse[int(at_s / TICK_S), site] += height
                        events += 1
                    children = rng.poisson(branching)
                    waiting.extend([at_s + delay_s * rng.standard_exponential() for _ in range(children)])
    return events


@compiled
def draw_flash_crowds(
    rng: np.random.Generator,
    excess: Array,
    per_day: float,
    least: float,
    bound: float,
    tail: float,
    rise_ticks: int,
    retention: float,
) -> None:
    """Add the course of each flash crowd to its region: a straight rise, then an exponential decay."""
    ticks, sites = excess.shape
    for day in range(ticks // TICKS_PER_DAY):
        for site in range(sites):
            for _ in range(rng.poisson(per_day)):
                start = day * TICKS_PER_DAY + int(rng.random() * TICKS_PER_DAY)
                height = bounded_pareto(rng.random(), least, bound, tail)
                for step in range(rise_ticks):
                    if start + step < ticks:
                        excess[start + step, site] += height * (step + 1) / rise_ticks
                left = height * retention
                tick = start + rise_ticks
                while tick < ticks and left > 1e-4 * height:
                    excess[tick, site] += left
                    left *= retention
                    tick += 1


@compiled
def add_up(impulse: Array, retention: float, flash: Array, ceiling: float, surge: Array) -> None:
    """Let each burst event decay, add the flash crowds, and leave the day before the start away."""
    ticks, sites = surge.shape
    for site in range(sites):
        left = 0.0
        for tick in range(TICKS_PER_DAY + ticks):
            left = left * retention + impulse[tick, site]
            if tick >= TICKS_PER_DAY:
                surge[tick - TICKS_PER_DAY, site] = min(ceiling, 1.0 + left + flash[tick, site])
