"""The web server in an event loop that is not its own: it takes no signals, and ends when it is told to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from fogfold.errors import ModelError

__all__ = ["Server", "listen"]

_GRACE_S = 3
"""How long open requests may go on after the end was called for; a stream of events would keep it open for ever."""


class _Quiet(uvicorn.Server):
    """uvicorn without its own handling of signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever runs the event loop."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        ModelError: if nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise ModelError(f"nobody can listen on {host} port {port}: {error}; give another api.port, or 0") from error


class Server:
    """Serves an app on a socket.

    Args:
        app: what is served.
        listening: where; see `listen`.
    """

    def __init__(self, app: FastAPI, listening: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_GRACE_S,
            server_header=False,
        )
        self._server, self._socket = _Quiet(config), listening

    @property
    def url(self) -> str:
        """Where it is reached from this machine."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until it is told to end."""
        serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        told = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({serving, told}, return_when=asyncio.FIRST_COMPLETED)
            self._server.should_exit = True
            await serving
        finally:
            told.cancel()
