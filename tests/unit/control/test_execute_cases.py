"""What public bug reports say that no consolidator may do: those that concern how a plan is carried out.

Numbers are those of the list of cases; what concerns proposing, guarding and planning is held elsewhere.
"""

from __future__ import annotations

import asyncio

import pytest

from fogfold.control.codes import Code
from fogfold.control.execute import Executor
from fogfold.control.orders import Hold
from fogfold.control.outcome import Fault, StepEnd, Verdict
from fogfold.control.plan import Plan, PlanSettings, Step, make_plan
from fogfold.control.ports import Capabilities
from fogfold.control.recover import recover
from fogfold.model.identity import ContainerId, NodeId
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node
from fogfold.testing.fakes import Fate, Turn
from fogfold.testing.kill import Fuse, was_killed
from fogfold.testing.stage import Stage
from fogfold.units import GIB

pytestmark = pytest.mark.asyncio

N0, N1 = NodeId("n0"), NodeId("n1")
RESTARTS = Capabilities(restart=True, exact_target=True)


def _stage(placement, *, nodes=3, groups=(), capabilities=RESTARTS, **more) -> Stage:
    containers = [a_container(name, **more) for name in placement]
    return Stage(
        a_cluster([a_node(f"n{i}") for i in range(nodes)], containers, groups=groups),
        placement,
        capabilities=capabilities,
    )


async def _execute(stage, plan, **more):
    return await stage.play(Executor(stage.means(), **more).execute(plan, "p1", await stage.lease()))


@pytest.mark.parametrize("may_be_missing", [0, 1])
async def test_case_21_nobody_is_frozen_before_the_budget_grants_it(orders, may_be_missing):
    # Ten moves at once, from a plan that no planner would make: the budget is asked before each.
    placement = {f"c{i}": "n0" if i < 5 else "n1" for i in range(10)}
    stage = _stage(placement, nodes=4, groups=[a_group("g0", may_be_missing=may_be_missing)], group="g0", cores=0.5)
    moves = orders(*(f"c{i}: {node} > n{2 + i % 2}" for i, node in enumerate(placement.values()))).moves
    report = await _execute(stage, Plan(steps=tuple(Step(i, 0, move) for i, move in enumerate(moves))))
    assert stage.orchestrator.most_under_way == may_be_missing
    assert sum(step.end is StepEnd.ARRIVED for step in report.steps) >= may_be_missing
    assert {step.code for step in report.steps if step.end is StepEnd.NOT_BEGUN} == {Code.PDB_ZERO}
    assert await stage.faults() == []


async def test_case_23_what_crashes_on_the_target_is_started_again_and_the_failure_is_recorded(orders):
    stage = _stage({"c0": "n0"})
    stage.orchestrator.script("c0", *[Turn(Fate.FAILS)] * 3)
    plan = make_plan(orders("c0: n0 > n1"), await stage.eyes.snapshot())
    report = await _execute(stage, plan)
    assert (report.steps[0].end, report.steps[0].code, report.steps[0].runs_on) == (StepEnd.UNDONE, Fault.BROKE, N0)
    row = (await stage.store.migrations())[0]
    assert (row.facts["code"], row.facts["why"]) == ("BROKE", "it crashed on the target")
    assert await stage.faults() == []


async def test_case_23_what_has_failed_is_not_waited_for(orders):
    stage = _stage({"c0": "n0"})
    stage.orchestrator.script("c0", Turn(Fate.FAILS, takes_s=1.0))
    plan = make_plan(orders("c0: n0 > n1"), await stage.eyes.snapshot())
    report = await _execute(stage, plan)
    # Seen failed at the second look, after 5 s; then a wait of at most 5 s and a move of 20 s.
    assert report.verdict is Verdict.DONE
    assert report.ended_s - report.began_s <= 5.0 + 5.0 + 20.0 + 5.0


@pytest.mark.parametrize("shows_progress", [True, False])
async def test_case_23_large_move_that_goes_on_is_given_its_time(orders, shows_progress):
    # 8 GiB at 10 Mbit/s take 6872 s: an hour is no reason to kill it.
    stage = _stage({"c0": "n0"}, memory_gib=8.0)
    assert round(8 * 8 * GIB / 10e6) == 6872
    stage.orchestrator.script("c0", Turn(takes_s=3600.0, shows_progress=shows_progress))
    plan = make_plan(orders("c0: n0 > n1"), await stage.eyes.snapshot())
    report = await _execute(stage, plan)
    assert (report.verdict, report.steps[0].attempts) == (Verdict.DONE, 1)


async def test_case_23_move_that_stands_still_is_given_up(orders):
    stage = _stage({"c0": "n0"})
    stage.orchestrator.script("c0", *[Turn(Fate.STALLS)] * 3)
    plan = make_plan(orders("c0: n0 > n1"), await stage.eyes.snapshot())
    report = await _execute(stage, plan)
    assert (report.steps[0].code, report.steps[0].detail) == (Fault.STALLED, "nothing went on for 120 s at 50%")
    assert await stage.faults() == []


async def test_case_25_kill_between_mark_and_drain_is_released_within_one_cycle(orders):
    stage = _stage({"c0": "n0", "c1": "n1"})
    plan = make_plan(orders("c0: n0 > n1", sleep="n0"), await stage.eyes.snapshot())
    fuse = Fuse("after cordon")
    with pytest.raises(BaseExceptionGroup) as caught:
        await stage.play(Executor(stage.means(fuse)).execute(plan, "p1", await stage.lease()))
    assert was_killed(caught.value)
    assert N0 in stage.orchestrator.nodes_marked
    stage.clock.advance(61.0)
    report = await stage.play(recover(stage.means(), await stage.lease("next")), for_s=300.0)
    assert report.is_complete
    assert stage.orchestrator.nodes_marked == {}
    assert await stage.faults() == []


@pytest.mark.parametrize("after_s", [0.0, 2.0])
async def test_case_27_what_was_bound_before_the_mark_settled_ends_the_drain(orders, after_s):
    # Bound between plan and mark, or after the mark was put and before everybody had seen it.
    stage = _stage({"c0": "n0", "new": "n2"})
    plan = make_plan(orders("c0: n0 > n1", sleep="n0"), await stage.eyes.snapshot())

    async def bind():
        await stage.clock.sleep(after_s)
        stage.orchestrator.runs[ContainerId("new")] = {N0}
        stage.eyes.protected[ContainerId("new")] = Hold(Code.OPT_OUT, "do not disrupt")

    async def both():
        binding = asyncio.ensure_future(bind())
        report = await Executor(stage.means()).execute(plan, "p1", await stage.lease())
        await binding
        return report

    report = await stage.play(both())
    assert report.not_asleep == {N0: Hold(Code.OPT_OUT, "new on n0: do not disrupt")}
    assert (stage.orchestrator.count("start"), stage.power.count("off")) == (0, 0)
    assert (report.steps[0].end, report.steps[0].code) == (StepEnd.NOT_BEGUN, Code.DRAIN_BROKEN)
    assert await stage.faults() == []


async def test_case_27_whoever_else_came_ends_the_drain_too(orders):
    stage = _stage({"c0": "n0", "new": "n2"})
    plan = make_plan(orders("c0: n0 > n1", sleep="n0"), await stage.eyes.snapshot())
    stage.orchestrator.runs[ContainerId("new")] = {N0}
    report = await _execute(stage, plan)
    assert report.not_asleep == {N0: Hold(Code.DRAIN_BROKEN, "new came to n0 and is not in the plan")}
    assert stage.orchestrator.count("start") == 0


async def test_case_27_nothing_is_begun_where_nothing_newer_than_the_mark_was_read(orders):
    stage = _stage({"c0": "n0"})
    plan = make_plan(orders("c0: n0 > n1", sleep="n0"), await stage.eyes.snapshot())
    stage.eyes.age_s = 100.0
    report = await _execute(stage, plan)
    assert report.not_asleep[N0].code is Code.DATA_STALE
    assert stage.orchestrator.count("start") == 0
    assert await stage.faults() == []


async def test_case_29_one_of_five_failed_and_only_that_one_is_called_undone(orders):
    stage = _stage({f"c{i}": "n0" for i in range(5)})
    stage.orchestrator.script("c3", *[Turn(Fate.FAILS)] * 3)
    plan = make_plan(
        orders(*(f"c{i}: n0 > n1" for i in range(5))), await stage.eyes.snapshot(), PlanSettings(node_at_once=9)
    )
    report = await _execute(stage, plan)
    assert report.verdict is Verdict.PARTIAL
    assert [step.end for step in report.steps] == [StepEnd.ARRIVED] * 3 + [StepEnd.UNDONE, StepEnd.ARRIVED]
    where = stage.orchestrator.placement()
    assert all(where[step.move.container] == step.runs_on for step in report.steps)


async def test_case_29_plan_that_is_cancelled_before_it_starts_does_not_run(orders):
    stage = _stage({"c0": "n0"})
    plan = make_plan(orders("c0: n0 > n1", sleep="n0"), await stage.eyes.snapshot())
    report = await _execute(stage, plan, stop=lambda: True)
    assert (report.verdict, report.steps[0].end) == (Verdict.STOPPED, StepEnd.NOT_BEGUN)
    assert (stage.orchestrator.calls, stage.power.calls, await stage.store.migrations()) == ([], [], ())


async def test_case_37_node_with_a_volume_is_not_cut(orders):
    stage = _stage({"c0": "n0"})
    stage.eyes.volumes[N0] = 1
    plan = make_plan(orders("c0: n0 > n1", sleep="n0"), await stage.eyes.snapshot())
    report = await _execute(stage, plan)
    assert (report.asleep, report.not_asleep[N0].code) == ((), Code.DRAIN_BROKEN)
    assert stage.power.count("off") == 0
    assert await stage.faults() == []


async def test_case_37_node_with_a_container_that_came_late_is_not_cut(orders):
    stage = _stage({"c0": "n0", "late": "n2"})
    plan = make_plan(orders("c0: n0 > n1", sleep="n0"), await stage.eyes.snapshot())

    async def both():
        acting = asyncio.ensure_future(Executor(stage.means()).execute(plan, "p1", await stage.lease()))
        await stage.clock.sleep(10.0)
        stage.orchestrator.runs[ContainerId("late")] = {N0}
        return await acting

    report = await stage.play(both())
    assert (report.verdict, report.asleep, stage.power.count("off")) == (Verdict.PARTIAL, (), 0)
    assert await stage.faults() == []


async def test_case_37_node_whose_power_nobody_can_read_is_never_called_asleep(orders):
    stage = _stage({"c0": "n0"})
    stage.power.unread.add("n0")
    plan = make_plan(orders("c0: n0 > n1", sleep="n0"), await stage.eyes.snapshot())
    report = await _execute(stage, plan)
    assert (report.verdict, report.asleep, set(report.not_asleep)) == (Verdict.PARTIAL, (), {N0})
    assert any("nobody can say that n0 is off" in alert for alert in report.alerts)
