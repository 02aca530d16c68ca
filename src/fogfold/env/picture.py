"""A cluster at a glance: a table of text, or a small image, of what every node carries and in which state it is."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int, UInt8

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.model.node import NodeState
from fogfold.units import HOUR_S

__all__ = ["CELL_PX", "image_of", "table_of"]

CELL_PX = 24
"""Side of a node's cell in the image, with a gap of two pixels to the right and below."""

_BAR = 20
_GAP_PX = 2
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_PAPER = (250, 250, 248)
_COLOURS: dict[NodeState, tuple[int, int, int]] = {
    NodeState.ON: (214, 226, 236),
    NodeState.DRAINING: (240, 226, 190),
    NodeState.GOING_TO_SLEEP: (150, 150, 170),
    NodeState.ASLEEP: (70, 74, 92),
    NodeState.WAKING: (196, 186, 222),
    NodeState.FAILED: (206, 120, 110),
}
_CALM, _WARM, _HOT = (58, 120, 168), (222, 152, 48), (190, 52, 44)
"""Colours of the bar up to a load of 0.6, up to 0.8, and above."""


def _load(view: ClusterView) -> Float[Array, " nodes"]:
    return view.running[0] / view.fleet.capacity[0]


def _containers(view: ClusterView) -> Int[Array, " nodes"]:
    return np.bincount(view.placement[view.placement >= 0], minlength=view.fleet.nodes)


def table_of(view: ClusterView, heading: str = "") -> str:
    """A line for each node: id, state, bar of its CPU load, and how many containers run there; no colours.

    Args:
        view: the cluster.
        heading: what stands in the first line after day and hour (UTC).
    """
    minutes = int(view.time_s % (7 * 24 * HOUR_S)) // 60
    day, minute = divmod(minutes, 24 * 60)
    load, containers = _load(view), _containers(view)
    names = [node.id for node in view.fleet.cluster.nodes]
    width = max(len(name) for name in names)
    lines = [f"{_DAYS[day]} {minute // 60:02d}:{minute % 60:02d}  {heading}".rstrip()]
    for n, name in enumerate(names):
        filled = min(round(_BAR * float(load[n])), _BAR)
        state = NodeState(int(view.state[n])).name.lower().replace("_", " ")
        bar = "#" * filled + "-" * (_BAR - filled)
        lines.append(f"{name:<{width}}  {state:<14}  {bar} {load[n]:4.0%} {containers[n]:4d}")
    return "\n".join(lines)


def image_of(view: ClusterView) -> UInt8[Array, "height width 3"]:
    """A cell for each node, in rows: its ground tells the state, a bar from below the CPU load."""
    nodes = view.fleet.nodes
    across = math.ceil(math.sqrt(nodes))
    down = math.ceil(nodes / across)
    out = np.empty((down * CELL_PX, across * CELL_PX, 3), np.uint8)
    out[:] = _PAPER
    side = CELL_PX - _GAP_PX
    for n, load in enumerate(_load(view).tolist()):
        row, column = divmod(n, across)
        cell = out[row * CELL_PX : row * CELL_PX + side, column * CELL_PX : column * CELL_PX + side]
        cell[:] = _COLOURS[NodeState(int(view.state[n]))]
        height = min(round(side * load), side)
        if height > 0:
            cell[side - height :, 4:-4] = _CALM if load <= 0.6 else _WARM if load <= 0.8 else _HOT
    return out
