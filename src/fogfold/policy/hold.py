"""Hold: nothing moves, nothing sleeps, nothing wakes. What every other policy is measured against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fogfold.encoding.arrays import ClusterView
from fogfold.policy.base import Proposal
from fogfold.policy.recipe import Recipe
from fogfold.policy.space import Space

__all__ = ["HOLD", "Hold", "HoldParams"]


@dataclass(frozen=True)
class HoldParams:
    """Hold has nothing to set."""


class Hold:
    """The policy that leaves everything as it is."""

    def __init__(self, name: str = "hold") -> None:
        self.name = name

    def reset(self, seed: int) -> None:
        """Nothing to forget."""
        del seed

    def memory(self) -> dict[str, Any]:
        """Nothing. As `Remembering`."""
        return {}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Nothing to remember. As `Remembering`."""
        del memory

    def propose(self, view: ClusterView) -> Proposal:
        """Nothing."""
        del view
        return Proposal(self.name)


HOLD = Recipe(
    name="hold",
    summary="Nothing moves and every node stays on.",
    params=HoldParams(),
    space=Space({}),
    maker=lambda name, _params: Hold(name),
)
