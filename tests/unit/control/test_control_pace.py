"""When the loop takes whole decisions: rarely while nothing happens, often while load turns, always within bounds."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fogfold.adapters.simulated.clocks import MONDAY_S
from fogfold.control.deciding import Decider, Limits
from fogfold.control.gauge import load_cores
from fogfold.control.loop import Loop, LoopSettings
from fogfold.control.schedule import ScheduleSettings
from fogfold.control.watch import Watch
from fogfold.model.identity import ContainerId
from fogfold.policy.base import Move, Proposal
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot
from fogfold.testing.stage import Stage, StageReads
from fogfold.units import HOUR_S, MINUTE_S

RARE = ScheduleSettings(micro_s=1e9)
"""The service's own rhythm without light decisions."""
STEP_S = 5 * MINUTE_S


class Rests:
    """A policy that wants nothing."""

    name = "rests"

    def reset(self, seed):
        pass

    def propose(self, view):
        return Proposal(self.name)


class Wants(Rests):
    """A policy that asks for the same move at every whole decision."""

    name = "wants"

    def propose(self, view):
        return Proposal(self.name, moves=(Move(0, 1),) if view.placement[0] == 0 else ())


def played(cores, *, hours, schedule=RARE, policy=None):
    """Times of the whole decisions of a day, in seconds since its start."""

    async def play():
        containers = [a_container(f"c{k}") for k in range(4)]
        stage = Stage(
            a_cluster([a_node("n0"), a_node("n1")], containers), {"c0": "n0", "c1": "n0", "c2": "n1", "c3": "n1"}
        )
        start_s = stage.clock.now_s()
        watch = Watch(StageReads(stage, cores), stage.clock)
        decider = Decider(policy or Rests(), Limits.none(week_began_s=MONDAY_S))
        loop = Loop(replace(stage.means(), eyes=watch), watch, decider, LoopSettings("one", schedule=schedule))
        running = asyncio.create_task(loop.run())
        await stage.clock.run(hours * HOUR_S)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert loop.trouble == ""
        entries = [entry async for entry in stage.store.entries(kinds=("decision",))]
        return [entry.at_s - start_s for entry in entries if entry.value["rhythm"] == "macro"]

    return asyncio.run(play())


def still(time_s):
    return 0.5


def morning(time_s):
    """Half a core until 4:00, then a rise that begins, halts and goes on."""
    hour = time_s / HOUR_S
    return 0.5 if hour < 4.0 else 0.5 + 0.2 * (hour - 4.0) + 0.1 * (int(hour * 3) % 2)


def test_night_is_quiet_and_morning_is_not():
    times = played(morning, hours=7.0)
    night = [b - a for a, b in pairwise(times) if b <= 4.0 * HOUR_S]
    waking = [b - a for a, b in pairwise(times) if a >= 4.0 * HOUR_S]
    # Before a second reading nothing is known; then half hours follow.
    assert night[0] == pytest.approx(STEP_S)
    assert night[1:] == pytest.approx([1800.0] * (len(night) - 1), abs=15.0)
    assert np.mean(waking) < 0.5 * np.mean(night)


@pytest.mark.parametrize("seed", [0, 1])
def test_whatever_load_does_decisions_are_two_to_thirty_minutes_apart(seed):
    wild = stream(seed, "load").uniform(0.0, 1.0, 200) ** 3
    times = played(lambda time_s: float(wild[int(time_s / 120.0)]), hours=6.0)
    gaps = np.diff(times)
    assert 120.0 - 1e-6 <= gaps.min() < 480.0
    assert gaps.max() <= 1800.0 + 1e-6


def test_fixed_interval_stays_fixed_whatever_load_does():
    fixed = ScheduleSettings(micro_s=1e9, macro_shortest_s=STEP_S, macro_unknown_s=STEP_S, macro_longest_s=STEP_S)
    every = [STEP_S * k for k in range(37)]
    for cores in (still, morning, lambda time_s: 0.1 + 0.8 * (int(time_s / STEP_S) % 2)):
        assert played(cores, hours=3.0, schedule=fixed) == pytest.approx(every)


def test_spike_between_two_readings_changes_nothing():
    calm = played(still, hours=3.0)
    # 100 min and 30 s to 104 min: readings are taken at 100 and at 105 min.
    assert played(lambda time_s: 1.0 if 6030.0 <= time_s <= 6240.0 else 0.5, hours=3.0) == calm


def test_spike_brings_the_next_decision_to_two_minutes_after_it_was_read():
    def spike(time_s, at_s=6000.0):
        # One look, at which a reading is due; before it load hardly stirs, so that errors have a usual size.
        return 1.0 if at_s <= time_s < at_s + 30.0 else 0.5 + 0.001 * (int(time_s / STEP_S) % 3)

    def part_of(times, from_s, to_s):
        return [time_s for time_s in times if from_s <= time_s < to_s]

    calm, times = (played(lambda time_s, at_s=at_s: spike(time_s, at_s), hours=2.0) for at_s in (1e9, 6000.0))
    assert part_of(times, 0.0, 6000.0) == part_of(calm, 0.0, 6000.0)
    assert part_of(calm, 6000.0, 6300.0) == []
    # Looks are 30 s apart. Those that follow see the same reading, and bring it no nearer and push it no further; and
    # once it was decided on, it calls for no other.
    (once_s,) = part_of(times, 6000.0, 6330.0)
    assert 6120.0 <= once_s < 6150.0


def test_cluster_that_is_still_worked_on_is_decided_on_sooner():
    # The geometric middle of 2 and 30 min; before a second reading nothing is known.
    gaps = np.diff(played(still, hours=2.0, policy=Wants()))
    assert gaps[0] == pytest.approx(STEP_S)
    assert gaps[1:] == pytest.approx(464.758, abs=1e-2)


def test_nothing_measured_is_neither_calm_nor_storm():
    assert np.diff(played(lambda time_s: None, hours=2.0)) == pytest.approx(STEP_S)


def test_calm_of_before_an_outage_is_forgotten_after_the_longest_interval():
    times = np.array(played(lambda time_s: 0.5 if time_s < 2.0 * HOUR_S else None, hours=4.0))
    gaps = np.diff(times)
    # Half an hour after the last reading, with a reading's time to notice, it is as where nothing is known.
    assert gaps[1:4] == pytest.approx(1800.0, abs=15.0)
    late = times[1:] > 2.0 * HOUR_S + 1800.0 + 2.0 * STEP_S
    assert late.sum() > 10
    assert gaps[late][1:] == pytest.approx(STEP_S)


# The load of the whole


def _read(usage_cores, placed=("c0", "c1", "c2")):
    containers = [a_container("c0", cores=1.0), a_container("c1", cores=2.0), a_container("c2", cores=4.0)]
    snapshot = a_snapshot(a_cluster([a_node()], containers), dict.fromkeys(placed, "n0"), usage_cores=usage_cores)
    usage = {ContainerId(name): snapshot.usage[ContainerId(name)] for name in usage_cores}
    return replace(snapshot, usage=usage)


def test_container_that_is_not_measured_uses_its_request_as_the_others_do_theirs():
    assert load_cores(_read({"c0": 0.5, "c1": 1.0, "c2": 2.5})) == pytest.approx(4.0)
    # 3 of 6 cores are used where it is known, so 3.5 of all 7.
    assert load_cores(_read({"c1": 1.0, "c2": 2.0})) == pytest.approx(3.5)


def test_container_that_runs_nowhere_is_no_load():
    assert load_cores(_read({"c2": 2.0}, placed=("c2",))) == pytest.approx(2.0)


def test_less_than_half_says_nothing_of_the_whole():
    assert load_cores(_read({"c0": 0.5, "c1": 1.0})) is None
    assert load_cores(_read({})) is None
    assert load_cores(_read({}, placed=())) is None


def test_node_that_falls_silent_is_no_storm():
    """Readings of one node of two stop; what the other's containers use says what all do."""
    snapshot = _read({"c0": 0.5, "c1": 1.0, "c2": 2.0})
    silent = replace(snapshot, usage={name: amount for name, amount in snapshot.usage.items() if name != "c1"})
    assert load_cores(silent) == load_cores(snapshot) == pytest.approx(3.5)
