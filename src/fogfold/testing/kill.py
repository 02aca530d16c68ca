"""A process that dies at its n-th call to the outside: how to find out that every crash is survived, one by one.

A `Fuse` counts what goes through ports wrapped in it. At the call it is set to, `Killed` is raised, before the call is
made or after; from then on nothing goes through any more, since the dead make no calls. Ports without the wrap see what
was really done.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

__all__ = ["Fuse", "Killed", "was_killed"]

_T = TypeVar("_T")


class Killed(BaseException):
    """The process is dead. No `except Exception` survives that."""


class Fuse:
    """Kills at one point. Each call through a wrapped port has two: before it and after it.

    Args:
        at: the point, from 0, or its name, as in "after cordon"; None never kills, and counts.
    """

    def __init__(self, at: int | str | None = None) -> None:
        self.at = at
        self.points = 0
        """Points passed so far."""
        self.is_dead = False
        self.where = ""
        """The call at which it killed."""

    def wrap(self, port: _T) -> _T:
        """The port, through this fuse. Only what is awaited counts: the rest touches nothing outside."""
        return cast("_T", _Through(port, self))

    def pass_point(self, where: str) -> None:
        """One more point."""
        if not self.is_dead and self.at in {self.points, where}:
            self.is_dead, self.where = True, where
        self.points += 1
        if self.is_dead:
            raise Killed(where)


def was_killed(error: BaseException) -> bool:
    """Whether that is what a kill leaves: `Killed`, or a group of nothing else."""
    return isinstance(error, Killed) or (isinstance(error, BaseExceptionGroup) and error.split(Killed)[1] is None)


class _Through:
    def __init__(self, port: Any, fuse: Fuse) -> None:
        self._port = port
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        return self._passing(name, found) if inspect.iscoroutinefunction(found) else found

    def _passing(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        async def through(*arguments: Any, **named: Any) -> Any:
            self._fuse.pass_point(f"before {name}")
            out = await call(*arguments, **named)
            self._fuse.pass_point(f"after {name}")
            return out

        return through
