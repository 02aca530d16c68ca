"""A day in LEAF: nodes with a linear power model, containers as tasks, a move as taking a task off and placing it.

LEAF knows no sleep, no faults, no moves that take time, no queues: a move is instant here. Its power meter reads all
nodes once a tick. In LEAF's favour, where no traffic is asked for there are no links and no applications, so that no
path is ever searched; where it is, paths are searched only for what has moved. A task's size cannot change where it is:
where demand changes, each is taken off and placed again, and its traffic stays on its path.

Three set-ups have the meters of LEAF's own examples (github.com/dos-group/leaf at 0.4.2):

- README.md, as examples/1_single_node.py: tasks on nodes, read each second, which is the meter's default;
- examples/2_application_placement.py: an application with source, task and sink for each container, placed by an
  orchestrator; a meter of the applications and one of the nodes each step, one of the infrastructure each second step;
- examples/smart_city_traffic/main.py: the same applications; meters of nodes, links and applications, each second.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from importlib.metadata import version
from itertools import chain
from typing import Any

import simpy
from leaf.application import Application, ProcessingTask, SinkTask, SourceTask, Task
from leaf.infrastructure import Infrastructure, Link, Node
from leaf.orchestrator import Orchestrator
from leaf.power import PowerMeter, PowerModelLink, PowerModelNode

from simulators.play import Variant, say
from simulators.workload import STEP_S, Day

EFFECTS = (
    "linear power",
    "CPU capacity",
    "where asked: traffic over links with a bandwidth, power of links and by application",
)
LACKS = (
    "moves that take time, bytes or may fail",
    "sleep and wake",
    "faults",
    "queueing and latency objectives",
    "memory and disk of a node",
)
_BANDWIDTH = 10**15
_J_PER_KBIT = 1e-5
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
        sites = [
            Node(f"site-{index}", power_model=PowerModelNode(power_per_cu=0.0))
            for index in range(max(*day.site, *day.user_site) + 1)
        ]
        pairs = [(site, middle) for site in sites] + [(n, sites[site]) for n, site in zip(self.nodes, day.site)]
        for one, other in pairs:
            for source, target in ((one, other), (other, one)):
                power = PowerModelLink(_J_PER_KBIT)
                self.infrastructure.add_link(Link(source, target, _BANDWIDTH, power, latency=1.0))
        self.towards = _Towards(self.infrastructure)
        self.applications = []
        tasks: list[Task] = []
        for request, home, where in zip(day.request_mcpu, day.user_site, day.placement):
            application = Application()
            users, task = SourceTask(1, bound_node=sites[home]), ProcessingTask(request)
            rate = _KBIT_S_PER_MCPU * request
            application.add_task(users)
            application.add_task(task, [(users, rate)])
            application.add_task(SinkTask(1, bound_node=sites[home]), [(task, rate)])
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


def _meters(cluster: _Cluster, variant: Variant, tick_s: float) -> dict[str, list[PowerMeter]]:
    """Who reads power, by what is read: the nodes, and what else the example has meters for."""
    nodes = cluster.nodes
    if variant.meter_a_node:
        return {"nodes": [PowerMeter(node, measurement_interval=tick_s) for node in nodes]}
    if not variant.example:
        return {"nodes": [PowerMeter(nodes, measurement_interval=tick_s)]}
    if not isinstance(cluster, _ConnectedCluster):
        return {"nodes": [PowerMeter(nodes)]}
    if variant.example == "placement":
        return {
            "nodes": [PowerMeter(nodes, measurement_interval=tick_s)],
            "applications": [PowerMeter(cluster.applications, measurement_interval=tick_s)],
            "infrastructure": [PowerMeter(cluster.infrastructure, measurement_interval=2 * tick_s)],
        }
    return {
        "nodes": [PowerMeter(nodes)],
        "links": [PowerMeter(cluster.infrastructure.links())],
        "applications": [PowerMeter(cluster.applications)],
    }


def _check_applications(day: Day, meters: dict[str, list[PowerMeter]]) -> None:
    """LEAF shares the power of nodes and links out among applications; with unused nodes that must be everything."""
    unused_w = day.unused_w()
    read_w = {name: [float(read) for read in each[0].measurements] for name, each in meters.items()}
    applications = read_w["applications"]
    if "infrastructure" in meters:
        everything = read_w["infrastructure"]
        applications, unused_w = applications[::2], unused_w[::2]
    else:
        everything = [node + link for node, link in zip(read_w["nodes"], read_w["links"])]
        unused_w = [power for power in unused_w for _ in range(len(everything) // day.steps)]
    for shared, unused, whole in zip(applications, unused_w, everything, strict=True):
        if abs(shared + unused - whole) > 1e-9 * whole:
            raise SystemExit(f"applications take {shared} W, unused nodes {unused} W, but everything {whole} W")


def play(day: Day, variant: Variant) -> dict[str, Any]:
    """Play the day, and give what it cost and came to."""
    cluster = _ConnectedCluster(day) if variant.traffic else _Cluster(day)
    tick_s = STEP_S / variant.ticks_a_step
    meters = _meters(cluster, variant, tick_s)
    env = simpy.Environment()
    env.process(_changes(env, day, cluster, variant, tick_s))
    for meter in chain(*meters.values()):
        env.process(meter.run(env, delay=0.5))
    started = time.process_time()
    env.run(until=day.steps * STEP_S)
    cpu_s = time.process_time() - started
    if "applications" in meters:
        _check_applications(day, meters)
    place = {node.name: index for index, node in enumerate(cluster.nodes)}
    interval_s = meters["nodes"][0].measurement_interval
    readings = [meter.measurements for meter in meters["nodes"]]
    return {
        "cpu_s": cpu_s,
        "ticks": len(readings[0]) * interval_s / tick_s,
        "readings": sum(len(meter.measurements) for meter in chain(*meters.values())),
        "energy_kwh": sum(float(power) for power in chain(*readings)) * interval_s / 3.6e6,
        "last_placement": [place[task.node.name] for task in cluster.tasks],
    }


def _changes(
    env: simpy.Environment, day: Day, cluster: _Cluster, variant: Variant, tick_s: float
) -> Generator[simpy.Event, None, None]:
    """New demand at the start of each tick, where it changes, and the moves at the end of each step.

    Meters read half a second into each of their intervals, so that they see neither half done.
    """
    demands = iter(day.demands(variant.ticks_a_step, changing=variant.changing))
    for moves in day.moves:
        for tick in range(variant.ticks_a_step):
            demand = next(demands)
            if variant.changing:
                cluster.resize(demand)
            yield env.timeout(tick_s - 0.25)
            if tick == variant.ticks_a_step - 1:
                for container, node in moves:
                    cluster.move(container, node)
            yield env.timeout(0.25)


if __name__ == "__main__":
    say("leaf", play, version("leafsim"), EFFECTS, LACKS)
