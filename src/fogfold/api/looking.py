"""Routes that look: nothing changes by them. All need the role read, but for the two that say whether it is alive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from starlette.exceptions import HTTPException
from starlette.responses import Response

from fogfold.api import schemas, views
from fogfold.api.asking import AtHand, Desk, Reader
from fogfold.api.metrics import CONTENT_TYPE
from fogfold.api.problems import responses
from fogfold.api.recent import DECISION
from fogfold.api.stream import EventStream, event

__all__ = ["alive", "looking"]

_GREATEST = 2**63 - 1
_REPLAYED = 1000
"""Most entries that a reader who comes back is told again; what is older is in the journal."""

Number = Annotated[int, Path(ge=1, le=_GREATEST, description="Number of an entry of the journal.")]
Before = Annotated[int | None, Query(ge=1, le=_GREATEST, description="Only entries of a smaller number.")]
Limit = Annotated[int, Query(ge=1, le=200, description="At most so many.")]
Name = Annotated[str, Path(max_length=253, description="Its name.")]

looking = APIRouter(responses=responses(401, 403))
alive = APIRouter()


@looking.get("/api/v1/status", tags=["service"])
async def status(desk: AtHand, _: Reader) -> schemas.Status:
    """How the service stands."""
    return views.status_of(desk.loop)


@looking.get("/api/v1/nodes", tags=["cluster"], responses=responses(503))
async def nodes(desk: AtHand, _: Reader) -> schemas.NodeList:
    """All nodes: state, pressure, and why each that is on stays on."""
    return (await desk.view()).nodes()


@looking.get("/api/v1/nodes/{name}", tags=["cluster"], responses=responses(404, 422, 503))
async def node(name: Name, desk: AtHand, _: Reader) -> schemas.Node:
    """One node."""
    found = (await desk.view()).node(name)
    if found is None:
        raise HTTPException(404, f"there is no node {name!r}; GET /api/v1/nodes lists them")
    return found


@looking.get("/api/v1/containers", tags=["cluster"], responses=responses(503))
async def containers(desk: AtHand, _: Reader) -> schemas.ContainerList:
    """All containers: where they run, and what stands against moving them."""
    return (await desk.view()).containers()


@looking.get("/api/v1/containers/{name}", tags=["cluster"], responses=responses(404, 422, 503))
async def container(name: Name, desk: AtHand, _: Reader) -> schemas.Container:
    """One container."""
    found = (await desk.view()).container(name)
    if found is None:
        raise HTTPException(404, f"there is no container {name!r}; GET /api/v1/containers lists them")
    return found


@looking.get("/api/v1/plan", tags=["decisions"], responses=responses(503))
async def plan(desk: AtHand, _: Reader) -> schemas.Plan:
    """What was decided last, and the plan that waits to be approved."""
    last: schemas.Decision | None = None
    async for entry in desk.journal.entries(kinds=(DECISION,), newest_first=True, limit=1):
        last = views.decision_of(entry.number, entry.value)
    status, waits, pending = desk.loop.status(), desk.loop.pending, None
    if waits is not None and waits.until_s > status.now_s:
        value = {**waits.decision.to_json(), "mode": status.mode.value, "plan": "wait"}
        pending = schemas.Pending(
            number=waits.number,
            until_s=waits.until_s,
            left_s=waits.until_s - status.now_s,
            decision=views.decision_of(waits.number, value),
        )
    return schemas.Plan(last=last, pending=pending, acting=status.acting)


@looking.get("/api/v1/decisions", tags=["decisions"], responses=responses(422, 503))
async def decisions(desk: AtHand, _: Reader, before: Before = None, limit: Limit = 50) -> schemas.DecisionList:
    """Decisions, newest first, in pages."""
    found = desk.journal.entries(kinds=(DECISION,), before=before, newest_first=True, limit=limit)
    items = [views.summary_of(entry.number, entry.value) async for entry in found]
    return schemas.DecisionList(items=items, next_before=items[-1].number if len(items) == limit else None)


@looking.get("/api/v1/decisions/{number}", tags=["decisions"], responses=responses(404, 422, 503))
async def decision(number: Number, desk: AtHand, _: Reader) -> schemas.Decision:
    """One decision with its reasons, and the moves that were begun for it."""
    entry = await desk.journal.entry(number)
    if entry is None or entry.kind != DECISION:
        raise HTTPException(404, f"entry {number} of the journal is no decision; GET /api/v1/decisions lists them")
    rows = await desk.journal.migrations(plan=f"{number}")
    return views.decision_of(number, entry.value, tuple(views.migration_of(row) for row in reversed(rows)))


@looking.get("/api/v1/journal", tags=["journal"], responses=responses(422, 503))
async def journal(
    desk: AtHand,
    _: Reader,
    before: Before = None,
    limit: Limit = 50,
    kind: Annotated[str | None, Query(max_length=64, description="Only entries of this kind.")] = None,
) -> schemas.EntryList:
    """Entries of all kinds, newest first, in pages."""
    kinds = None if kind is None else (kind,)
    found = desk.journal.entries(kinds=kinds, before=before, newest_first=True, limit=limit)
    items = [views.entry_of(entry) async for entry in found]
    return schemas.EntryList(items=items, next_before=items[-1].number if len(items) == limit else None)


@looking.get("/api/v1/journal/{number}", tags=["journal"], responses=responses(404, 422, 503))
async def entry(number: Number, desk: AtHand, _: Reader) -> schemas.Entry:
    """One entry."""
    found = await desk.journal.entry(number)
    if found is None:
        raise HTTPException(404, f"there is no entry {number} in the journal; GET /api/v1/journal lists them")
    return views.entry_of(found)


@looking.get(
    "/events",
    tags=["journal"],
    response_class=Response,
    responses={200: {"description": "Events.", "content": {"text/event-stream": {}}}, **responses(422, 503)},
)
async def events(
    desk: AtHand,
    _: Reader,
    last_event_id: Annotated[str | None, Header(description="Number of the last entry that was seen.")] = None,
) -> Response:
    """Entries of the journal as they are written, as server-sent events; `data` is `{kind, number, value}`.

    A reader that does not keep up is dropped. It comes back with `Last-Event-ID`, and is first told what it missed.
    """
    seen = int(last_event_id) if last_event_id and last_event_id.isascii() and last_event_id.isdigit() else None
    if seen is not None and seen > _GREATEST:
        seen = None
    return EventStream(desk.stream, None if seen is None else _missed(desk, seen))


@looking.get(
    "/metrics",
    tags=["service"],
    response_class=Response,
    responses={200: {"description": "Metrics in the text format of Prometheus.", "content": {"text/plain": {}}}},
)
async def metrics(desk: AtHand, _: Reader) -> Response:
    """Figures for Prometheus."""
    return Response(desk.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


@alive.get("/healthz", tags=["service"])
async def healthz() -> dict[str, str]:
    """Whether the process lives."""
    return {"status": "alive"}


@alive.get("/readyz", tags=["service"], responses=responses(503))
async def readyz(desk: AtHand) -> dict[str, Any]:
    """Whether it has seen the cluster, and its store answers."""
    await desk.view()
    async for _ in desk.journal.entries(newest_first=True, limit=1):
        pass
    return {"status": "ready"}


async def _missed(desk: Desk, seen: int) -> AsyncIterator[bytes]:
    async for entry in desk.journal.entries(after=seen, limit=_REPLAYED):
        yield event(entry.kind, entry.value, entry.number, about=entry.number)
