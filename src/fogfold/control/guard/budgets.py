"""Rate limits: how many moves have begun in the last hour, by cluster, site, node and group, and who fits under."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

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
        self._there_are = Counter[str]()
        for container in situation.snapshot.cluster.containers:
            node = situation.snapshot.placement.get(container.id)
            self._there_are[_CLUSTER] += 1
            if container.group is not None:
                self._there_are[f"group {container.group}"] += 1
            if node is not None:
                self._there_are[f"node {node}"] += 1
                self._there_are[f"site {situation.node(node).site}"] += 1
        self._spent = Counter[str]()
        known = situation.snapshot.cluster
        for past in situation.memory.moves:
            if situation.now_s - past.at_s < settings.window_s and past.container in known.container_index:
                ends = [node for node in (past.source, past.target) if node in known.node_index]
                self._spent.update(name for name, _ in self._scopes(past.container, ends))

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
