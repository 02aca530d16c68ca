"""ECLYPSE as its own examples set it up: shops of several services on a hierarchy of nodes, with every metric reported.

It follows the first local run of its documentation (github.com/eclypse-org/eclypse,
docs/source/overview/getting-started/minimal-local-run.rst): the built-in Sock Shop on the built-in hierarchical
infrastructure, all default resources, all default metrics, written as CSV by the default reporter. Links go both ways,
as in examples/off_the_shelf. An eighth service makes thirty shops hold the day's 240 containers.

In ECLYPSE's favour: its log silenced, as in examples/grid_analysis; an infrastructure without policies, so that a path
is searched once; one policy for all applications.
"""

from __future__ import annotations

import csv
from pathlib import Path

from eclypse.builders.application import get_sock_shop
from eclypse.builders.infrastructure import get_hierarchical
from eclypse.graph import Application, Infrastructure

from simulators.workload import Day

SERVICES = (
    "FrontendService",
    "CatalogService",
    "UserService",
    "CartService",
    "OrderService",
    "PaymentService",
    "ShippingService",
    "SessionService",
)


def hierarchy(day: Day) -> Infrastructure:
    """The built-in hierarchical infrastructure, with the CPU and memory of the day's nodes."""
    infrastructure = get_hierarchical(
        n=day.nodes, symmetric=True, include_default_assets=True, resource_init="max", seed=day.seed
    )
    for node, cpu, ram in zip(infrastructure.nodes, day.capacity_mcpu, day.capacity_mib):
        infrastructure.nodes[node].update(cpu=cpu, ram=ram)
    return infrastructure


def shop(index: int, seed: int) -> Application:
    """The built-in Sock Shop, and a service of the same kind behind its frontend that keeps sessions."""
    application = get_sock_shop(f"shop-{index}", include_default_assets=True, seed=seed)
    application.add_node(SERVICES[-1], gpu=0, storage=0.3, availability=0.92, processing_time=9)
    application.add_edge(SERVICES[0], SERVICES[-1], symmetric=True, latency=40, bandwidth=2)
    application.flows.append([SERVICES[0], SERVICES[-1], SERVICES[0]])
    return application


def check_report(path: Path, demands: list[list[int]]) -> int:
    """How many lines were reported; the report of the services must hold what each tick asked for.

    Raises:
        SystemExit: if it does not.
    """
    lines = 0
    asked: dict[int, float] = {}
    for file in sorted((path / "csv").glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as read:
            rows = list(csv.reader(read))[1:]
        lines += len(rows)
        if file.stem == "service":
            for row in rows:
                if row[3] == "required_cpu":
                    asked[int(row[2])] = asked.get(int(row[2]), 0.0) + float(row[-1])
    expected = [float(sum(demand)) for demand in demands]
    if [asked[tick] for tick in sorted(asked)] != expected:
        raise SystemExit("the report of the services does not hold the demand of the day")
    return lines
