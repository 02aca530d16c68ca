"""One small scenario file that all tests of scenarios vary."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SMALL = """\
schema_version: 1
name: small
start: {day: monday, hour: 6}
hours: 2
sites:
  - name: city
    layout:
      kind: generated
      count: 3
      centre: {latitude_deg: 50.94, longitude_deg: 6.96}
      extent_km: 10
    uplink_mbit_s: 1000
    access_ms: 3
    jitter_ms: 0.5
    loss: 0
nodes:
  - name: edge
    sites: city
    count: 6
    mix:
      - {machine: gmktec-nucbox-g3-plus, share: 0.5}
      - {machine: radxa-rock-5b, share: 0.5}
machines:
  - name: my-box
    architecture: amd64
    cores: 4
    core_speed: 1.0
    memory_gib: 8
    network_mbit_s: 1000
    disk_iops: 1000
    power_w: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
    power_source: measured at the plug
    sleep_w: 1
    shutdown_s: 20
    wake_s: 60
    shutdown_energy_j: 200
    wake_energy_j: 1200
    wake_failure_probability: 0.01
    mtbf_days: 365
    mttr_hours: 4
containers:
  total: 24
  services:
    - name: web
      share: 0.75
      profile: residential
      cpu_cores: {median: 0.3, sigma: 0.5, most: 2}
      memory_mib_per_core: 2000
      network_mbit_s_per_core: 40
      disk_iops_per_core: 50
      service_time_ms: 8
      latency_objective_ms: 160
      architectures: [amd64, arm64]
      image: {name: web, size_mib: 180}
      dirty_rate_mbit_s: 20
    - name: api
      share: 0.25
      profile: business
      cpu_cores: 0.4
      memory_mib_per_core: 1500
      network_mbit_s_per_core: 20
      disk_iops_per_core: 50
      service_time_ms: 4
      latency_objective_ms: null
      architectures: [amd64, arm64]
      image: {name: api, size_mib: 140}
      dirty_rate_mbit_s: 30
      replicas: {count: 3, anti_affinity: node}
workload: {kind: generated, mean_level: 0.4}
"""


@pytest.fixture
def small() -> str:
    """The text of a small scenario that is in order."""
    return SMALL


@pytest.fixture
def area() -> str:
    """The layout of the small scenario, to be replaced by another."""
    start = SMALL.index("kind: generated\n")
    return SMALL[start : SMALL.index("\n    uplink")]


@pytest.fixture
def changed() -> Callable[..., str]:
    """The small scenario with pieces of text replaced, each found exactly once."""

    def change(*pairs: tuple[str, str]) -> str:
        text = SMALL
        for old, new in pairs:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the small scenario"
            text = text.replace(old, new)
        return text

    return change
