"""Time that a test holds in its hand: it stands still until it is told to jump, and a day passes in a millisecond."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

from fogfold.errors import ModelError

__all__ = ["FakeClock"]

_TURNS = 32
"""How often the event loop goes round after a sleeper was woken, so that what it does next is done."""


class FakeClock:
    """A clock that jumps.

    Args:
        start_s: seconds since the epoch when it is made; by default Monday, 5 January 2026, 00:00 UTC.
    """

    def __init__(self, start_s: float = 1_767_571_200.0) -> None:
        self._wall_s = start_s
        self._monotonic_s = 0.0
        self._number = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self._wall_s

    def monotonic_s(self) -> float:
        """Seconds since it was made; goes forward only."""
        return self._monotonic_s

    async def sleep(self, duration_s: float) -> None:
        """Return once the clock was moved that far."""
        if duration_s <= 0.0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic_s + duration_s, next(self._number), future))
        await future

    def advance(self, duration_s: float) -> None:
        """Let time pass in one go. Sleepers whose time has come wake when the event loop next turns.

        Raises:
            ModelError: if that is negative; only the wall clock can be set back.
        """
        if duration_s < 0.0:
            raise ModelError(f"time cannot pass by {duration_s:g} s; use set_wall to set the clock back")
        self._monotonic_s += duration_s
        self._wall_s += duration_s
        self._wake()

    def set_wall(self, now_s: float) -> None:
        """Set the wall clock, as an administrator or a time server does; monotonic time goes on as it was."""
        self._wall_s = now_s

    async def run(self, duration_s: float) -> None:
        """Let time pass from one sleeper to the next, each waking at its own time, and end that much later."""
        end_s = self._monotonic_s + duration_s
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= end_s:
            self.advance(max(0.0, self._sleepers[0][0] - self._monotonic_s))
            await self._settle()
        self.advance(max(0.0, end_s - self._monotonic_s))
        await self._settle()

    def _wake(self) -> None:
        while self._sleepers and self._sleepers[0][0] <= self._monotonic_s + 1e-9:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    @staticmethod
    async def _settle() -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
