"""What a policy is shown of earlier usage: samples by today's columns, and today's usage where none was read."""

import numpy as np

from fogfold.control.collect import assemble
from fogfold.control.deciding import Decider, Known, Limits
from fogfold.control.guard.memory import Memory
from fogfold.control.ports import Capabilities
from fogfold.control.readings import ContainerReading, NodeReading, Readings
from fogfold.control.schedule import Rhythm, Run
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources
from fogfold.policy.base import Proposal
from fogfold.testing.builders import a_cluster, a_container, a_node

MACRO, MICRO = Run(Rhythm.MACRO), Run(Rhythm.MICRO)


class Looks:
    """A policy that keeps what it was shown and does nothing."""

    name = "looks"

    def reset(self, seed):
        self.shown = []

    def propose(self, view):
        self.shown.append(view.cpu_history)
        return Proposal(self.name)


def a_known(at_s, cores):
    """A cluster with these containers on its one node, each using so many cores."""
    node = NodeId("n0")
    used = {ContainerId(name): amount for name, amount in cores.items()}
    readings = Readings(
        a_cluster([a_node("n0")], [a_container(name) for name in cores]),
        at_s,
        {node: NodeState.ON},
        dict.fromkeys(used, node),
        nodes={node: NodeReading(at_s)},
        containers={c: ContainerReading(at_s, Resources(x, 1e8, 0.0, 0.0)) for c, x in used.items()},
    )
    return Known(readings, assemble(readings, at_s), at_s, Memory(), {}, {}, Capabilities(live=True))


def a_decider():
    policy = Looks()
    policy.reset(0)
    return Decider(policy, Limits.none()), policy


def test_history_holds_whole_decisions_and_the_one_under_way():
    decider, policy = a_decider()
    decider.decide(a_known(0.0, {"a": 1.0, "b": 2.0}), MACRO)
    decider.decide(a_known(30.0, {"a": 8.0, "b": 8.0}), MICRO)
    decider.decide(a_known(60.0, {"a": 3.0, "b": 4.0}), MACRO)
    assert [shown.tolist() for shown in policy.shown] == [[[1.0, 2.0]], [[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]]


def test_history_follows_a_container_to_its_new_column():
    decider, policy = a_decider()
    decider.decide(a_known(0.0, {"a": 1.0, "b": 2.0}), MACRO)
    decider.decide(a_known(60.0, {"new": 7.0, "b": 4.0}), MACRO)
    # a is gone; "new" was not read before, and is taken at what it is now.
    assert policy.shown[-1].tolist() == [[7.0, 2.0], [7.0, 4.0]]
    decider.decide(a_known(120.0, {"b": 5.0, "new": 6.0, "a": 9.0}), MACRO)
    assert policy.shown[-1].tolist() == [[2.0, 6.0, 1.0], [4.0, 7.0, 9.0], [5.0, 6.0, 9.0]]


def test_history_that_is_recalled_takes_the_place_of_what_was_seen():
    decider, policy = a_decider()
    decider.decide(a_known(0.0, {"a": 1.0}), MACRO)
    decider.recall([{ContainerId("a"): 0.5}, {}])
    decider.decide(a_known(60.0, {"a": 3.0}), MICRO)
    assert policy.shown[-1].tolist() == [[0.5], [3.0]]


def test_a_history_that_was_shown_is_nobody_elses():
    decider, policy = a_decider()
    decider.decide(a_known(0.0, {"a": 1.0}), MACRO)
    policy.shown[0][:] = 99.0
    decider.decide(a_known(60.0, {"a": 3.0}), MICRO)
    np.testing.assert_array_equal(policy.shown[-1], [[1.0]])
