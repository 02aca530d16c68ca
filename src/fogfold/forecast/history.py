"""What each container has used, step by step, kept by the container's identity wherever it runs.

A reading belongs to the step that its time falls into. A move or a restart changes nothing here: the history goes on
where the id goes on, and steps without a reading are gaps, NaN, never zero. The ring keeps the newest steps;
containers not heard of in all of them are let go.

What comes in from collectors is not always in order. A late reading fills its gap if the ring still reaches that
far; a second reading for a step is refused, the first stands (a collector that retries sends the same
reading twice); one older than the ring is refused. All are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.model.identity import ContainerId, check_id
from fogfold.model.resources import check_number

__all__ = ["History", "Kept", "Receipt"]


@dataclass(frozen=True)
class Receipt:
    """What became of the readings of one call."""

    taken: int
    """Readings now in the ring."""
    late: int
    """Those of them that filled a gap of an earlier step."""
    repeated: int
    """Refused: their step had a reading."""
    too_old: int
    """Refused: the ring no longer reaches back to their step."""


@dataclass(frozen=True)
class Kept:
    """A history as plain values, to be stored and gone on from (`History.restore`)."""

    ids: tuple[ContainerId, ...]
    readings: Float[Array, "samples series"]
    """Oldest first, gaps as NaN."""
    last_step: int | None
    """Number of the newest step since time 0; None where nothing was ever read."""
    step_s: float


class History:
    """A ring of readings for each container.

    Args:
        samples: how many steps the ring keeps.
        step_s: time between steps.

    Raises:
        ModelError: if it keeps no step, or step_s is not above 0.
    """

    def __init__(self, samples: int, step_s: float) -> None:
        if samples < 1:
            raise ModelError(f"a history of {samples} samples is asked for; it keeps at least one")
        check_number("step_s", step_s, above=True)
        self._samples = samples
        self._step_s = step_s
        self._column: dict[ContainerId, int] = {}
        self._ring = np.full((samples, 0), np.nan, np.float32)
        self._last: int | None = None

    @property
    def ids(self) -> tuple[ContainerId, ...]:
        """Containers in the order of columns."""
        return tuple(self._column)

    @property
    def last_time_s(self) -> float | None:
        """When the newest step began; None where nothing was ever read."""
        return None if self._last is None else self._last * self._step_s

    def observe(self, time_s: float, readings: Mapping[ContainerId, float]) -> Receipt:
        """Take readings of one instant; containers that are not named have none.

        A step later than the newest moves the ring on; steps between are gaps for all. Containers that are new
        get a column; those that nothing in the ring is known of any more lose theirs.

        Raises:
            ModelError: if a reading or the time is not finite, or a reading is negative; nothing is taken then.
        """
        check_number("time_s", time_s, low=-math.inf)
        for container, value in readings.items():
            check_id("container", container)
            check_number(f"reading of {container}", value)
        # A hair is added so that a time on the border of two steps in binary fractions falls into the later one.
        step = math.floor(time_s / self._step_s + 1e-9)
        if self._last is None or step > self._last:
            self._advance(step)
        assert self._last is not None  # noqa: S101 - set by the first advance
        age = self._last - step
        if age >= self._samples:
            return Receipt(0, 0, 0, len(readings))
        self._add(readings)
        row = step % self._samples
        taken = repeated = 0
        for container, value in readings.items():
            column = self._column[container]
            if np.isnan(self._ring[row, column]):
                self._ring[row, column] = value
                taken += 1
            else:
                repeated += 1
        return Receipt(taken, taken if age > 0 else 0, repeated, 0)

    def advance(self, time_s: float) -> None:
        """Move on to the step of that time though nothing was read; a time that is not later changes nothing.

        Raises:
            ModelError: if the time is not finite.
        """
        check_number("time_s", time_s, low=-math.inf)
        step = math.floor(time_s / self._step_s + 1e-9)
        if self._last is None or step > self._last:
            self._advance(step)

    def forget(self, containers: Iterable[ContainerId]) -> None:
        """Let go of containers that are gone for good; ids that are not kept are no fault."""
        gone = set(containers)
        self._keep([container for container in self._column if container not in gone])

    def window(
        self, ids: Sequence[ContainerId] | None = None, samples: int | None = None
    ) -> Float[Array, "samples series"]:
        """The newest samples of these containers, oldest first, gaps as NaN.

        Args:
            ids: which, in the order of columns wanted; None takes all.
            samples: how many steps; None takes all that are kept.

        Raises:
            UnknownNameError: if a container is not kept.
            ModelError: if more steps are asked for than the ring keeps, or none.
        """
        count = self._samples if samples is None else samples
        if not 1 <= count <= self._samples:
            raise ModelError(
                f"{count} samples are asked for; the history keeps {self._samples}, ask for 1 to that many"
            )
        wanted = self.ids if ids is None else tuple(ids)
        for container in wanted:
            if container not in self._column:
                raise UnknownNameError(
                    f'no history of container "{container}"; {did_you_mean(container, self._column)}'
                )
        columns = [self._column[container] for container in wanted]
        last = -1 if self._last is None else self._last
        rows = np.arange(last - count + 1, last + 1) % self._samples
        return self._ring[rows][:, columns].astype(np.float64)

    def keep(self) -> Kept:
        """All of it as plain values."""
        return Kept(self.ids, self.window(), self._last, self._step_s)

    @classmethod
    def restore(cls, kept: Kept) -> History:
        """The history that goes on from what was kept.

        Raises:
            ModelError: if the values do not hold together.
        """
        if kept.readings.shape[1] != len(kept.ids) or len(set(kept.ids)) != len(kept.ids):
            raise ModelError(
                f"the kept history has {kept.readings.shape[1]} columns for {len(set(kept.ids))} containers; "
                "store ids and readings together"
            )
        found = cls(len(kept.readings), kept.step_s)
        found._column = {container: column for column, container in enumerate(kept.ids)}
        found._ring = np.full(kept.readings.shape, np.nan, np.float32)
        found._last = kept.last_step
        last = -1 if kept.last_step is None else kept.last_step
        found._ring[np.arange(last - found._samples + 1, last + 1) % found._samples] = kept.readings
        return found

    def _advance(self, step: int) -> None:
        if self._last is not None:
            passed = min(step - self._last, self._samples)
            self._ring[np.arange(step - passed + 1, step + 1) % self._samples] = np.nan
            heard = set(np.flatnonzero((~np.isnan(self._ring)).any(axis=0)).tolist())
            if len(heard) < len(self._column):
                self._keep([container for container, column in self._column.items() if column in heard])
        self._last = step

    def _add(self, readings: Mapping[ContainerId, float]) -> None:
        new = [container for container in readings if container not in self._column]
        if new:
            first = self._ring.shape[1]
            self._column |= {container: first + offset for offset, container in enumerate(new)}
            gap = np.full((self._samples, len(new)), np.nan, np.float32)
            self._ring = np.concatenate([self._ring, gap], axis=1)

    def _keep(self, containers: Sequence[ContainerId]) -> None:
        self._ring = np.ascontiguousarray(self._ring[:, [self._column[container] for container in containers]])
        self._column = {container: column for column, container in enumerate(containers)}
