"""A place where one instance of the service runs at a time: when it dies, the next begins there, under a new name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fogfold.adapters.simulated.chaos.life import Life, was_killed
from fogfold.control.loop import Loop
from fogfold.control.ports import Clock

__all__ = ["Instance", "Slot"]


@dataclass(frozen=True)
class Instance:
    """One instance of the service."""

    loop: Loop
    life: Life
    bury: Callable[[], Awaitable[None]]
    """Gives back what a process gives back when it dies: its connections."""


class Slot:
    """Keeps one instance running.

    Args:
        make: a new instance.
        clock: time.
        rng: how long each takes to begin after the death of the one before.
        restart_s: mean of that.
    """

    def __init__(
        self, make: Callable[[], Awaitable[Instance]], clock: Clock, rng: np.random.Generator, restart_s: float
    ) -> None:
        self.instance: Instance | None = None
        """Who lives; None between two."""
        self.deaths: list[str] = []
        """Where each kill hit."""
        self.crashes: list[str] = []
        """Instances that ended by an error of their own, and which."""
        self._make, self._clock, self._rng, self._restart_s = make, clock, rng, restart_s
        self._doom: tuple[int, bool] | None = None
        self._change: Callable[[Loop], None] | None = None

    @property
    def is_doomed(self) -> bool:
        """Whether a kill is ordered that has not hit yet."""
        return self._doom is not None

    def doom(self, point: int, *, of_acts: bool) -> None:
        """Have the one that lives, or the next, die at that point from now on."""
        self._doom = (point, of_acts)
        if self.instance is not None:
            self.instance.life.die_at(point, of_acts=of_acts)

    def kill(self) -> None:
        """Have the one that lives die now; nothing where nobody lives."""
        if self.instance is not None:
            self.instance.life.end()

    def change(self, how: Callable[[Loop], None]) -> None:
        """Change something about the one that lives and all that come."""
        self._change = how
        if self.instance is not None:
            how(self.instance.loop)

    async def go_on(self) -> None:
        """One instance after the other, without an end."""
        while True:
            instance = self.instance = await self._make()
            if self._change is not None:
                self._change(instance.loop)
            if self._doom is not None:
                instance.life.die_at(self._doom[0], of_acts=self._doom[1])
            running = asyncio.ensure_future(instance.loop.run())
            try:
                await asyncio.wait([running])
            finally:
                # Also what it left running dies with it.
                instance.life.end("the end of its process")
                self.instance = None
                await asyncio.wait([running])
                await instance.bury()
            error = None if running.cancelled() else running.exception()
            if was_killed(error):
                self._doom = None
                self.deaths.append(instance.life.where)
            elif error is not None:
                self.crashes.append(f"{instance.loop.settings.holder}: {_text(error)}")
            await self._clock.sleep(float(self._rng.exponential(self._restart_s)))


def _text(error: BaseException) -> str:
    inner: Any = error
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    return f"{type(inner).__name__}: {inner}"
