"""What a policy is: something that looks at a cluster and proposes moves, and says why it left the rest alone.

A policy proposes; it never acts. What it proposes is legal by its own reckoning (`policy.draft`), and whoever carries
it out checks again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

from fogfold.encoding.arrays import ClusterView
from fogfold.model.reason import Reason

__all__ = ["Intensity", "Move", "Policy", "Proposal", "Remembering"]


class Intensity(IntEnum):
    """How hard a decision consolidates."""

    HOLD = 0
    """Nothing moves."""
    LIGHT = 1
    """Containers leave nodes above the high mark, no more."""
    DEEP = 2
    """Lightly loaded nodes are emptied as well."""


@dataclass(frozen=True, slots=True)
class Move:
    """One container to one node, as columns of the fleet's arrays."""

    container: int
    target: int


@dataclass(frozen=True)
class Proposal:
    """What a policy would do now: wake, move, let sleep; and why the other nodes stay as they are."""

    policy: str
    intensity: Intensity = Intensity.HOLD
    moves: tuple[Move, ...] = ()
    """In the order in which they are to be started; each was checked with the room that the earlier ones take."""
    sleep: tuple[int, ...] = ()
    """Nodes to be emptied by these moves (or empty already) that may then sleep."""
    wake: tuple[int, ...] = ()
    """Nodes to wake, or whose draining is to be called off; done first, so that moves may go there."""
    stays: Mapping[int, Reason] = field(default_factory=dict)
    """Nodes that were looked at and left as they are, with the rule that decided."""


@runtime_checkable
class Policy(Protocol):
    """Anything that proposes. A policy may keep memory between calls; `reset` clears it."""

    name: str

    def reset(self, seed: int) -> None:
        """Forget everything; draws that follow come from this seed."""
        ...

    def propose(self, view: ClusterView) -> Proposal:
        """What to do with the cluster as it stands. Never changes the view."""
        ...


@runtime_checkable
class Remembering(Policy, Protocol):
    """A policy whose memory between calls is small and plain: it can be kept, and taken up by another of its kind.

    Two of one name that have recalled the same memory propose the same for the same views from then on.
    """

    def memory(self) -> dict[str, Any]:
        """All that it remembers, as plain JSON values that share nothing with it."""
        ...

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Remember that, and nothing else.

        Raises:
            ModelError: if it is no memory of such a policy; what was remembered before is then lost as well.
        """
        ...
