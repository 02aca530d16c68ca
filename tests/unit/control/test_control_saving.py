"""What a plan really saves: nodes of 50 W idle and 100 W at full load that sleep at 5 W, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from fogfold.control.collect import assemble
from fogfold.control.deciding import Decider, Known, Limits
from fogfold.control.guard.memory import Memory
from fogfold.control.orders import MoveOrder
from fogfold.control.outcome import ExecutionReport, StepEnd, StepOutcome, Verdict
from fogfold.control.ports import Capabilities
from fogfold.control.readings import ContainerReading, NodeReading, Readings
from fogfold.control.saving import Draw, Savings, SavingSettings, node_draw
from fogfold.control.schedule import Rhythm, Run
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources
from fogfold.policy.base import Move, Proposal
from fogfold.testing.builders import a_cluster, a_container, a_node

CLUSTER = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0"), a_container("c1")])
N0, N1, C0, C1 = NodeId("n0"), NodeId("n1"), ContainerId("c0"), ContainerId("c1")
ON, ASLEEP = NodeState.ON, NodeState.ASLEEP


class Empties:
    """Moves c0 to n1 and lets n0 sleep."""

    name = "empties"

    def reset(self, seed):
        pass

    def propose(self, view):
        return Proposal(self.name, moves=(Move(0, 1),), sleep=(0,))


def read(at_s, cores, *, where=N1, state=ASLEEP, power_w=None):
    """Readings: c0 on a node and n0 in a state, cores by container; meters where they are given."""
    states = {N0: state, N1: ON}
    meters = power_w or {}
    readings = Readings(
        CLUSTER,
        at_s,
        states,
        {C0: where, C1: N1},
        nodes={node: NodeReading(at_s, power_w=meters.get(node)) for node, s in states.items() if s is ON},
        containers={c: ContainerReading(at_s, Resources(used, 0.0, 0.0, 0.0)) for c, used in cores.items()},
    )
    return readings, assemble(readings, at_s)


def decided(cores, **more):
    readings, collected = read(0.0, cores, where=N0, state=ON, **more)
    known = Known(readings, collected, 0.0, Memory(), {}, {}, Capabilities(live=True, exact_target=True))
    decision = Decider(Empties(), Limits.none()).decide(known, Run(Rhythm.MACRO))
    assert [sleep.node for sleep in decision.plan.sleep] == [N0]
    assert decision.saving_w == 45.0
    return decision


def carried_out(*, asleep=(N0,)):
    step = StepOutcome(
        "7/0", MoveOrder(C0, N0, N1), StepEnd.ARRIVED, MigrationState.VERIFIED, 1, N1, began_s=1.0, ended_s=50.0
    )
    return ExecutionReport("7", Verdict.DONE, (step,), asleep=asleep)


def followed(decision, looks, *, report=None, settings=None, close=False):
    """The outcomes of plan 7 after these looks: (time, cores, further figures)."""
    savings = Savings(settings)
    savings.begin(7, decision, report or carried_out())
    for at_s, cores, more in looks:
        readings, collected = read(at_s, cores, **more)
        savings.look(readings, collected, at_s)
    if close:
        savings.close()
    return savings.ended


def each_minute(minutes, cores, *, since=0, **more):
    return [(60.0 * minute, cores, more) for minute in range(since, minutes)]


def test_saving_by_the_curves_is_before_less_the_mean_after():
    # Before: 20 % and 30 % load, 60 + 65 = 125 W. After: n0 sleeps (5 W), n1 at 50 % draws 75 W for ten minutes; then
    # c0 wants a core more, 80 W for twenty. Mean after: 5 + (75 x 10 + 80 x 20) / 30 = 83.333 W.
    looks = each_minute(10, {C0: 2.0, C1: 3.0}) + each_minute(31, {C0: 3.0, C1: 3.0}, since=10)
    (outcome,) = followed(decided({C0: 2.0, C1: 3.0}), looks)
    assert outcome == {
        "decision": 7,
        "predicted_w": 45.0,
        "real_w": 41.667,
        "real_wh": 20.833,
        "before_w": 125.0,
        "after_w": 83.333,
        "window_s": 1800.0,
        "ended_by": "window over",
        "how": "modelled",
        "nodes": ["n0", "n1"],
        "asleep": ["n0"],
        "unknown": [],
    }


def test_saving_by_meters_is_what_they_say():
    # 70 + 66 = 136 W before, 81 + 5 W after: the one that sleeps has no meter that answers.
    decision = decided({C0: 2.0, C1: 3.0}, power_w={N0: 70.0, N1: 66.0})
    (outcome,) = followed(decision, each_minute(31, {C0: 2.0, C1: 3.0}, power_w={N1: 81.0}))
    assert (outcome["real_w"], outcome["real_wh"], outcome["how"]) == (50.0, 25.0, "measured")
    # One meter that is silent once, and it is a model in part.
    looks = each_minute(30, {C0: 2.0, C1: 3.0}, power_w={N1: 81.0}) + each_minute(31, {C0: 2.0, C1: 3.0}, since=30)
    (outcome,) = followed(decision, looks)
    assert outcome["how"] == "modelled"


def test_following_ends_where_a_node_is_woken():
    # Ten minutes of 125 - 80 = 45 W are 7.5 Wh.
    cores = {C0: 2.0, C1: 3.0}
    looks = [*each_minute(10, cores), (600.0, cores, {"state": NodeState.WAKING}), (660.0, cores, {"state": ON})]
    (outcome,) = followed(decided(cores), looks)
    assert (outcome["real_w"], outcome["real_wh"], outcome["window_s"]) == (45.0, 7.5, 600.0)
    assert outcome["ended_by"] == "node woken"


def test_what_is_not_known_is_not_zero():
    # Nobody reads c0 after the move, nor the draw of n1.
    (outcome,) = followed(decided({C0: 2.0, C1: 3.0}), each_minute(31, {C1: 3.0}))
    assert outcome["unknown"] == ["n1"]
    assert (outcome["real_w"], outcome["real_wh"], outcome["after_w"]) == (None, None, None)
    # Nobody read c0 before.
    (outcome,) = followed(decided({C1: 3.0}), each_minute(31, {C0: 2.0, C1: 3.0}))
    assert outcome["unknown"] == ["n0"]
    assert outcome["before_w"] is None


@pytest.mark.parametrize(("second_s", "unknown"), [(1000.0, []), (1200.0, ["n0", "n1"])])
def test_look_stands_for_three_minutes_and_no_longer(second_s, unknown):
    # Known for 180 s after the first look, then from the second to the end in looks of 180 s: 980 or 780 of 1800 s.
    cores: dict[ContainerId, float] = {C0: 2.0, C1: 3.0}
    times = [0.0, *(second_s + 180.0 * k for k in range(6) if second_s + 180.0 * k < 1800.0), 1800.0]
    (outcome,) = followed(decided(cores), [(at_s, cores, {}) for at_s in times])
    assert outcome["unknown"] == unknown


def test_window_ends_on_time_between_two_looks():
    cores = {C0: 2.0, C1: 3.0}
    (outcome,) = followed(decided(cores), [*each_minute(30, cores), (1770.0, cores, {}), (1830.0, cores, {})])
    assert (outcome["window_s"], outcome["real_wh"]) == (1800.0, 22.5)


def test_another_plan_on_its_nodes_ends_it():
    cores = {C0: 2.0, C1: 3.0}
    savings, decision = Savings(), decided(cores)
    savings.begin(7, decision, carried_out())
    for minute in range(4):
        readings, collected = read(60.0 * minute, cores)
        savings.look(readings, collected, 60.0 * minute)
    savings.begin(8, decision, carried_out())
    assert [(one["decision"], one["ended_by"], one["window_s"]) for one in savings.ended] == [
        (7, "another plan", 180.0)
    ]


def test_service_that_is_closed_says_what_it_saw():
    cores = {C0: 2.0, C1: 3.0}
    (outcome,) = followed(decided(cores), each_minute(3, cores), close=True)
    assert (outcome["ended_by"], outcome["window_s"], outcome["real_wh"]) == ("service closed", 120.0, 1.5)
    assert followed(decided(cores), each_minute(1, cores), close=True) == [], "one look is no time"


def test_plan_of_which_nothing_was_done_is_not_followed():
    nothing = ExecutionReport("7", Verdict.FAILED)
    assert followed(decided({C0: 2.0, C1: 3.0}), each_minute(40, {C0: 2.0, C1: 3.0}), report=nothing) == []


def test_node_that_stayed_on_is_counted_as_it_is():
    # The container left and the node would not sleep: 50 + 75 W after, nothing saved of 125 W.
    cores = {C0: 2.0, C1: 3.0}
    (outcome,) = followed(decided(cores), each_minute(31, cores, state=ON), report=carried_out(asleep=()))
    assert (outcome["predicted_w"], outcome["real_w"], outcome["asleep"]) == (45.0, 0.0, [])


def test_window_is_that_of_the_settings():
    cores = {C0: 2.0, C1: 3.0}
    (outcome,) = followed(decided(cores), each_minute(12, cores), settings=SavingSettings(window_s=600.0))
    assert outcome["window_s"] == 600.0


def test_draw_of_a_node_is_its_meter_or_its_curve_or_nothing():
    def draw(node: NodeId, **more: Any) -> Draw | None:
        readings, collected = read(0.0, {C0: 2.0, C1: 3.0}, **more)
        return node_draw(CLUSTER.nodes[CLUSTER.node_index[node]], readings, collected)

    assert draw(N0) == Draw(5.0, is_measured=False)
    assert draw(N1) == Draw(75.0, is_measured=False)
    assert draw(N1, power_w={N1: 81.5}) == Draw(81.5, is_measured=True)
    assert draw(N0, state=NodeState.WAKING) is None
    assert draw(N0, state=NodeState.GOING_TO_SLEEP) is None
    # A meter that reads nothing on a node that runs is broken: the node is blind.
    assert draw(N1, power_w={N1: 0.0}) is None
