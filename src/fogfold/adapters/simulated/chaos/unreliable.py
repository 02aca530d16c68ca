"""Ports that do not always answer, and a wall clock that somebody sets: what happens to every service in time."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from fogfold.control.failure import PortTimeoutError
from fogfold.control.ports import Clock
from fogfold.model.resources import check_number

__all__ = ["SetClock", "Unreliable"]


class SetClock:
    """A clock whose wall time can be set; its monotonic side goes on as it was.

    Args:
        clock: the one that passes.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ahead_s = 0.0
        """How far its wall time is ahead of the other's."""

    def now_s(self) -> float:
        """Seconds since the epoch, as it was set."""
        return self._clock.now_s() + self.ahead_s

    def monotonic_s(self) -> float:
        """Seconds since some start."""
        return self._clock.monotonic_s()

    async def sleep(self, duration_s: float) -> None:
        """Return once that much time has passed."""
        await self._clock.sleep(duration_s)


class Unreliable:
    """Everything that a port can do, except while it is gone; and some answers are lost.

    Args:
        port: the port.
        clock: time.
        rng: chance of lost answers; a stream of its own.
        lost_answers: share of calls that time out, half of them after they were carried out, in [0, 1].
    """

    def __init__(self, port: Any, clock: Clock, rng: np.random.Generator, *, lost_answers: float = 0.0) -> None:
        check_number("lost_answers", lost_answers, high=1.0)
        self.lost_answers = lost_answers
        self._port, self._clock, self._rng = port, clock, rng
        self._gone_until_s = 0.0

    def go(self, for_s: float) -> None:
        """Answer nothing for so long."""
        self._gone_until_s = max(self._gone_until_s, self._clock.monotonic_s() + for_s)

    def come_back(self) -> None:
        """Answer everything from now on."""
        self._gone_until_s, self.lost_answers = 0.0, 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        return self._answering(name, found) if inspect.iscoroutinefunction(found) else found

    def _answering(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        async def answer(*arguments: Any, **named: Any) -> Any:
            if self._clock.monotonic_s() < self._gone_until_s:
                raise PortTimeoutError(f"{name} was not answered; the other side is gone for now")
            is_lost = self.lost_answers > 0.0 and self._rng.random() < self.lost_answers
            if is_lost and self._rng.random() < 0.5:
                raise PortTimeoutError(f"{name} was not answered; it was not taken")
            out = await call(*arguments, **named)
            if is_lost:
                raise PortTimeoutError(f"{name} was not answered; it may have been taken")
            return out

        return answer
