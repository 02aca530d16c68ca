"""Recovery: what each state that a crash can leave behind becomes, and that it is done within one cycle."""

from __future__ import annotations

import pytest

from fogfold.control.guard.memory import Ending, Memory, MemorySettings
from fogfold.control.node_power import PowerState
from fogfold.control.orders import MoveOrder
from fogfold.control.outcome import Fault, StepEnd, remembered
from fogfold.control.ports import MigrationRow
from fogfold.control.power import PowerRecord
from fogfold.control.recover import recover
from fogfold.control.switching import POWER_KIND, kept_form, record_of_kept
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.testing.fakes import Fate, Lost, Turn
from fogfold.testing.stage import Stage

pytestmark = pytest.mark.asyncio

N0, N1, N2 = NodeId("n0"), NodeId("n1"), NodeId("n2")
MOVE = MoveOrder(ContainerId("c0"), N0, N1)
CYCLE_S = 300.0


def _stage(**more) -> Stage:
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container("c0")])
    return Stage(cluster, {"c0": "n0"}, **more)


async def _left(stage, lease, *states: MigrationState, move: MoveOrder = MOVE) -> None:
    """A migration as a crash left it in the last of those states."""
    row = MigrationRow("p/0", "p", move, MigrationState.PLANNED, changed_s=stage.clock.now_s())
    await stage.store.add_migrations([row], fence=lease.fence)
    before = MigrationState.PLANNED
    for state in states:
        facts = {"asked": "p/0", "attempts": 1, "began_s": stage.clock.now_s()}
        await stage.store.transition("p/0", before, state, at_s=stage.clock.now_s(), facts=facts, fence=lease.fence)
        before = state


async def _node(stage, lease, node: str, state: PowerState, **more) -> None:
    record = PowerRecord(NodeId(node), state, stage.clock.now_s(), **more)
    await stage.store.keep(POWER_KIND, node, kept_form(record), fence=lease.fence)


async def _recover(stage, lease, **more):
    return await stage.play(recover(stage.means(), lease, **more), for_s=CYCLE_S + 60.0)


RESERVED, MOVING, FAILED = MigrationState.RESERVED, MigrationState.MOVING, MigrationState.FAILED


async def test_what_was_only_planned_is_released():
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease)
    report = await _recover(stage, lease)
    assert [(step.end, step.state) for step in report.steps] == [(StepEnd.NOT_BEGUN, MigrationState.UNDONE)]
    assert stage.orchestrator.count("start") == 0
    assert await stage.faults() == []
    assert report.is_complete


@pytest.mark.parametrize("states", [(RESERVED,), (RESERVED, MOVING)])
async def test_what_has_arrived_meanwhile_is_verified(states):
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, *states)
    await stage.orchestrator.start("p/0", MOVE, live=True, rate_limit_bit_s=None)
    stage.clock.advance(30.0)
    report = await _recover(stage, lease)
    assert [(step.end, step.runs_on) for step in report.steps] == [(StepEnd.ARRIVED, N1)]
    assert await stage.faults() == []


async def test_what_is_still_on_its_way_is_watched_to_its_end():
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, RESERVED, MOVING)
    stage.orchestrator.script("c0", Turn(takes_s=200.0))
    await stage.orchestrator.start("p/0", MOVE, live=True, rate_limit_bit_s=None)
    report = await _recover(stage, lease)
    assert report.steps[0].end is StepEnd.ARRIVED
    assert stage.orchestrator.count("start") == 1


async def test_what_takes_longer_than_a_cycle_is_left_to_the_next():
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, RESERVED, MOVING)
    stage.orchestrator.script("c0", Turn(takes_s=CYCLE_S + 200.0))
    await stage.orchestrator.start("p/0", MOVE, live=True, rate_limit_bit_s=None)
    report = await _recover(stage, lease)
    assert (report.steps[0].end, report.is_complete) == (StepEnd.LEFT, False)
    report = await _recover(stage, await stage.lease())
    assert (report.steps[0].end, report.is_complete) == (StepEnd.ARRIVED, True)
    assert await stage.faults() == []


async def test_move_that_stands_still_is_given_up_though_each_cycle_is_shorter_than_its_time():
    # 1 GiB at 10 Mbit/s and two minutes beside are 979 s: the fourth cycle of five minutes gives it up.
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, RESERVED, MOVING)
    stage.orchestrator.script("c0", Turn(Fate.STALLS, shows_progress=False))
    await stage.orchestrator.start("p/0", MOVE, live=False, rate_limit_bit_s=None)
    ends = [(await _recover(stage, await stage.lease())).steps[0].end for _ in range(4)]
    assert ends == [StepEnd.LEFT] * 3 + [StepEnd.UNDONE]
    assert await stage.faults() == []


async def test_order_that_was_never_given_is_not_given_now():
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, RESERVED)
    report = await _recover(stage, lease)
    assert (report.steps[0].end, report.steps[0].code) == (StepEnd.UNDONE, Fault.UNANSWERED)
    assert stage.orchestrator.count("start") == 0
    # Should the order of the dead arrive late, it begins nothing.
    await stage.orchestrator.start("p/0", MOVE, live=True, rate_limit_bit_s=None)
    stage.clock.advance(60.0)
    assert await stage.faults() == []
    assert stage.orchestrator.placement() == {"c0": N0}


@pytest.mark.parametrize("live", [True, False])
async def test_what_failed_runs_at_its_source_again(live):
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, RESERVED, MOVING, FAILED)
    stage.orchestrator.script("c0", Turn(Fate.FAILS))
    await stage.orchestrator.start("p/0", MOVE, live=live, rate_limit_bit_s=None)
    stage.clock.advance(30.0)
    report = await _recover(stage, lease)
    assert (report.steps[0].end, report.steps[0].runs_on) == (StepEnd.UNDONE, N0)
    assert await stage.faults() == []


async def test_what_was_called_failed_and_has_arrived_is_stored_where_it_runs():
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, RESERVED, FAILED)
    stage.orchestrator.script("c0", Turn(lands_on=N2))
    await stage.orchestrator.start("p/0", MOVE, live=True, rate_limit_bit_s=None)
    stage.clock.advance(30.0)
    report = await _recover(stage, lease)
    assert (report.steps[0].end, report.steps[0].runs_on) == (StepEnd.ELSEWHERE, N2)
    assert await stage.faults() == []


async def test_container_that_is_no_more_holds_nothing_up():
    stage = _stage()
    lease = await stage.lease()
    gone = MoveOrder(ContainerId("gone"), N0, N1)
    await _left(stage, lease, RESERVED, FAILED, move=gone)
    report = await _recover(stage, lease)
    assert (report.steps[0].state, report.is_complete) == (MigrationState.UNDONE, True)


async def test_orchestrator_that_does_not_answer_leaves_all_to_the_next_cycle():
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, RESERVED, FAILED)
    stage.orchestrator.lose("undo", times=99)
    stage.orchestrator.lose("marks")
    report = await _recover(stage, lease)
    assert (report.steps[0].end, report.is_complete) == (StepEnd.LEFT, False)
    assert len(report.unread) == 1


async def test_plan_of_this_very_instance_is_left_alone():
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease)
    await stage.orchestrator.cordon(N0, f"p {lease.fence}")
    report = await _recover(stage, lease, live=["p"])
    assert (report.steps, report.released) == ((), ())
    assert N0 in stage.orchestrator.nodes_marked


async def test_marks_of_plans_that_are_over_are_removed():
    stage = _stage()
    lease = await stage.lease()
    await stage.orchestrator.cordon(N0, "old 1")
    report = await _recover(stage, lease)
    assert report.released == (N0,)
    assert await stage.faults() == []


async def test_mark_of_a_node_that_is_off_stays_until_it_is_up():
    stage = _stage(asleep=("n2",))
    lease = await stage.lease()
    await _node(stage, lease, "n2", PowerState.OFF)
    await stage.orchestrator.cordon(N2, "old 1")
    report = await _recover(stage, lease)
    assert report.released == ()
    assert N2 in stage.orchestrator.nodes_marked


@pytest.mark.parametrize("state", [PowerState.CANDIDATE, PowerState.DRAINING, PowerState.DRAINED])
async def test_drain_that_was_begun_is_called_off(state):
    stage = _stage()
    lease = await stage.lease()
    await _node(stage, lease, "n1", state)
    await stage.orchestrator.cordon(N1, "old 1")
    report = await _recover(stage, lease)
    assert report.power == ((N1, PowerState.ON),)
    assert await stage.faults() == []


@pytest.mark.parametrize("was_given", [True, False])
async def test_order_to_go_off_is_given_again_to_an_empty_node(was_given):
    stage = _stage()
    lease = await stage.lease()
    await _node(stage, lease, "n1", PowerState.OFF_REQUESTED, tries=1)
    await stage.orchestrator.cordon(N1, "old 1")
    if was_given:
        await stage.power.off(N1, "k")
    stage.clock.advance(3600.0)
    report = await _recover(stage, await stage.lease())
    assert report.power == ((N1, PowerState.OFF),)
    assert await stage.faults() == []


async def test_order_to_go_off_is_not_given_again_to_a_node_that_is_not_empty():
    stage = _stage()
    lease = await stage.lease()
    await _node(stage, lease, "n0", PowerState.OFF_REQUESTED, tries=2)
    await stage.orchestrator.cordon(N0, "old 1")
    await _recover(stage, lease)
    report = await _recover(stage, await stage.lease())
    assert stage.power.count("off") == 0
    assert report.power == ((N0, PowerState.ON),)
    assert await stage.faults() == []


async def test_node_that_will_not_go_off_is_not_ordered_off_for_ever():
    stage = _stage()
    await _node(stage, await stage.lease(), "n1", PowerState.OFF_REQUESTED, tries=1)
    await stage.orchestrator.cordon(N1, "old 1")
    stage.power.deaf.add("n1")
    for _ in range(3):
        report = await _recover(stage, await stage.lease())
    assert stage.power.count("off") == 1
    assert report.is_complete
    assert await stage.faults() == []


@pytest.mark.parametrize("was_given", [True, False])
async def test_node_that_was_being_woken_comes_up(was_given):
    stage = _stage(asleep=("n2",))
    lease = await stage.lease()
    await _node(stage, lease, "n2", PowerState.WAKE_REQUESTED, tries=1)
    await stage.orchestrator.cordon(N2, "old 1")
    if was_given:
        await stage.power.on(N2, "k")
    report = await _recover(stage, lease)
    assert report.power == ((N2, PowerState.ON),)
    assert await stage.faults() == []


@pytest.mark.parametrize("state", [PowerState.WAKE_FAILED, PowerState.LOST, PowerState.OFF])
async def test_node_that_came_up_by_itself_takes_containers_again(state):
    stage = _stage()
    lease = await stage.lease()
    await _node(stage, lease, "n1", state)
    await stage.orchestrator.cordon(N1, "old 1")
    report = await _recover(stage, lease)
    assert report.power == ((N1, PowerState.ON),)
    assert await stage.faults() == []


async def test_outdated_instance_recovers_nothing():
    stage = _stage()
    old = await stage.lease("old")
    await _left(stage, old, RESERVED, FAILED)
    await stage.store.release(old)
    await stage.lease("new")
    report = await _recover(stage, old)
    assert (report.lease_lost, report.is_complete) == (True, False)
    assert [row.state for row in await stage.store.open_migrations()] == [FAILED]


async def test_lost_answers_are_no_hindrance():
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, RESERVED, FAILED)
    await stage.orchestrator.cordon(N0, "old 1")
    for call in ("undo", "uncordon"):
        stage.orchestrator.lose(call, Lost.AFTER)
    report = await _recover(stage, lease)
    assert (report.is_complete, report.released) == (True, (N0,))
    assert await stage.faults() == []


async def test_memory_learns_from_recovery_too():
    stage = _stage()
    lease = await stage.lease()
    await _left(stage, lease, RESERVED)
    snapshot = await stage.eyes.snapshot()
    report = await _recover(stage, lease)
    memory = remembered(Memory(), report.steps, snapshot, MemorySettings())
    assert [move.ending for move in memory.moves] == [Ending.FAILED]


async def test_power_record_is_kept_and_read_back():
    record = PowerRecord(N0, PowerState.BOOTING, 5.0, 1, 4.0, None, 3.0, 2.0, True, (60.0, 70.0))
    assert record_of_kept(N0, kept_form(record)) == record


@pytest.mark.parametrize(
    ("kept", "says"), [({"state": "OFFF"}, 'did you mean "OFF"'), ({"state": "ON", "trys": 1}, 'did you mean "tries"')]
)
async def test_power_record_that_is_not_understood_is_refused(kept, says):
    with pytest.raises(ModelError, match=says):
        record_of_kept(N0, kept)
