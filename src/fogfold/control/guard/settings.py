"""How much a cluster may be disturbed, when, and what must never be touched; each figure with its reason."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.model.identity import ContainerId, GroupId, NodeId, SiteId
from fogfold.model.resources import check_number
from fogfold.units import DAY_S, HOUR_S, MINUTE_S

__all__ = ["GuardSettings", "Rate", "Window", "unknown_names"]

_EPOCH_WEEKDAY = 3
"""1 January 1970 was a Thursday; Monday is 0."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many moves may begin in an hour: a share of how many there are, but at least some."""

    least: int
    share: float

    def __post_init__(self) -> None:
        if self.least < 0:
            raise ModelError(f"a rate's least is {self.least}; give at least 0 (0 with share 0 forbids all moves)")
        check_number("a rate's share", self.share)

    def allowed(self, there_are: int) -> int:
        """How many, where there are that many containers."""
        return max(self.least, math.floor(self.share * there_are + 1e-9))


@dataclass(frozen=True, slots=True)
class Window:
    """A time of the week in which containers may be moved, in UTC."""

    days: frozenset[int]
    """Days on which it begins; Monday is 0."""
    start_s: float
    """When it begins, in seconds after midnight."""
    duration_s: float
    """How long it lasts; it may run past midnight."""
    site: SiteId | None = None
    """The site it is for; all sites where None."""

    def __post_init__(self) -> None:
        if not self.days or not self.days <= set(range(7)):
            raise ModelError(f"a window's days are {sorted(self.days)}; name some of 0 (Monday) to 6 (Sunday)")
        check_number("a window's start_s", self.start_s, high=DAY_S)
        check_number("a window's duration_s", self.duration_s, high=7 * DAY_S, above=True)

    def is_open(self, now_s: float) -> bool:
        """Whether it is open at that time, in seconds since the epoch."""
        day, second = divmod(now_s, DAY_S)
        for back in range(8):
            weekday = (int(day) + _EPOCH_WEEKDAY - back) % 7
            since_s = second + back * DAY_S - self.start_s
            if weekday in self.days and 0.0 <= since_s < self.duration_s:
                return True
        return False


@dataclass(frozen=True)
class GuardSettings:
    """What the guard holds proposals to."""

    oldest_s: float = 180.0
    """Age of a snapshot above which nothing moves: fail closed."""
    unreachable_share: float = 0.45
    """Share of the nodes that should be up above which everything halts: then the fault is likelier ours, or the
    network's, than theirs (the share at which Kubernetes' cluster-autoscaler stops)."""
    unreachable_least: int = 3
    """So many nodes must be away before the share counts: one of two is no sign of a large fault."""
    cluster_rate: Rate = Rate(8, 0.3)
    """Moves in an hour: a third of all containers can find a new place in one."""
    site_rate: Rate = Rate(4, 0.5)
    node_rate: Rate = Rate(8, 2.0)
    """Moves onto or off one node: it can be emptied and filled once an hour."""
    group_rate: Rate = Rate(1, 1.0)
    """Each member once an hour on average: users see a group, not its members."""
    window_s: float = HOUR_S
    """Over which time moves are counted."""
    cooldown_s: float = 15 * MINUTE_S
    """How long a container rests after a move: three whole decisions, so that load is measured where it now runs."""
    least_score: float = 0.5
    """Share of the saving over share of the disruption below which a node is not emptied (Karpenter's Balanced)."""
    never_move: frozenset[ContainerId] = frozenset()
    never_move_groups: frozenset[GroupId] = frozenset()
    never_touch_nodes: frozenset[NodeId] = frozenset()
    """Neither emptied nor given anything."""
    never_touch_sites: frozenset[SiteId] = frozenset()
    windows: tuple[Window, ...] = field(default_factory=tuple)
    """When containers may be moved; always where there is none. A site with windows of its own keeps to those."""

    def __post_init__(self) -> None:
        for name in ("oldest_s", "window_s"):
            check_number(name, float(getattr(self, name)), above=True)
        for name in ("cooldown_s", "least_score", "unreachable_least"):
            check_number(name, float(getattr(self, name)))
        check_number("unreachable_share", self.unreachable_share, high=1.0)

    def window_is_open(self, site: SiteId, now_s: float) -> bool:
        """Whether containers of a site may be moved at that time."""
        own = [window for window in self.windows if window.site == site]
        general = [window for window in self.windows if window.site is None]
        binding = own or general
        return not binding or any(window.is_open(now_s) for window in binding)


def unknown_names(settings: GuardSettings, cluster: Cluster) -> tuple[str, ...]:
    """Names on the lists that the cluster does not have: no error, since things come and go, but worth a warning."""
    lists = (
        ("container", settings.never_move, cluster.container_index),
        ("group", settings.never_move_groups, cluster.group_index),
        ("node", settings.never_touch_nodes, cluster.node_index),
        ("site", settings.never_touch_sites, cluster.site_index),
        ("site", {window.site for window in settings.windows if window.site is not None}, cluster.site_index),
    )
    return tuple(f"{kind} {name}" for kind, names, index in lists for name in sorted(names) if name not in index)
