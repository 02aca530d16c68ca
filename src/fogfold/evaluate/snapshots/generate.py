"""Draws one consolidation snapshot: three kinds of servers, long-tailed containers, spread as a scheduler leaves them.

The same size, seed and variant give the same arrays, to the last bit, on every machine: this is a yardstick, so the
order of the draws is part of its definition and must not be changed. That is why the generator's seed is
`seed x 1000003 + nodes` and not a named stream. Nothing here knows fogfold's model; `cluster` makes one of the arrays.

Amounts are whole numbers: CPU in tenths of a core, memory in quarters of a GiB, so that a sum never depends on order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError, PlacementError
from fogfold.evaluate.snapshots.variant import Variant

__all__ = ["CPU_STEPS_PER_CORE", "MEMORY_STEPS_PER_GIB", "DrawnSnapshot", "draw_snapshot"]

CPU_STEPS_PER_CORE = 10
MEMORY_STEPS_PER_GIB = 4

_CORES = np.array([32, 64, 96])
_GIB = np.array([128, 256, 384])
_IDLE_W = np.array([95.0, 140.0, 200.0])
_PEAK_W = np.array([260.0, 410.0, 560.0])
_SHARE_OF_KIND = [0.30, 0.45, 0.25]
"""Small, middling and large servers."""

_CPU_HEAD, _MEMORY_HEAD = 0.85, 0.90
"""Share of a node that may be promised; the rest is kept against surprises."""
_MOVE_W, _MOVE_W_PER_GIB = 0.5, 0.15
"""Price of a move, as W over the hour for which a decision is made."""
_LOOKED_AT = 8
"""The first placement takes the least loaded of this many feasible nodes."""


@dataclass(frozen=True)
class DrawnSnapshot:
    """The arrays of one snapshot."""

    nodes: int
    containers: int
    cpu_room: Int[Array, " nodes"]
    """What may be promised, in tenths of a core."""
    memory_room: Int[Array, " nodes"]
    """What may be promised, in quarters of a GiB."""
    idle_w: Float[Array, " nodes"]
    slope_w: Float[Array, " nodes"]
    """W for each tenth of a core that is promised."""
    of_kind: Bool[Array, " nodes"]
    """Whether the node is of the kind that some containers are bound to."""
    cpu: Int[Array, " containers"]
    memory: Int[Array, " containers"]
    bound_to_kind: Bool[Array, " containers"]
    fixed: Bool[Array, " containers"]
    """Whether the container never moves."""
    group: Int[Array, " containers"]
    """Group of three that keep off each other's nodes, or -1."""
    pair: Int[Array, " containers"]
    """Pair that shares a node, or -1."""
    home: Int[Array, " containers"]
    """Node on which each container runs."""
    move_w: Float[Array, " containers"]
    """Price of moving each container, as W over the hour."""


def draw_snapshot(nodes: int, containers: int, seed: int, variant: Variant) -> DrawnSnapshot:
    """One snapshot, the same for the same arguments.

    Args:
        nodes: how many nodes, from 1.
        containers: how many containers, from 1.
        seed: which of the snapshots of that size, from 0.
        variant: how hard it is; what is special about the fog is added elsewhere (`fog`).

    Raises:
        ModelError: if a number is out of range.
        PlacementError: if the draw does not fit on its nodes.
    """
    if nodes < 1 or containers < 1 or seed < 0:
        raise ModelError(
            f"a snapshot of {nodes} nodes, {containers} containers and seed {seed} cannot be drawn; give at least one "
            "node and one container, and a seed from 0"
        )
    rng = np.random.default_rng(seed * 1000003 + nodes)
    kind = rng.choice(len(_CORES), nodes, p=_SHARE_OF_KIND)
    cores, gib = _CORES[kind], _GIB[kind]
    unit = rng.normal(1, 0.06, nodes).clip(0.85, 1.2)
    idle_w, peak_w = _IDLE_W[kind] * unit, _PEAK_W[kind] * unit
    of_kind = rng.random(nodes) < 0.4
    if not of_kind.any():
        of_kind[0] = True
    raw = rng.lognormal(0.0, 0.9, containers)
    raw = raw / raw.sum() * (cores.sum() * 10 * variant.load)
    cpu = np.clip(np.round(raw), 1, 200).astype(int)
    gib_per_core = rng.choice([1.0, 2.0, 4.0, 8.0], containers, p=[0.2, 0.35, 0.3, 0.15])
    memory = np.clip(np.round(cpu / 10 * gib_per_core * 4), 1, 240).astype(int)
    fixed = rng.random(containers) < 0.03
    bound = rng.random(containers) < variant.bound_to_kind
    order = rng.permutation(containers)
    in_threes = order[: int(containers * variant.replicated) // 3 * 3]
    in_twos = order[len(in_threes) :][: int(containers * variant.paired) // 2 * 2]
    group, pair = np.full(containers, -1), np.full(containers, -1)
    group[in_threes] = np.arange(len(in_threes)) // 3
    pair[in_twos] = np.arange(len(in_twos)) // 2
    for restricted in (bound, fixed):
        restricted[in_twos[1::2]] = restricted[in_twos[::2]]
    cpu_room = np.floor(cores * 10 * _CPU_HEAD).astype(int)
    memory_room = np.floor(gib * 4 * _MEMORY_HEAD).astype(int)
    home = _spread(rng, cpu_room, memory_room, of_kind, cpu, memory, bound, group, pair)
    return DrawnSnapshot(
        nodes=nodes,
        containers=containers,
        cpu_room=cpu_room,
        memory_room=memory_room,
        idle_w=idle_w,
        slope_w=(peak_w - idle_w) / (cores * 10),
        of_kind=of_kind,
        cpu=cpu,
        memory=memory,
        bound_to_kind=bound,
        fixed=fixed,
        group=group,
        pair=pair,
        home=home,
        move_w=_MOVE_W + _MOVE_W_PER_GIB * memory / 4,
    )


def _spread(
    rng: np.random.Generator,
    cpu_room: Int[Array, " nodes"],
    memory_room: Int[Array, " nodes"],
    of_kind: Bool[Array, " nodes"],
    cpu: Int[Array, " containers"],
    memory: Int[Array, " containers"],
    bound: Bool[Array, " containers"],
    group: Int[Array, " containers"],
    pair: Int[Array, " containers"],
) -> Int[Array, " containers"]:
    """Node of each container: one after the other, on the least loaded of the first few feasible nodes drawn.

    This is what a scheduler that prefers the least allocated node leaves (Kubernetes looks at a sample of nodes, too).
    """
    nodes, containers = len(cpu_room), len(cpu)
    home = np.full(containers, -1)
    cpu_taken, memory_taken = np.zeros(nodes, int), np.zeros(nodes, int)
    barred: list[list[int]] = [[] for _ in range(int(group.max(initial=-1)) + 1)]
    partner = np.full(containers, -1)
    for p in range(int(pair.max(initial=-1)) + 1):
        a, b = np.flatnonzero(pair == p)
        partner[a], partner[b] = b, a
    for c in rng.permutation(containers):
        if home[c] >= 0:
            continue
        both = [c] if partner[c] < 0 else [c, partner[c]]
        needs_cpu, needs_memory = cpu[both].sum(), memory[both].sum()
        fits = (cpu_taken + needs_cpu <= cpu_room) & (memory_taken + needs_memory <= memory_room)
        if bound[c]:
            fits &= of_kind
        if group[c] >= 0:
            fits[barred[group[c]]] = False
        drawn = rng.permutation(nodes)
        looked_at = drawn[fits[drawn]][:_LOOKED_AT]
        if not len(looked_at):
            raise PlacementError(
                f"container {c} of {needs_cpu / CPU_STEPS_PER_CORE:g} cores finds no room on {nodes} nodes; "
                "draw with more nodes, another seed or an easier variant"
            )
        taken = np.maximum(cpu_taken[looked_at] / cpu_room[looked_at], memory_taken[looked_at] / memory_room[looked_at])
        n = looked_at[np.argmin(taken)]
        home[both] = n
        cpu_taken[n] += needs_cpu
        memory_taken[n] += needs_memory
        if group[c] >= 0:
            barred[group[c]].append(int(n))
    return home
