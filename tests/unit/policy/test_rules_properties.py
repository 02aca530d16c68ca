"""What holds for every rule on any cluster: legal in sequence, whole, repeatable, and the view left as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.encoding.arrays import view_of
from fogfold.model.node import NodeState
from fogfold.model.placement import refusal
from fogfold.model.reason import Reason
from fogfold.policy.registry import RULES, policy
from fogfold.seeding import stream
from fogfold.testing.builders import random_snapshot

CEILING = 0.9
EAGER = {"calm_decisions": 0, "minimum_saving": 0.0, "sleep_requested": 1.0, "sleep_load": 0.99, "wake_load": 1.0}


def _rule(name, *, eager=True):
    return policy(name, **EAGER) if eager and name != "hold" else policy(name)


def _view(seed, *, nodes=6, containers=14):
    snapshot = random_snapshot(stream(seed, "rules"), nodes=nodes, containers=containers)
    view = view_of(snapshot)
    past = stream(seed, "past").uniform(0.2, 1.5, (int(seed) % 31, containers)) * view.usage[0]
    return snapshot, replace(view, cpu_history=past)


def _frozen(view):
    arrays = (view.state, view.placement, view.target, view.usage, view.image_present, view.cpu_history)
    return b"".join(array.tobytes() for array in arrays)


def _check(snapshot, view, proposal):
    cluster = snapshot.cluster
    states, targets = dict(snapshot.states), dict(snapshot.targets)
    for n in proposal.wake:
        node = cluster.nodes[n].id
        assert states[node] in (NodeState.ASLEEP, NodeState.DRAINING)
        states[node] = NodeState.WAKING if states[node] == NodeState.ASLEEP else NodeState.ON
    # Nodes that are to be emptied are closed to newcomers before anything moves.
    for n in proposal.sleep:
        assert states[cluster.nodes[n].id] in (NodeState.ON, NodeState.DRAINING)
        states[cluster.nodes[n].id] = NodeState.DRAINING
    moved = [move.container for move in proposal.moves]
    assert len(moved) == len(set(moved))
    for move in proposal.moves:
        container, node = cluster.containers[move.container], cluster.nodes[move.target]
        now = replace(snapshot, states=states, targets=targets)
        assert container.id in snapshot.placement
        assert refusal(now, container.id, node.id, ceiling=CEILING) is Reason.NONE
        targets[container.id] = node.id
    for n in proposal.sleep:
        node = cluster.nodes[n]
        assert not node.never_sleep
        assert node.id not in targets.values()
        assert all(c in targets for c, where in snapshot.placement.items() if where == node.id)
    assert len(set(proposal.sleep)) == len(proposal.sleep)
    assert not set(proposal.sleep) & set(proposal.wake)
    assert not set(proposal.stays) & set(proposal.sleep)


@pytest.mark.parametrize("name", RULES)
def test_every_proposal_is_legal_whole_and_leaves_the_view_alone(name):
    acted = 0
    for seed in range(30):
        snapshot, view = _view(seed)
        before = _frozen(view)
        proposal = _rule(name).propose(view)
        assert _frozen(view) == before
        _check(snapshot, view, proposal)
        acted += bool(proposal.moves)
    # The clusters must make a rule act, or legality says little.
    assert name == "hold" or acted >= 3


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(RULES),
    nodes=st.integers(1, 9),
    containers=st.integers(1, 30),
    eager=st.booleans(),
)
def test_proposals_are_legal_on_clusters_of_any_shape(seed, name, nodes, containers, eager):
    snapshot, view = _view(seed, nodes=nodes, containers=containers)
    rule = _rule(name, eager=eager)
    for _ in range(3):
        proposal = rule.propose(view)
        _check(snapshot, view, proposal)


@pytest.mark.parametrize("name", RULES)
def test_same_views_give_the_same_proposals(name):
    first, second = _rule(name), _rule(name)
    for seed in range(10):
        _, view = _view(seed, nodes=8, containers=24)
        once, again = first.propose(view), second.propose(replace(view, state=view.state.copy()))
        assert once == again
    first.reset(3)
    second.reset(4)
    _, view = _view(99)
    assert first.propose(view) == second.propose(view)


@pytest.mark.parametrize("name", RULES)
def test_cluster_without_containers_is_no_trouble(name):
    from fogfold.testing.builders import a_cluster, a_node, a_snapshot

    view = view_of(a_snapshot(a_cluster([a_node("n0"), a_node("n1")]), {}))
    proposal = _rule(name).propose(view)
    assert proposal.moves == ()
    assert len(proposal.sleep) == (0 if name == "hold" else 1)
