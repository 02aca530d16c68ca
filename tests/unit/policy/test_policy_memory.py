"""Policies that can say what they remember: one that recalls it goes on as the other would have."""

import json

import numpy as np
import pytest

from fogfold.encoding.arrays import fleet_arrays
from fogfold.errors import ModelError
from fogfold.policy.base import Remembering
from fogfold.policy.learned.policy import Learned
from fogfold.policy.learned.weights import Shape, Weights
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import RULES
from fogfold.policy.registry import policy as policy_named
from fogfold.policy.sleeping import Evidence
from fogfold.seeding import stream
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World


def policy(name):
    """A policy that can say what it remembers."""
    made = policy_named(name)
    assert isinstance(made, Remembering)
    return made


def weights(seed):
    """A network that was never trained."""
    rng, shape = stream(seed, "weights"), Shape()
    return Weights(shape, {name: rng.normal(size=size).astype("f4") for name, size in shape.arrays().items()}, {})


def views(name, *, steps=16, seed=0):
    """Views of some hours under that policy."""
    built = build(load_scenario("city-20", {"nodes.edge.count": 8}), seed, hours=steps / 12 + 1)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=seed)
    rule, out = policy_named(name), []
    for _ in range(steps):
        view = world.view()
        out.append(view)
        world.step(orders_of(rule.propose(view), fleet.nodes))
    return out


@pytest.mark.parametrize("name", sorted(set(RULES) - {"hold"}))
def test_rule_that_recalls_goes_on_as_the_other_would_have(name):
    seen = views("drain-relief")
    whole, first = policy(name), policy(name)
    proposals = [whole.propose(view) for view in seen]
    for view in seen[:7]:
        first.propose(view)
    second = policy(name)
    second.recall(json.loads(json.dumps(first.memory())))
    assert [second.propose(view) for view in seen[7:]] == proposals[7:]
    assert second.memory() == whole.memory()


def test_memory_matters_to_what_is_proposed():
    seen = views("hold")
    whole, fresh = policy("drain-relief"), policy("drain-relief")
    proposals = [whole.propose(view) for view in seen]
    assert [fresh.propose(view) for view in seen[7:]] != proposals[7:]


def test_memory_holds_only_nodes_that_were_woken_or_sleep():
    seen = views("drain-relief")
    rule = policy("drain-relief")
    for view in seen:
        rule.propose(view)
    memory = rule.memory()
    asleep = {n.id for n, state in zip(seen[-1].fleet.cluster.nodes, seen[-1].state, strict=True) if state in (2, 3)}
    assert set(memory["slept"]) == asleep
    assert memory["time_s"] == seen[-1].time_s
    assert memory["calm"] >= 1


def test_memory_of_a_fresh_policy_is_empty_and_can_be_recalled():
    rule = policy("drain-relief")
    assert rule.memory() == {"calm": 0, "time_s": None, "woken_s": {}, "slept": []}
    rule.recall(rule.memory())
    assert rule.memory() == {"calm": 0, "time_s": None, "woken_s": {}, "slept": []}


def test_nodes_that_are_gone_are_forgotten_and_new_ones_have_never_slept():
    view = views("drain-relief", steps=1)[0]
    at_s = view.time_s - 300.0
    woken_s = {"edge-00": at_s - 40.0, "gone": at_s}
    evidence = Evidence.of({"calm": 3, "time_s": at_s, "woken_s": woken_s, "slept": ["edge-01"]})
    evidence.see(view)
    since_s = evidence.since_woken_s()
    index = view.fleet.cluster.node_index
    assert since_s[index["edge-00"]] == 340.0
    # It slept when it was last seen, and is on now: it has just come back.
    assert since_s[index["edge-01"]] == 0.0
    assert np.isinf(since_s).sum() == view.fleet.nodes - 2
    assert evidence.calm == 3


@pytest.mark.parametrize("memory", [{}, {"calm": "x", "time_s": None, "woken_s": {}, "slept": []}, {"calm": 1}])
def test_what_is_no_memory_is_refused_and_leaves_a_fresh_rule(memory):
    rule = policy("drain-relief")
    rule.propose(views("drain-relief", steps=1)[0])
    with pytest.raises(ModelError, match="begin anew"):
        rule.recall(memory)
    assert rule.memory()["time_s"] is None


@pytest.mark.parametrize("serve", ["likeliest", "drawn"])
def test_learned_policy_that_recalls_goes_on_as_the_other_would_have(serve):
    seen = views("drain-relief", steps=10)
    whole, first, second = (Learned("learned", weights(1), serve=serve) for _ in range(3))
    whole.reset(3)
    first.reset(3)
    proposals = [whole.propose(view) for view in seen]
    for view in seen[:5]:
        first.propose(view)
    second.reset(0)
    second.recall(json.loads(json.dumps(first.memory())))
    assert [second.propose(view) for view in seen[5:]] == proposals[5:]
    with pytest.raises(ModelError, match="name the checkpoint"):
        Learned("learned", weights(2)).recall(first.memory())
    with pytest.raises(ModelError, match="begin anew"):
        second.recall({"weights": weights(1).digest})


def test_policies_that_forecast_say_that_they_remember_more():
    assert not isinstance(policy_named("rehearsed"), Remembering)
