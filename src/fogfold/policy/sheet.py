"""The arrays of a draft in the hands of compiled code, and the two acts on them: take room for a move, give it back.

A named tuple of views, as the world's own (`world.live`): compiled loops read and write the very arrays that `Draft`
shows to Python. What a move overwrites is kept beside it, so that giving it back restores every bit.
"""

from __future__ import annotations

from typing import NamedTuple

from fogfold.compiled import Array, borrowed, compiled, compiled_inner
from fogfold.encoding.feasibility import refusal
from fogfold.encoding.rows import ContainerInt, NodeInt
from fogfold.model.resources import RESOURCE_COUNT

__all__ = ["SAVED", "Sheet", "give_back", "hold_room", "lend", "refused", "take"]

SAVED = 3 * RESOURCE_COUNT
"""Floats that a move overwrites, beside the history of its target."""


class Sheet(NamedTuple):
    """What is fixed in a decision, then what the plan changes; rows as in `encoding.rows`."""

    node: Array
    node_int: Array
    curve: Array
    container: Array
    container_int: Array
    group: Array
    members: Array
    site_km: Array
    usage: Array
    placement: Array
    image_present: Array
    cpu_history: Array
    """Earlier CPU usage, newest last, (containers, samples); without samples where nobody asked for it."""
    state: Array
    """`NodeState` of each node as the plan would have it."""
    target: Array
    """Where each container is going, -1 where it stays."""
    requested: Array
    """Room taken on each node, (4, nodes)."""
    foreseen: Array
    """Usage of those on each node and of those on their way there, (4, nodes)."""
    leaving: Array
    """Usage on each node of those on their way elsewhere, (4, nodes)."""
    taken: Array
    """Accelerators taken on each node."""
    arriving: Array
    """Containers on their way to each node."""
    crossing: Array
    """Moves over each site's uplink, from it or to it."""
    staying: Array
    """Containers on each node that stay there."""
    history: Array
    """Sum over those on each node, or on their way there, of `cpu_history` over the node's cores, (nodes, samples)."""
    moved: Array
    """Container and target of each move of the plan, in order, (containers, 2)."""
    saved: Array
    """What each move overwrote, (containers, SAVED + samples)."""
    length: Array
    """How many moves the plan holds, (1,)."""


@compiled_inner
def lend(sheet: Sheet) -> Sheet:
    """The same sheet with arrays that nobody counts references to, for the length of one compiled call."""
    return Sheet(
        borrowed(sheet.node),
        borrowed(sheet.node_int),
        borrowed(sheet.curve),
        borrowed(sheet.container),
        borrowed(sheet.container_int),
        borrowed(sheet.group),
        borrowed(sheet.members),
        borrowed(sheet.site_km),
        borrowed(sheet.usage),
        borrowed(sheet.placement),
        borrowed(sheet.image_present),
        borrowed(sheet.cpu_history),
        borrowed(sheet.state),
        borrowed(sheet.target),
        borrowed(sheet.requested),
        borrowed(sheet.foreseen),
        borrowed(sheet.leaving),
        borrowed(sheet.taken),
        borrowed(sheet.arriving),
        borrowed(sheet.crossing),
        borrowed(sheet.staying),
        borrowed(sheet.history),
        borrowed(sheet.moved),
        borrowed(sheet.saved),
        borrowed(sheet.length),
    )


@compiled_inner
def refused(c: int, n: int, ceiling: float, sheet: Sheet) -> int:
    """The first rule (a `Reason`) that keeps container `c` from node `n` by the plan so far; 0 where none does."""
    return refusal(
        c,
        n,
        ceiling,
        sheet.node,
        sheet.node_int,
        sheet.container,
        sheet.container_int,
        sheet.group,
        sheet.members,
        sheet.site_km,
        sheet.state,
        sheet.placement,
        sheet.target,
        sheet.usage,
        sheet.requested,
        sheet.foreseen,
        sheet.taken,
    )


@compiled_inner
def _cross(source: int, n: int, moves: int, sheet: Sheet) -> None:
    """Count a move over the uplinks that it takes, where it leaves its site."""
    here, there = sheet.node_int[NodeInt.SITE, source], sheet.node_int[NodeInt.SITE, n]
    if here != there:
        sheet.crossing[here] += moves
        sheet.crossing[there] += moves


@compiled
def hold_room(c: int, n: int, sheet: Sheet) -> None:
    """Take room on node `n` for container `c`, wherever it comes from."""
    for r in range(RESOURCE_COUNT):
        sheet.requested[r, n] += sheet.container[r, c]
        sheet.foreseen[r, n] += sheet.usage[r, c]
    if sheet.container_int[ContainerInt.ACCELERATOR_KIND, c] >= 0:
        sheet.taken[n] += sheet.container_int[ContainerInt.ACCELERATOR_COUNT, c]
    sheet.arriving[n] += 1


@compiled
def take(c: int, n: int, sheet: Sheet) -> None:
    """Add the move of container `c` to node `n` to the plan. The caller knows that it is legal."""
    i = sheet.length[0]
    source = sheet.placement[c]
    sheet.moved[i, 0] = c
    sheet.moved[i, 1] = n
    for r in range(RESOURCE_COUNT):
        sheet.saved[i, r] = sheet.requested[r, n]
        sheet.saved[i, RESOURCE_COUNT + r] = sheet.foreseen[r, n]
        sheet.saved[i, 2 * RESOURCE_COUNT + r] = sheet.leaving[r, source]
    for s in range(sheet.history.shape[1]):
        sheet.saved[i, SAVED + s] = sheet.history[n, s]
        sheet.history[n, s] += sheet.cpu_history[c, s] / sheet.node[0, n]
    hold_room(c, n, sheet)
    for r in range(RESOURCE_COUNT):
        sheet.leaving[r, source] += sheet.usage[r, c]
    _cross(source, n, 1, sheet)
    sheet.target[c] = n
    sheet.staying[source] -= 1
    sheet.length[0] = i + 1


@compiled
def give_back(moves: int, sheet: Sheet) -> None:
    """Drop the latest moves until the plan holds that many; all sums are what they were, to the last bit."""
    while sheet.length[0] > moves:
        i = sheet.length[0] - 1
        c, n = sheet.moved[i, 0], sheet.moved[i, 1]
        source = sheet.placement[c]
        for r in range(RESOURCE_COUNT):
            sheet.requested[r, n] = sheet.saved[i, r]
            sheet.foreseen[r, n] = sheet.saved[i, RESOURCE_COUNT + r]
            sheet.leaving[r, source] = sheet.saved[i, 2 * RESOURCE_COUNT + r]
        for s in range(sheet.history.shape[1]):
            sheet.history[n, s] = sheet.saved[i, SAVED + s]
        if sheet.container_int[ContainerInt.ACCELERATOR_KIND, c] >= 0:
            sheet.taken[n] -= sheet.container_int[ContainerInt.ACCELERATOR_COUNT, c]
        _cross(source, n, -1, sheet)
        sheet.target[c] = -1
        sheet.arriving[n] -= 1
        sheet.staying[source] += 1
        sheet.length[0] = i
