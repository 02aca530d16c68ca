"""What moves as one in a drawn snapshot: a container, or the two of a pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.evaluate.snapshots.generate import DrawnSnapshot

__all__ = ["Units", "units_of"]


@dataclass(frozen=True)
class Units:
    """The units of a draw, in the order of their first containers; amounts in the draw's steps."""

    cpu: Int[Array, " units"]
    memory: Int[Array, " units"]
    bound_to_kind: Bool[Array, " units"]
    fixed: Bool[Array, " units"]
    group: Int[Array, " units"]
    """Group of three that keep apart, or -1; a pair is in none."""
    home: Int[Array, " units"]
    move_w: Float[Array, " units"]


def units_of(draw: DrawnSnapshot) -> Units:
    """The draw's containers, pairs merged into one: sums of amounts and prices, restrictions of either."""
    index = np.arange(draw.containers)
    first = index.copy()
    paired = np.flatnonzero(draw.pair >= 0)
    leader = np.full(int(draw.pair.max(initial=-1)) + 1, draw.containers)
    np.minimum.at(leader, draw.pair[paired], paired)
    first[paired] = leader[draw.pair[paired]]
    heads = np.flatnonzero(first == index)
    unit = np.searchsorted(heads, first)
    count = len(heads)
    return Units(
        cpu=np.bincount(unit, draw.cpu, count).astype(int),
        memory=np.bincount(unit, draw.memory, count).astype(int),
        bound_to_kind=np.bincount(unit, draw.bound_to_kind, count) > 0,
        fixed=np.bincount(unit, draw.fixed, count) > 0,
        group=draw.group[heads],
        home=draw.home[heads],
        move_w=np.bincount(unit, draw.move_w, count),
    )
