"""Rate limits: how many moves have begun in the last hour, by cluster, site, node and group, and who fits under."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property

from fogfold.control.codes import Code
from fogfold.control.guard.settings import GuardSettings, Rate
from fogfold.control.guard.situation import Situation
from fogfold.control.orders import Hold, MoveOrder
from fogfold.model.identity import ContainerId, NodeId

__all__ = ["Budgets"]

_CLUSTER = "cluster"


class Budgets:
    """What is left of each rate as moves are granted, from those that were begun within the window.

    Args:
        situation: the cluster and what happened before.
        settings: the rates.
    """

    def __init__(self, situation: Situation, settings: GuardSettings) -> None:
        self._situation = situation
        self._settings = settings
        self._spent = Counter[str]()
        known = situation.snapshot.cluster
        for past in situation.memory.moves:
            if situation.now_s - past.at_s < settings.window_s and past.container in known.container_index:
                ends = [node for node in (past.source, past.target) if node in known.node_index]
                self._spent.update(name for name, _ in self._scopes(past.container, ends))

    @cached_property
    def _there_are(self) -> Counter[str]:
        """Containers in each scope; counted once something is asked for, as most decisions ask for nothing."""
        snapshot = self._situation.snapshot
        count = Counter({_CLUSTER: len(snapshot.cluster.containers)})
        for group, members in self._situation.members.items():
            count[f"group {group}"] = len(members)
        for node, containers in Counter(snapshot.placement.values()).items():
            count[f"node {node}"] = containers
            count[f"site {self._situation.node(node).site}"] += containers
        return count

    def grant(self, moves: Iterable[MoveOrder]) -> tuple[MoveOrder, Hold] | None:
        """Take these moves from the budgets, all or none; None where granted, else the first that is too many."""
        taken = Counter[str]()
        for move in moves:
            for name, rate in self._scopes(move.container, (move.source, move.target)):
                taken[name] += 1
                allowed = rate.allowed(self._there_are[name])
                if self._spent[name] + taken[name] > allowed:
                    code = Code.BUDGET_SITE if name.startswith("site ") else Code.RATE_LIMIT
                    spent = self._spent[name]
                    detail = f"{name}: {allowed} moves in {self._settings.window_s:.0f} s, {spent} spent"
                    return move, Hold(code, detail)
        self._spent += taken
        return None

    def _scopes(self, container: ContainerId, ends: Iterable[NodeId]) -> Iterator[tuple[str, Rate]]:
        settings, ends = self._settings, list(ends)
        yield _CLUSTER, settings.cluster_rate
        for site in sorted({self._situation.node(node).site for node in ends}):
            yield f"site {site}", settings.site_rate
        for node in ends:
            yield f"node {node}", settings.node_rate
        group = self._situation.container(container).group
        if group is not None:
            yield f"group {group}", settings.group_rate
