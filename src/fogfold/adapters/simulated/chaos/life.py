"""The life of one instance of the service: all that it does to the outside passes here, until it dies.

A death leaves no time for anything: from then on no call goes through and nobody wakes from sleep, so whatever the
code would still do to clean up reaches nobody. An instance can also stand still for a while, as a machine does that is
out of memory or paused, and go on afterwards as if no time had passed.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from fogfold.control.ports import Clock
from fogfold.errors import ModelError

__all__ = ["ACTS", "Killed", "Life", "MortalClock", "was_killed"]

_T = TypeVar("_T")

ACTS = frozenset(
    {
        "start",
        "undo",
        "cordon",
        "uncordon",
        "on",
        "off",
        "transition",
        "add_migrations",
        "keep",
        "append",
        "acquire",
        "remember_inputs",
        "prune_inputs",
    }
)
"""Calls that change something outside; the others only look."""


class Killed(BaseException):
    """The instance is dead. No `except Exception` survives that."""


def was_killed(error: BaseException | None) -> bool:
    """Whether that is what a death leaves: `Killed`, or a group of nothing else."""
    return isinstance(error, Killed) or (isinstance(error, BaseExceptionGroup) and error.split(Killed)[1] is None)


class Life:
    """What one instance's calls go through.

    Args:
        clock: time, for as long as it stands still.
    """

    def __init__(self, clock: Clock) -> None:
        self.is_over = False
        self.where = ""
        """What it was about to do, or had just done, when it died."""
        self._clock = clock
        self._left: int | None = None
        self._of_acts = False
        self._still_until_s = 0.0
        self._asleep: set[asyncio.Task[Any]] = set()

    def wrap(self, port: _T) -> _T:
        """The port, through this life. Only what is awaited counts: the rest touches nothing outside."""
        return cast("_T", _Through(port, self))

    def die_at(self, point: int, *, of_acts: bool = False) -> None:
        """Die at that point from now on, counted from 0; each call has one before it and one after it.

        Args:
            point: which.
            of_acts: whether only calls that change something count.

        Raises:
            ModelError: if the point is past.
        """
        if point < 0:
            raise ModelError(f"point {point} is past; points count from 0")
        self._left, self._of_acts = point, of_acts

    def end(self, where: str = "at rest") -> None:
        """Die now."""
        if not self.is_over:
            self.is_over, self.where = True, where
            for task in self._asleep:
                task.cancel()

    def stand_still(self, for_s: float) -> None:
        """Do nothing for so long; what was about to be done is done after that."""
        self._still_until_s = max(self._still_until_s, self._clock.monotonic_s() + for_s)

    async def pass_point(self, call: str, side: str) -> None:
        """One more point.

        Raises:
            Killed: where this was the last, or it is dead already.
        """
        if not self.is_over and self._left is not None and (call in ACTS or not self._of_acts):
            if self._left == 0:
                self.end(f"{side} {call}")
            self._left -= 1
        self.check()
        while (rest_s := self._still_until_s - self._clock.monotonic_s()) > 0.0:
            await self.sleep(rest_s)

    async def sleep(self, duration_s: float) -> None:
        """Sleep, unless it dies meanwhile. Raises as `pass_point`."""
        self.check()
        task = asyncio.current_task()
        if task is not None:
            self._asleep.add(task)
        try:
            await self._clock.sleep(duration_s)
        except asyncio.CancelledError:
            self.check()
            raise
        finally:
            if task is not None:
                self._asleep.discard(task)
        self.check()

    def check(self) -> None:
        """Nothing, where it lives. Raises as `pass_point`."""
        if self.is_over:
            raise Killed(self.where)


class MortalClock:
    """A clock on which one instance sleeps: the dead do not wake, and who stands still oversleeps.

    Args:
        clock: the clock of its machine.
        life: the instance's.
    """

    def __init__(self, clock: Clock, life: Life) -> None:
        self._clock, self._life = clock, life

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self._clock.now_s()

    def monotonic_s(self) -> float:
        """Seconds since some start."""
        return self._clock.monotonic_s()

    async def sleep(self, duration_s: float) -> None:
        """Return once that much time has passed."""
        await self._life.sleep(duration_s)
        await self._life.pass_point("sleep", "after")


class _Through:
    def __init__(self, port: Any, life: Life) -> None:
        self._port, self._life = port, life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        return self._passing(name, found) if inspect.iscoroutinefunction(found) else found

    def _passing(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        async def through(*arguments: Any, **named: Any) -> Any:
            await self._life.pass_point(name, "before")
            out = await call(*arguments, **named)
            await self._life.pass_point(name, "after")
            return out

        return through
