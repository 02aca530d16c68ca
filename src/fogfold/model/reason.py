"""Why something was not done: a closed list of codes, shared by masks, rules, guards and screens."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Reason"]


class Reason(IntEnum):
    """Why a container may not go to a node, or a node may not be emptied; 0 means nothing stands against it."""

    NONE = 0
    UNPLACED = 1
    """The container runs nowhere just now: it can be started, not moved."""
    IN_FLIGHT = 2
    """The container is already on its way."""
    NEVER_MOVES = 3
    """The container's kind of movability is never."""
    SAME_NODE = 4
    """The target is where it runs."""
    NODE_NOT_READY = 5
    """The target is neither on nor waking."""
    ARCHITECTURE = 6
    """No image for the target's instruction set."""
    ACCELERATOR = 7
    """The target lacks the accelerators, or they are taken."""
    PINNED = 8
    """Bound to another node by a local volume or device."""
    DATA_DISTANCE = 9
    """The target is too far from the data."""
    NO_ROOM = 10
    """The requests on the target would exceed its capacity on some dimension."""
    NODE_HOT = 11
    """The usage on the target would exceed the allowed share of its capacity."""
    ANTI_AFFINITY = 12
    """A member of its group already runs, or will run, there."""
    SPREAD = 13
    """Its group would be spread less evenly than it asks for."""
    NO_IMPROVING_TARGET = 14
    """No legal target makes things better than staying."""
    NEVER_SLEEPS = 15
    """The node must stay on."""
    GROUP_BUDGET = 16
    """As many members of its group are down or on the move as may be missing at once."""
    SCORE_LOW = 17
    """The saving is too small for the disruption."""
    MOVE_LIMIT = 18
    """More moves than the decision may hold."""
    COOLDOWN = 19
    """Too soon: the evidence for sleep is still being gathered, the node has just woken, or it is kept as a spare."""
