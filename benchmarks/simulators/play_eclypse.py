"""A day in ECLYPSE: nodes and services with CPU and memory, and a move as a change of the mapping between two steps.

ECLYPSE knows no power: it is summed here from its own view of the load, in one pass over the nodes. Moves are written
into the mapping, instant and never refused: by the placement strategy alone, an application would stand a step without
placement. In ECLYPSE's favour: no links, though its network is much of what it is for; two resources instead of the six
it comes with; no reports; its log silenced; no failure policies. At its fastest all containers are services of one
application, so that the cluster is validated once a step; where each is an application of its own, which is what
containers placed one by one would be, it is validated after each.
"""

from __future__ import annotations

import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eclypse.graph import Application, Infrastructure
from eclypse.graph.assets import Additive
from eclypse.placement.strategies import StaticStrategy
from eclypse.simulation import Simulation, SimulationConfig

from simulators.play import Variant, say
from simulators.workload import STEP_S, Day

EFFECTS = ("CPU and memory capacity, checked in every tick",)
LACKS = (
    "power",
    "moves that take time, bytes or may fail",
    "sleep and wake",
    "faults and network (it has policies for both, not used here)",
    "queueing and latency objectives",
)
_MOST = 10**9


class _Play:
    """The day as it goes on; ECLYPSE calls `go_on` in each tick, once the placement stands."""

    def __init__(self, day: Day, variant: Variant) -> None:
        self.day, self.variant = day, variant
        self.nodes = [f"node-{index}" for index in range(day.nodes)]
        self.place = {node: index for index, node in enumerate(self.nodes)}
        self.services = [f"container-{index}" for index in range(day.containers)]
        self.demands = day.demands(variant.ticks_a_step, changing=variant.changing)
        self.energy_j, self.tick = 0.0, 0
        infrastructure = Infrastructure("cluster", node_assets=_assets(), update_policies=[self.go_on], seed=day.seed)
        for node, cpu, ram in zip(self.nodes, day.capacity_mcpu, day.capacity_mib):
            infrastructure.add_node(node, cpu=cpu, ram=ram)
        count = day.containers if variant.parts else 1
        self.applications = [
            Application(f"app-{index}", node_assets=_assets(), seed=day.seed) for index in range(count)
        ]
        self.home = [self.applications[index % count] for index in range(day.containers)]
        mappings: dict[str, dict[str, str]] = {application.id: {} for application in self.applications}
        for index, (service, home) in enumerate(zip(self.services, self.home)):
            home.add_node(service, cpu=self.demands[0][index], ram=day.request_mib[index])
            mappings[home.id][service] = self.nodes[day.placement[index]]
        self.folder = tempfile.TemporaryDirectory()
        config = SimulationConfig(
            max_steps=len(self.demands), seed=day.seed, path=Path(self.folder.name) / "out", log_level="CRITICAL"
        )
        self.simulation = Simulation(infrastructure, config)
        for application in self.applications:
            self.simulation.register(application, StaticStrategy(mappings[application.id]))

    def mapping(self, container: int) -> dict[str, str]:
        """The mapping that says where the container is."""
        return self.simulation.simulator.placements[self.home[container].id].mapping

    def go_on(self, _: Infrastructure) -> None:
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


def play(day: Day, variant: Variant) -> dict[str, Any]:
    """Play the day, and give what it cost and came to."""
    playing = _Play(day, variant)
    started = time.process_time()
    playing.simulation.start()
    playing.simulation.wait()
    cpu_s = time.process_time() - started
    last = [playing.mapping(container)[service] for container, service in enumerate(playing.services)]
    playing.folder.cleanup()
    return {
        "cpu_s": cpu_s,
        "ticks": playing.tick,
        "energy_kwh": playing.energy_j / 3.6e6,
        "last_placement": [playing.place[node] for node in last],
    }


if __name__ == "__main__":
    say("eclypse", play, version("eclypse"), EFFECTS, LACKS)
