"""How long a node takes to come up, learned from the times it did: the lead with which it must be woken."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fogfold.model.resources import check_number

__all__ = ["KEPT", "lead_s", "with_boot"]

KEPT = 50
"""Boots that are remembered for each node, the latest last."""
_ENOUGH = 5
"""Boots from which a node's own times are trusted."""
_UNPROVEN_FACTOR = 1.5
"""What the described boot time is stretched by until then: descriptions leave out firmware checks and retries."""


def lead_s(boots_s: Sequence[float], described_s: float) -> float:
    """How long before it is needed a node must be woken, in s: the 95th percentile of its boots (nearest rank).

    With fewer than five boots, the longest of them or the described time and a half, whichever is more.

    Args:
        boots_s: how long each remembered boot took.
        described_s: what the node's description says.
    """
    if len(boots_s) < _ENOUGH:
        return max(_UNPROVEN_FACTOR * described_s, *boots_s) if boots_s else _UNPROVEN_FACTOR * described_s
    return sorted(boots_s)[math.ceil(0.95 * len(boots_s)) - 1]


def with_boot(boots_s: tuple[float, ...], took_s: float) -> tuple[float, ...]:
    """The remembered boots with one more.

    Raises:
        ModelError: if it took no time or the time is not finite.
    """
    check_number("boot time", took_s, above=True)
    return (*boots_s, took_s)[-KEPT:]
