"""The executor is killed at every single call it makes to the outside; each time a fresh one puts all in order.

The plan that is killed has everything in it: a node to wake, a drain, a move that fails and is tried again, one that
lands elsewhere, answers that are lost. Points are counted in a run that is not killed, then tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fogfold.control.execute import Executor
from fogfold.control.means import ExecuteSettings
from fogfold.control.moving import MoveSettings
from fogfold.control.orders import MoveOrder, Orders
from fogfold.control.outcome import Verdict
from fogfold.control.plan import Plan, PlanSettings, make_plan
from fogfold.control.recover import recover
from fogfold.control.switching import SwitchSettings
from fogfold.model.identity import ContainerId, NodeId
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.testing.fakes import Fate, Lost, Turn
from fogfold.testing.kill import Fuse, was_killed
from fogfold.testing.stage import Stage

pytestmark = pytest.mark.asyncio

CYCLE_S = 300.0
BORN_ON = {"c0": "n0", "c1": "n0", "c2": "n1", "c3": "n1"}


def _move(container: str, source: str, target: str) -> MoveOrder:
    return MoveOrder(ContainerId(container), NodeId(source), NodeId(target))


SETTINGS = ExecuteSettings(MoveSettings(look_s=10.0), SwitchSettings(look_s=10.0))
"""Half as many looks as by default: each is two points more to be killed at."""


def _stage(failures: int) -> Stage:
    cluster = a_cluster([a_node(f"n{i}") for i in range(4)], [a_container(name) for name in BORN_ON])
    stage = Stage(cluster, BORN_ON, asleep=("n3",))
    stage.orchestrator.script("c1", *[Turn(Fate.FAILS)] * failures)
    stage.orchestrator.script("c2", Turn(lands_on=NodeId("n2"), shows_progress=False))
    for call, when in (("start", Lost.AFTER), ("cordon", Lost.AFTER), ("undo", Lost.BEFORE)):
        stage.orchestrator.lose(call, when)
    stage.power.lose("off", Lost.AFTER)
    return stage


async def _plan(stage: Stage) -> Plan:
    moves = (_move("c0", "n0", "n1"), _move("c1", "n0", "n2"), _move("c2", "n1", "n3"))
    orders = Orders(moves, sleep=(NodeId("n0"),), wake=(NodeId("n3"),))
    plan = make_plan(orders, await stage.eyes.snapshot(), PlanSettings(node_at_once=9))
    assert (len(plan.steps), len(plan.sleep), len(plan.wake)) == (3, 1, 1)
    return plan


async def _killed_run(at: int | None, failures: int = 1) -> tuple[Stage, Fuse]:
    """A plan that is carried out until the fuse kills."""
    stage = _stage(failures)
    fuse = Fuse(at)
    executor = Executor(stage.means(fuse), SETTINGS)
    try:
        report = await stage.play(executor.execute(await _plan(stage), "p1", await stage.lease("first")))
    except BaseException as error:
        if not was_killed(error):
            raise
    else:
        assert report.verdict is Verdict.PARTIAL, "one move lands elsewhere"
        assert report.asleep == (("n0",) if failures < SETTINGS.moves.tries else ())
    return stage, fuse


async def _cycle(stage: Stage, holder: str, fuse: Fuse | None = None):
    """What a new instance does once the lease of the dead has run out."""
    stage.clock.advance(61.0)
    lease = await stage.lease(holder)
    return await stage.play(recover(stage.means(fuse), lease, SETTINGS), for_s=CYCLE_S + 60.0)


def _points(fuse: Fuse) -> Iterator[int]:
    yield from range(fuse.points)


@pytest.mark.parametrize("failures", [1, 3])
async def test_every_kill_is_recovered_from_within_one_cycle(failures):
    """With three failures the drain breaks, and the node that was marked takes containers again."""
    _, whole = await _killed_run(None, failures)
    assert whole.points > 200
    met: set[str] = set()
    for point in _points(whole):
        stage, fuse = await _killed_run(point, failures)
        assert fuse.is_dead
        met.add(fuse.where)
        report = await _cycle(stage, "second")
        assert report.is_complete, (point, fuse.where, report)
        assert await stage.faults() == [], (point, fuse.where, report)
        assert set(stage.orchestrator.placement()) == set(BORN_ON)
    calls = {"start", "watch", "undo", "cordon", "on", "read", "transition", "add_migrations", "keep", "append"}
    calls.add("off" if failures == 1 else "uncordon")
    assert {f"{side} {call}" for side in ("before", "after") for call in calls} <= met


async def test_recovery_that_is_killed_itself_is_recovered_from():
    _, whole = await _killed_run(None)
    for point in list(_points(whole))[::9]:
        stage, _ = await _killed_run(point)
        again = 0
        while True:
            fuse = Fuse(again)
            try:
                await _cycle(stage, f"instance {again}", fuse)
            except BaseException as error:
                if not was_killed(error):
                    raise
            if not fuse.is_dead:
                break
            # Each instance dies a little later than the one before.
            again = again * 2 + 3
        await _cycle(stage, "last")
        assert await stage.faults() == [], point


async def test_plan_can_be_carried_out_again_after_a_kill():
    _, whole = await _killed_run(None)
    for point in list(_points(whole))[::17]:
        stage, _ = await _killed_run(point)
        await _cycle(stage, "second")
        where = stage.orchestrator.placement()
        moves = tuple(MoveOrder(c, n, NodeId("n1")) for c, n in sorted(where.items()) if n == "n2")
        plan = make_plan(
            Orders(moves, sleep=(NodeId("n2"),)), await stage.eyes.snapshot(), PlanSettings(node_at_once=9)
        )
        executor = Executor(stage.means())
        await stage.play(executor.execute(plan, "p2", await stage.lease("second")))
        assert await stage.faults() == [], point
        assert stage.power.is_off(NodeId("n2")), point
