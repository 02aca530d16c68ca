"""Environments for the tests."""

from __future__ import annotations

import gymnasium
import pytest

ID = "fogfold.env:fogfold/Consolidation-v0"

_WEB = {
    "name": "web",
    "share": 1,
    "profile": "residential",
    "cpu_cores": {"median": 2, "sigma": 0, "most": 4},
    "memory_mib_per_core": 2000,
    "network_mbit_s_per_core": 40,
    "disk_iops_per_core": 50,
    "service_time_ms": 8,
    "latency_objective_ms": 160,
    "architectures": ["amd64"],
    "image": {"name": "web", "size_mib": 180},
    "dirty_rate_mbit_s": 20,
    "users": {"local_share": 1, "neighbours": 0},
}


@pytest.fixture
def make_env():
    """An environment of tiny-4 by its registered name, checked at every step, unless told otherwise."""

    def make(**options):
        return gymnasium.make(ID, **{"scenario": "tiny-4", "hours": 1, "check": True, **options})

    return make


@pytest.fixture
def full_nodes():
    """Overrides of tiny-4 to four equal nodes with one container each, which takes 0.6 of its node: no other fits."""
    return {
        "nodes.0.mix": [{"machine": "gmktec-nucbox-g3-plus", "share": 1}],
        "containers.total": 4,
        "containers.request_share": {"cpu": 0.6, "memory": 0.6},
        "containers.services": [_WEB],
        "workload.mean_level": 0.6,
    }
