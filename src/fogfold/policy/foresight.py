"""How a policy that may know the future is told it: the one door, for yardsticks in simulated worlds.

A policy sees a view and nothing else, so that it cannot tell a simulated cluster from a real one. What hindsight would
have been worth is a question all the same, and only a simulator can answer it: whoever plays an episode hands the
workload to policies that ask for it. Nothing on a real cluster ever does.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fogfold.world.workload.base import Workload

__all__ = ["Foresighted"]


@runtime_checkable
class Foresighted(Protocol):
    """A policy that is told the future of the world that it decides in."""

    def foresee(self, workload: Workload) -> None:
        """What every container will be wanted for until the end; called after `reset`, before the first decision."""
        ...
