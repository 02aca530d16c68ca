"""Entries of the journal as they are written, told to whoever listens: server-sent events over bounded queues.

Telling never waits: a reader that does not keep up is dropped, and what it missed is in the journal. It comes back with
the number of the last entry that it saw (`Last-Event-ID`) and goes on from there; an entry may then come twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fogfold.errors import FogfoldError

__all__ = ["EventStream", "Stream", "TooManyReadersError", "event"]


class TooManyReadersError(FogfoldError):
    """As many listen already as may."""

    retryable = True


class _Reader:
    """One who listens."""

    def __init__(self, room: int) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=room)
        self.is_dropped = False

    def end(self) -> None:
        """Nothing more will come: None is the last that is told."""
        self.is_dropped = True
        while not self.queue.empty():
            self.queue.get_nowait()
        self.queue.put_nowait(None)


class Stream:
    """Tells entries to all who listen.

    Args:
        room: entries that a reader may be behind.
        most_readers: readers at one time.
        heartbeat_s: silence after which a reader is told that somebody is still there, in seconds of the machine.
        patience_s: how long a reader may take to accept what is sent.
    """

    def __init__(
        self, *, room: int = 64, most_readers: int = 200, heartbeat_s: float = 15.0, patience_s: float = 30.0
    ) -> None:
        self.heartbeat_s, self.patience_s = heartbeat_s, patience_s
        self.dropped = 0
        """Readers that did not keep up so far."""
        self._room, self._most = room, most_readers
        self._readers: set[_Reader] = set()
        self._is_closed = False

    @property
    def readers(self) -> int:
        """How many listen."""
        return len(self._readers)

    def publish(self, kind: str, number: int, value: Mapping[str, Any]) -> None:
        """Tell an entry. Returns at once, whoever listens."""
        if not self._readers:
            return
        # The report of an execution bears the number of its decision, which is told already: no place to go on from.
        text = event(kind, value, None if kind == "execution" else number, about=number)
        for reader in tuple(self._readers):
            try:
                reader.queue.put_nowait(text)
            except asyncio.QueueFull:
                self.dropped += 1
                self._readers.discard(reader)
                reader.end()

    def join(self) -> _Reader:
        """Begin to listen.

        Raises:
            TooManyReadersError: if as many listen already as may.
        """
        if len(self._readers) >= self._most:
            raise TooManyReadersError(f"{self._most} readers listen already, and no more may; close one, or poll")
        reader = _Reader(self._room)
        if self._is_closed:
            reader.end()
        else:
            self._readers.add(reader)
        return reader

    def leave(self, reader: _Reader) -> None:
        """Listen no more."""
        self._readers.discard(reader)

    def close(self) -> None:
        """End all streams; whoever joins later is ended at once."""
        self._is_closed = True
        for reader in tuple(self._readers):
            self._readers.discard(reader)
            reader.end()


class EventStream(Response):
    """A response that goes on for as long as its reader listens and keeps up.

    Args:
        stream: who tells.
        before: what comes first: entries that the reader missed.
    """

    media_type = "text/event-stream"

    def __init__(self, stream: Stream, before: AsyncIterator[bytes] | None = None) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._stream, self._before = stream, before
        self._reader = stream.join()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's own form
        """Send events until the reader is gone, or is dropped."""
        telling = asyncio.create_task(self._tell(send))
        gone = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({telling, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stream.leave(self._reader)
            for task in (telling, gone):
                task.cancel()
            await asyncio.wait({telling, gone})
        if not telling.cancelled():
            with suppress(TimeoutError, OSError):
                telling.result()

    async def _tell(self, send: Send) -> None:
        stream, queue = self._stream, self._reader.queue
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._send(send, b"retry: 3000\n\n")
        if self._before is not None:
            async for missed in self._before:
                await self._send(send, missed)
        while True:
            try:
                async with asyncio.timeout(stream.heartbeat_s):
                    text = await queue.get()
            except TimeoutError:
                await self._send(send, b": still here\n\n")
                continue
            if text is None:
                break
            await self._send(send, text)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send, text: bytes) -> None:
        # A reader that is connected and takes nothing fills the pipe: then sending waits, here, for a while.
        async with asyncio.timeout(self._stream.patience_s):
            await send({"type": "http.response.body", "body": text, "more_body": True})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def event(kind: str, value: Mapping[str, Any], number: int | None, *, about: int) -> bytes:
    """One server-sent event.

    Args:
        kind: of the entry; the event's name.
        value: what it says.
        number: of the entry, from which a reader can go on; None where it is not known.
        about: number of the entry, or of the decision that it is about.
    """
    told = json.dumps({"kind": kind, "number": about, "value": value}, allow_nan=False, separators=(",", ":"))
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {kind}\ndata: {told}\n\n".encode()
