"""What the service remembers over a restart: who is left alone, since when it is quiet; and what is broken is told."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fogfold.adapters.simulated.clocks import MONDAY_S
from fogfold.control.codes import Code
from fogfold.control.deciding import Decider, Limits
from fogfold.control.guard.memory import Ending, Memory
from fogfold.control.load_evidence import EvidenceSettings, LoadEvidence, evidence_of_kept, joined, kept_evidence
from fogfold.control.loop import Loop, LoopSettings, Mode
from fogfold.control.orders import MoveOrder
from fogfold.control.outcome import StepEnd, StepOutcome, remembered
from fogfold.control.remembrance import MEMORY_KIND, MEMORY_NAME, POLICY_KIND
from fogfold.control.watch import Watch
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, NodeId, SiteId
from fogfold.model.migration import MigrationState
from fogfold.policy.base import Move, Proposal
from fogfold.policy.registry import policy
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.testing.stage import Stage, StageReads
from fogfold.units import MINUTE_S

SITE = SiteId("s0")
GAP_S = EvidenceSettings().gap_s


# Evidence of two instances


@pytest.mark.parametrize(
    ("kept", "own", "looked_since_s", "quiet_since_s"),
    [
        # A short restart: quiet since 100, last seen at 1900, first look of the new one at 1960.
        (LoadEvidence(100.0, None, 1900.0), LoadEvidence(1960.0, None, 1960.0), 1960.0, 100.0),
        # The same, some looks later.
        (LoadEvidence(100.0, None, 1900.0), LoadEvidence(1960.0, None, 2050.0), 1960.0, 100.0),
        # Three minutes are a gap, and a second more is too long.
        (LoadEvidence(100.0, None, 1900.0), LoadEvidence(2080.0, None, 2080.0), 2080.0, 100.0),
        (LoadEvidence(100.0, None, 1900.0), LoadEvidence(2081.0, None, 2081.0), 2081.0, 2081.0),
        # It was not quiet at the first look here.
        (LoadEvidence(100.0, None, 1900.0), LoadEvidence(1990.0, None, 1990.0), 1960.0, 1990.0),
        (LoadEvidence(100.0, None, 1900.0), LoadEvidence(None, None, 1960.0), 1960.0, None),
        (LoadEvidence(None, None, 1900.0), LoadEvidence(1960.0, None, 1960.0), 1960.0, 1960.0),
        # Two that looked at the same time: this one saw it busy while the other lived.
        (LoadEvidence(100.0, None, 1900.0), LoadEvidence(1500.0, None, 1960.0), 900.0, 100.0),
        (LoadEvidence(100.0, None, 1900.0), LoadEvidence(1930.0, None, 1960.0), 900.0, 1930.0),
        # The clock went back, or nothing was ever seen.
        (LoadEvidence(100.0, None, 1900.0), LoadEvidence(1800.0, None, 1800.0), 1800.0, 1800.0),
        (LoadEvidence(), LoadEvidence(5.0, None, 5.0), 5.0, 5.0),
    ],
)
def test_evidence_goes_on_over_a_short_gap_and_no_other(kept, own, looked_since_s, quiet_since_s):
    found = joined(kept, own, looked_since_s=looked_since_s)
    assert found == LoadEvidence(quiet_since_s, None, own.seen_s)


def test_kept_evidence_comes_back_as_it_was():
    evidence = {SITE: LoadEvidence(1.5, None, 3.0), SiteId("s1"): LoadEvidence()}
    assert evidence_of_kept(kept_evidence(evidence)) == evidence
    for broken in ({"s0": {"quiet": 1.0}}, {"s0": {"seen_s": "now"}}, {"s0": 3}):
        with pytest.raises(ModelError, match="of another version"):
            evidence_of_kept(broken)


# The loop


class Wants:
    """A policy that asks for the same move whenever it can be made."""

    name = "wants"

    def reset(self, seed):
        pass

    def propose(self, view):
        return Proposal(self.name, moves=(Move(0, 1),) if view.placement[0] == 0 else ())


@pytest.fixture
def stage():
    return Stage(a_cluster([a_node("n0"), a_node("n1")], [a_container("c0")]), {"c0": "n0"})


def a_loop(stage, holder, chosen=None, mode=Mode.RECOMMEND):
    watch = Watch(StageReads(stage, lambda _: 0.1), stage.clock)
    means = replace(stage.means(), eyes=watch)
    limits = Limits.none(week_began_s=MONDAY_S)
    return Loop(means, watch, Decider(chosen or Wants(), limits), LoopSettings(holder, mode))


async def live(stage, loop, for_s):
    """Let it run, and kill it: nothing is tidied up."""
    running = asyncio.create_task(_cycles(loop))
    await stage.clock.run(for_s)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    # The lease of the dead runs out.
    stage.clock.advance(61.0)


async def _cycles(loop):
    while True:
        await loop.cycle()
        await loop._pause()


async def entries(stage, kind):
    return [entry.value async for entry in stage.store.entries(kinds=(kind,))]


def an_arrival(at_s):
    move = MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n1"))
    return StepOutcome(
        "1/0", move, StepEnd.ARRIVED, MigrationState.VERIFIED, 1, NodeId("n1"), began_s=at_s, ended_s=at_s + 10.0
    )


@pytest.mark.asyncio
async def test_workload_that_bounced_is_left_alone_after_a_restart(stage):
    first = a_loop(stage, "first")
    await first.cycle()
    # It was sent to n1, arrived, and is at n0 again: somebody moves it back.
    now_s, snapshot = stage.clock.now_s(), first.watch.collected.snapshot
    first.memory = remembered(first.memory, [an_arrival(now_s - 60.0)], snapshot, first.settings.memory)
    await live(stage, first, 35.0)
    kept = (await stage.store.kept(MEMORY_KIND))[MEMORY_NAME]
    assert [move["ending"] for move in kept["moves"]["moves"]] == ["arrived"], "not yet noticed"

    second = a_loop(stage, "second")
    await live(stage, second, 35.0)
    assert second.memory.moves[0].ending is Ending.BOUNCED
    assert second.memory.vetoes == {"container c0": pytest.approx(second.memory.moves[0].at_s + 86_400.0, abs=300.0)}
    decision = (await entries(stage, "decision"))[-1]
    assert [(one["act"], one["code"]) for one in decision["refused"]] == [("move", Code.OTHER_CONTROLLER.value)]
    assert "somebody moved c0 back" in decision["alerts"][0]

    third = a_loop(stage, "third")
    await live(stage, third, 35.0)
    decision = (await entries(stage, "decision"))[-1]
    assert [one["code"] for one in decision["refused"]] == [Code.OTHER_CONTROLLER.value]
    assert decision["alerts"] == [], "told once"


@pytest.mark.asyncio
async def test_half_an_hour_of_quiet_survives_a_short_restart_and_no_long_one(stage):
    began_s = stage.clock.now_s()
    await live(stage, a_loop(stage, "first"), 30 * MINUTE_S)
    second = a_loop(stage, "second")
    await second.cycle()
    assert second.evidence[SITE].quiet_since_s == began_s
    assert second.evidence[SITE].seen_s == began_s + 30 * MINUTE_S + 61.0
    await live(stage, second, 1.0)
    stage.clock.advance(GAP_S)
    third = a_loop(stage, "third")
    await third.cycle()
    assert third.evidence[SITE].quiet_since_s == stage.clock.now_s()


@pytest.mark.asyncio
async def test_service_that_is_closed_leaves_the_latest_behind(stage):
    loop = a_loop(stage, "first")
    running = asyncio.create_task(loop.run())
    await stage.clock.run(65.0)
    loop.memory = remembered(
        loop.memory, [an_arrival(stage.clock.now_s())], loop.watch.collected.snapshot, loop.settings.memory
    )
    loop.close()
    await stage.clock.run(35.0)
    await running
    kept = (await stage.store.kept(MEMORY_KIND))[MEMORY_NAME]
    assert [move["container"] for move in kept["moves"]["moves"]] == ["c0"]
    assert kept["evidence"]["s0"]["seen_s"] == loop.evidence[SITE].seen_s


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"moves": {"form": 9}, "evidence": {}}, "moves before this start are forgotten"),
        ({"moves": {"moves": [], "back_offs": {}, "vetoes": {}}, "evidence": {"s0": 1}}, "evidence of load before"),
        ({"something": "else"}, "evidence of load before this start is forgotten: evidence is None"),
    ],
)
async def test_memory_that_cannot_be_read_is_told_and_begins_anew(stage, broken, told):
    lease = await stage.lease("before")
    await stage.store.keep(MEMORY_KIND, MEMORY_NAME, broken, fence=lease.fence)
    await stage.store.release(lease)
    loop = a_loop(stage, "after")
    await loop.cycle()
    assert loop.trouble == ""
    assert loop.memory.moves == Memory().moves
    assert loop.evidence[SITE].quiet_since_s == stage.clock.now_s()
    (recovery,) = await entries(stage, "recovery")
    assert any(told in alert for alert in recovery["alerts"])
    await live(stage, loop, 95.0)
    assert len(await entries(stage, "recovery")) == 1, "told once, and replaced"


@pytest.mark.asyncio
async def test_memory_is_written_where_it_changed_and_once_in_a_cycle(stage):
    loop = a_loop(stage, "first")
    written = []
    keep = stage.store.keep

    async def noted(kind, name, value, *, fence):
        written.append((stage.clock.now_s(), kind))
        await keep(kind, name, value, fence=fence)

    stage.store.keep = noted
    await live(stage, loop, 10 * MINUTE_S - 1.0)
    times = [at_s for at_s, kind in written if kind == MEMORY_KIND]
    assert len(times) == len(set(times))
    # Evidence that says the same is renewed each 90 s: half the gap that it may have.
    assert 6 <= len(times) <= 8


@pytest.mark.asyncio
async def test_policy_goes_on_from_what_it_remembered(stage):
    first = a_loop(stage, "first", policy("drain-relief"))
    await live(stage, first, 10 * MINUTE_S)
    kept = (await stage.store.kept(POLICY_KIND))["drain-relief"]
    assert kept["memory"]["calm"] >= 2
    second = a_loop(stage, "second", policy("drain-relief"))
    await second.cycle()
    assert second.decider.policy.memory()["calm"] == kept["memory"]["calm"] + 1
    # After more than an hour it begins anew, and so does one of another name.
    await live(stage, second, 1.0)
    stage.clock.advance(3600.0)
    third = a_loop(stage, "third", policy("drain-relief"))
    await third.cycle()
    assert third.decider.policy.memory()["calm"] == 1


@pytest.mark.asyncio
async def test_memory_of_a_policy_that_cannot_be_read_is_told(stage):
    lease = await stage.lease("before")
    value = {"at_s": stage.clock.now_s(), "week_began_s": MONDAY_S, "memory": {"calm": []}}
    await stage.store.keep(POLICY_KIND, "drain-relief", value, fence=lease.fence)
    await stage.store.release(lease)
    loop = a_loop(stage, "after", policy("drain-relief"))
    await loop.cycle()
    (recovery,) = await entries(stage, "recovery")
    assert "policy drain-relief begins anew" in recovery["alerts"][0]
    assert loop.decider.policy.memory()["calm"] == 1
