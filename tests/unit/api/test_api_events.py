"""Entries told to readers as they are written: in order, at once, and without waiting for anybody."""

import asyncio
import json
import re

import pytest

from fogfold.api.stream import EventStream, Stream, TooManyReadersError, event


class Listener:
    """A reader of events at the other end of an ASGI app."""

    def __init__(self, *, reads=True):
        self.text, self.reads = b"", reads
        self.gone, self.begun = asyncio.Event(), asyncio.Event()

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.begun.set()
        if not self.reads and message["type"] == "http.response.body":
            await asyncio.Event().wait()  # the pipe is full and nobody empties it
        self.text += message.get("body", b"")

    def numbers(self):
        return [int(number) for number in re.findall(r"^id: (\d+)$", self.text.decode(), re.MULTILINE)]


def listening(app, listener, *, last=None):
    headers = [(b"host", b"127.0.0.1"), *([(b"last-event-id", last)] if last else [])]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/events",
        "raw_path": b"/events",
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    return asyncio.create_task(app(scope, listener.receive, listener.send))


async def turns(count=50):
    for _ in range(count):
        await asyncio.sleep(0)


def test_fifty_readers_half_of_them_stuck_change_nothing_for_the_loop(kit):
    alone = kit.Served(kit.a_city(1.0), hours=1.0)
    asyncio.run(alone.play())

    async def with_readers():
        served = kit.Served(kit.a_city(1.0), hours=1.0, events=Stream(room=4, heartbeat_s=60.0))
        listeners = [Listener(reads=k % 2 == 0) for k in range(50)]
        tasks = [listening(served.app, listener) for listener in listeners]
        await asyncio.gather(*(listener.begun.wait() for listener in listeners))
        await turns()
        assert served.stream.readers == 50
        await served.play()
        await turns()
        left, dropped = served.stream.readers, served.stream.dropped
        served.stream.close()
        for listener in listeners:
            listener.gone.set()
        await asyncio.gather(*tasks)
        return served, listeners, left, dropped

    served, listeners, left, dropped = asyncio.run(with_readers())
    assert served.written == alone.written
    assert len(alone.written) > 5
    assert (left, dropped) == (25, 25)
    expected = [number for kind, number, _ in served.written if kind != "execution"]
    for listener in listeners[::2]:
        assert listener.numbers() == expected
    assert {listener.text for listener in listeners[1::2]} == {b""}


@pytest.mark.asyncio
async def test_reader_that_does_not_keep_up_is_dropped_and_others_go_on():
    stream = Stream(room=2)
    slow, fast = stream.join(), stream.join()
    for number in range(1, 5):
        stream.publish("decision", number, {})
        await fast.queue.get()
    assert (stream.readers, stream.dropped) == (1, 1)
    assert await slow.queue.get() is None


@pytest.mark.asyncio
async def test_silence_is_broken_by_heartbeats():
    stream, listener = Stream(heartbeat_s=0.001), Listener()
    response = EventStream(stream)
    telling = asyncio.create_task(response({}, listener.receive, listener.send))
    while listener.text.count(b": still here") < 3:
        await asyncio.sleep(0)
    listener.gone.set()
    await telling
    assert stream.readers == 0


@pytest.mark.asyncio
async def test_reader_that_takes_nothing_is_left_after_a_while():
    stream, listener = Stream(patience_s=0.001), Listener(reads=False)
    response = EventStream(stream)
    await response({}, listener.receive, listener.send)
    assert stream.readers == 0


@pytest.mark.asyncio
async def test_no_more_readers_than_may():
    stream = Stream(most_readers=1)
    first = stream.join()
    with pytest.raises(TooManyReadersError, match="1 readers listen already"):
        stream.join()
    stream.leave(first)
    stream.join()


def test_reader_that_comes_back_is_told_what_it_missed(kit, played):
    async def back():
        listener = Listener()
        served = kit.Served(kit.a_city(1.0))
        served.store = played.store
        from fogfold.api.app import create_app

        app = create_app(served.loop, played.store, stream=served.stream)
        task = listening(app, listener, last=b"3")
        while len(listener.numbers()) < 4:
            await asyncio.sleep(0)
        await turns()
        served.stream.close()
        await task
        return listener

    everything = [number for kind, number, _ in played.written if kind == "decision"]
    listener = asyncio.run(back())
    assert listener.numbers()[0] == 4
    assert set(everything) - {1, 2, 3} <= set(listener.numbers())


def test_event_is_one_line_of_json_whatever_it_holds():
    text = event("stop", {"why": "a\nb\r\nid: 7\n\n"}, 3, about=3).decode()
    head, name, told, *rest = text.split("\n")
    assert (head, name, rest) == ("id: 3", "event: stop", ["", ""])
    assert json.loads(told.removeprefix("data: "))["value"] == {"why": "a\nb\r\nid: 7\n\n"}
