"""What the routes have at hand, and who may ask them: the loop, the journal, the stream, and the caller's role."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from fogfold.api.access import Access, Caller, Denied, Role
from fogfold.api.journal import Journal
from fogfold.api.metrics import Metrics
from fogfold.api.recent import Recent
from fogfold.api.stream import Stream
from fogfold.api.views import ClusterView
from fogfold.control.failure import PortTimeoutError
from fogfold.control.loop import Loop

__all__ = ["Admin", "Approver", "AtHand", "Desk", "Reader"]

_BEARER = HTTPBearer(auto_error=False, description="A token of the settings file; none is needed where it has none.")


@dataclass(frozen=True)
class Desk:
    """What the routes have at hand."""

    loop: Loop
    journal: Journal
    access: Access
    stream: Stream
    metrics: Metrics
    recent: Recent
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    """Work that goes on after its request was answered."""

    async def view(self) -> ClusterView:
        """The cluster as it was last seen.

        Raises:
            PortTimeoutError: before the first look.
        """
        readings, collected = self.loop.watch.readings, self.loop.watch.collected
        if readings is None or collected is None:
            raise PortTimeoutError("the cluster has not been looked at yet; ask again in a moment")
        return ClusterView(readings, collected, self.loop.records, await self.recent.whole(self.journal))


def _desk(request: Request) -> Desk:
    found: Desk = request.app.state.desk
    return found


AtHand = Annotated[Desk, Depends(_desk)]


def _at_least(role: Role) -> Callable[..., Caller]:
    def allowed(request: Request, desk: AtHand, _: Annotated[Any, Security(_BEARER)]) -> Caller:
        caller = desk.access.caller(request.headers)
        if isinstance(caller, Denied):
            headers = {"WWW-Authenticate": "Bearer"} if caller.status == 401 else None
            raise HTTPException(caller.status, caller.detail, headers)
        if caller.role < role:
            raise HTTPException(
                403, f"{caller.name} has the role {caller.role.name.lower()}, and this needs {role.name.lower()}"
            )
        return caller

    return allowed


Reader = Annotated[Caller, Depends(_at_least(Role.READ))]
Approver = Annotated[Caller, Depends(_at_least(Role.APPROVE))]
Admin = Annotated[Caller, Depends(_at_least(Role.ADMIN))]
