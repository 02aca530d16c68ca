"""The phases of a move inside the world, and which state of `model.migration` each belongs to."""

from __future__ import annotations

from enum import IntEnum

from fogfold.model.migration import MigrationState

__all__ = ["STATE_OF_PHASE", "Phase"]


class Phase(IntEnum):
    """What a container's move is doing."""

    NONE = 0
    WAITING = 1
    """Room is held; the target is still waking, or a pause before another attempt runs."""
    PULLING = 2
    """The image is on its way to the target; the source serves."""
    COPYING = 3
    """Memory is being copied; the source serves, a little slower."""
    FROZEN = 4
    """The container answers nowhere: last pages and restore, or a restart."""


STATE_OF_PHASE: dict[Phase, MigrationState] = {
    Phase.WAITING: MigrationState.RESERVED,
    Phase.PULLING: MigrationState.RESERVED,
    Phase.COPYING: MigrationState.MOVING,
    Phase.FROZEN: MigrationState.MOVING,
}
"""The state that a phase is part of."""
