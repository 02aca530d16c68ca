"""What has been promised on each node while containers are drawn: pins, and accelerators near data.

A promise is no placement. It keeps the draw from asking for what cannot be: two cameras beside the only accelerator of
a district, or more volumes on a node than it can run.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.world.scenario.fleet import Fleet
from fogfold.world.scenario.ground import Ground
from fogfold.world.scenario.schema.containers import Service

__all__ = ["Claims"]


class Claims:
    """Room and accelerators that are still unpromised on each node."""

    def __init__(self, ground: Ground, fleet: Fleet) -> None:
        self._km, self._fleet = ground.km, fleet
        self._pinned = np.zeros_like(fleet.capacity)
        self._free = np.array([one.accelerator.count if one.accelerator else 0 for one in fleet.nodes])
        self._held = np.zeros_like(self._free)
        self._could = np.zeros((0, len(fleet.nodes)), bool)
        self._count = np.zeros(0, np.int64)
        self._asked = np.zeros(0, np.int64)

    def pin(
        self,
        service: Service,
        request: Float[Array, " 4"],
        could: Bool[Array, " nodes"],
        home: int,
        taken: list[int],
    ) -> int | None:
        """The node that a container is bound to: the emptiest at the site nearest to its home that has room.

        Args:
            service: its template.
            request: what it was promised.
            could: nodes that could run it.
            home: site whose region is its home.
            taken: nodes of its group's other pinned members; the answer is added.

        Returns:
            The node's position; None where no node has room left for it, and it stays free.
        """
        fleet = self._fleet
        after = self._pinned + request[:, None]
        room = could & (after <= fleet.capacity).all(axis=0)
        if service.accelerator is not None:
            room &= self._free - self._held >= service.accelerator.count
        rules = service.replicas
        if rules is not None and taken and rules.anti_affinity == "site":
            room &= ~np.isin(fleet.site, fleet.site[taken])
        elif rules is not None and rules.anti_affinity == "node":
            room[taken] = False
        if not room.any():
            return None
        fill = (after / fleet.capacity).max(axis=0)
        node = int(np.lexsort((fill, self._km[home, fleet.site], ~room))[0])
        self._pinned[:, node] += request
        if service.accelerator is not None:
            self._held[node] += service.accelerator.count
        taken.append(node)
        return node

    def ask(self, could: Bool[Array, " nodes"], count: int) -> None:
        """Note a demand for so many accelerators that only those nodes can meet."""
        meets = self._overlap(could)
        self._asked = np.append(self._asked + count * meets, self._count[meets].sum() + count)
        self._could = np.vstack([self._could, could])
        self._count = np.append(self._count, count)

    def leaves_choice(self, could: Bool[Array, " nodes"], count: int) -> bool:
        """Whether one more demand on those nodes can be met in whatever order containers are placed.

        It can where no demand, old or new, has fewer accelerators within its reach than are asked for by all demands
        whose reach meets its own: then the others cannot take its last one. Demands that lack it already do not count.
        """
        meets = self._overlap(could)
        if self._free[could].sum() < self._count[meets].sum() + count:
            return False
        supply = self._could @ self._free
        return bool(((self._asked + count <= supply) | (self._asked > supply) | ~meets).all())

    def _overlap(self, could: Bool[Array, " nodes"]) -> Bool[Array, " demands"]:
        return np.asarray((self._could & could).any(axis=1), dtype=bool)
