"""What the executor sees while it acts: the newest that is known, asked for before each act.

A plan is made of one snapshot and carried out over minutes. Whoever wires the service says here how the newest is had;
the executor itself lays over it what it has done since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from fogfold.control.orders import Hold
from fogfold.control.power import NodeSight
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.snapshot import Snapshot

__all__ = ["Eyes"]


@runtime_checkable
class Eyes(Protocol):
    """The newest that is known of a cluster. Its snapshots' times are seconds since the epoch."""

    async def snapshot(self) -> Snapshot:
        """The cluster as it was last seen.

        Raises:
            PortTimeoutError: if it cannot be had.
        """
        ...

    def holds(self) -> Mapping[ContainerId, Hold]:
        """Containers that must not be touched by now, and why."""
        ...

    def keeps_on(self, node: NodeId) -> Hold | None:
        """Why a node may not go off by now; None where nothing stands against it."""
        ...

    async def look(self, node: NodeId) -> NodeSight:
        """One node, looked at now; its power may be left out. Raises as `snapshot`."""
        ...
