"""What a trace reader gives, and the three choices that all readers share: which machines, which hours, which gaps.

A trace of n samples at 300 s lasts n x 300 s. A workload interpolates between samples, so it needs one sample more
than it lasts: the trace's next sample, or at the very end of the trace its last one again (as CloudSim does).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.errors import TraceError
from fogfold.seeding import stream
from fogfold.units import DAY_S, TICK_S, WEEK_S
from fogfold.world.workload.base import Workload

__all__ = [
    "CARRY_LIMIT",
    "GapRule",
    "TraceReading",
    "build_reading",
    "candidates",
    "carried_rows",
    "seconds_since_monday",
    "window_rows",
]

GapRule = Literal["refuse", "carry"]
"""What a reader does about missing samples: stop, or carry the last observed one forward up to a limit."""

CARRY_LIMIT = 12
"""Most samples that are carried over a gap where no limit is given: an hour of 5 min samples, the longest gap in
the Bitbrains month."""

MONDAY_UNIX_S = 4 * DAY_S
"""1970-01-05 00:00 UTC, the first Monday of Unix time."""


@dataclass(frozen=True)
class TraceReading:
    """A workload read from a trace, beside what had to be done to get it."""

    workload: Workload
    source: str
    """Where it was read."""
    names: tuple[str, ...]
    """Name of each container in the trace, in the order of the workload's columns."""
    filled_samples: int
    """How many samples of the workload were carried forward over a gap, over all containers."""
    longest_gap_samples: int
    """The longest run of samples that was carried forward."""
    left_out: tuple[str, ...] = ()
    """Machines that the trace holds but that could not be read as demand, such as those with no CPU provisioned."""

    @property
    def filled_share(self) -> float:
        """Share of the workload's samples that were carried forward, in [0, 1]."""
        return self.filled_samples / self.workload.level.size


def seconds_since_monday(unix_s: float) -> float:
    """World time of an instant: seconds since Monday 00:00 UTC of its week, in [0, 604800[.

    >>> seconds_since_monday(1375308000.0)  # Wednesday 2013-07-31 22:00 UTC
    252000.0
    """
    return float((unix_s - MONDAY_UNIX_S) % WEEK_S)


def candidates(available: int, wanted: int | None, seed: int | None, source: str) -> Int[Array, " machines"]:
    """Order in which a trace's machines are taken: as they stand, or drawn without replacement from a seed.

    Raises:
        TraceError: if more are wanted than there are, or none.
    """
    if wanted is not None and not 1 <= wanted <= available:
        raise TraceError(f"{source} holds {available} machines, {wanted} are asked for; ask for 1 to {available}")
    order = np.arange(available)
    return order if seed is None else stream(seed, "workload", "trace-machines").permutation(order)


def window_rows(
    samples: int, sample_s: float, offset_s: float, duration_s: float | None, source: str
) -> Int[Array, " rows"]:
    """Rows of a trace that make a workload which starts `offset_s` into it and lasts `duration_s` (None: to its end).

    Raises:
        TraceError: if the window is empty, not in whole samples, or ends after the trace.
    """
    lasts_s = samples * sample_s
    if duration_s is None:
        duration_s = lasts_s - offset_s
    for name, value in (("offset_s", offset_s), ("duration_s", duration_s)):
        if not math.isfinite(value) or abs(value / sample_s - round(value / sample_s)) > 1e-9:
            raise TraceError(f"{name} is {value:g}; {source} has a sample each {sample_s:g} s, give a multiple of it")
    if not (offset_s >= 0 and duration_s > 0 and offset_s + duration_s <= lasts_s + 1e-6):
        raise TraceError(
            f"{duration_s:g} s from {offset_s:g} s are asked for; {source} lasts {lasts_s:g} s, stay within it"
        )
    first, count = round(offset_s / sample_s), round(duration_s / sample_s)
    return np.minimum(np.arange(first, first + count + 1), samples - 1)


def carried_rows(
    observed: Bool[Array, "samples machines"],
    rows: Int[Array, " rows"],
    *,
    gaps: GapRule,
    limit: int,
    describe: Callable[[int, int], str],
) -> Int[Array, "rows machines"]:
    """For each wanted row and machine the row to take: its own where observed, else the last observed one before.

    Gaps outside the wanted rows do not matter; a carried sample may come from before the first of them.

    Args:
        observed: which samples the trace holds.
        rows: the rows wanted, in order.
        gaps: "refuse" stops at the first missing sample; "carry" goes back to the last observed.
        limit: most samples in a row that may be carried.
        describe: names a row and machine in the trace's own terms, for the error.

    Raises:
        TraceError: at the first gap that the rule does not allow.
    """
    own = np.broadcast_to(rows[:, None], (len(rows), observed.shape[1]))
    missing = ~observed[rows]
    if not missing.any():
        return own
    if gaps == "refuse":
        row, machine = np.argwhere(missing)[0]
        raise TraceError(
            f'{describe(int(rows[row]), int(machine))} is missing; give gaps="carry" to take the last sample before '
            "it, or choose a window without gaps"
        )
    last = int(rows.max()) + 1
    source = np.maximum.accumulate(np.where(observed[:last], np.arange(last)[:, None], -1), axis=0)[rows]
    if (source < 0).any():
        row, machine = np.argwhere(source < 0)[0]
        raise TraceError(
            f"{describe(int(rows[row]), int(machine))} is missing and no sample stands before it; "
            "start later, or leave the machine out"
        )
    if (own - source > limit).any():
        row, machine = np.argwhere(own - source > limit)[0]
        raise TraceError(
            f"{describe(int(rows[row]), int(machine))} is missing with {own[row, machine] - source[row, machine] - 1} "
            f"samples before it, limit {limit}; raise the limit, or choose a window without this gap"
        )
    return source


def build_reading(
    *,
    source: str,
    names: Sequence[str],
    levels: dict[str, Float[Array, "samples machines"]],
    rows: Int[Array, " rows"],
    taken: Int[Array, "rows machines"] | None,
    sample_s: float,
    start_s: float,
    sites: int,
    left_out: Sequence[str] = (),
) -> TraceReading:
    """The reading made of these rows of the levels (`level` and any of the three others), without surges.

    Args:
        source: where the trace was read.
        names: name of each machine.
        levels: arrays by the name of their field of `Workload`, over the whole trace.
        rows: the rows that the workload takes.
        taken: the row that each machine's value comes from (`carried_rows`); None where the trace has no gaps.
        sample_s: time between two samples.
        start_s: world time of the first row taken.
        sites: number of regions that surges would be given for.
        left_out: names of machines that could not be read.

    Raises:
        TraceError: if there is no region, or the workload does not hold together.
    """
    if sites < 1:
        raise TraceError(f"{sites} sites are asked for; give the number of the scenario's sites, at least 1")
    ticks = round((len(rows) - 1) * sample_s / TICK_S)
    if taken is None:
        taken = np.broadcast_to(rows[:, None], (len(rows), len(names)))
    age = rows[:, None] - taken
    if rows[-1] == rows[-2]:
        # The row that closes the trace repeats its last one; that is not a gap.
        age = age[:-1]
    return TraceReading(
        workload=Workload(
            sample_s=sample_s,
            start_s=start_s,
            surge=np.ones((ticks, sites), np.float32),
            **{name: np.take_along_axis(array, taken, axis=0).astype(np.float32) for name, array in levels.items()},
        ),
        source=source,
        names=tuple(names),
        filled_samples=int(np.count_nonzero(age)),
        longest_gap_samples=int(age.max(initial=0)),
        left_out=tuple(left_out),
    )
