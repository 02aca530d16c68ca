"""Time for a simulated cluster: a clock that jumps from one sleeper to the next, and one that runs faster than another.

The jumping clock makes a day as short as its computing. It cannot see who waits for something else than time (a file, a
database, a peer): whoever does so holds the clock meanwhile, or runs on the paced one, on which time just passes.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from fogfold.control.ports import Clock
from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.world.scenario.build import BuiltScenario

__all__ = ["MONDAY_S", "Pace", "PacedClock", "SimulatedClock", "start_of", "world_time_s"]

MONDAY_S = 1_767_571_200.0
"""Monday, 5 January 2026, 00:00 UTC in seconds since the epoch: where the weeks of scenarios begin."""

_TURNS = 32
"""How often the event loop goes round before time jumps, so that all who were woken have gone to sleep again."""

_LONGEST_WAIT_S = 0.1
"""How long a paced clock waits before it looks whether somebody wants to be woken earlier, in seconds of the other."""


def start_of(built: BuiltScenario) -> float:
    """When a scenario begins, in seconds since the epoch: on the day of the week and the hour that it names."""
    return MONDAY_S + built.start_s


def world_time_s(now_s: float) -> float:
    """A time since the epoch as worlds and what was learned in them count it: since the Monday of `MONDAY_S`."""
    return now_s - MONDAY_S


@dataclass(frozen=True)
class Pace:
    """How fast a jumping clock may go at most.

    Raises:
        ModelError: if the speed is not positive.
    """

    clock: Clock
    """The time that it is measured by."""
    speed: float
    """Seconds of the jumping clock in one of the other."""

    def __post_init__(self) -> None:
        _check_speed(self.speed)


class SimulatedClock:
    """A clock that jumps to the earliest wake-up once everybody sleeps.

    With a pace it waits before each jump, so that people can follow. Who is slower than that is waited for, so what
    happens is the same at every pace.

    Args:
        start_s: seconds since the epoch when it is made.
        lasts_s: how long until time stands still for good: who sleeps longer never wakes. None for no end.
        pace: how fast it may go; as fast as it can where None.
    """

    def __init__(self, start_s: float = MONDAY_S, *, lasts_s: float | None = None, pace: Pace | None = None) -> None:
        self._start_s = start_s
        self._pace = pace
        self._jumped_s = 0.0 if pace is None else pace.clock.monotonic_s()
        self._monotonic_s = 0.0
        if lasts_s is not None:
            check_number("lasts_s", lasts_s, above=True)
        self._end_s = math.inf if lasts_s is None else lasts_s
        self._number = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._holds = 0
        self._freed = asyncio.Event()
        self._over = asyncio.Event()
        self._jumping: asyncio.Task[None] | None = None

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self._start_s + self._monotonic_s

    def monotonic_s(self) -> float:
        """Seconds since it was made."""
        return self._monotonic_s

    async def sleep(self, duration_s: float) -> None:
        """Return once that much time has passed; at once where it is not positive."""
        if not duration_s > 0.0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._sleepers, (self._monotonic_s + duration_s, next(self._number), future))
        if self._jumping is None or self._jumping.done():
            self._jumping = loop.create_task(self._jump())
        await future

    @contextmanager
    def held(self) -> Iterator[None]:
        """Time stands still in here: for those who wait for something else than time."""
        self._holds += 1
        self._freed.clear()
        try:
            yield
        finally:
            self._holds -= 1
            if self._holds == 0:
                self._freed.set()

    async def ended(self) -> None:
        """Return once time stands still for good."""
        await self._over.wait()

    async def _jump(self) -> None:
        while True:
            await self._settle()
            while self._sleepers and self._sleepers[0][2].done():
                heapq.heappop(self._sleepers)
            if not self._sleepers:
                return
            to_s = min(self._sleepers[0][0], self._end_s)
            if await self._waited(to_s - self._monotonic_s):
                # Somebody may have come meanwhile who wants to be woken earlier.
                continue
            self._monotonic_s = to_s
            while self._sleepers and self._sleepers[0][0] <= self._monotonic_s:
                _, _, future = heapq.heappop(self._sleepers)
                if not future.done():
                    future.set_result(None)
            if self._monotonic_s >= self._end_s:
                self._over.set()
                return

    async def _waited(self, jump_s: float) -> bool:
        """Wait for the pace to allow a jump of that length, not for long; whether there was anything to wait for."""
        if self._pace is None:
            return False
        clock = self._pace.clock
        rest_s = self._jumped_s + jump_s / self._pace.speed - clock.monotonic_s()
        if rest_s > 0.0:
            await clock.sleep(min(rest_s, _LONGEST_WAIT_S))
            return True
        self._jumped_s = clock.monotonic_s()
        return False

    async def _settle(self) -> None:
        turns = 0
        while turns < _TURNS:
            if self._holds > 0:
                await self._freed.wait()
                turns = 0
            await asyncio.sleep(0)
            turns += 1


class PacedClock:
    """A clock that runs some times as fast as another.

    Args:
        clock: the other one.
        speed: seconds of this clock in one of the other.
        start_s: seconds since the epoch when it is made.

    Raises:
        ModelError: if the speed is not positive.
    """

    def __init__(self, clock: Clock, speed: float, start_s: float = MONDAY_S) -> None:
        _check_speed(speed)
        self._clock, self._speed, self._start_s = clock, speed, start_s
        self._origin_s = clock.monotonic_s()

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self._start_s + self.monotonic_s()

    def monotonic_s(self) -> float:
        """Seconds since it was made."""
        return self._speed * (self._clock.monotonic_s() - self._origin_s)

    async def sleep(self, duration_s: float) -> None:
        """Return once that much time has passed on this clock."""
        await self._clock.sleep(duration_s / self._speed)


def _check_speed(speed: float) -> None:
    if not (math.isfinite(speed) and speed > 0.0):
        raise ModelError(f"speed is {speed}; give a positive number of seconds for each second")
