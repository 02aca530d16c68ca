"""The clock that jumps."""

from __future__ import annotations

import asyncio

import pytest

from fogfold.control.ports import Clock
from fogfold.errors import ModelError
from fogfold.testing.clock import FakeClock
from fogfold.units import DAY_S


def test_it_is_a_clock():
    assert isinstance(FakeClock(), Clock)


def test_time_stands_still_until_it_is_told():
    clock = FakeClock(100.0)
    assert (clock.now_s(), clock.monotonic_s()) == (100.0, 0.0)
    clock.advance(5.0)
    assert (clock.now_s(), clock.monotonic_s()) == (105.0, 5.0)


def test_wall_clock_may_be_set_back_and_monotonic_time_goes_on():
    clock = FakeClock(100.0)
    clock.advance(5.0)
    clock.set_wall(0.0)
    clock.advance(1.0)
    assert (clock.now_s(), clock.monotonic_s()) == (1.0, 6.0)


def test_time_does_not_pass_backwards():
    with pytest.raises(ModelError, match="cannot pass by -1"):
        FakeClock().advance(-1.0)


def test_sleepers_wake_in_order_at_their_own_times():
    async def main():
        clock, woken = FakeClock(), []

        async def sleeper(name, duration_s):
            await clock.sleep(duration_s)
            woken.append((name, clock.monotonic_s()))

        tasks = [asyncio.create_task(sleeper(*which)) for which in (("b", 20.0), ("a", 10.0), ("never", 99.0))]
        await clock.run(30.0)
        tasks[2].cancel()
        return woken, clock.monotonic_s()

    assert asyncio.run(main()) == ([("a", 10.0), ("b", 20.0)], 30.0)


def test_a_day_of_minutes_passes_at_once():
    async def main():
        clock, beats = FakeClock(), 0

        async def beat():
            nonlocal beats
            while True:
                await clock.sleep(60.0)
                beats += 1

        task = asyncio.create_task(beat())
        await clock.run(DAY_S)
        task.cancel()
        return beats

    assert asyncio.run(main()) == 1440
