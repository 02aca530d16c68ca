"""What readings say has happened: lost nodes, restart loops, surges; never from one sample."""

from __future__ import annotations

from fogfold.control.collect import assemble
from fogfold.control.readings import ContainerReading, NodeReading, Readings
from fogfold.control.schedule import Event, EventKind
from fogfold.control.signs import Signs
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources
from fogfold.testing.builders import a_cluster, a_container, a_node

CLUSTER = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0")])
STATES = {"n0": NodeState.ON, "n1": NodeState.ON}


def _play(signs, samples, *, states=STATES, cluster=CLUSTER):
    """Events by sample; a sample is (nodes that answer, restarts, requests a second)."""
    out = []
    for k, (answering, restarts, requests_s) in enumerate(samples):
        now_s = 1000.0 + 30.0 * k
        reading = ContainerReading(now_s, Resources(0.1, 1.0, 1.0, 1.0), restarts, requests_s)
        nodes = {name: NodeReading(now_s) for name in answering.split()}
        readings = Readings(
            cluster,
            now_s,
            states,
            {ContainerId("c0"): NodeId("n0")},
            nodes=nodes,
            containers={ContainerId("c0"): reading},
        )
        out.append(signs.see(readings, assemble(readings, now_s)))
    return out


def test_node_is_lost_after_three_samples_of_silence():
    found = _play(Signs(), [("n0 n1", None, None)] + [("n0", None, None)] * 4)
    assert found == [(), (), (), (Event(EventKind.NODE_LOST, "n1"),), ()]


def test_sleeping_node_is_not_lost():
    asleep = {"n0": NodeState.ON, "n1": NodeState.ASLEEP}
    assert _play(Signs(), [("n0", None, None)] * 6, states=asleep) == [()] * 6


def test_restart_loop_needs_restarts_in_three_of_five_samples():
    found = _play(Signs(), [("n0 n1", count, None) for count in (5, 6, 6, 7, 8, 9)])
    assert found == [(), (), (), (), (Event(EventKind.RESTART_LOOP, "c0"),), ()]


def test_one_restart_and_a_count_begun_anew_are_no_loop():
    assert _play(Signs(), [("n0 n1", count, None) for count in (5, 6, 6, 6, 0, 0, 0, 1)]) == [()] * 8


def test_surge_needs_twice_the_usual_rate_in_three_of_five_samples():
    found = _play(Signs(), [("n0 n1", None, rate) for rate in (10, 10, 25, 10, 25, 25, 25)])
    assert [bool(events) for events in found] == [False, False, False, False, False, True, False]
    assert found[5] == (Event(EventKind.REQUEST_SURGE, "c0"),)


def test_surge_does_not_become_usual_however_long_it_lasts():
    rates = [10.0] * 3 + [25.0] * 100 + [10.0] * 5 + [25.0] * 3
    found = _play(Signs(), [("n0 n1", None, rate) for rate in rates])
    assert [k for k, events in enumerate(found) if events] == [5, 110]


def test_slow_growth_is_no_surge():
    assert not any(_play(Signs(), [("n0 n1", None, 10.0 * 1.005**k) for k in range(400)]))


def test_few_requests_cannot_surge():
    assert not any(_play(Signs(), [("n0 n1", None, rate) for rate in (0.1, 0.9, 0.9, 0.9, 0.9)]))


def test_what_is_not_counted_is_no_sign():
    assert not any(_play(Signs(), [("n0 n1", None, None)] * 9))


def test_containers_that_are_gone_are_forgotten():
    signs = Signs()
    _play(signs, [("n0 n1", 1, 10.0)] * 3)
    gone = a_cluster([a_node("n0"), a_node("n1")])
    states = {node.id: NodeState.ON for node in gone.nodes}
    readings = Readings(gone, 0.0, states, {}, nodes={})
    signs.see(readings, assemble(readings, 0.0))
    assert signs._restarts == {}
    assert signs._usual == {}
