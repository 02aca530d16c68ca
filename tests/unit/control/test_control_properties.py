"""What holds for any orders: the guard only removes, a plan never over-commits a node, every refusal has a code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.control.codes import Code
from fogfold.control.guard.judge import judge
from fogfold.control.guard.settings import GuardSettings, Rate
from fogfold.control.guard.situation import Situation
from fogfold.control.orders import Act, Hold, MoveOrder, Orders
from fogfold.control.plan import PlanSettings, make_plan
from fogfold.model.node import NodeState
from fogfold.model.placement import SLACK, refusal
from fogfold.model.reason import Reason
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot, random_snapshot

SEEDS = st.integers(0, 100_000)


def _simple(rng: np.random.Generator):
    """A cluster without constraints but room, tight enough that moves wait for each other."""
    nodes = [a_node(f"n{i}", cores=6.0, memory_gib=6.0) for i in range(6)]
    sizes = rng.choice([1.0, 2.0, 3.0], 12)
    containers = [a_container(f"c{i}", cores=float(size), memory_gib=1.0) for i, size in enumerate(sizes)]
    cluster = a_cluster(nodes, containers)
    free = {node.id: 6.0 for node in nodes}
    placement: dict[str, str] = {}
    for container in containers:
        fits = [n for n, room in free.items() if room >= container.request.cpu_cores]
        if fits:
            node = fits[int(rng.integers(len(fits)))]
            placement[container.id] = node
            free[node] -= container.request.cpu_cores
    return a_snapshot(cluster, placement)


def _orders(snapshot, rng: np.random.Generator) -> Orders:
    """Any orders at all; some of them drains that are complete."""
    nodes = [node.id for node in snapshot.cluster.nodes]
    sleep = tuple(node for node in nodes if rng.random() < 0.3)
    wake = tuple(node for node in nodes if node not in sleep and rng.random() < 0.2)
    moves = []
    for container, source in snapshot.placement.items():
        if source in sleep or rng.random() < 0.4:
            target = nodes[int(rng.integers(len(nodes)))]
            if rng.random() < 0.95:
                moves.append(MoveOrder(container, source, target))
    rng.shuffle(moves)
    return Orders(tuple(moves), sleep, wake)


def _situation(snapshot, rng: np.random.Generator) -> Situation:
    nodes = [node.id for node in snapshot.cluster.nodes]
    containers = list(snapshot.placement)
    return Situation(
        snapshot,
        snapshot.time_s + float(rng.choice([0.0, 60.0, 600.0])),
        blind={n: "no reading" for n in nodes if rng.random() < 0.1},
        unreachable=frozenset(n for n in nodes if rng.random() < 0.1),
        container_holds={c: Hold(Code.PDB_MULTIPLE) for c in containers if rng.random() < 0.05},
        node_holds={n: Hold(Code.TAINT) for n in nodes if rng.random() < 0.05},
        sleep_holds={n: Hold(Code.COOLDOWN) for n in nodes if rng.random() < 0.1},
        stopped="by hand" if rng.random() < 0.05 else "",
    )


@given(seed=SEEDS, tight=st.booleans())
@settings(max_examples=150, deadline=None)
def test_guard_only_removes_and_says_why(seed, tight):
    rng = stream(seed, "guard")
    snapshot = _simple(rng) if tight else random_snapshot(rng)
    orders, situation = _orders(snapshot, rng), _situation(snapshot, rng)
    rates = GuardSettings(cluster_rate=Rate(4, 0.3)) if rng.random() < 0.5 else GuardSettings()
    verdict = judge(orders, situation, rates)
    kept = verdict.orders

    assert _is_within(kept.moves, orders.moves)
    assert _is_within(kept.sleep, orders.sleep)
    assert _is_within(kept.wake, orders.wake)
    # Each order is either kept or refused, once, with a code of the list.
    refused = [(refusal.act, refusal.subject) for refusal in verdict.refused]
    assert len(set(refused)) == len(refused)
    every: list[tuple[Act, str]] = [(Act.MOVE, m.container) for m in orders.moves]
    every += [(Act.SLEEP, n) for n in orders.sleep]
    every += [(Act.WAKE, n) for n in orders.wake]
    passed: list[tuple[Act, str]] = [(Act.MOVE, m.container) for m in kept.moves]
    passed += [(Act.SLEEP, n) for n in kept.sleep]
    passed += [(Act.WAKE, n) for n in kept.wake]
    assert sorted(refused + passed) == sorted(every)
    assert all(isinstance(refusal.code, Code) for refusal in verdict.refused)
    # A node half emptied is not put to sleep, and every node that is up sleeps or has a reason.
    leaving = {move.container for move in kept.moves} | set(snapshot.targets)
    for node in kept.sleep:
        assert all(c in leaving for c, where in snapshot.placement.items() if where == node)
    for node in orders.sleep:
        if node not in kept.sleep:
            assert not any(move.source == node for move in kept.moves)
    up = {n for n, state in snapshot.states.items() if state in (NodeState.ON, NodeState.DRAINING)}
    assert verdict.stays.keys() == up - set(kept.sleep)


@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_guard_asked_twice_changes_nothing_more(seed):
    rng = stream(seed, "twice")
    snapshot = _simple(rng)
    orders, situation = _orders(snapshot, rng), _situation(snapshot, rng)
    once = judge(orders, situation).orders
    assert judge(once, situation).orders == once


@given(seed=SEEDS, tight=st.booleans(), spare=st.booleans(), cut=st.integers(0, 6))
@settings(max_examples=150, deadline=None)
def test_plan_never_over_commits_a_node_and_breaks_no_rule_at_any_moment(seed, tight, spare, cut):
    rng = stream(seed, "plan")
    snapshot = _simple(rng) if tight else random_snapshot(rng)
    orders = _orders(snapshot, rng)
    limits = PlanSettings(node_at_once=int(rng.integers(1, 4)), most_moves=int(rng.choice([3, 500])))
    calls = iter([False] * cut + [True] * 99)
    spares = [node.id for node in snapshot.cluster.nodes] if spare else []
    plan = make_plan(orders, snapshot, limits, spare=spares, cut_off=lambda: cut > 0 and next(calls))

    # Played in plain Python by the model's own rules: all moves of a wave are under way at once, then all arrive.
    states = dict(snapshot.states) | dict.fromkeys((sleep.node for sleep in plan.sleep), NodeState.DRAINING)
    for name in plan.wake:
        states[name] = NodeState.ON if states[name] is NodeState.DRAINING else NodeState.WAKING
    now = replace(snapshot, states=states)
    before = _overfull(snapshot)
    for wave in plan.waves:
        assert wave, "no wave is empty"
        for step in wave:
            assert now.placement[step.move.container] == step.move.source
            assert refusal(now, step.move.container, step.move.target) is Reason.NONE
            now = replace(now, targets={**now.targets, step.move.container: step.move.target})
            assert _overfull(now) <= before
        for node in snapshot.cluster.nodes:
            touching = sum(node.id in (step.move.source, step.move.target) for step in wave)
            assert touching <= limits.node_at_once
        moved = {step.move.container: step.move.target for step in wave}
        left = {c: n for c, n in now.targets.items() if c not in moved}
        now = replace(now, placement={**now.placement, **moved}, targets=left)

    # Each order is done in full, or refused with a code.
    refused = [r.subject for r in plan.refused if r.act is Act.MOVE]
    assert len(set(refused)) == len(refused)
    assert all(isinstance(r.code, Code) for r in plan.refused)
    wanted = {move.container: move.target for move in orders.moves}
    done = {step.move.container for step in plan.steps}
    assert done | set(refused) == set(wanted)
    assert not done & set(refused)
    assert all(now.placement[c] == wanted[c] for c in done)
    assert len(plan.steps) <= limits.most_moves + 1
    # Who may sleep is empty once its moves have arrived.
    for sleep in plan.sleep:
        assert all(plan.steps[k].move.source == sleep.node for k in sleep.after)
        assert all(c in snapshot.targets for c, n in now.placement.items() if n == sleep.node)
    for name in orders.sleep:
        if name not in {sleep.node for sleep in plan.sleep}:
            assert not any(snapshot.placement[container] == name for container in done)


def _overfull(snapshot) -> set[str]:
    """Nodes on which those that run there or are on their way want more than there is."""
    out = set()
    for node in snapshot.cluster.nodes:
        there = [
            c.request.as_tuple()
            for c in snapshot.cluster.containers
            if node.id in (snapshot.placement.get(c.id), snapshot.targets.get(c.id))
        ]
        for r, capacity in enumerate(node.capacity.as_tuple()):
            if sum(request[r] for request in there) > capacity * (1 + SLACK):
                out.add(node.id)
    return out


def _is_within(part, whole) -> bool:
    """Whether the one is the other with some left out, in the same order."""
    rest = iter(whole)
    return all(thing in rest for thing in part)
