"""The executor: what a plan becomes when everything goes well, and when something does not."""

from __future__ import annotations

import asyncio

import pytest

from fogfold.control.asking import Patience
from fogfold.control.codes import Code
from fogfold.control.execute import Executor
from fogfold.control.failure import PortTimeoutError
from fogfold.control.guard.memory import Ending, Memory, MemorySettings
from fogfold.control.means import ExecuteSettings
from fogfold.control.moving import MoveSettings
from fogfold.control.node_power import PowerState
from fogfold.control.orders import Hold
from fogfold.control.outcome import Fault, StepEnd, Verdict, remembered
from fogfold.control.plan import Plan, PlanSettings, make_plan
from fogfold.control.ports import Capabilities, Lease
from fogfold.control.power import PowerRecord
from fogfold.control.switching import POWER_KIND, kept_form
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState
from fogfold.model.snapshot import Snapshot
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.testing.fakes import FakeEyes, Fate, Lost, Turn
from fogfold.testing.memory_store import MemoryStore
from fogfold.testing.stage import Stage

pytestmark = pytest.mark.asyncio

N0, N1, N2 = NodeId("n0"), NodeId("n1"), NodeId("n2")


def _stage(placement=None, *, nodes=3, **more) -> Stage:
    placement = placement or {"c0": "n0", "c1": "n0", "c2": "n1"}
    cluster = a_cluster([a_node(f"n{i}") for i in range(nodes)], [a_container(name) for name in placement])
    return Stage(cluster, placement, **more)


async def _carry_out(stage, orders, settings=None, **more):
    plan = make_plan(orders, await stage.eyes.snapshot(), PlanSettings(node_at_once=9))
    assert plan.refused == ()
    return await _execute(stage, plan, settings, **more)


async def _execute(stage, plan: Plan, settings=None, *, name="p1", for_s=6 * 3600.0, **more):
    executor = Executor(stage.means(), settings, **more)
    return await stage.play(executor.execute(plan, name, await stage.lease()), for_s=for_s)


class _OldEyes(FakeEyes):
    """They see what was at first, with its age."""

    def __init__(self, eyes: FakeEyes) -> None:
        super().__init__(eyes.cluster, eyes.orchestrator, eyes.power, eyes.clock)
        self._first: Snapshot | None = None

    async def snapshot(self) -> Snapshot:
        if self._first is None:
            self._first = await super().snapshot()
        return self._first


def _ends(report):
    return {str(step.move.container): step.end for step in report.steps}


async def test_node_is_marked_emptied_and_put_to_sleep(orders):
    stage = _stage()
    report = await _carry_out(stage, orders("c0: n0 > n1", "c1: n0 > n2", sleep="n0"))
    assert report.verdict is Verdict.DONE
    assert stage.orchestrator.placement() == {"c0": N1, "c1": N2, "c2": N1}
    assert (report.asleep, report.presumed, report.not_asleep) == ((N0,), (), {})
    assert stage.power.is_off(N0)
    names = [call for call, _ in stage.orchestrator.calls if call in {"cordon", "start"}]
    assert names == ["cordon", "start", "start"]
    assert await stage.faults() == []


async def test_each_state_is_written_before_its_act(orders):
    stage = _stage()
    report = await _carry_out(stage, orders("c0: n0 > n1"))
    steps = await stage.store.steps(report.steps[0].key)
    assert [step.after for step in steps] == [
        MigrationState.PLANNED,
        MigrationState.RESERVED,
        MigrationState.MOVING,
        MigrationState.VERIFIED,
    ]
    row = (await stage.store.migrations())[0]
    assert (row.facts["runs_on"], row.facts["elsewhere"]) == ("n1", False)


async def test_sleeping_node_is_woken_before_anything_goes_there(orders):
    stage = _stage(asleep=("n2",))
    report = await _carry_out(stage, orders("c0: n0 > n2", wake="n2"))
    assert (report.verdict, report.woken) == (Verdict.DONE, (N2,))
    assert stage.orchestrator.placement()[ContainerId("c0")] == N2
    assert await stage.faults() == []


async def test_node_that_does_not_come_up_keeps_its_moves_from_beginning_and_another_is_woken(orders):
    stage = _stage(nodes=4, asleep=("n2", "n3"))
    stage.power.dead.add("n2")
    report = await _carry_out(
        stage, orders("c0: n0 > n2", wake="n2"), another=lambda node, tried: NodeId("n3") if node == N2 else None
    )
    assert (report.verdict, report.woken) == (Verdict.PARTIAL, (NodeId("n3"),))
    assert set(report.not_woken) == {N2}
    assert (_ends(report), report.steps[0].code) == ({"c0": StepEnd.NOT_BEGUN}, Code.NODE_NOT_READY)
    assert stage.power.count("on") == 3, "two tries of one node, one of the other"
    assert stage.orchestrator.count("start") == 0


async def test_failing_move_is_tried_again_under_another_key_and_arrives(orders):
    stage = _stage()
    stage.orchestrator.script("c0", Turn(Fate.FAILS), Turn(Fate.FAILS))
    report = await _carry_out(stage, orders("c0: n0 > n1"))
    assert (report.verdict, report.steps[0].attempts) == (Verdict.DONE, 3)
    assert stage.orchestrator.begun["c0"] == 3
    assert await stage.faults() == []


async def test_move_that_fails_on_all_tries_is_undone_and_its_node_stays_on(orders):
    stage = _stage()
    stage.orchestrator.script("c0", *[Turn(Fate.FAILS)] * 3)
    report = await _carry_out(stage, orders("c0: n0 > n1", "c1: n0 > n2", sleep="n0"))
    assert report.verdict is Verdict.PARTIAL
    assert _ends(report) == {"c0": StepEnd.UNDONE, "c1": StepEnd.ARRIVED}
    assert (report.steps[0].code, report.steps[0].runs_on) == (Fault.BROKE, N0)
    assert report.not_asleep[N0].code is Code.DRAIN_BROKEN
    assert stage.power.count("off") == 0
    assert stage.orchestrator.nodes_marked == {}
    assert await stage.faults() == []


async def test_step_whose_earlier_step_failed_is_not_begun(orders):
    # c2 needs the room that c0 frees: n0 holds one of them at a time.
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}", cores=8.0) for i in range(2)])
    stage = Stage(cluster, {"c0": "n0", "c1": "n1"})
    stage.orchestrator.script("c0", *[Turn(Fate.FAILS)] * 3)
    report = await _carry_out(stage, orders("c1: n1 > n0", "c0: n0 > n2"))
    assert _ends(report) == {"c0": StepEnd.UNDONE, "c1": StepEnd.NOT_BEGUN}
    assert {step.code for step in report.steps} == {Fault.BROKE, Code.ROOM_NOT_FREED}
    assert report.verdict is Verdict.FAILED
    assert await stage.faults() == []


async def test_nothing_more_leaves_a_node_whose_drain_is_broken(orders):
    stage = _stage()
    stage.orchestrator.script("c0", *[Turn(Fate.FAILS)] * 3)
    plan = make_plan(
        orders("c0: n0 > n1", "c1: n0 > n2", sleep="n0"), await stage.eyes.snapshot(), PlanSettings(node_at_once=1)
    )
    assert len(plan.waves) == 2
    report = await _execute(stage, plan)
    assert _ends(report) == {"c0": StepEnd.UNDONE, "c1": StepEnd.NOT_BEGUN}
    assert report.steps[1].code is Code.DRAIN_BROKEN
    assert report.verdict is Verdict.FAILED


async def test_what_is_observed_elsewhere_is_stored_there_and_reported_as_partial(orders):
    stage = _stage(capabilities=Capabilities(evict=True))
    stage.orchestrator.script("c0", Turn(lands_on=N2))
    report = await _carry_out(stage, orders("c0: n0 > n1", "c1: n0 > n1", sleep="n0"))
    assert report.verdict is Verdict.PARTIAL
    assert _ends(report) == {"c0": StepEnd.ELSEWHERE, "c1": StepEnd.ARRIVED}
    assert (report.steps[0].runs_on, report.asleep) == (N2, (N0,))
    row = next(row for row in await stage.store.migrations() if row.move.container == "c0")
    assert (row.facts["runs_on"], row.facts["elsewhere"]) == ("n2", True)


async def test_lost_answer_begins_nothing_twice(orders):
    stage = _stage()
    stage.orchestrator.lose("start", Lost.AFTER)
    stage.orchestrator.lose("watch", times=3)
    report = await _carry_out(stage, orders("c0: n0 > n1"))
    assert (report.verdict, stage.orchestrator.begun["c0"]) == (Verdict.DONE, 1)


async def test_order_that_nobody_takes_is_given_up_and_undone(orders):
    stage = _stage()
    stage.orchestrator.lose("start", times=99)
    report = await _carry_out(stage, orders("c0: n0 > n1"))
    assert (_ends(report), report.steps[0].code) == ({"c0": StepEnd.UNDONE}, Fault.UNANSWERED)
    assert (stage.orchestrator.count("start"), stage.orchestrator.begun["c0"]) == (9, 0)
    assert await stage.faults() == []


async def test_what_is_refused_for_good_is_not_tried_again(orders):
    stage = _stage()
    stage.orchestrator.script("c0", Turn(Fate.REFUSED))
    report = await _carry_out(stage, orders("c0: n0 > n1"))
    assert (report.steps[0].code, stage.orchestrator.count("start")) == (Fault.REFUSED, 1)
    assert report.verdict is Verdict.FAILED


async def test_move_that_cannot_be_undone_stays_open_and_is_never_called_undone(orders):
    stage = _stage()
    stage.orchestrator.script("c0", Turn(Fate.FAILS))
    stage.orchestrator.lose("undo", times=999)
    report = await _carry_out(stage, orders("c0: n0 > n1"))
    assert (_ends(report), len(report.left)) == ({"c0": StepEnd.LEFT}, 1)
    assert [row.state for row in await stage.store.open_migrations()] == [MigrationState.FAILED]


async def test_what_arrives_while_it_is_given_up_is_reported_where_it_runs(orders):
    stage = _stage()
    stage.orchestrator.script("c0", Turn(takes_s=130.0, shows_progress=False))
    stage.orchestrator.lose("undo", times=3)
    settings = ExecuteSettings(MoveSettings(stall_s=120.0, slowest_bit_s=1e18, patience=Patience(first_wait_s=10.0)))
    report = await _carry_out(stage, orders("c0: n0 > n1"), settings)
    assert (report.verdict, _ends(report)) == (Verdict.DONE, {"c0": StepEnd.ARRIVED})
    assert stage.orchestrator.count("undo") > 0
    assert await stage.faults() == []


async def test_step_is_checked_again_on_the_newest_snapshot(orders):
    stage = _stage({"c0": "n0", "new": "n2"})
    plan = make_plan(orders("c0: n0 > n1"), await stage.eyes.snapshot())
    # Meanwhile somebody else moved it.
    stage.orchestrator.runs[ContainerId("c0")] = {N2}
    report = await _execute(stage, plan)
    assert (report.steps[0].end, report.steps[0].code) == (StepEnd.NOT_BEGUN, Code.NOT_RUNNING)
    assert await stage.faults() == []


async def test_own_moves_are_counted_before_anybody_reads_them_back(orders):
    # Both fit alone, one more than fits in all: a plan by hand, which no planner would make.
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}", cores=6.0) for i in range(2)])
    stage = Stage(cluster, {"c0": "n0", "c1": "n1"})
    stage.eyes = _OldEyes(stage.eyes)
    one = make_plan(orders("c0: n0 > n2"), await stage.eyes.snapshot()).steps[0]
    other = make_plan(orders("c1: n1 > n2"), await stage.eyes.snapshot()).steps[0]
    both = Plan(steps=(one, type(other)(1, 0, other.move)))
    report = await _execute(stage, both)
    assert sorted(_ends(report).values()) == [StepEnd.ARRIVED, StepEnd.NOT_BEGUN]
    assert {step.code for step in report.steps} == {None, Code.NO_ROOM}


async def test_nothing_is_begun_on_stale_data(orders):
    stage = _stage()
    stage.eyes.age_s = 181.0
    report = await _carry_out(stage, orders("c0: n0 > n1"))
    assert (report.steps[0].code, stage.orchestrator.count("start")) == (Code.DATA_STALE, 0)


async def test_caps_hold_while_moves_are_under_way(orders):
    placement = {f"c{i}": f"n{i}" for i in range(6)}
    stage = _stage(placement, nodes=8)
    plan = make_plan(
        orders(*(f"c{i}: n{i} > n{6 + i % 2}" for i in range(6))),
        await stage.eyes.snapshot(),
        PlanSettings(node_at_once=3),
    )
    assert len(plan.waves) == 1
    report = await _execute(stage, plan, ExecuteSettings(caps=PlanSettings(node_at_once=1)))
    assert (report.verdict, stage.orchestrator.most_under_way) == (Verdict.DONE, 2)


async def test_bandwidth_cap_goes_with_every_order(orders):
    stage = _stage()
    await _carry_out(stage, orders("c0: n0 > n1"), ExecuteSettings(MoveSettings(rate_limit_bit_s=5e6)))
    assert stage.orchestrator.limits_bit_s == [5e6]


async def test_stop_begins_nothing_new_and_sees_what_runs_to_its_end(orders):
    stage = _stage({"c0": "n0", "c1": "n0", "c2": "n1"})
    plan = make_plan(
        orders("c0: n0 > n1", "c1: n0 > n2", sleep="n0"), await stage.eyes.snapshot(), PlanSettings(node_at_once=1)
    )
    assert len(plan.waves) == 2
    report = await _execute(stage, plan, stop=lambda: stage.orchestrator.count("start") > 0)
    assert report.verdict is Verdict.STOPPED
    assert _ends(report) == {"c0": StepEnd.ARRIVED, "c1": StepEnd.NOT_BEGUN}
    assert (report.steps[1].code, stage.power.count("off")) == (Code.HALTED, 0)
    assert await stage.faults() == []


async def test_stop_ends_tries_but_undoes_what_failed(orders):
    stage = _stage()
    stage.orchestrator.script("c0", Turn(Fate.FAILS))
    report = await _carry_out(stage, orders("c0: n0 > n1"), stop=lambda: stage.orchestrator.count("start") > 0)
    assert (_ends(report), report.steps[0].attempts) == ({"c0": StepEnd.UNDONE}, 1)
    assert await stage.faults() == []


async def test_instance_that_lost_the_lease_acts_no_more(orders):
    stage = _stage()
    plan = make_plan(orders("c0: n0 > n1", "c1: n0 > n2"), await stage.eyes.snapshot(), PlanSettings(node_at_once=1))
    first = await stage.lease("first")
    executor = Executor(stage.means())

    async def both():
        task = asyncio.ensure_future(executor.execute(plan, "p1", first))
        await stage.clock.sleep(10.0)
        await stage.store.release(first)
        await stage.lease("second")
        acts = len(stage.orchestrator.calls)
        report = await task
        late = [call for call, _ in stage.orchestrator.calls[acts:] if call not in {"watch"}]
        return report, late

    report, late = await stage.play(both())
    assert (report.verdict, late) == (Verdict.LEASE_LOST, [])
    assert stage.orchestrator.count("start") == 1
    assert (report.steps[0].end, report.steps[0].attempts) == (StepEnd.LEFT, 1)


async def test_two_instances_on_one_store_never_both_act(orders):
    stage = _stage()
    plan = make_plan(orders("c0: n0 > n1"), await stage.eyes.snapshot())
    old = await stage.lease("first")
    await stage.store.release(old)
    new = await stage.lease("second")

    async def both():
        executors = [Executor(stage.means()), Executor(stage.means())]
        return await asyncio.gather(executors[0].execute(plan, "old", old), executors[1].execute(plan, "new", new))

    stale, fresh = await stage.play(both())
    assert (stale.verdict, fresh.verdict) == (Verdict.LEASE_LOST, Verdict.DONE)
    assert stage.orchestrator.begun["c0"] == 1


async def test_lease_is_renewed_while_a_plan_takes_longer_than_it(orders):
    stage = _stage()
    stage.orchestrator.script("c0", Turn(takes_s=1000.0))
    assert (await _carry_out(stage, orders("c0: n0 > n1"))).verdict is Verdict.DONE


class _MuteStore(MemoryStore):
    """It renews no lease."""

    async def acquire(self, holder: str, *, for_s: float, now_s: float) -> Lease | None:
        if self._held.holder is not None:
            raise PortTimeoutError("no answer")
        return await super().acquire(holder, for_s=for_s, now_s=now_s)


async def test_lease_that_cannot_be_renewed_ends_all_acts_when_it_runs_out(orders):
    stage = _stage()
    stage.store = _MuteStore()
    stage.orchestrator.script("c0", Turn(Fate.FAILS, takes_s=50.0))
    # Undoing begins after 50 s and meets nobody; the second try would come after the lease of 60 s has run out.
    stage.orchestrator.lose("undo", times=99)
    patience = Patience(first_wait_s=30.0)
    report = await _carry_out(stage, orders("c0: n0 > n1"), ExecuteSettings(MoveSettings(patience=patience)))
    assert (report.verdict, stage.orchestrator.count("undo")) == (Verdict.LEASE_LOST, 1)


async def test_one_node_of_a_site_is_switched_at_a_time(orders):
    stage = _stage({"c0": "n0"}, nodes=4)
    report = await _carry_out(stage, orders(sleep="n1 n2 n3"))
    assert (set(report.asleep), stage.power.most_in_transit) == ({N1, N2, NodeId("n3")}, 1)


async def test_node_that_will_not_go_off_is_reported_and_takes_containers_again(orders):
    stage = _stage({"c0": "n0"})
    stage.power.deaf.add("n1")
    report = await _carry_out(stage, orders(sleep="n1"))
    assert (report.asleep, set(report.not_asleep), report.verdict) == ((), {N1}, Verdict.FAILED)
    assert await stage.faults() == []


async def test_node_without_a_driver_stays_on_and_says_so(orders):
    stage = _stage({"c0": "n0"})
    stage.power.undriven.add("n1")
    report = await _carry_out(stage, orders(sleep="n1"))
    assert "n1 has no power driver" in report.not_asleep[N1].detail
    assert stage.power.count("off") == 1
    assert await stage.faults() == []


async def test_node_that_must_stay_by_now_is_not_switched_off(orders):
    stage = _stage()
    plan = make_plan(orders("c0: n0 > n1", "c1: n0 > n2", sleep="n0"), await stage.eyes.snapshot())
    executor = Executor(stage.means())

    async def both():
        task = asyncio.ensure_future(executor.execute(plan, "p", await stage.lease()))
        await stage.clock.sleep(20.0)
        stage.eyes.kept_on[N0] = Hold(Code.STORAGE_LAST_REPLICA, "it rebuilds")
        return await task

    report = await stage.play(both())
    assert report.not_asleep == {N0: Hold(Code.STORAGE_LAST_REPLICA, "it rebuilds")}
    assert stage.power.count("off") == 0
    assert await stage.faults() == []


async def test_what_is_no_more_by_the_time_it_is_due_is_left_out(orders):
    stage = _stage({"c0": "n0", "c1": "n1"}, nodes=5, asleep=("n4",))
    plan = make_plan(orders("c0: n0 > n2", "c1: n1 > n2", sleep="n0 n3", wake="n4"), await stage.eyes.snapshot())
    del stage.orchestrator.runs[ContainerId("c1")]
    stage.eyes.cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container("c0")])
    report = await _execute(stage, plan)
    assert report.verdict is Verdict.PARTIAL
    assert (_ends(report), report.asleep) == ({"c0": StepEnd.ARRIVED, "c1": StepEnd.NOT_BEGUN}, (N0,))
    assert (set(report.not_asleep), set(report.not_woken)) == ({NodeId("n3")}, {NodeId("n4")})


async def test_container_whose_earlier_move_is_open_is_left_alone(orders):
    stage = _stage()
    stage.orchestrator.script("c0", Turn(Fate.FAILS))
    stage.orchestrator.lose("undo", times=999)
    assert (await _carry_out(stage, orders("c0: n0 > n1"))).left
    plan = make_plan(orders("c0: n0 > n2"), await stage.eyes.snapshot())
    report = await _execute(stage, plan, name="p2")
    assert (report.steps[0].end, report.steps[0].code) == (StepEnd.NOT_BEGUN, Code.IN_FLIGHT)


async def test_records_of_other_nodes_do_not_hide_what_is_newly_read(orders):
    # n1 was lost once and is back: the snapshot says so, its record not yet.
    stage = _stage()
    lease = await stage.lease()
    await stage.store.keep(POWER_KIND, "n1", kept_form(PowerRecord(N1, PowerState.LOST)), fence=lease.fence)
    assert (await _carry_out(stage, orders("c0: n0 > n1"))).verdict is Verdict.DONE


async def test_node_that_somebody_else_put_to_sleep_is_woken(orders):
    stage = _stage(asleep=("n2",))
    lease = await stage.lease()
    await stage.store.keep(POWER_KIND, "n2", kept_form(PowerRecord(N2, PowerState.ON)), fence=lease.fence)
    report = await _carry_out(stage, orders("c0: n0 > n2", wake="n2"))
    assert (report.verdict, stage.power.count("on")) == (Verdict.DONE, 1)


async def test_mark_that_nobody_removes_is_reported(orders):
    stage = _stage()
    stage.orchestrator.script("c0", *[Turn(Fate.FAILS)] * 3)
    stage.orchestrator.lose("uncordon", times=99)
    report = await _carry_out(stage, orders("c0: n0 > n1", "c1: n0 > n2", sleep="n0"))
    assert report.marked == (N0,)


async def test_plan_goes_into_the_journal_with_what_became_of_it(orders):
    stage = _stage()
    report = await _carry_out(stage, orders("c0: n0 > n1"))
    entries = [entry async for entry in stage.store.entries(kinds=["execution"])]
    assert [entry.value for entry in entries] == [report.to_json()]


async def test_same_chance_gives_the_same_waits(orders):
    ends = []
    for _ in range(2):
        stage = _stage()
        stage.orchestrator.script("c0", Turn(Fate.FAILS), Turn(Fate.FAILS))
        ends.append((await _carry_out(stage, orders("c0: n0 > n1"))).ended_s)
    assert ends[0] == ends[1]


async def test_memory_learns_who_arrived_and_who_failed(orders):
    stage = _stage()
    stage.orchestrator.script("c0", *[Turn(Fate.FAILS)] * 3)
    snapshot = await stage.eyes.snapshot()
    report = await _carry_out(stage, orders("c0: n0 > n1", "c1: n0 > n2"))
    memory = remembered(Memory(), report.steps, snapshot, MemorySettings())
    assert {str(move.container): move.ending for move in memory.moves} == {
        "c0": Ending.FAILED,
        "c1": Ending.ARRIVED,
    }
    assert set(memory.back_offs) == {"container c0"}


async def test_detour_is_one_move_to_the_memory(orders):
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}", cores=8.0) for i in range(2)])
    stage = Stage(cluster, {"c0": "n0", "c1": "n1"})
    snapshot = await stage.eyes.snapshot()
    plan = make_plan(orders("c0: n0 > n1", "c1: n1 > n0"), snapshot, spare=[N2])
    assert len(plan.steps) == 3
    report = await _execute(stage, plan)
    assert report.verdict is Verdict.DONE
    memory = remembered(Memory(), report.steps, snapshot, MemorySettings())
    assert (len(memory.moves), memory.back_offs) == (2, {})
    assert {(str(m.container), str(m.source), str(m.target)) for m in memory.moves} == {
        ("c0", "n0", "n1"),
        ("c1", "n1", "n0"),
    }


async def test_empty_plan_is_done_at_once():
    stage = _stage()
    assert (await _execute(stage, Plan())).verdict is Verdict.DONE
