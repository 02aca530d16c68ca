"""Asks a running service over HTTP, with the standard library alone, and turns its problems into errors."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, ClassVar

from fogfold.errors import FogfoldError, ModelError, UnknownNameError

__all__ = ["Client", "ServiceAwayError", "ServiceRefusedError"]

_URL = "http://127.0.0.1:8460"
_PATIENCE_S = 30.0


class ServiceAwayError(FogfoldError):
    """The service did not answer."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = True


class ServiceRefusedError(FogfoldError):
    """The service answered, and would not do it."""

    exit_code: ClassVar[int] = 1


class Client:
    """A service's API.

    Args:
        url: where it is; $FOGFOLD_URL, or the usual port of this machine, where None.
        token: the caller's token; $FOGFOLD_TOKEN where None.

    Raises:
        ModelError: if that is no address of a web server.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self.url = (url or os.environ.get("FOGFOLD_URL") or _URL).rstrip("/")
        if urllib.parse.urlsplit(self.url).scheme not in {"http", "https"}:
            raise ModelError(f"{self.url!r} is no address of a service; give one as in {_URL}")
        self._token = token or os.environ.get("FOGFOLD_TOKEN")

    def get(self, path: str, **query: Any) -> Any:
        """What the service answers under a path. Raises as `post`."""
        given = {key: value for key, value in query.items() if value is not None}
        return self._ask("GET", path + (f"?{urllib.parse.urlencode(given)}" if given else ""), None)

    def post(self, path: str, value: Any = None) -> Any:
        """What the service answers to an order.

        Raises:
            ServiceAwayError: if nobody answers.
            UnknownNameError: if it does not know what was asked for.
            ServiceRefusedError: if it refuses.
        """
        return self._ask("POST", path, value)

    def _ask(self, method: str, path: str, value: Any) -> Any:
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(f"{self.url}/api/v1{path}", body, method=method)  # noqa: S310 - checked above
        request.add_header("Accept", "application/json")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        # A proxy is for addresses out there; a service that steers a cluster is asked directly.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_PATIENCE_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from error
        except (urllib.error.URLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise ServiceAwayError(
                f"no service answers at {self.url} ({reason}); start one with `fogfold serve`, or give --url"
            ) from error

    def _refusal(self, error: urllib.error.HTTPError) -> FogfoldError:
        try:
            told = json.load(error)
            detail = str(told.get("detail") or told.get("title"))
        except (ValueError, AttributeError):
            detail = f"{self.url} answers {error.code}; is it a service of fogfold?"
        if error.code == 404:
            return UnknownNameError(detail)
        return ServiceRefusedError(detail)
