"""What went wrong, told to programs: one form for all errors (RFC 9457, application/problem+json)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from fogfold.api.stream import TooManyReadersError
from fogfold.control.failure import LeaseLostError, PortError, PortTimeoutError
from fogfold.errors import FogfoldError, InvariantError, ModelError, UnknownNameError

__all__ = ["MEDIA_TYPE", "Problem", "handle_problems", "problem", "responses"]

MEDIA_TYPE = "application/problem+json"

_STATUS: tuple[tuple[type[FogfoldError], int], ...] = (
    (TooManyReadersError, 503),
    (PortTimeoutError, 503),
    (PortError, 502),
    (LeaseLostError, 409),
    (UnknownNameError, 404),
    (ModelError, 409),
    (InvariantError, 500),
)
"""The status of each of our own errors, the most telling first."""


class Problem(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str = "about:blank"
    """A name of the kind of problem, where it has one beyond its status."""
    title: str
    """The kind of problem in words."""
    status: int
    """The HTTP status."""
    detail: str = ""
    """What went wrong here and what to do about it, in a sentence."""
    errors: list[dict[str, Any]] = Field(default_factory=list)
    """Of a request that does not validate: each fault, with its place."""


def problem(
    status: int, detail: str, *, kind: str = "about:blank", headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """A response that tells a problem."""
    told = Problem(type=kind, title=HTTPStatus(status).phrase, status=status, detail=detail, **more)
    content = told.model_dump(exclude=set() if told.errors else {"errors"})
    return JSONResponse(content, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The description of these statuses, for OpenAPI."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def handle_problems(app: FastAPI) -> None:
    """Have all errors told in that form."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(FogfoldError, _ours)
    app.add_exception_handler(Exception, _unforeseen)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as it was added above
    detail = error.detail if error.detail != HTTPStatus(error.status_code).phrase else ""
    if error.status_code == HTTPStatus.NOT_FOUND and not detail:
        detail = "there is nothing under this address; see /api/v1/openapi.json for what there is"
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = "this address does not take that method; the header Allow says which it takes"
    return problem(error.status_code, detail, headers=error.headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    faults = [
        {"where": ".".join(str(part) for part in fault["loc"]), "what": fault["msg"], "kind": fault["type"]}
        for fault in error.errors()
    ]
    detail = "; ".join(f"{fault['where']}: {fault['what']}" for fault in faults)
    return problem(422, detail, errors=faults)


async def _ours(_: Request, error: Exception) -> Response:
    assert isinstance(error, FogfoldError)  # noqa: S101
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    headers = {"Retry-After": "5"} if error.retryable else {}
    name = type(error).__name__.removesuffix("Error")
    return problem(status, str(error), kind=f"urn:fogfold:problem:{name}", headers=headers)


async def _unforeseen(_: Request, error: Exception) -> Response:
    return problem(500, f"fogfold failed: {type(error).__name__}; its log says more, please report it")
