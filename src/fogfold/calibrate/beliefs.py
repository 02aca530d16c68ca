"""What the world is believed to be: the parameters that can be calibrated, and the cluster that they belong to.

A scenario says it all, but in places of its own (a machine's curve, a group's median, a constant). Here stand the
same figures side by side, as fits and predictions need them. `changes` writes them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.cost.machine import Machine
from fogfold.cost.machines import MACHINES
from fogfold.encoding.arrays import FleetArrays, fleet_arrays
from fogfold.errors import did_you_mean
from fogfold.model.container import Movability
from fogfold.units import BITS_PER_BYTE, MBIT
from fogfold.world.scenario.build import BuiltScenario
from fogfold.world.scenario.fleet import machine_of
from fogfold.world.scenario.ground import draw_ground

__all__ = ["Beliefs", "Described", "beliefs_of", "described"]


@dataclass(frozen=True)
class Beliefs:
    """The parameters that can be calibrated."""

    curve_w: Mapping[str, Float[Array, " 11"]]
    """Power curve of each kind of machine, in W."""
    wake_s: Mapping[str, float]
    """Boot time of each kind of machine."""
    link_share: float
    """Share of a link that moves may take, in ]0, 1]."""
    cap_bit_s: float
    """Limit on one move's rate."""
    uplink_factor: Mapping[str, float]
    """What the uplinks of each site group are, over what the scenario says."""
    dirty_factor: Mapping[str, float]
    """What the dirty rates of each service are, over what the scenario says."""
    failure_base: float
    """Chance that one attempt at a move fails on a calm link."""


@dataclass(frozen=True)
class Described:
    """The cluster as the scenario describes it."""

    built: BuiltScenario
    fleet: FleetArrays
    machines: Mapping[str, Machine]
    """Kinds of machine that the scenario uses, by name."""
    machine: tuple[str, ...]
    """Kind of each node."""
    site: Array
    """Site of each node."""
    group: tuple[str, ...]
    """Site group of each site."""
    uplink_byte_s: Float[Array, " sites"]
    jitter_ms: Float[Array, " sites"]
    loss: Float[Array, " sites"]
    up_byte_s: Float[Array, " nodes"]
    down_byte_s: Float[Array, " nodes"]
    service: tuple[str, ...]
    """Service of each container."""
    dirty_byte_s: Float[Array, " containers"]
    is_live: Array
    """Whether each container moves by copying its memory while it runs."""

    def machine_hint(self, name: str) -> str:
        """The nearest kind of machine."""
        return did_you_mean(name, self.machines)


def described(built: BuiltScenario) -> Described:
    """The cluster of a scenario and seed."""
    cluster = built.cluster
    own = {part.name: machine_of(part) for part in built.scenario.machines}
    used = {entry.machine for group in built.scenario.nodes for entry in group.mix}
    machines = {name: machine for name, machine in ({**MACHINES, **own}).items() if name in used}
    of_curve = {machine.power_curve.name: name for name, machine in machines.items()}
    group = [""] * len(cluster.sites)
    for name, members in draw_ground(built.scenario, built.seed).groups.items():
        for member in members.tolist():
            group[member] = name
    services = sorted((service.name for service in built.scenario.containers.services), key=len, reverse=True)
    return Described(
        built=built,
        fleet=fleet_arrays(cluster),
        machines=machines,
        machine=tuple(of_curve[node.power_curve.name] for node in cluster.nodes),
        site=np.array([cluster.site_index[node.site] for node in cluster.nodes]),
        group=tuple(group),
        uplink_byte_s=np.array([site.uplink_bit_s for site in cluster.sites]) / BITS_PER_BYTE,
        jitter_ms=np.array([site.jitter_ms for site in cluster.sites]),
        loss=np.array([site.loss for site in cluster.sites]),
        up_byte_s=np.array([node.capacity.as_tuple()[2] for node in cluster.nodes]) / BITS_PER_BYTE,
        down_byte_s=np.array([node.network_down_bit_s for node in cluster.nodes]) / BITS_PER_BYTE,
        service=tuple(
            next(name for name in services if container.id.rpartition("-")[0] == name)
            for container in cluster.containers
        ),
        dirty_byte_s=np.array([container.dirty_rate_bit_s for container in cluster.containers]) / BITS_PER_BYTE,
        is_live=np.array([container.movability is Movability.LIVE for container in cluster.containers]),
    )


def beliefs_of(cluster: Described) -> Beliefs:
    """What the scenario says of all that can be calibrated."""
    params = cluster.built.params
    return Beliefs(
        curve_w={name: np.array(machine.power_curve.points_w) for name, machine in cluster.machines.items()},
        wake_s={name: machine.wake_s for name, machine in cluster.machines.items()},
        link_share=params.migration_link_share,
        cap_bit_s=params.migration_cap_bit_s,
        uplink_factor=dict.fromkeys(cluster.group, 1.0),
        dirty_factor=dict.fromkeys((service.name for service in cluster.built.scenario.containers.services), 1.0),
        failure_base=params.migration_failure_base,
    )


def median_dirty_byte_s(cluster: Described, service: str) -> float:
    """The middle of what the scenario says of a service's dirty rate."""
    found = next(one for one in cluster.built.scenario.containers.services if one.name == service)
    return found.dirty_rate_mbit_s.median * MBIT / BITS_PER_BYTE
