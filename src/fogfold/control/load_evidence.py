"""How long the nodes of a site have been little or much loaded, without a gap: what sleep and waking need.

The two are lopsided: a site must be quiet for long before one of its nodes sleeps, and busy only briefly before one is
woken (VMware's distributed power management: 40 and 5 minutes, a band of 63 +- 18 %). A sample that is missing is no
evidence of quiet.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fogfold.errors import ModelError
from fogfold.model.identity import NodeId, SiteId
from fogfold.model.node import NodeState
from fogfold.model.resources import RESOURCE_COUNT, check_number
from fogfold.model.snapshot import Snapshot
from fogfold.units import MINUTE_S

__all__ = [
    "EvidenceSettings",
    "LoadEvidence",
    "SiteLoad",
    "evidence_of_kept",
    "joined",
    "kept_evidence",
    "observe_load",
    "site_loads",
]


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """The band, and how long a site must be outside it."""

    low_load: float = 0.45
    """Load of a site below which one of its nodes may be too many."""
    aim_load: float = 0.63
    """Load that must not be passed once a node sleeps: the middle of the band."""
    high_load: float = 0.81
    """Load of a site above which it has a node too few."""
    quiet_s: float = 40 * MINUTE_S
    """How long it must be below the band before a node sleeps."""
    busy_s: float = 5 * MINUTE_S
    """How long it must be above the band before a node is woken."""
    gap_s: float = 180.0
    """Longest time between samples; after a longer one evidence begins anew."""

    def __post_init__(self) -> None:
        for name in ("low_load", "aim_load", "high_load"):
            check_number(name, float(getattr(self, name)), above=True, high=1.0)
        for name in ("quiet_s", "busy_s", "gap_s"):
            check_number(name, float(getattr(self, name)), above=True)
        if not self.low_load < self.aim_load < self.high_load:
            raise ModelError(
                f"low_load, aim_load and high_load are {self.low_load:g}, {self.aim_load:g} and {self.high_load:g}; "
                "give them in rising order, or a node that is sent to sleep is woken at once"
            )


@dataclass(frozen=True, slots=True)
class SiteLoad:
    """How loaded the nodes of a site are that are on."""

    used: tuple[float, ...]
    """Usage of each resource, in the order of `Resource`."""
    capacity: tuple[float, ...]
    """Capacity of the nodes that are on."""
    is_whole: bool
    """Whether every node that should be up is known; where not, the site may be fuller than it looks."""

    @property
    def load(self) -> float | None:
        """Largest share of any resource in use; None where no node is on and known."""
        if min(self.capacity) <= 0.0:
            return None
        return max(used / capacity for used, capacity in zip(self.used, self.capacity, strict=True))

    def without(self, capacity: tuple[float, ...]) -> float | None:
        """The load once a node of that capacity is off and its containers are elsewhere on the site."""
        left = tuple(have - gone for have, gone in zip(self.capacity, capacity, strict=True))
        return SiteLoad(self.used, left, self.is_whole).load


@dataclass(frozen=True, slots=True)
class LoadEvidence:
    """Since when a site has been outside its band."""

    quiet_since_s: float | None = None
    busy_since_s: float | None = None
    seen_s: float | None = None
    """When it was last looked at."""


def site_loads(snapshot: Snapshot, blind: Collection[NodeId] = ()) -> Mapping[SiteId, SiteLoad]:
    """The load of each site, from the nodes that are on and known; requests where a usage is not measured."""
    cluster = snapshot.cluster
    used: dict[SiteId, list[float]] = {site.id: [0.0] * RESOURCE_COUNT for site in cluster.sites}
    capacity: dict[SiteId, list[float]] = {site.id: [0.0] * RESOURCE_COUNT for site in cluster.sites}
    unknown: dict[SiteId, int] = defaultdict(int)
    site_of = {node.id: node.site for node in cluster.nodes}
    for node in cluster.nodes:
        if node.id in blind:
            unknown[node.site] += 1
        elif snapshot.states[node.id] is NodeState.ON:
            for r, offered in enumerate(node.capacity.as_tuple()):
                capacity[node.site][r] += offered
    targets, placement, usage = snapshot.targets, snapshot.placement, snapshot.usage
    for container in cluster.containers:
        name = container.id
        where = targets.get(name) or placement.get(name)
        if where is None or where in blind:
            continue
        amount = usage.get(name) or container.request
        # Thousands of containers at every look: the four are added one by one.
        total = used[site_of[where]]
        total[0] += amount.cpu_cores
        total[1] += amount.memory_bytes
        total[2] += amount.network_bit_s
        total[3] += amount.disk_iops
    return {site: SiteLoad(tuple(used[site]), tuple(capacity[site]), not unknown[site]) for site in used}


def observe_load(
    before: LoadEvidence, load: SiteLoad, now_s: float, settings: EvidenceSettings | None = None
) -> LoadEvidence:
    """The evidence with one more sample. After a gap, or where time went back, it begins anew."""
    settings = settings or EvidenceSettings()
    unbroken = before.seen_s is not None and 0.0 <= now_s - before.seen_s <= settings.gap_s
    quiet, busy = (before.quiet_since_s, before.busy_since_s) if unbroken else (None, None)
    now = load.load
    is_quiet = now is not None and load.is_whole and now < settings.low_load
    is_busy = now is not None and now > settings.high_load
    return LoadEvidence(
        quiet_since_s=(quiet if quiet is not None else now_s) if is_quiet else None,
        busy_since_s=(busy if busy is not None else now_s) if is_busy else None,
        seen_s=now_s,
    )


def joined(
    kept: LoadEvidence, own: LoadEvidence, *, looked_since_s: float, settings: EvidenceSettings | None = None
) -> LoadEvidence:
    """One's own evidence with that of an instance before: unbroken where no more than a gap lies between the two.

    Args:
        kept: what the other saw last.
        own: what was seen here, the latest look included.
        looked_since_s: when the first look was taken here.
        settings: how long a gap may be.
    """
    settings = settings or EvidenceSettings()
    if kept.seen_s is None or own.seen_s is None:
        return own
    if not kept.seen_s <= own.seen_s or looked_since_s - kept.seen_s > settings.gap_s:
        return own
    # Whoever looked while the other still did knows about every look since; else the first look must have been alike.
    latest_s = max(kept.seen_s, looked_since_s)

    def since(theirs_s: float | None, ours_s: float | None) -> float | None:
        if ours_s is None or theirs_s is None or ours_s > latest_s:
            return ours_s
        return min(theirs_s, ours_s)

    return LoadEvidence(
        since(kept.quiet_since_s, own.quiet_since_s), since(kept.busy_since_s, own.busy_since_s), own.seen_s
    )


def kept_evidence(evidence: Mapping[SiteId, LoadEvidence]) -> dict[str, Any]:
    """Evidence of all sites as plain values, as it is kept."""
    return {site: asdict(one) for site, one in evidence.items()}


def evidence_of_kept(value: Mapping[str, Any]) -> dict[SiteId, LoadEvidence]:
    """The evidence that was kept.

    Raises:
        ModelError: if it is of another form.
    """
    out = {}
    try:
        for site, one in value.items():
            out[SiteId(site)] = LoadEvidence(**one)
            for name, at_s in one.items():
                if at_s is not None:
                    check_number(name, at_s, low=-math.inf)
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"evidence of load cannot be read ({error!r}); it is of another version") from error
    return out
