"""An instant of the benchmark as a cluster of fogfold's model: hosts as nodes, VMs as containers, 1000 MIPS as a core.

Made so that any policy of fogfold can be asked about it (`guest`). What the benchmark does not know is left out, and
what the model must have is given the value at which it decides nothing:

- What is promised is what is wanted at the instant. The benchmark sells more than there is and places by demand, so a
  request of what was sold would forbid most of what it does.
- Memory is that of the host where the benchmark checks it (correction `ram`), and as good as endless where it does not;
  what a move takes is the same in either case: the VM's memory at half of a link of 1 Gbit/s.
- A VM has one core, so one that wants more than a G4's core has may go to a G5 alone. The model says it by the
  instruction set: G5s are amd64, G4s arm64.
- A host without load is off: asleep where it has no VM. Asleep it draws nothing; waking takes the benchmark's time.
- There is one place, nobody waits, and no image is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView, FleetArrays, fleet_arrays
from fogfold.evaluate.planetlab.machines import HOST_KINDS
from fogfold.evaluate.planetlab.seam import Observation
from fogfold.model.cluster import Cluster, Site
from fogfold.model.container import Container, Image, ServiceClass
from fogfold.model.identity import ContainerId, ImageId, NodeId, SiteId
from fogfold.model.node import Architecture, Node, NodeState, PowerCurve
from fogfold.model.resources import Resources
from fogfold.units import MBIT

__all__ = ["MIPS_PER_CORE", "ClusterMaker"]

MIPS_PER_CORE = 1000.0
_MB = 1e6
_ENDLESS_MB = 1e9
_NOTHING = 1e-6
"""Cores, bit/s and IOPS that stand for none: the model wants more than zero."""
_LINK_BIT_S = 1000 * MBIT
_AT_ONCE_S = 1.0
"""What stands for no time at all where the model wants some."""
_SERVICE_MS = 60_000.0
_SITE, _IMAGE = SiteId("s0"), ImageId("vm")
_SLOWEST_CORE_MIPS = min(kind.core_mips for kind in HOST_KINDS)
_FAST, _ANY = frozenset({Architecture.AMD64}), frozenset({Architecture.AMD64, Architecture.ARM64})


@dataclass
class ClusterMaker:
    """Makes views of one day; what does not change from one instant to the next is made once."""

    _nodes: tuple[Node, ...] = ()
    _containers: dict[tuple[int, bool], Container] = field(default_factory=dict)
    _fleet: FleetArrays | None = None
    _key: tuple[tuple[int, bool], ...] = ()

    def view(self, seen: Observation) -> tuple[ClusterView, Int[Array, " containers"]]:
        """The cluster, its nodes in the order of the hosts, and the VM that each of its containers stands for."""
        vms = np.flatnonzero(seen.alive)
        fleet = self._fleet_of(seen, vms)
        placement = seen.vm_host[vms].astype(np.int32)
        lived = min(seen.step - 1, seen.vm_history_mips.shape[1] - 1)
        usage = np.full((4, len(vms)), _NOTHING)
        usage[0] = seen.vm_demand_mips[vms] / MIPS_PER_CORE
        usage[1] = fleet.request[1]
        promised = fleet.container.copy()
        promised[0] = np.maximum(usage[0], _NOTHING)
        used = np.bincount(placement, minlength=fleet.nodes) > 0
        view = ClusterView(
            fleet=replace(fleet, container=promised),
            state=np.where(used, NodeState.ON, NodeState.ASLEEP).astype(np.int32),
            placement=placement,
            target=np.full(len(vms), -1, np.int32),
            usage=usage,
            image_present=np.ones((fleet.nodes, 1), bool),
            cpu_history=np.ascontiguousarray(seen.vm_history_mips[vms, 1 : lived + 1][:, ::-1].T) / MIPS_PER_CORE,
            time_s=seen.time_s,
        )
        return view, vms

    def _fleet_of(self, seen: Observation, vms: Int[Array, " alive"]) -> FleetArrays:
        if not self._nodes:
            self._nodes = tuple(_node(host, seen) for host in range(len(seen.host_mips)))
        fast = seen.vm_demand_mips[vms] > _SLOWEST_CORE_MIPS
        key = tuple(zip(vms.tolist(), fast.tolist(), strict=True))
        if self._fleet is None or key != self._key:
            for vm, only_fast in key:
                if (vm, only_fast) not in self._containers:
                    self._containers[vm, only_fast] = _container(vm, seen, only_fast=only_fast)
            cluster = Cluster(
                (Site(_SITE, 0.0, 0.0, uplink_bit_s=1000 * _LINK_BIT_S),),
                self._nodes,
                (Image(_IMAGE, 0.0),),
                (),
                tuple(self._containers[k] for k in key),
            )
            self._fleet, self._key = fleet_arrays(cluster), key
        return self._fleet


def _node(host: int, seen: Observation) -> Node:
    curve = tuple(seen.host_power_w[host].tolist())
    wake_s = max(seen.wake_s, _AT_ONCE_S)
    memory_mb = seen.host_ram_mb[host] if seen.checks_ram else _ENDLESS_MB
    slow = seen.host_core_mips[host] <= _SLOWEST_CORE_MIPS
    return Node(
        NodeId(f"h{host}"),
        _SITE,
        Resources(seen.host_mips[host] / MIPS_PER_CORE, memory_mb * _MB, _LINK_BIT_S, 1.0),
        network_down_bit_s=_LINK_BIT_S,
        power_curve=PowerCurve("slow" if slow else "fast", curve, "the benchmark's host, SPECpower_ssj2008"),
        sleep_w=0.0,
        shutdown_s=_AT_ONCE_S,
        wake_s=wake_s,
        shutdown_energy_j=0.0,
        wake_energy_j=curve[-1] * seen.wake_s,
        architecture=Architecture.ARM64 if slow else Architecture.AMD64,
    )


def _container(vm: int, seen: Observation, *, only_fast: bool) -> Container:
    return Container(
        ContainerId(f"vm{vm}"),
        _IMAGE,
        Resources(_NOTHING, seen.vm_ram_mb[vm] * _MB, _NOTHING, _NOTHING),
        service_time_ms=_SERVICE_MS,
        users=((_SITE, 1.0),),
        service_class=ServiceClass.BATCH,
        architectures=_FAST if only_fast else _ANY,
    )
