"""How long a decision takes, in CPU time, on clusters of the sizes that are promised."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from fogfold.encoding.arrays import view_of
from fogfold.policy.registry import RULES, policy
from fogfold.testing.builders import a_cluster, a_container, a_node, a_site, a_snapshot

ACTIVE = tuple(name for name in RULES if name != "hold")


def _cluster_view(nodes, containers, *, sites, seed=1):
    """Nodes of three sizes and containers dealt over them, a third of the CPU requested and a sixth in use."""
    rng = np.random.default_rng(seed)
    places = [a_site(f"s{i}", latitude_deg=-37.8 + 0.02 * i) for i in range(sites)]
    cores = rng.choice([16.0, 32.0, 64.0], nodes) * max(1.0, containers / nodes / 20)
    machines = [
        a_node(
            f"n{i}", site=f"s{i % sites}", cores=float(c), memory_gib=float(4 * c), idle_w=float(2 * c), peak_w=5.0 * c
        )
        for i, c in enumerate(cores)
    ]
    share = rng.lognormal(0.0, 0.7, containers)
    request = share / share.sum() * cores.sum() / 3
    boxes = [
        a_container(f"c{i}", cores=float(r), memory_gib=float(2 * r), users=f"s{rng.integers(sites)}")
        for i, r in enumerate(request)
    ]
    placement = {f"c{i}": f"n{rng.choice(nodes, p=cores / cores.sum())}" for i in range(containers)}
    view = view_of(a_snapshot(a_cluster(machines, boxes, sites=places), placement))
    return replace(view, cpu_history=np.repeat(view.usage[:1], 30, axis=0))


def _cpu_s(name, view):
    """CPU time of a decision in which all may move, the better of two: the first may have to compile."""
    rule = policy(name, calm_decisions=0, move_share=1.0)
    taken = []
    for _ in range(2):
        rule.reset(0)
        start_s = time.process_time()
        proposal = rule.propose(view)
        taken.append(time.process_time() - start_s)
    return min(taken), proposal


@pytest.fixture(scope="module")
def largest_case():
    return _cluster_view(113, 15_769, sites=20)


@pytest.fixture(scope="module")
def region():
    return _cluster_view(1000, 8000, sites=100)


@pytest.mark.slow
@pytest.mark.parametrize("name", ACTIVE)
def test_case_35_a_pass_over_113_nodes_and_15769_containers_ends_in_seconds(largest_case, name):
    taken_s, proposal = _cpu_s(name, largest_case)
    # A macro cycle is 300 s, and the case asks for less than 60; anything near that would be a fault.
    assert taken_s < 6.0
    assert name == "high-node-utilization" or proposal.moves


@pytest.mark.slow
@pytest.mark.parametrize("name", ACTIVE)
def test_decision_over_1000_nodes_takes_less_than_a_second(region, name):
    assert _cpu_s(name, region)[0] < 1.0
