"""A gate that lets so many moves through at once: each node, each site and the whole cluster have their own number.

A plan's waves keep to these numbers already. Here they are kept while acting, beside moves of somebody else and where
somebody made a plan by hand.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from fogfold.control.orders import MoveOrder
from fogfold.control.waves import PlanSettings
from fogfold.model.cluster import Cluster
from fogfold.model.identity import NodeId, SiteId

__all__ = ["Gate"]


class Gate:
    """Lets moves through within the caps; each takes all it needs in one go, so none can wait for another for ever.

    Args:
        cluster: which node is in which site.
        settings: the caps.
    """

    def __init__(self, cluster: Cluster, settings: PlanSettings) -> None:
        self._sites: dict[NodeId, SiteId] = {node.id: node.site for node in cluster.nodes}
        self._settings = settings
        self._taken: Counter[object] = Counter()
        self._turn = asyncio.Condition()

    @asynccontextmanager
    async def pass_through(self, move: MoveOrder) -> AsyncIterator[None]:
        """A place for that move, for as long as the block runs; waits until there is one."""
        ends = {move.source, move.target}
        places: list[tuple[object, int]] = [("cluster", self._settings.cluster_at_once)]
        places += [(("node", node), self._settings.node_at_once) for node in ends]
        places += [(("site", site), self._settings.site_at_once) for site in self._sites_of(ends)]
        async with self._turn:
            await self._turn.wait_for(lambda: all(self._taken[place] < most for place, most in places))
            self._taken.update(place for place, _ in places)
        try:
            yield
        finally:
            self._taken.subtract(place for place, _ in places)
            async with self._turn:
                self._turn.notify_all()

    def _sites_of(self, nodes: Iterable[NodeId]) -> set[SiteId]:
        return {self._sites[node] for node in nodes if node in self._sites}
