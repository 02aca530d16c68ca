"""The nodes of a scenario, drawn from a seed: exact counts of each machine, dealt over the sites."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.cost.machine import FIGURES, Machine, MachineKind, node
from fogfold.cost.machines import MACHINES
from fogfold.model.identity import NodeId
from fogfold.model.node import Accelerator, Architecture, Node, PowerCurve, Tier
from fogfold.seeding import stream
from fogfold.units import DAY_S, GIB, HOUR_S, MBIT
from fogfold.world.scenario.ground import Ground
from fogfold.world.scenario.schema import Scenario
from fogfold.world.scenario.schema.nodes import MachinePart, NodeGroup

__all__ = ["Fleet", "draw_fleet", "machine_of", "whole_counts"]

_SITE_SIGMA = 0.8
"""How unevenly nodes are dealt: standard deviation of the logarithm of a site's weight. Sites of 1 to 10 nodes come
of it at a mean of about 3, as shops, cabinets and small machine rooms differ."""


@dataclass(frozen=True)
class Fleet:
    """The nodes of a cluster and what was drawn with them."""

    nodes: tuple[Node, ...]
    site: Int[Array, " nodes"]
    """Position of each node's site."""
    spare: Bool[Array, " nodes"]
    """Whether the node is held in reserve: it does not count where containers are sized to the capacity."""
    capacity: Float[Array, "4 nodes"]
    """What each node offers of each resource."""

    @property
    def base_capacity(self) -> Float[Array, " 4"]:
        """What all nodes but the spare ones offer together."""
        total: Float[Array, " 4"] = self.capacity[:, ~self.spare].sum(axis=1)
        return total


def draw_fleet(scenario: Scenario, ground: Ground, seed: int) -> Fleet:
    """The nodes of all groups, in the order of the file; each group has streams of its own."""
    machines = {**MACHINES, **{part.name: machine_of(part) for part in scenario.machines}}
    nodes: list[Node] = []
    site: list[int] = []
    spare: list[bool] = []
    for group in scenario.nodes:
        members = ground.groups[group.sites]
        dealt = members[_deal(group, len(members), stream(seed, "nodes", group.name, "sites"))]
        kinds = _kinds(group, stream(seed, "nodes", group.name, "machines"))
        waking = _never_sleeping(group, stream(seed, "nodes", group.name, "never-sleep"))
        digits = max(2, len(str(len(dealt) - 1)))
        for i, (where, kind) in enumerate(zip(dealt.tolist(), kinds, strict=True)):
            entry = group.mix[kind]
            made = node(
                machines[entry.machine],
                NodeId(f"{group.name}-{i:0{digits}d}"),
                ground.sites[where].id,
                Tier(entry.tier),
                never_sleep=i in waking,
            )
            nodes.append(made if group.failures else replace(made, mtbf_s=math.inf))
            site.append(where)
            spare.append(i >= group.count)
    capacity = np.array([one.capacity.as_tuple() for one in nodes]).T
    return Fleet(tuple(nodes), np.array(site), np.array(spare), np.ascontiguousarray(capacity))


def whole_counts(shares: Sequence[float], total: int) -> list[int]:
    """Whole numbers in these shares that sum to the total: largest remainders, earlier ones first on ties.

    >>> whole_counts([0.5, 0.3, 0.2], 9)
    [4, 3, 2]
    """
    scale = total / math.fsum(shares)
    exact = [share * scale for share in shares]
    counts = [math.floor(value + 1e-9) for value in exact]
    order = sorted(range(len(shares)), key=lambda i: (counts[i] - exact[i], i))
    for i in order[: total - sum(counts)]:
        counts[i] += 1
    return counts


def machine_of(part: MachinePart) -> Machine:
    """The machine that a scenario file describes itself; all its figures but the power curve have the file as source.

    Raises:
        ModelError: if its figures cannot be.
    """
    down_mbit_s = part.network_mbit_s if part.network_down_mbit_s is None else part.network_down_mbit_s
    sources = dict.fromkeys(FIGURES, "the scenario file")
    return Machine(
        name=part.name,
        description="A machine of the scenario file",
        kind=MachineKind.GPU_BOX if part.accelerator else MachineKind.EDGE_BOX,
        cores=part.cores,
        core_speed=part.core_speed,
        memory_bytes=part.memory_gib * GIB,
        network_up_bit_s=part.network_mbit_s * MBIT,
        network_down_bit_s=down_mbit_s * MBIT,
        disk_iops=part.disk_iops,
        architecture=Architecture[part.architecture.upper()],
        accelerator=Accelerator(part.accelerator.kind, part.accelerator.count) if part.accelerator else None,
        power_curve=PowerCurve(part.name, part.power_w, part.power_source),
        sleep_w=part.sleep_w,
        shutdown_s=part.shutdown_s,
        wake_s=part.wake_s,
        shutdown_energy_j=part.shutdown_energy_j,
        wake_energy_j=part.wake_energy_j,
        wake_failure_probability=part.wake_failure_probability,
        mtbf_s=part.mtbf_days * DAY_S,
        mttr_s=part.mttr_hours * HOUR_S,
        sources={**sources, "power_curve": part.power_source},
    )


def _deal(group: NodeGroup, sites: int, rng: np.random.Generator) -> Int[Array, " nodes"]:
    """Which site of the group each node stands at: one each first, then by uneven weights up to the limit.

    The nodes that count come site by site, the spare ones after them.
    """
    weight = np.exp(_SITE_SIGMA * rng.standard_normal(sites))
    held = np.ones(sites, np.int64)
    spare: list[int] = []
    for i in range(sites, group.count + group.spare):
        open_weight = np.where(held < group.most_per_site, weight, 0.0)
        where = int(np.searchsorted(np.cumsum(open_weight), rng.random() * open_weight.sum(), side="right"))
        held[where] += 1
        if i >= group.count:
            spare.append(where)
    for where in spare:
        held[where] -= 1
    return np.concatenate([np.repeat(np.arange(sites), held), np.array(spare, np.int64)])


def _kinds(group: NodeGroup, rng: np.random.Generator) -> list[int]:
    """Which entry of the mix each node is: exact counts, among those that count and among the spare ones."""
    shares = [entry.share for entry in group.mix]
    kinds: list[int] = []
    for count in (group.count, group.spare):
        kinds += rng.permutation(np.repeat(np.arange(len(shares)), whole_counts(shares, count))).tolist()
    return kinds


def _never_sleeping(group: NodeGroup, rng: np.random.Generator) -> frozenset[int]:
    count = math.ceil(group.never_sleep_share * group.count - 1e-9)
    return frozenset(rng.permutation(group.count)[:count].tolist())
