"""The HTTP API put together: routes, errors in one form, and bounds on what is taken."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fogfold import __version__
from fogfold.api.access import Access
from fogfold.api.acting import acting
from fogfold.api.asking import Desk
from fogfold.api.journal import Journal
from fogfold.api.looking import alive, looking
from fogfold.api.metrics import Metrics
from fogfold.api.problems import Problem, handle_problems, problem
from fogfold.api.recent import Recent
from fogfold.api.stream import Stream
from fogfold.control.loop import Loop

__all__ = ["create_app"]

_MOST_BYTES = 64 * 1024
"""Largest body that is taken: reasons of a few hundred signs are all that is ever sent."""

_ABOUT = """Looks at a cluster that fogfold operates, and steers it.

Times are seconds since the epoch, UTC, by the cluster's clock. What is not known is null, never zero. All errors are
`application/problem+json` (RFC 9457). Tokens have roles: **read** looks; **approve** also approves, denies, stops and
asks for decisions; **admin** also resumes and wakes all nodes."""


def create_app(
    loop: Loop,
    journal: Journal,
    *,
    access: Access | None = None,
    stream: Stream | None = None,
    metrics: Metrics | None = None,
    recent: Recent | None = None,
) -> FastAPI:
    """The API of a loop.

    Whoever makes the loop hands what it writes (`on_change`) to `stream.publish`, `metrics.count` and `recent.note`.

    Args:
        loop: what is looked at and steered.
        journal: where it writes.
        access: who may ask; without one, whoever is on this machine may do everything.
        stream: tells entries to readers of events.
        metrics: counts them.
        recent: keeps the last whole decision at hand.
    """
    app = FastAPI(
        title="fogfold",
        version=__version__,
        summary="Folds containers onto fewer nodes, so that the rest can sleep.",
        description=_ABOUT,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its pages load code from elsewhere
        redoc_url=None,
        generate_unique_id_function=_operation_id,
    )
    stream, metrics = stream or Stream(), metrics or Metrics()
    metrics.watch(loop, stream)
    app.state.desk = Desk(loop, journal, access or Access(), stream, metrics, recent or Recent())
    app.include_router(alive)
    app.include_router(looking)
    app.include_router(acting)
    handle_problems(app)
    app.add_middleware(_Bounds)
    _describe_problems(app)
    return app


def _operation_id(route: Any) -> str:
    name: str = route.name
    return name


def _describe_problems(app: FastAPI) -> None:
    """Let the description of the API know the form of errors, in the place of the framework's own."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = plain()
            kinds = found["components"]["schemas"]
            kinds["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            for name in ("HTTPValidationError", "ValidationError"):
                kinds.pop(name, None)
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]  # the framework's own way to extend it


class _Bounds:
    """Refuses bodies that are too large before anybody reads them, and keeps answers out of caches."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body, more = b"", scope["method"] not in {"GET", "HEAD", "OPTIONS"}
        is_read = not more
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > _MOST_BYTES:
                detail = f"the body is larger than {_MOST_BYTES} bytes; send a reason in a few words"
                await problem(413, detail, headers={"Connection": "close"})(scope, receive, send)
                return

        async def read() -> Message:
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", []))
                if not any(name.lower() == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
                headers.append((b"x-content-type-options", b"nosniff"))
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, read, answer)
