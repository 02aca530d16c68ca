"""A store that is waited for while simulated time stands still: a database takes its time on another clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any

from fogfold.adapters.simulated.clocks import SimulatedClock

__all__ = ["Holding"]


class Holding:
    """Everything that another object can do, with the clock held for as long as each of its calls takes.

    Args:
        held: the object; a store.
        clock: the clock that must not jump meanwhile.
    """

    def __init__(self, held: Any, clock: SimulatedClock) -> None:
        self._held, self._clock = held, clock

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._held, name)
        if iscoroutinefunction(found):
            return self._while_held(found)
        if isasyncgenfunction(found):
            return self._each_while_held(found)
        return found

    def _while_held(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        async def holding(*args: Any, **kwargs: Any) -> Any:
            with self._clock.held():
                return await call(*args, **kwargs)

        return holding

    def _each_while_held(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        async def holding(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            with self._clock.held():
                async for item in call(*args, **kwargs):
                    yield item

        return holding
