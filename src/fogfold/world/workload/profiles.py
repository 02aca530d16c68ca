"""Named profiles of demand: how a kind of container is wanted through the day, the week and from minute to minute.

A profile is a table of a week by the hour and the statistics of what is laid over it: differences between
containers, noise with memory, Pareto spikes, events that draw a crowd. The tables are shapes that a planner can
read and change; the statistics follow real traces where these can say something (docs/reference/workloads.md).
Nothing is drawn here: `generate` does that.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.model.resources import check_number

__all__ = ["HOURS_PER_WEEK", "PROFILES", "ProfileParams", "profile", "week_table"]

HOURS_PER_WEEK = 168
DAYS = ("workday", "saturday", "sunday")
WORKDAYS_PER_WEEK = 5

Hours = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ProfileParams:
    """One profile. Times are local solar time of the container's main user region.

    Measured values are from six PlanetLab days and one Bitbrains month; "chosen" says that no public trace of fog
    containers exists to measure it from.

    Raises:
        ModelError: if a table has not 24 hours, or a value lies outside its range.
    """

    workday: Hours
    """Relative demand at each full hour of Monday to Friday (any scale: only ratios within the week count)."""
    saturday: Hours
    """The same for a Saturday."""
    sunday: Hours
    """The same for a Sunday."""
    cycle_depth_low: float = 0.5
    """Least depth of a container's cycle, [0, 1]: 0 is flat, 1 follows the table in full. Chosen: services of one
    district differ in how much of their work waits for people."""
    cycle_depth_high: float = 1.0
    """Greatest depth of a container's cycle, [0, 1]; each container's own is drawn evenly between the two."""
    phase_spread_h: float = 0.5
    """Standard deviation of a container's own shift against its region, in hours. Chosen: half an hour blurs
    steps that stand in the table, without moving its peaks."""
    scale_sigma: float = 1.0
    """Standard deviation of the log of the containers' mean levels (lognormal). PlanetLab: 0.92 to 1.09 by day;
    Bitbrains 1.35 among VMs above 0.5 % load (2.4 with the idle ones: VM sizes there follow contracts, not need)."""
    noise_sigma: float = 0.5
    """Standard deviation of the noise in the log of the level. Median over Bitbrains machines 0.40 to 0.46; with the
    cycle and spikes on top, 0.5 gives the coefficient of variation of one PlanetLab machine, 0.76 to 1.01."""
    noise_memory_share: float = 0.25
    """Share of the noise's variance that has memory, [0, 1]; the rest is new at each sample. Autocorrelation of the
    log after 5 min is 0.04 to 0.10 in PlanetLab and 0.71 in Bitbrains: between the two, nearer to PlanetLab, whose
    machines serve people's experiments."""
    noise_time_constant_s: float = 9000.0
    """Time after which the noise with memory has lost all but 1/e, in s. PlanetLab's autocorrelation falls from
    0.064 after an hour to 0.030 after three, which gives about 2.5 h; Bitbrains' from 0.62 to 0.46, about 7 h."""
    spike_share: float = 0.05
    """Share of a container's demand in a week that comes in spikes, [0, 0.9]. Samples above five times a machine's
    mean hold 0.08 of its demand in PlanetLab; noise and cycle make a part of these already."""
    spikes_per_day: float = 3.0
    """Mean number of spikes of a container in a day. Runs above three times the mean: 6.9 a day in both traces, of
    which noise makes about half."""
    spike_tail: float = 1.5
    """Exponent of the Pareto tail of spike heights, above 0. Hill estimate above the 99.5th percentile of level
    over mean: 1.4 in Bitbrains, 2.0 in PlanetLab, whose machines cut the highest."""
    spike_length_s: float = 450.0
    """Mean length of a spike, in s. Runs above five times the mean last 1.0 samples of 5 min in PlanetLab and 2.2
    in Bitbrains."""
    event_chance_workday: float = 0.0
    """Chance that a region has an event on a day from Monday to Friday, [0, 1]; all its containers share it."""
    event_chance_weekend: float = 0.0
    """The same for a Saturday or a Sunday."""
    event_start_h: float = 18.5
    """Local hour at which an event begins to draw people. Chosen: doors open an hour before an evening event."""
    event_length_h: float = 4.0
    """How long it draws people, in hours, of which the first and the last hour are rise and fall. Chosen: a match
    or a concert with the way there and back."""
    event_gain: float = 0.0
    """Demand that a full event adds, on the scale of the tables."""
    ceiling: float = 1.5
    """Highest level, as a share of the request: the container's CPU limit. Traces stop at 1.0 (PlanetLab) and 1.1
    (Bitbrains), where the machine ends; a container may borrow above its request up to its limit."""

    def __post_init__(self) -> None:
        for day in DAYS:
            hours = getattr(self, day)
            if len(hours) != 24:
                raise ModelError(f"profile {day} has {len(hours)} hours; give 24, one for each full hour from 0:00")
            for hour, value in enumerate(hours):
                check_number(f"profile {day}, hour {hour}", value)
        if sum(self.workday) + sum(self.saturday) + sum(self.sunday) <= 0:
            raise ModelError("profile is zero in every hour of the week; give at least one hour with demand")
        for field in fields(self):
            if field.name not in DAYS:
                check_number(f"profile {field.name}", getattr(self, field.name))
        for name in ("cycle_depth_low", "cycle_depth_high", "noise_memory_share"):
            check_number(f"profile {name}", getattr(self, name), high=1.0)
        for name in ("event_chance_workday", "event_chance_weekend"):
            check_number(f"profile {name}", getattr(self, name), high=1.0)
        for name in ("noise_time_constant_s", "spike_tail", "spike_length_s", "ceiling"):
            check_number(f"profile {name}", getattr(self, name), above=True)
        check_number("profile spike_share", self.spike_share, high=0.9)
        check_number("profile event_start_h", self.event_start_h, high=24.0)
        check_number("profile event_length_h", self.event_length_h, low=2.0, high=24.0)
        if self.cycle_depth_low > self.cycle_depth_high:
            raise ModelError(
                f"profile cycle_depth_low is {self.cycle_depth_low:g}, above cycle_depth_high of "
                f"{self.cycle_depth_high:g}; exchange the two"
            )
        if self.spike_share > 0 and self.spikes_per_day <= 0:
            raise ModelError(f"profile spike_share is {self.spike_share:g} without spikes; give spikes_per_day above 0")

    @property
    def mean_demand(self) -> float:
        """Mean demand over a week with events, on the scale of the tables."""
        hours = WORKDAYS_PER_WEEK * sum(self.workday) + sum(self.saturday) + sum(self.sunday)
        return hours / HOURS_PER_WEEK + self.events_mean

    @property
    def peak(self) -> float:
        """Demand of the busiest hour of a week without events, over the mean of the week."""
        return max(self.workday + self.saturday + self.sunday) / self.mean_demand

    @property
    def events_mean(self) -> float:
        """Mean demand that events add over a week, on the scale of the tables."""
        chances = WORKDAYS_PER_WEEK * self.event_chance_workday + 2 * self.event_chance_weekend
        return self.event_gain * chances * (self.event_length_h - 1.0) / HOURS_PER_WEEK


def week_table(params: ProfileParams) -> Float[Array, " hours"]:
    """Relative demand at each of the 168 full hours of a week from Monday 0:00, scaled to a mean of 1 with events.

    Between two full hours demand runs linearly, so the mean of the hours is the mean of the week.
    """
    hours = np.array(params.workday * WORKDAYS_PER_WEEK + params.saturday + params.sunday, np.float64)
    return hours / params.mean_demand


def profile(name: str) -> ProfileParams:
    """The profile of that name.

    Raises:
        UnknownNameError: if there is none.
    """
    if name not in PROFILES:
        raise UnknownNameError(f'profile "{name}" is unknown; {did_you_mean(name, PROFILES)}')
    return PROFILES[name]


# fmt: off
_RESIDENTIAL = ProfileParams(
    # Least at 4:00, a step at breakfast, most at 21:00; at weekends people rise later and stay in by day.
    workday=(0.50, 0.32, 0.22, 0.18, 0.17, 0.22, 0.36, 0.55, 0.60, 0.55, 0.52, 0.54,
             0.60, 0.58, 0.56, 0.58, 0.66, 0.78, 0.90, 1.02, 1.12, 1.16, 1.00, 0.74),
    saturday=(0.62, 0.44, 0.30, 0.22, 0.18, 0.19, 0.25, 0.38, 0.56, 0.74, 0.84, 0.88,
              0.90, 0.88, 0.86, 0.86, 0.90, 0.96, 1.04, 1.12, 1.18, 1.20, 1.04, 0.82),
    sunday=(0.64, 0.46, 0.31, 0.22, 0.18, 0.18, 0.23, 0.35, 0.53, 0.72, 0.84, 0.90,
            0.92, 0.90, 0.88, 0.88, 0.92, 0.98, 1.06, 1.14, 1.19, 1.18, 0.96, 0.66),
)
_BUSINESS = ProfileParams(
    # Office hours round noon; what runs at night is what runs at weekends.
    workday=(0.08, 0.07, 0.06, 0.06, 0.06, 0.08, 0.14, 0.32, 0.62, 0.86, 0.94, 0.97,
             1.03, 0.99, 0.96, 0.94, 0.88, 0.72, 0.48, 0.30, 0.20, 0.15, 0.12, 0.10),
    saturday=(0.08, 0.07, 0.06, 0.06, 0.06, 0.06, 0.07, 0.08, 0.10, 0.13, 0.15, 0.16,
              0.17, 0.16, 0.15, 0.14, 0.13, 0.12, 0.11, 0.10, 0.09, 0.09, 0.08, 0.08),
    sunday=(0.07, 0.07, 0.06, 0.06, 0.06, 0.06, 0.06, 0.07, 0.08, 0.09, 0.10, 0.10,
            0.11, 0.10, 0.10, 0.10, 0.10, 0.09, 0.09, 0.08, 0.08, 0.08, 0.08, 0.08),
    cycle_depth_low=0.7,
)
_INDUSTRIAL = ProfileParams(
    # Three shifts from 6:00, 14:00 and 22:00 with a dip at each change; the works stand still from Saturday 14:00
    # until the night shift of Sunday.
    workday=(0.60, 0.60, 0.60, 0.60, 0.60, 0.60, 0.70, 1.00, 1.00, 1.00, 1.00, 1.00,
             1.00, 1.00, 0.75, 0.92, 0.92, 0.92, 0.92, 0.92, 0.92, 0.92, 0.65, 0.60),
    saturday=(0.60, 0.60, 0.60, 0.60, 0.60, 0.60, 0.65, 0.80, 0.80, 0.80, 0.80, 0.80,
              0.80, 0.80, 0.40, 0.15, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12),
    sunday=(0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12,
            0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.20, 0.50, 0.60),
    cycle_depth_low=0.7,
    phase_spread_h=0.15,     # a shift begins when the whistle blows
    noise_sigma=0.45,        # machines are steadier than people: the lower of the two traces (Bitbrains)
    noise_memory_share=0.7,  # as Bitbrains, 0.71 after one sample
    noise_time_constant_s=25200.0,
    spike_share=0.05,
)
_NIGHTLY_BATCH = ProfileParams(
    # Backups, reports and index builds from midnight to 5:00, most at 2:00; the full run is on Sunday.
    workday=(0.90, 1.90, 2.40, 2.10, 1.40, 0.60, 0.20, 0.15, 0.14, 0.14, 0.14, 0.14,
             0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.15, 0.16, 0.20, 0.45),
    saturday=(0.90, 1.90, 2.40, 2.10, 1.40, 0.60, 0.20, 0.15, 0.14, 0.14, 0.14, 0.14,
              0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.15, 0.16, 0.20, 0.45),
    sunday=(1.00, 2.20, 2.90, 2.80, 2.20, 1.30, 0.60, 0.20, 0.14, 0.14, 0.14, 0.14,
            0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.15, 0.16, 0.20, 0.45),
    cycle_depth_low=0.9,
    phase_spread_h=0.75,     # operators stagger their jobs
    noise_sigma=0.45,
    noise_memory_share=0.7,
    noise_time_constant_s=25200.0,
)
_STEADY = ProfileParams(
    # Gateways, brokers, monitoring: no clock at all. The noise gives the variation (0.84) and the memory (0.43 after
    # a sample, 0.22 after an hour) of one machine of the Bitbrains month.
    workday=(1.0,) * 24,
    saturday=(1.0,) * 24,
    sunday=(1.0,) * 24,
    noise_sigma=0.6,
    noise_memory_share=0.55,
    noise_time_constant_s=25200.0,
    spike_share=0.08,
    spikes_per_day=4.0,
    spike_length_s=600.0,
)
_EVENT = ProfileParams(
    # A stadium, a hall, an entertainment quarter: quiet evenings, and on some of them a crowd.
    workday=(0.20, 0.14, 0.10, 0.08, 0.08, 0.08, 0.10, 0.12, 0.15, 0.18, 0.22, 0.26,
             0.32, 0.32, 0.30, 0.30, 0.34, 0.42, 0.52, 0.58, 0.60, 0.56, 0.46, 0.32),
    saturday=(0.30, 0.22, 0.16, 0.12, 0.10, 0.09, 0.10, 0.12, 0.16, 0.22, 0.30, 0.38,
              0.44, 0.46, 0.48, 0.50, 0.54, 0.60, 0.70, 0.78, 0.82, 0.80, 0.68, 0.50),
    sunday=(0.38, 0.28, 0.20, 0.14, 0.11, 0.09, 0.10, 0.12, 0.16, 0.22, 0.30, 0.38,
            0.44, 0.46, 0.48, 0.48, 0.50, 0.54, 0.60, 0.64, 0.64, 0.58, 0.44, 0.30),
    cycle_depth_low=0.8,
    event_chance_workday=0.15,
    event_chance_weekend=0.5,
    event_gain=2.0,
)
# fmt: on

PROFILES = MappingProxyType(
    {
        "residential": _RESIDENTIAL,
        "business": _BUSINESS,
        "industrial": _INDUSTRIAL,
        "nightly-batch": _NIGHTLY_BATCH,
        "steady": _STEADY,
        "event": _EVENT,
    }
)
"""All named profiles. That residential districts peak late in the evening and business districts about noon, with
weekends apart, is what Wang et al. measured at 9,600 cell towers ("Understanding Mobile Traffic Patterns of Large
Scale Cellular Towers in Urban Environment", IMC 2015); the tables are drawn to that, not fitted."""
