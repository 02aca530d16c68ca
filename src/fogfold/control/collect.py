"""Readings become a snapshot: what is old, missing or cannot be true is left out, and the node it was about is blind.

A blind node is neither source nor target. Its containers are kept where they are and are taken at their requests, since
their usage is not known: never at zero. Which nodes are blind, and why, is part of what comes back.

Pressure says how near a node is to trouble: for each resource its usage as a share of capacity, over the share at
which that resource begins to hurt; the largest counts. 1 is a node at a mark, above 1 it is hot. Usage is that of the
node where it was measured, else the sum over its containers, and in either case no less than that sum; containers on
their way there count as if they had arrived. Marks are those of `CollectSettings`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fogfold.control.readings import NodeReading, Readings
from fogfold.model.identity import ContainerId, NodeId, SiteId
from fogfold.model.node import Node, NodeState
from fogfold.model.resources import RESOURCE_COUNT, Resource, Resources, check_number
from fogfold.model.snapshot import Snapshot

__all__ = ["Blindness", "Blindspot", "CollectSettings", "Collected", "Pressure", "assemble"]

_UP = (NodeState.ON, NodeState.DRAINING)
"""States in which a node is expected to be read."""


@dataclass(frozen=True, slots=True)
class CollectSettings:
    """What is believed."""

    oldest_s: float = 180.0
    """Age above which a reading is no longer believed: six samples of 30 s."""
    ahead_s: float = 5.0
    """How far in the future a reading may lie: clocks of nodes kept by NTP differ by less."""
    impossible_share: float = 1.5
    """Usage over capacity above which a reading cannot be true; a little above 1 is rounding and short bursts."""
    cpu_mark: float = 0.8
    """Share of capacity at which a resource begins to hurt: queues grow fivefold at 80 % (1 / (1 - load))."""
    memory_mark: float = 0.9
    """Memory has no queue, but the kernel reclaims and kills near the end."""
    network_mark: float = 0.8
    disk_mark: float = 0.8

    def __post_init__(self) -> None:
        check_number("oldest_s", self.oldest_s, above=True)
        check_number("ahead_s", self.ahead_s)
        check_number("impossible_share", self.impossible_share, low=1.0)
        for name in ("cpu_mark", "memory_mark", "network_mark", "disk_mark"):
            check_number(name, float(getattr(self, name)), high=1.0, above=True)

    @property
    def marks(self) -> tuple[float, float, float, float]:
        """The marks in the order of `Resource`."""
        return (self.cpu_mark, self.memory_mark, self.network_mark, self.disk_mark)


class Blindness(StrEnum):
    """Why nothing is known of a node that should be up."""

    NO_READING = "no reading"
    OLD = "old reading"
    AHEAD = "reading from the future"
    SILENT = "does not respond"
    NO_POWER = "no power drawn while running"
    IMPOSSIBLE = "impossible figures"


@dataclass(frozen=True, slots=True)
class Blindspot:
    """A node of which nothing is known, and why."""

    why: Blindness
    detail: str


@dataclass(frozen=True, slots=True)
class Pressure:
    """How near a node is to trouble; above 1 it is hot."""

    score: float
    resource: Resource
    """The resource that presses most."""


@dataclass(frozen=True)
class Collected:
    """A snapshot, with what is known about how much it can be trusted."""

    snapshot: Snapshot
    blind: Mapping[NodeId, Blindspot]
    """Nodes that should be up and of which nothing is known: neither source nor target."""
    pressure: Mapping[NodeId, Pressure]
    """Of every node that is up and not blind."""
    unreachable: frozenset[NodeId]
    """Nodes that should be up and do not answer, or have failed: what halts everything when they are many."""
    cut_off: frozenset[SiteId]
    """Sites whose uplink is lost: known to be, or several nodes of them should be up and none answers."""


def assemble(readings: Readings, now_s: float, settings: CollectSettings | None = None) -> Collected:
    """The snapshot of what was read, and which nodes are blind.

    The snapshot's age is that of the oldest thing in it: the listing, or a reading that is still believed.

    Args:
        readings: what the collector brought.
        now_s: the time, in seconds since the epoch.
        settings: what is believed; defaults where None.

    Raises:
        ModelError: if the readings name what is not in the cluster.
    """
    settings = settings or CollectSettings()
    cluster = readings.cluster
    blind: dict[NodeId, Blindspot] = {}
    for node in cluster.nodes:
        if readings.states.get(node.id) in _UP:
            spot = _blindspot(node, readings.nodes.get(node.id), now_s, settings)
            if spot is not None:
                blind[node.id] = spot
    usage, oldest_s = _usage(readings, blind, now_s, settings)
    ages = [abs(now_s - readings.listed_s), oldest_s]  # a listing from the future is as little worth as an old one
    ages += [
        max(0.0, now_s - reading.at_s)
        for node, reading in readings.nodes.items()
        if node not in blind and readings.states.get(node) in _UP
    ]
    snapshot = Snapshot(
        cluster,
        dict(readings.placement),
        dict(readings.states),
        usage,
        dict(readings.targets),
        dict(readings.images),
        time_s=now_s,
        age_s=max(ages),
    )
    silent = (Blindness.NO_READING, Blindness.OLD, Blindness.SILENT)
    unreachable = {node for node, spot in blind.items() if spot.why in silent}
    unreachable |= {node for node, state in snapshot.states.items() if state is NodeState.FAILED}
    return Collected(
        snapshot,
        blind,
        _pressure(snapshot, readings.nodes, blind, settings),
        frozenset(unreachable),
        readings.cut_off | _silent_sites(snapshot, frozenset(unreachable)),
    )


def _blindspot(node: Node, reading: NodeReading | None, now_s: float, settings: CollectSettings) -> Blindspot | None:
    if reading is None:
        return Blindspot(Blindness.NO_READING, f"no reading of {node.id}, which should be up")
    age_s = now_s - reading.at_s
    if not math.isfinite(age_s):
        return Blindspot(Blindness.IMPOSSIBLE, f"the reading of {node.id} bears the time {reading.at_s}")
    if age_s > settings.oldest_s:
        return Blindspot(
            Blindness.OLD, f"the reading of {node.id} is {age_s:.0f} s old, limit {settings.oldest_s:.0f} s"
        )
    if age_s < -settings.ahead_s:
        return Blindspot(Blindness.AHEAD, f"the reading of {node.id} lies {-age_s:.0f} s ahead; set its clock")
    if not reading.responds:
        return Blindspot(Blindness.SILENT, f"{node.id} does not respond")
    if reading.power_w is not None:
        if not math.isfinite(reading.power_w) or reading.power_w < 0.0:
            return Blindspot(Blindness.IMPOSSIBLE, f"{node.id} reports a draw of {reading.power_w} W")
        if reading.power_w == 0.0:
            return Blindspot(Blindness.NO_POWER, f"{node.id} runs and reports 0 W; mend its meter")
    return _impossible(node, reading, settings)


def _impossible(node: Node, reading: NodeReading, settings: CollectSettings) -> Blindspot | None:
    if reading.usage is None:
        return None
    for resource, used, capacity in zip(Resource, reading.usage, node.capacity.as_tuple(), strict=True):
        if not math.isfinite(used) or used < 0.0 or used > settings.impossible_share * capacity:
            return Blindspot(
                Blindness.IMPOSSIBLE,
                f"{node.id} reports {resource.name} usage of {used:g} on a capacity of {capacity:g}",
            )
    return None


def _usage(
    readings: Readings, blind: Mapping[NodeId, Blindspot], now_s: float, settings: CollectSettings
) -> tuple[dict[ContainerId, Resources], float]:
    """Usage of each container of which a believable reading exists, and the age of the oldest of these."""
    usage: dict[ContainerId, Resources] = {}
    oldest_s = 0.0
    for container, reading in readings.containers.items():
        where = readings.placement.get(container)
        age_s = now_s - reading.at_s
        if where is None or where in blind or not -settings.ahead_s <= age_s <= settings.oldest_s:
            continue
        usage[container] = reading.usage
        oldest_s = max(oldest_s, age_s)
    return usage, oldest_s


def _pressure(
    snapshot: Snapshot,
    nodes: Mapping[NodeId, NodeReading],
    blind: Mapping[NodeId, Blindspot],
    settings: CollectSettings,
) -> dict[NodeId, Pressure]:
    cluster = snapshot.cluster
    running: dict[NodeId, list[float]] = defaultdict(lambda: [0.0] * RESOURCE_COUNT)
    arriving: dict[NodeId, list[float]] = defaultdict(lambda: [0.0] * RESOURCE_COUNT)
    for mapping, totals in ((snapshot.placement, running), (snapshot.targets, arriving)):
        for container, node_id in mapping.items():
            known = snapshot.usage.get(container)
            amount = known or cluster.containers[cluster.container_index[container]].request
            # Thousands of containers at every look: the four are added one by one.
            total = totals[node_id]
            total[0] += amount.cpu_cores
            total[1] += amount.memory_bytes
            total[2] += amount.network_bit_s
            total[3] += amount.disk_iops
    out: dict[NodeId, Pressure] = {}
    for node in cluster.nodes:
        if snapshot.states[node.id] not in _UP or node.id in blind:
            continue
        reading = nodes.get(node.id)
        measured = reading.usage if reading is not None and reading.usage is not None else (0.0,) * RESOURCE_COUNT
        shares = [
            (max(measured[r], running[node.id][r]) + arriving[node.id][r]) / node.capacity.as_tuple()[r] / mark
            for r, mark in enumerate(settings.marks)
        ]
        most = max(range(RESOURCE_COUNT), key=lambda r: shares[r])
        out[node.id] = Pressure(shares[most], Resource(most))
    return out


def _silent_sites(snapshot: Snapshot, unreachable: frozenset[NodeId]) -> frozenset[SiteId]:
    """Sites of which at least two nodes should be up and none answers: the link is likelier dead than all of them."""
    should: dict[SiteId, list[NodeId]] = defaultdict(list)
    for node in snapshot.cluster.nodes:
        if snapshot.states[node.id] in (*_UP, NodeState.FAILED):
            should[node.site].append(node.id)
    return frozenset(site for site, nodes in should.items() if len(nodes) > 1 and unreachable.issuperset(nodes))
