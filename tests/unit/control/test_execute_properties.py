"""Whatever goes wrong, in whatever order: nobody is lost, nobody runs twice, and the report says what is so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.control.execute import Executor
from fogfold.control.orders import MoveOrder, Orders
from fogfold.control.outcome import StepEnd, Verdict
from fogfold.control.plan import PlanSettings, make_plan
from fogfold.control.ports import Capabilities
from fogfold.control.recover import recover
from fogfold.model.identity import ContainerId, NodeId
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.testing.fakes import LIVE, Fate, Lost, Turn
from fogfold.testing.kill import Fuse, was_killed
from fogfold.testing.stage import Stage

pytestmark = pytest.mark.asyncio

NODES, CONTAINERS = 5, 6
node = st.integers(0, NODES - 1).map(lambda i: NodeId(f"n{i}"))
turn = st.builds(
    Turn,
    st.sampled_from([Fate.ARRIVES, Fate.FAILS, Fate.STALLS, Fate.REFUSED]),
    st.sampled_from([1.0, 20.0, 130.0]),
    st.none() | node,
    st.booleans(),
)
losses = st.lists(
    st.tuples(
        st.sampled_from(["start", "watch", "undo", "cordon", "uncordon", "off", "on"]),
        st.sampled_from(list(Lost)),
        st.integers(1, 12),
    ),
    max_size=5,
)


def _check_report(report, stage) -> None:
    """What it says of where containers run is so."""
    truth = stage.orchestrator.placement()
    begun = [step for step in report.steps if step.end is not StepEnd.NOT_BEGUN]
    # A container that makes a detour ends where its last step says.
    last = {step.move.container: step for step in begun}
    for container, step in last.items():
        if step.end is not StepEnd.LEFT:
            assert truth[container] == step.runs_on
    if report.verdict is Verdict.DONE:
        assert all(step.end is StepEnd.ARRIVED for step in report.steps)


@settings(max_examples=60, deadline=None)
@given(
    where=st.lists(node, min_size=CONTAINERS, max_size=CONTAINERS),
    to=st.lists(node, min_size=CONTAINERS, max_size=CONTAINERS),
    turns=st.dictionaries(st.integers(0, CONTAINERS - 1), st.lists(turn, max_size=4), max_size=CONTAINERS),
    lost=losses,
    deaf=st.booleans(),
    live=st.booleans(),
    stop_after=st.integers(1, 40),
    kill_at=st.none() | st.integers(0, 300),
)
async def test_nobody_is_lost_whatever_goes_wrong(where, to, turns, lost, deaf, live, stop_after, kill_at):
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(NODES)], [a_container(f"c{i}", cores=2.0) for i in range(CONTAINERS)]
    )
    placement = {f"c{i}": str(name) for i, name in enumerate(where)}
    capabilities = LIVE if live else Capabilities(restart=True)
    stage = Stage(cluster, placement, capabilities=capabilities, asleep=("n4",) if NodeId("n4") not in where else ())
    for number, script in turns.items():
        stage.orchestrator.script(f"c{number}", *script)
    for call, when, times in lost:
        (stage.power if call in {"off", "on"} else stage.orchestrator).lose(call, when, times)
    if deaf:
        stage.power.deaf.add("n0")
    moves = tuple(
        MoveOrder(ContainerId(f"c{i}"), source, target)
        for i, (source, target) in enumerate(zip(where, to, strict=True))
        if source != target
    )
    orders = Orders(moves, sleep=(NodeId("n0"),), wake=(NodeId("n4"),))
    plan = make_plan(orders, await stage.eyes.snapshot(), PlanSettings(node_at_once=3))
    looks = 0

    def stop():
        nonlocal looks
        looks += 1
        return looks > stop_after

    executor = Executor(stage.means(Fuse(kill_at)), stop=stop)
    try:
        report = await stage.play(executor.execute(plan, "p1", await stage.lease()), for_s=24 * 3600.0)
    except BaseException as error:
        if not was_killed(error):
            raise
    else:
        _check_report(report, stage)
    # At most 60 answers are lost, and a cycle asks three times.
    for cycle in range(21):
        stage.clock.advance(61.0)
        if (await stage.play(recover(stage.means(), await stage.lease(f"r{cycle}")))).is_complete:
            break
    assert await stage.faults() == []
    assert set(stage.orchestrator.placement()) == set(placement)
