"""Which nodes may not go off now, and which should be woken: the rules of power over a whole cluster.

Two functions. `sleep_holds` takes nodes in the order in which they are to sleep, since each that may go makes the next
likelier to be the last of its kind. `wakes` names at most one node a site, so that one act at a time is judged by what
it did.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fogfold.control.boot_times import lead_s
from fogfold.control.codes import Code
from fogfold.control.load_evidence import EvidenceSettings, LoadEvidence, SiteLoad, site_loads
from fogfold.control.node_power import IN_TRANSIT, PowerState
from fogfold.control.orders import Hold
from fogfold.control.power import PowerRecord
from fogfold.model.identity import NodeId, SiteId
from fogfold.model.node import Node, NodeState
from fogfold.model.resources import RESOURCE_COUNT, check_number
from fogfold.model.snapshot import Snapshot
from fogfold.units import HOUR_S

__all__ = ["PowerRules", "PowerView", "Wake", "lead_of", "sleep_holds", "wakes"]

_WAKING = IN_TRANSIT - {PowerState.OFF_REQUESTED}


@dataclass(frozen=True, slots=True)
class PowerRules:
    """The rules' figures."""

    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    spare_share: float = 0.1
    """Share of a site's loaded nodes that may fail at once, with room for all that is promised on those that stay."""
    spare_least: int = 1
    """But at least so many. With 0, what a lost node ran waits until another has booted: the choice of sites of two."""
    woken_rest_s: float = HOUR_S
    """How long a node stays on after it was woken: no node goes off and on more than once in it."""
    failed_rest_s: float = HOUR_S
    """How long a node that did not come up is passed over."""

    def __post_init__(self) -> None:
        check_number("spare_share", self.spare_share, high=1.0)
        for name in ("spare_least", "woken_rest_s", "failed_rest_s"):
            check_number(name, float(getattr(self, name)))


@dataclass(frozen=True)
class PowerView:
    """What the rules look at."""

    snapshot: Snapshot
    now_s: float
    records: Mapping[NodeId, PowerRecord]
    evidence: Mapping[SiteId, LoadEvidence]
    """Since when each site has been outside its band."""
    blind: Collection[NodeId] = ()
    """Nodes of which nothing is known."""
    unproven: Collection[NodeId] = ()
    """Nodes that nobody has seen go off and come back."""
    must_stay: Mapping[NodeId, Hold] = field(default_factory=dict)
    """Nodes that must stay on for reasons known outside: last replica of a volume, our own leader, a health checker."""
    cut_off: Collection[SiteId] = ()
    """Sites whose uplink is lost."""
    forecast: Mapping[SiteId, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """Of each site: (seconds ahead, upper bound of used share of the capacity that is on now); absent where there is
    none, which is no forecast of calm: evidence alone decides then."""


@dataclass(frozen=True, slots=True)
class Wake:
    """A node that should be woken, and why."""

    node: NodeId
    why: str


def lead_of(node: Node, records: Mapping[NodeId, PowerRecord]) -> float:
    """How long before it is needed a node must be woken, in s."""
    record = records.get(node.id)
    return lead_s(record.boots_s if record is not None else (), node.wake_s)


def sleep_holds(nodes: Iterable[NodeId], view: PowerView, rules: PowerRules | None = None) -> dict[NodeId, Hold]:
    """Why each of these nodes may not go off, taken one after the other; those that may are not in it.

    Args:
        nodes: in the order in which they are to sleep.
        view: what is looked at.
        rules: the figures; defaults where None.
    """
    rules = rules or PowerRules()
    cluster = view.snapshot.cluster
    left = _Left(view)
    out: dict[NodeId, Hold] = {}
    for name in nodes:
        node = cluster.nodes[cluster.node_index[name]]
        hold = (
            _never(node, view)
            or left.last_of_kind(node)
            or _resting(node, view, left, rules)
            or _quiet(node, view, left, rules)
            or left.no_spare(node, rules)
        )
        if hold is not None:
            out[name] = hold
        else:
            left.without(node)
    return out


def wakes(view: PowerView, rules: PowerRules | None = None) -> tuple[tuple[Wake, ...], tuple[str, ...]]:
    """Nodes to wake, at most one a site, and alerts for sites that need one and have none.

    The longest off is woken first, so that wear is spread; those that just failed to come up are passed over.
    """
    rules = rules or PowerRules()
    found: list[Wake] = []
    alerts: list[str] = []
    for site in view.snapshot.cluster.sites:
        nodes = view.snapshot.cluster.at_site(site.id)
        if any(_state(node.id, view) in _WAKING for node in nodes):
            continue
        asleep = [node for node in nodes if _can_be_woken(node, view, rules)]
        longest_lead_s = max((lead_of(node, view.records) for node in asleep), default=0.0)
        why = _needs_one(site.id, view, longest_lead_s, rules)
        if not why:
            continue
        if not asleep:
            alerts.append(f"site {site.id} {why}, and no node of it can be woken")
            continue
        first = min(asleep, key=lambda node: (_off_since_s(node.id, view), node.id))
        found.append(Wake(first.id, f"site {site.id} {why}"))
    return tuple(found), tuple(alerts)


class _Left:
    """Which nodes stay on, as one after the other is let go."""

    def __init__(self, view: PowerView) -> None:
        snapshot = view.snapshot
        self.loads = dict(site_loads(snapshot, view.blind))
        self.at_site: dict[SiteId, list[Node]] = {site.id: [] for site in snapshot.cluster.sites}
        for node in snapshot.cluster.nodes:
            self.at_site[node.site].append(node)
        self._on = {n.id for n in snapshot.cluster.nodes if snapshot.states[n.id] is NodeState.ON}
        self._seen = self._on - set(view.blind)
        self._kinds = Counter(k for n in snapshot.cluster.nodes if n.id in self._seen for k in _kinds(n))
        self._promised = {site: [0.0] * RESOURCE_COUNT for site in self.at_site}
        self._loaded: dict[SiteId, set[NodeId]] = {site: set() for site in self.at_site}
        site_of = {node.id: node.site for node in snapshot.cluster.nodes}
        for container in snapshot.cluster.containers:
            where = snapshot.targets.get(container.id, snapshot.placement.get(container.id))
            if where is not None:
                self._loaded[site_of[where]].add(where)
                for r, amount in enumerate(container.request.as_tuple()):
                    self._promised[site_of[where]][r] += amount

    def without(self, node: Node) -> None:
        """One goes."""
        if node.id in self._on:
            before = self.loads[node.site]
            gone = zip(before.capacity, node.capacity.as_tuple(), strict=True)
            capacity = before.capacity if node.id not in self._seen else tuple(have - less for have, less in gone)
            self.loads[node.site] = SiteLoad(before.used, capacity, before.is_whole)
        if node.id in self._seen:
            self._kinds.subtract(_kinds(node))
        self._on.discard(node.id)
        self._seen.discard(node.id)

    def last_of_kind(self, node: Node) -> Hold | None:
        """Whether no other node that is on and known is at its site, or of its instruction set or accelerator."""
        own = node.id in self._seen
        for kind in _kinds(node):
            if self._kinds[kind] - own <= 0:
                return Hold(Code.LAST_OF_KIND, f"{node.id} is the last node of {' '.join(kind)} that is on")
        return None

    def no_spare(self, node: Node, rules: PowerRules) -> Hold | None:
        """Whether those that stay could hold all that is promised on the site, should the largest few of them fail."""
        others = [other for other in self.at_site[node.site] if other.id in self._on and other.id != node.id]
        count = max(rules.spare_least, math.ceil(rules.spare_share * len(self._loaded[node.site]) - 1e-9))
        for r, promised in enumerate(self._promised[node.site]):
            smallest_first = sorted(other.capacity.as_tuple()[r] for other in others)
            if promised > sum(smallest_first[: max(0, len(others) - count)]) * (1 + 1e-9):
                return Hold(
                    Code.SPARE, f"without {node.id}, site {node.site} could not bear the loss of {count} of its nodes"
                )
        return None


def _kinds(node: Node) -> tuple[tuple[str, str], ...]:
    """What a node may be the last of."""
    found = (("site", str(node.site)), ("architecture", node.architecture.name))
    return found if node.accelerator is None else (*found, ("accelerator", node.accelerator.kind))


def _never(node: Node, view: PowerView) -> Hold | None:
    if node.never_sleep:
        return Hold(Code.CONTROL_PLANE, f"{node.id} must stay on")
    if node.id in view.must_stay:
        return view.must_stay[node.id]
    if node.site in view.cut_off:
        return Hold(Code.UPLINK_LOST, f"site {node.site} has lost its uplink: it could not be woken")
    if node.id in view.unproven:
        return Hold(Code.WAKE_UNPROVEN, f"nobody has seen {node.id} go off and come back")
    return None


def _resting(node: Node, view: PowerView, left: _Left, rules: PowerRules) -> Hold | None:
    record = view.records.get(node.id)
    if record is not None and record.woken_s is not None:
        since_s = view.now_s - record.woken_s
        if since_s < rules.woken_rest_s:
            return Hold(Code.COOLDOWN, f"{node.id} was woken {since_s:.0f} s ago, rest {rules.woken_rest_s:.0f} s")
    waking = [other.id for other in left.at_site[node.site] if _state(other.id, view) in _WAKING]
    if waking:
        return Hold(Code.POWER_BUSY, f"{waking[0]} of the same site is being woken")
    return None


def _quiet(node: Node, view: PowerView, left: _Left, rules: PowerRules) -> Hold | None:
    evidence = view.evidence.get(node.site, LoadEvidence())
    settings, load = rules.evidence, left.loads[node.site]
    # A node that is draining already had its evidence, and is no part of the load any more: only need calls it back.
    draining = view.snapshot.states[node.id] is NodeState.DRAINING
    quiet_s = view.now_s - evidence.quiet_since_s if evidence.quiet_since_s is not None else 0.0
    if not draining and quiet_s < settings.quiet_s:
        return Hold(
            Code.COOLDOWN, f"site {node.site} is quiet for {quiet_s:.0f} s, sleep needs {settings.quiet_s:.0f} s"
        )
    after = load.load if draining else load.without(node.capacity.as_tuple())
    limit = settings.high_load if draining else settings.aim_load
    if after is None or after > limit:
        text = "nothing" if after is None else f"{after:.0%}"
        return Hold(Code.NODE_HOT, f"the others of site {node.site} would be at {text}, limit {limit:.0%}")
    now = load.load
    if now is None or now <= 0.0:
        return None
    horizon_s = node.shutdown_s + 2.0 * lead_of(node, view.records)
    for ahead_s, share in view.forecast.get(node.site, ()):
        then = share * after / now
        if ahead_s <= horizon_s and then > settings.high_load:
            return Hold(Code.FORECAST_RISE, f"site {node.site} would be at {then:.0%} in {ahead_s:.0f} s without it")
    return None


def _needs_one(site: SiteId, view: PowerView, lead: float, rules: PowerRules) -> str:
    """Why a site needs one more node; empty where it does not."""
    settings = rules.evidence
    evidence = view.evidence.get(site, LoadEvidence())
    if evidence.busy_since_s is not None and view.now_s - evidence.busy_since_s >= settings.busy_s:
        return f"is above {settings.high_load:.0%} for {view.now_s - evidence.busy_since_s:.0f} s"
    for ahead_s, share in view.forecast.get(site, ()):
        if ahead_s <= lead and share > settings.high_load:
            return f"is forecast to reach {share:.0%} in {ahead_s:.0f} s, and a node needs {lead:.0f} s to come up"
    return ""


def _can_be_woken(node: Node, view: PowerView, rules: PowerRules) -> bool:
    record = view.records.get(node.id)
    if record is None:
        return view.snapshot.states[node.id] is NodeState.ASLEEP
    if record.state is PowerState.WAKE_FAILED:
        return view.now_s - record.since_s >= rules.failed_rest_s
    return record.state is PowerState.OFF


def _state(node: NodeId, view: PowerView) -> PowerState | None:
    record = view.records.get(node)
    return record.state if record is not None else None


def _off_since_s(node: NodeId, view: PowerView) -> float:
    record = view.records.get(node)
    return record.off_s if record is not None and record.off_s is not None else math.inf
