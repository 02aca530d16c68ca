"""Nodes: figures that cannot be, power curves that say too little, and the table of states."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.errors import ModelError
from fogfold.model.node import NODE_TRANSITIONS, Accelerator, NodeState, PowerCurve
from fogfold.model.resources import Resources
from fogfold.testing.builders import a_node

ELEVEN = tuple(50.0 + 5.0 * k for k in range(11))


@pytest.mark.parametrize("count", [0, 2, 10, 12])
def test_curve_has_eleven_points(count):
    with pytest.raises(ModelError, match=f"^power curve 'x' has {count} points; give 11, in W at 0, 10, ..., 100 %"):
        PowerCurve("x", (50.0,) * count, "measured")


@pytest.mark.parametrize(
    ("place", "watts", "sentence"),
    [
        (0, -1.0, "at 0 % is -1; it must be at least 0"),
        (3, math.nan, "at 30 % is nan; give a finite number"),
        (10, math.inf, "at 100 % is inf; give a finite number"),
    ],
)
def test_point_that_cannot_be_is_named_with_its_load(place, watts, sentence):
    points = (*ELEVEN[:place], watts, *ELEVEN[place + 1 :])
    with pytest.raises(ModelError, match=f"^power curve 'x' {sentence}"):
        PowerCurve("x", points, "measured")


def test_curve_that_falls_is_refused_with_both_ends():
    with pytest.raises(ModelError, match="falls from 100 W idle to 50 W at full load; give the points in order"):
        PowerCurve("x", ELEVEN[::-1], "measured")


def test_curve_may_dip_between_its_ends():
    dip = (*ELEVEN[:5], ELEVEN[3], *ELEVEN[6:])
    assert PowerCurve("x", dip, "measured").points_w == dip


def test_curve_without_a_source_is_refused():
    with pytest.raises(ModelError, match="power curve 'x' has no source; say where its figures come from"):
        PowerCurve("x", ELEVEN, "")


def test_ends_of_the_curve_are_idle_and_peak():
    curve = PowerCurve("x", ELEVEN, "measured")
    assert (curve.idle_w, curve.peak_w) == (50.0, 100.0)


@pytest.mark.parametrize("count", [0, -1])
def test_no_accelerator_is_left_out_not_counted_as_none(count):
    with pytest.raises(ModelError, match=f"accelerator 'gpu' has count {count}; leave it out where there is none"):
        Accelerator("gpu", count)


def test_kind_of_accelerator_is_an_id():
    with pytest.raises(ModelError, match="accelerator id 'big gpu' is not allowed"):
        Accelerator("big gpu", 1)


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [
        ({"cores": 0.0}, "cpu_cores is 0; it must be above 0"),
        ({"memory_gib": 0.0}, "memory_bytes is 0; it must be above 0"),
        ({"network_mbit_s": 0.0, "network_down_bit_s": 1.0}, "network_bit_s is 0; it must be above 0"),
        ({"disk_iops": 0.0}, "disk_iops is 0; it must be above 0"),
        ({"network_down_bit_s": 0.0}, "network_down_bit_s is 0; it must be above 0"),
        ({"sleep_w": -1.0}, "sleep_w is -1; it must be at least 0"),
        ({"sleep_w": math.nan}, "sleep_w is nan; give a finite number"),
        ({"sleep_w": 50.5}, "sleep_w is 50.5 W, above its idle power of 50 W; sleeping would cost energy"),
        ({"shutdown_s": 0.0}, "shutdown_s is 0; it must be above 0"),
        ({"wake_s": 0.0}, "wake_s is 0; it must be above 0"),
        ({"shutdown_energy_j": -1.0}, "shutdown_energy_j is -1; it must be at least 0"),
        ({"wake_energy_j": math.inf}, "wake_energy_j is inf; give a finite number"),
        ({"wake_failure_probability": 1.5}, "wake_failure_probability is 1.5; it must be at least 0 and at most 1"),
        ({"wake_failure_probability": -0.1}, "wake_failure_probability is -0.1; it must be at least 0 and at most 1"),
        ({"core_speed": 0.0}, "core_speed is 0; it must be above 0"),
        ({"mtbf_s": 0.0}, "mtbf_s is 0; it must be above 0"),
        ({"mtbf_s": math.nan}, "mtbf_s is nan; give a finite number"),
        ({"mtbf_s": -math.inf}, "mtbf_s is -inf; give a finite number"),
        ({"mttr_s": 0.0}, "mttr_s is 0; it must be above 0"),
        ({"mttr_s": math.inf}, "mttr_s is inf; give a finite number"),
    ],
)
def test_figure_that_cannot_be_is_refused(figures, sentence):
    with pytest.raises(ModelError, match=f"^node 'edge-1': {sentence}"):
        a_node("edge-1", **figures)


def test_capacity_that_is_no_number_is_refused():
    with pytest.raises(ModelError, match="memory_bytes is nan; give a finite number"):
        dataclasses.replace(a_node(), capacity=Resources(1.0, math.nan, 1.0, 1.0))


def test_malformed_id_is_refused():
    with pytest.raises(ModelError, match="node id 'edge 1' is not allowed"):
        a_node("edge 1")


def test_node_that_never_fails_and_one_whose_plug_is_cut_are_allowed():
    node = a_node(mtbf_s=math.inf, sleep_w=0.0)
    assert (node.mtbf_s, node.sleep_w) == (math.inf, 0.0)


def test_sleeping_may_draw_as_much_as_idling():
    assert a_node(sleep_w=50.0).sleep_w == 50.0


def reached_from(start: NodeState) -> set[NodeState]:
    found, left = {start}, [start]
    while left:
        for following in NODE_TRANSITIONS[left.pop()] - found:
            found.add(following)
            left.append(following)
    return found


def test_table_names_every_state_and_no_other():
    assert set(NODE_TRANSITIONS) == set(NodeState)
    assert set().union(*NODE_TRANSITIONS.values()) <= set(NodeState)


@pytest.mark.parametrize("state", list(NodeState))
def test_every_state_leads_to_every_other(state):
    """No node is ever lost: whatever state it is in, it can be on again, and from there in any state."""
    assert reached_from(state) == set(NodeState)


@pytest.mark.parametrize("state", list(NodeState))
def test_no_state_follows_itself(state):
    assert state not in NODE_TRANSITIONS[state]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NodeState.ASLEEP, NodeState.ON),
        (NodeState.FAILED, NodeState.ON),
        (NodeState.ON, NodeState.ASLEEP),
        (NodeState.ASLEEP, NodeState.FAILED),
        (NodeState.GOING_TO_SLEEP, NodeState.ON),
        (NodeState.WAKING, NodeState.ASLEEP),
    ],
)
def test_no_step_is_skipped(before, after):
    assert after not in NODE_TRANSITIONS[before]


@settings(max_examples=40)
@given(st.data())
def test_node_is_on_again_only_after_booting_or_when_its_draining_is_called_off(data):
    state, came_from = NodeState.ON, None
    for _ in range(12):
        following = data.draw(st.sampled_from(sorted(NODE_TRANSITIONS[state])))
        came_from, state = state, following
        if state is NodeState.ON:
            assert came_from in (NodeState.WAKING, NodeState.DRAINING)
        if state is NodeState.ASLEEP:
            assert came_from is NodeState.GOING_TO_SLEEP
