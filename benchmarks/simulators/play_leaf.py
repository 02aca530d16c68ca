"""A day in LEAF: nodes with a linear power model, containers as tasks, a move as taking a task off and placing it.

LEAF knows no sleep, no faults, no moves that take time, no queues: a move is instant here. Its power meter reads all
nodes once a tick. In LEAF's favour, where no traffic is asked for there are no links and no applications, so that no
path is ever searched; where it is, paths are searched only for what has moved, and the meter leaves out links (their
power is 0). A task's size cannot change where it is: where demand changes, each is taken off and placed again.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from importlib.metadata import version
from typing import Any

import simpy
from leaf.application import Application, ProcessingTask, SinkTask, SourceTask, Task
from leaf.infrastructure import Infrastructure, Link, Node
from leaf.orchestrator import Orchestrator
from leaf.power import PowerMeter, PowerModelLink, PowerModelNode

from simulators.play import Variant, say
from simulators.workload import STEP_S, Day

EFFECTS = ("linear power", "CPU capacity", "where asked: traffic over links with a bandwidth")
LACKS = (
    "moves that take time, bytes or may fail",
    "sleep and wake",
    "faults",
    "queueing and latency objectives",
    "memory and disk of a node",
)
_BANDWIDTH = 10**15
_KBIT_S_PER_MCPU = 40
"""Traffic of a container: 40 Mbit/s a core, what a web service of fogfold's city has."""


class _Cluster:
    """Nodes, and a container's task on one of them; a subclass adds what it is connected to."""

    def __init__(self, day: Day) -> None:
        self.infrastructure = Infrastructure()
        self.nodes = []
        for index in range(day.nodes):
            power = PowerModelNode(max_power=day.peak_w[index], static_power=day.idle_w[index])
            self.nodes.append(Node(f"node-{index}", cu=day.capacity_mcpu[index], power_model=power))
            self.infrastructure.add_node(self.nodes[-1])
        self.tasks = self.place(day)

    def place(self, day: Day) -> list[Task]:
        tasks = [Task(request) for request in day.request_mcpu]
        for task, where in zip(tasks, day.placement):
            task.allocate(self.nodes[where])
        return tasks

    def move(self, container: int, node: int) -> None:
        self.tasks[container].deallocate()
        self.tasks[container].allocate(self.nodes[node])

    def resize(self, demand_mcpu: list[int]) -> None:
        for task, demand in zip(self.tasks, demand_mcpu):
            where = task.node
            task.deallocate()
            task.cu = demand
            task.allocate(where)


class _Towards(Orchestrator):
    """Places a container's task on the node that was chosen for it."""

    node: Node

    def _processing_task_placement(self, _: ProcessingTask, __: Application) -> Node:
        return self.node


class _ConnectedCluster(_Cluster):
    """A cluster whose containers are applications: requests come from the users' site and answers go back to it.

    Nodes hang on their site, sites on one another's middle, as in fogfold's city.
    """

    def place(self, day: Day) -> list[Task]:
        middle = Node("middle")
        sites = [Node(f"site-{index}") for index in range(max(*day.site, *day.user_site) + 1)]
        pairs = [(site, middle) for site in sites] + [(n, sites[site]) for n, site in zip(self.nodes, day.site)]
        for one, other in pairs:
            for source, target in ((one, other), (other, one)):
                self.infrastructure.add_link(Link(source, target, _BANDWIDTH, PowerModelLink(0.0), latency=1.0))
        self.towards = _Towards(self.infrastructure)
        self.applications = []
        tasks: list[Task] = []
        for request, home, where in zip(day.request_mcpu, day.user_site, day.placement):
            application = Application()
            users, task = SourceTask(0, bound_node=sites[home]), ProcessingTask(request)
            rate = _KBIT_S_PER_MCPU * request
            application.add_task(users)
            application.add_task(task, [(users, rate)])
            application.add_task(SinkTask(0, bound_node=sites[home]), [(task, rate)])
            self.applications.append(application)
            tasks.append(task)
            self._put(application, where)
        self.flows = [application.data_flows() for application in self.applications]
        return tasks

    def _put(self, application: Application, node: int) -> None:
        self.towards.node = self.nodes[node]
        self.towards.place(application)

    def move(self, container: int, node: int) -> None:
        self.applications[container].deallocate()
        self._put(self.applications[container], node)

    def resize(self, demand_mcpu: list[int]) -> None:
        super().resize(demand_mcpu)
        for flows, demand in zip(self.flows, demand_mcpu):
            for flow in flows:
                path = flow.links
                flow.deallocate()
                flow.bit_rate = _KBIT_S_PER_MCPU * demand
                flow.allocate(path)


def play(day: Day, variant: Variant) -> dict[str, Any]:
    """Play the day, and give what it cost and came to."""
    cluster = _ConnectedCluster(day) if variant.parts else _Cluster(day)
    tick_s = STEP_S / variant.ticks_a_step
    meter = PowerMeter(cluster.nodes, name="cluster", measurement_interval=tick_s)
    env = simpy.Environment()
    env.process(_changes(env, day, cluster, variant, tick_s))
    env.process(meter.run(env, delay=1.0))
    started = time.process_time()
    env.run(until=day.steps * STEP_S)
    cpu_s = time.process_time() - started
    place = {node.name: index for index, node in enumerate(cluster.nodes)}
    return {
        "cpu_s": cpu_s,
        "ticks": len(meter.measurements),
        "energy_kwh": sum(float(m) for m in meter.measurements) * tick_s / 3.6e6,
        "last_placement": [place[task.node.name] for task in cluster.tasks],
    }


def _changes(
    env: simpy.Environment, day: Day, cluster: _Cluster, variant: Variant, tick_s: float
) -> Generator[simpy.Event, None, None]:
    """New demand at the start of each tick, where it changes, and the moves at the end of each step."""
    demands = iter(day.demands(variant.ticks_a_step, changing=variant.changing))
    for moves in day.moves:
        for tick in range(variant.ticks_a_step):
            demand = next(demands)
            if variant.changing:
                cluster.resize(demand)
            yield env.timeout(tick_s - 1.0)
            if tick == variant.ticks_a_step - 1:
                for container, node in moves:
                    cluster.move(container, node)
            yield env.timeout(1.0)


if __name__ == "__main__":
    say("leaf", play, version("leafsim"), EFFECTS, LACKS)
