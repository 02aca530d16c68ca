"""A drawn snapshot as a cluster of fogfold's model, at the same prices.

The draw knows two resources and one kind of restriction. The model says them with what it has, so that every policy
can be asked, and so that each sees the very objective that it is judged by:

- A node offers what the draw lets be promised. Containers use half of their requests, as in a cluster that asks for
  more than it needs, so room is short by requests before any node is hot.
- The restriction to nodes of one kind is the instruction set: nodes of the kind are amd64, the others arm64, and
  containers that are not bound to it have images for both.
- A pair that must share a node has no counterpart in the model. It is one container, with the sum of both requests
  and prices; a budget counts it once.
- Groups of three keep off each other's nodes (anti-affinity over nodes), and all three may be on the move at once.
- A node draws idle power plus a fixed power for each core. Asleep it draws nothing, and switching costs nothing, so an
  hour asleep saves an hour of idle power. Nodes that the draw left empty are asleep.
- The price of a move is time not served: containers are moved by restart, and take as long to start as makes the
  model's own price (`policy.worth.move_cost_wh`) equal to the draw's.
"""

from __future__ import annotations

import math

from fogfold.cost.total import ExchangeRates
from fogfold.evaluate.snapshots.fog import ACCELERATORS_PER_NODE, Places, draw_places, one_place
from fogfold.evaluate.snapshots.generate import CPU_STEPS_PER_CORE, MEMORY_STEPS_PER_GIB, DrawnSnapshot, draw_snapshot
from fogfold.evaluate.snapshots.unit import Units, units_of
from fogfold.evaluate.snapshots.variant import Variant
from fogfold.model.cluster import Cluster, Group, Scope, Site
from fogfold.model.container import Container, Image, Movability, ServiceClass
from fogfold.model.identity import ContainerId, GroupId, ImageId, NodeId, SiteId
from fogfold.model.node import POWER_CURVE_POINTS, Accelerator, Architecture, Node, NodeState, PowerCurve
from fogfold.model.resources import Resources
from fogfold.model.snapshot import Snapshot
from fogfold.units import GIB, MBIT, MS_PER_S

__all__ = ["drawn_snapshot", "snapshot_of_draw"]

_USED = 0.5
"""Usage over requests."""
_WAKE_S = 60.0
_NODE_BIT_S = 1000 * MBIT
_EITHER = frozenset({Architecture.AMD64, Architecture.ARM64})
_IMAGE = ImageId("app")
_ACCELERATOR = "gpu"


def drawn_snapshot(nodes: int, containers: int, seed: int, variant: Variant) -> Snapshot:
    """One snapshot of the suite as a cluster; arguments and errors as in `generate.draw_snapshot`."""
    return snapshot_of_draw(draw_snapshot(nodes, containers, seed, variant), seed, fog=variant.fog)


def snapshot_of_draw(draw: DrawnSnapshot, seed: int, *, fog: bool = False) -> Snapshot:
    """A draw as a snapshot of a cluster; `seed` matters for the fog alone."""
    units = units_of(draw)
    places = draw_places(draw, units, seed) if fog else one_place(draw, units)
    sites = tuple(
        Site(SiteId(f"s{i}"), float(latitude), float(longitude), uplink_bit_s=10 * _NODE_BIT_S)
        for i, (latitude, longitude) in enumerate(zip(places.latitude_deg, places.longitude_deg, strict=True))
    )
    nodes = tuple(_node(n, draw, places) for n in range(draw.nodes))
    containers = tuple(_container(u, units, places) for u in range(len(units.cpu)))
    groups = tuple(
        Group(GroupId(f"g{g}"), anti_affinity=Scope.NODE, may_be_missing=3)
        for g in range(int(units.group.max(initial=-1)) + 1)
    )
    cluster = Cluster(sites, nodes, (Image(_IMAGE, 0.0),), groups, containers)
    in_use = set(units.home.tolist())
    return Snapshot(
        cluster,
        placement={c.id: nodes[n].id for c, n in zip(containers, units.home.tolist(), strict=True)},
        states={node.id: NodeState.ON if n in in_use else NodeState.ASLEEP for n, node in enumerate(nodes)},
        usage={c.id: Resources(*(_USED * amount for amount in c.request.as_tuple())) for c in containers},
        images={node.id: frozenset({_IMAGE}) for node in nodes},
    )


def _node(n: int, draw: DrawnSnapshot, places: Places) -> Node:
    idle_w, room = float(draw.idle_w[n]), int(draw.cpu_room[n])
    span_w = float(draw.slope_w[n]) * room / _USED
    curve = PowerCurve(
        f"drawn-{n}",
        tuple(idle_w + span_w * k / (POWER_CURVE_POINTS - 1) for k in range(POWER_CURVE_POINTS)),
        "drawn: idle power and a fixed power for each core",
    )
    return Node(
        NodeId(f"n{n}"),
        SiteId(f"s{places.site_of_node[n]}"),
        Resources(room / CPU_STEPS_PER_CORE, int(draw.memory_room[n]) / MEMORY_STEPS_PER_GIB * GIB, _NODE_BIT_S, 1.0),
        network_down_bit_s=_NODE_BIT_S,
        power_curve=curve,
        sleep_w=0.0,
        shutdown_s=30.0,
        wake_s=_WAKE_S,
        shutdown_energy_j=0.0,
        wake_energy_j=idle_w * _WAKE_S,
        architecture=Architecture.AMD64 if draw.of_kind[n] else Architecture.ARM64,
        accelerator=Accelerator(_ACCELERATOR, ACCELERATORS_PER_NODE) if places.has_accelerator[n] else None,
    )


def _container(u: int, units: Units, places: Places) -> Container:
    cores = int(units.cpu[u]) / CPU_STEPS_PER_CORE
    service_ms = float(places.service_ms[u])
    home_site = SiteId(f"s{places.site_of_node[units.home[u]]}")
    group = int(units.group[u])
    tied = math.isfinite(places.data_km[u])
    return Container(
        ContainerId(f"c{u}"),
        _IMAGE,
        Resources(cores, int(units.memory[u]) / MEMORY_STEPS_PER_GIB * GIB, float(places.network_bit_s[u]), 0.0),
        service_time_ms=service_ms,
        users=((home_site, 1.0),),
        latency_objective_ms=float(places.objective_ms[u]),
        service_class=ServiceClass.STANDARD if math.isfinite(places.objective_ms[u]) else ServiceClass.BATCH,
        architectures=frozenset({Architecture.AMD64}) if units.bound_to_kind[u] else _EITHER,
        accelerator=Accelerator(_ACCELERATOR, 1) if places.needs_accelerator[u] else None,
        data_site=home_site if tied else None,
        data_distance_km=float(places.data_km[u]) if tied else math.inf,
        group=GroupId(f"g{group}") if group >= 0 else None,
        movability=Movability.NEVER if units.fixed[u] else Movability.RESTART,
        start_s=_start_s(float(units.move_w[u]), _USED * cores, service_ms),
    )


def _start_s(move_wh: float, used_cores: float, service_ms: float) -> float:
    """The start-up time at which a move by restart costs that much: downtime, and the requests that are lost in it."""
    rates = ExchangeRates()
    requests_s = used_cores * MS_PER_S / service_ms
    return move_wh / (rates.downtime_s_wh + requests_s * rates.late_request_wh)
