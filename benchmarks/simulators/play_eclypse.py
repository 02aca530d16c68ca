"""A day in ECLYPSE: nodes and services with CPU and memory, and a move as a change of the mapping between two steps.

ECLYPSE knows no power: it is summed here from its own view of the load, in one pass over the nodes. Moves are written
into the mapping, instant and never refused: by the placement strategy alone, an application would stand a step without
placement. In ECLYPSE's favour: no links, though its network is much of what it is for; two resources instead of the six
it comes with; no reports; its log silenced; no failure policies. At its fastest all containers are services of one
application, so that the cluster is validated once a step; where there are several, it is validated after each.

One set-up is that of ECLYPSE's own examples: `shops.py` has what is on.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eclypse.graph import Application, Infrastructure
from eclypse.graph.assets import Additive
from eclypse.placement.strategies import StaticStrategy
from eclypse.simulation import Simulation, SimulationConfig

from simulators.play import Variant, say
from simulators.shops import SERVICES, check_report, hierarchy, shop
from simulators.workload import STEP_S, Day

EFFECTS = (
    "CPU and memory capacity, checked in every tick",
    "as its example: six resources of nodes, latency and bandwidth of links, all its metrics, written as CSV",
)
LACKS = (
    "power",
    "moves that take time, bytes or may fail",
    "sleep and wake",
    "faults (it has policies for them, not used here)",
    "queueing and latency objectives",
)
_MOST = 10**9


class _Play:
    """The day as it goes on; ECLYPSE calls `go_on` in each tick, once the placement stands."""

    def __init__(self, day: Day, variant: Variant) -> None:
        self.day, self.variant = day, variant
        self.demands = day.demands(variant.ticks_a_step, changing=variant.changing)
        self.energy_j, self.tick = 0.0, 0
        count = variant.applications
        if variant.example:
            infrastructure = hierarchy(day)
            self.applications = [shop(index, day.seed) for index in range(count)]
            # A policy of the infrastructure would make ECLYPSE forget its paths in each step.
            self.applications[-1].update_policies.append(self.go_on)
            self.services = [SERVICES[container // count] for container in range(day.containers)]
        else:
            infrastructure = _cluster(day, self.go_on)
            self.applications = [_bare(index, day.seed) for index in range(count)]
            self.services = [f"container-{container}" for container in range(day.containers)]
        self.nodes = list(infrastructure.nodes)
        self.place = {node: index for index, node in enumerate(self.nodes)}
        self.home = [self.applications[container % count] for container in range(day.containers)]
        mappings: dict[str, dict[str, str]] = {application.id: {} for application in self.applications}
        for container, (service, home) in enumerate(zip(self.services, self.home)):
            if not variant.example:
                home.add_node(service)
            home.nodes[service].update(cpu=self.demands[0][container], ram=day.request_mib[container])
            mappings[home.id][service] = self.nodes[day.placement[container]]
        self.folder = tempfile.TemporaryDirectory()
        self.reports = Path(self.folder.name) / "out"
        config = SimulationConfig(
            max_steps=len(self.demands),
            include_default_metrics=bool(variant.example),
            seed=day.seed,
            path=self.reports,
            log_level="CRITICAL",
        )
        self.simulation = Simulation(infrastructure, config)
        for application in self.applications:
            self.simulation.register(application, StaticStrategy(mappings[application.id]))

    def mapping(self, container: int) -> dict[str, str]:
        """The mapping that says where the container is."""
        return self.simulation.simulator.placements[self.home[container].id].mapping

    def go_on(self, _: Application | Infrastructure) -> None:
        """Read the power; at the end of a step make its moves; then let demand change."""
        day, ticks_a_step = self.day, self.variant.ticks_a_step
        power_w = sum(day.idle_w)
        for node, required in self.simulation.simulator.placement_view.nodes(data=True):
            index = self.place[node]
            power_w += (day.peak_w[index] - day.idle_w[index]) * required["cpu"] / day.capacity_mcpu[index]
        self.energy_j += power_w * STEP_S / ticks_a_step
        step, tick = divmod(self.tick, ticks_a_step)
        if tick == ticks_a_step - 1:
            for container, target in day.moves[step]:
                self.mapping(container)[self.services[container]] = self.nodes[target]
        self.tick += 1
        if self.variant.changing and self.tick < len(self.demands):
            for service, home, demand in zip(self.services, self.home, self.demands[self.tick]):
                home.nodes[service]["cpu"] = demand


def _assets() -> dict[str, Additive]:
    return {"cpu": Additive(0, _MOST, 0), "ram": Additive(0, _MOST, 0)}


def _cluster(day: Day, policy: Callable[[Infrastructure], None]) -> Infrastructure:
    """Nodes with CPU and memory, and nothing between them."""
    cluster = Infrastructure("cluster", node_assets=_assets(), update_policies=[policy], seed=day.seed)
    for index, (cpu, ram) in enumerate(zip(day.capacity_mcpu, day.capacity_mib)):
        cluster.add_node(f"node-{index}", cpu=cpu, ram=ram)
    return cluster


def _bare(index: int, seed: int) -> Application:
    """An application whose services need CPU and memory, and nothing from one another."""
    return Application(f"app-{index}", node_assets=_assets(), seed=seed)


def play(day: Day, variant: Variant) -> dict[str, Any]:
    """Play the day, and give what it cost and came to."""
    playing = _Play(day, variant)
    started = time.process_time()
    playing.simulation.start()
    playing.simulation.wait()
    cpu_s = time.process_time() - started
    last = [playing.mapping(container)[service] for container, service in enumerate(playing.services)]
    lines = check_report(playing.reports, playing.demands) if variant.example else 0
    playing.folder.cleanup()
    return {
        "cpu_s": cpu_s,
        "ticks": playing.tick,
        "report_lines": lines,
        "energy_kwh": playing.energy_j / 3.6e6,
        "last_placement": [playing.place[node] for node in last],
    }


if __name__ == "__main__":
    say("eclypse", play, version("eclypse"), EFFECTS, LACKS)
