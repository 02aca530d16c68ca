"""A service that is told to end while it acts: moves under way arrive, and the right to act is given back."""

import asyncio
from typing import Any
from unittest.mock import patch

from fogfold.bootstrap.service import open_service
from fogfold.bootstrap.settings import parse_settings

SETTINGS = parse_settings(
    """
plane: {kind: simulated, scenario: city-20, speed: max, hours: 6}
mode: automatic
limits: {guard: {least_score: 0, cooldown_s: 0}, power: null}
"""
)


def test_what_is_under_way_comes_to_its_end_and_nothing_more_is_begun():
    async def told_to_end():
        stop = asyncio.Event()
        async with open_service(SETTINGS, environment={}) as service:
            begin, began = service.plane.orchestrator.start, asyncio.Event()

            async def begin_and_tell(*args: Any, **named: Any) -> None:
                await begin(*args, **named)
                began.set()

            with patch.object(service.plane.orchestrator, "start", begin_and_tell):
                running = asyncio.create_task(service.run(stop))
                await began.wait()
                number = service.loop.status().acting
                stop.set()
                await running
            executions = [entry.value async for entry in service.store.entries(kinds=("execution",))]
            lease = await service.store.acquire("another", for_s=60.0, now_s=service.plane.clock.now_s())
            return number, executions, await service.store.open_migrations(), lease

    number, executions, left, lease = asyncio.run(told_to_end())
    assert [value["plan"] for value in executions] == [f"{number}"]
    assert executions[0]["verdict"] in {"done", "partial", "stopped"}
    assert any(step["end"] == "arrived" for step in executions[0]["steps"])
    assert left == ()
    assert lease is not None


def test_service_that_sleeps_ends_at_once():
    async def told_to_end():
        stop = asyncio.Event()
        settings = parse_settings("plane: {kind: simulated, speed: 1, hours: 1}")
        async with open_service(settings, environment={}) as service:
            running = asyncio.create_task(service.run(stop))
            while service.loop.watch.collected is None or service.loop.status().decisions == 0:
                await asyncio.sleep(0)
            stop.set()
            await asyncio.wait_for(running, 5.0)
            return await service.store.acquire("another", for_s=60.0, now_s=service.plane.clock.now_s())

    assert asyncio.run(told_to_end()) is not None
