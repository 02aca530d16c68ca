"""`fogfold serve`: the service on its data plane, with its API, until it is told to end."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import Any

from fogfold.cli.output import screen
from fogfold.errors import MissingExtraError

__all__ = ["serve", "service_parts"]


def serve(*, config: Path) -> int:
    """Operate a cluster: look, decide, carry out, write down, and answer over HTTP.

    SIGTERM or Ctrl-C ends it: nothing new is begun, and moves under way come to their end (up to `shutdown_s`).

    Parameters
    ----------
    config
        YAML file with the settings of the service.
    """
    parts = service_parts()
    settings = parts["read_settings"](config)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    return asyncio.run(_serve(parts, settings, config.parent))


def service_parts() -> dict[str, Any]:
    """What the service is made of, imported now.

    Raises:
        MissingExtraError: if the packages of the extra `serve` are not installed.
    """
    try:
        from fogfold.api.server import Server, listen  # noqa: PLC0415 - an extra
        from fogfold.bootstrap.service import open_service  # noqa: PLC0415
        from fogfold.bootstrap.settings import read_settings  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            f"the service needs the package {error.name!r}; pip install 'fogfold[serve]'"
        ) from error
    return {"Server": Server, "listen": listen, "open_service": open_service, "read_settings": read_settings}


async def _serve(parts: dict[str, Any], settings: Any, folder: Path) -> int:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # The port is taken first: two services on one machine are told apart before either touches the store.
    with parts["listen"](settings.api.host, settings.api.port) as listening:
        async with parts["open_service"](settings, folder=folder) as service:
            server = parts["Server"](service.app, listening)
            plane = settings.plane
            screen().print(
                f"fogfold serves {plane.kind} {plane.scenario} in mode {settings.mode} on {server.url}", markup=False
            )
            sys.stdout.flush()
            ended = asyncio.Event()
            answering = asyncio.create_task(server.run(ended))
            operating = asyncio.create_task(service.run(stop))
            try:
                # While moves come to their end it still answers, so that one can see them do so.
                await asyncio.wait({answering, operating}, return_when=asyncio.FIRST_COMPLETED)
                stop.set()
                await operating
            finally:
                service.stream.close()
                ended.set()
                await answering
    return 0
