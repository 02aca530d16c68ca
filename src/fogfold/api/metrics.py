"""Figures for Prometheus: what has been decided and done since the start, and how the cluster stands when asked.

Base units, prefix `fogfold_`. What nobody measured has no sample: it is never shown as zero.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from fogfold import __version__
from fogfold.api.stream import Stream
from fogfold.control.codes import Code
from fogfold.control.loop import Loop, Mode
from fogfold.control.outcome import StepEnd
from fogfold.model.node import NodeState

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_CYCLE_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Bounds of cycle durations: a look takes milliseconds, a decision up to seconds, recovery up to five minutes."""


class Metrics:
    """Counts, in a registry of its own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # theirs bears no types
        self.registry = CollectorRegistry()
        self._decisions = Counter(
            "fogfold_decisions_total",
            "Decisions that were written down, by rhythm and by what became of the plan.",
            ("rhythm", "plan"),
            registry=self.registry,
        )
        self._refusals = Counter(
            "fogfold_refusals_total",
            "Orders that were taken out of proposals, by code.",
            ("code",),
            registry=self.registry,
        )
        self._executions = Counter(
            "fogfold_executions_total", "Plans that were carried out, by verdict.", ("verdict",), registry=self.registry
        )
        self._moves = Counter(
            "fogfold_moves_total",
            "Moves of plans that were carried out, by how they ended.",
            ("end",),
            registry=self.registry,
        )
        self._switched = Counter(
            "fogfold_node_switches_total",
            "Nodes that plans put to sleep or woke.",
            ("to",),
            registry=self.registry,
        )
        self._cycle = Histogram(
            "fogfold_cycle_duration_seconds",
            "Time of a cycle: one look and what is due after it.",
            buckets=_CYCLE_S,
            registry=self.registry,
        )
        for code in Code:
            self._refusals.labels(code.value)
        for end in StepEnd:
            self._moves.labels(end.value)
        for to in ("asleep", "on"):
            self._switched.labels(to)

    def time_cycle(self, duration_s: float) -> None:
        """Take note of how long a cycle took."""
        self._cycle.observe(duration_s)

    def count(self, kind: str, value: Mapping[str, Any]) -> None:
        """Take note of an entry of the journal that was just written."""
        if kind == "decision":
            self._decisions.labels(value["rhythm"], value["plan"]).inc()
            for refusal in value["refused"]:
                self._refusals.labels(refusal["code"]).inc()
        elif kind == "execution":
            self._executions.labels(value["verdict"]).inc()
            for end, count in Tally(step["end"] for step in value["steps"]).items():
                self._moves.labels(end).inc(count)
            self._switched.labels("asleep").inc(len(value["asleep"]))
            self._switched.labels("on").inc(len(value["woken"]))

    def watch(self, loop: Loop, stream: Stream) -> None:
        """Show how a loop and its cluster stand, whenever it is asked for."""
        self.registry.register(_Standing(loop, stream))

    def text(self) -> bytes:
        """All of it, in the text format."""
        return generate_latest(self.registry)


class _Standing(Collector):
    """How things stand now."""

    def __init__(self, loop: Loop, stream: Stream) -> None:
        self._loop, self._stream = loop, stream

    def describe(self) -> list[Metric]:
        """Nothing: what there is depends on what was read."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Gauges."""
        yield InfoMetricFamily("fogfold_build", "What runs here.", {"version": __version__})
        yield from self._service()
        collected, readings = self._loop.watch.collected, self._loop.watch.readings
        if collected is None or readings is None:
            return
        snapshot = collected.snapshot
        states = Tally(snapshot.states.values())
        by_state = GaugeMetricFamily("fogfold_nodes", "Nodes, by state.", labels=("state",))
        for state in NodeState:
            by_state.add_metric((state.name.lower(),), states[state])
        yield by_state
        yield _gauge(
            "fogfold_nodes_blind", "Nodes that should be up and of which nothing is known.", len(collected.blind)
        )
        yield _gauge("fogfold_containers", "Containers of the cluster.", len(snapshot.cluster.containers))
        yield _gauge("fogfold_containers_placed", "Containers that run somewhere.", len(snapshot.placement))
        yield _gauge("fogfold_containers_moving", "Containers on their way.", len(snapshot.targets))
        yield _gauge("fogfold_snapshot_age_seconds", "Age of the oldest reading that is believed.", snapshot.age_s)
        if collected.pressure:
            most = max(pressure.score for pressure in collected.pressure.values())
            yield _gauge(
                "fogfold_node_pressure_highest", "Pressure of the node nearest to trouble; 1 is at a mark.", most
            )
        powers = [reading.power_w for reading in readings.nodes.values() if reading.power_w is not None]
        yield _gauge("fogfold_nodes_metered", "Nodes whose draw was read at the last look.", len(powers))
        if powers:
            yield _gauge("fogfold_power_watts", "Draw of all nodes that were read, together.", sum(powers))

    def _service(self) -> Iterator[Metric]:
        status = self._loop.status()
        mode = GaugeMetricFamily("fogfold_mode", "What becomes of plans: 1 for the mode that is on.", labels=("mode",))
        for one in Mode:
            mode.add_metric((one.value,), float(status.mode is one))
        yield mode
        yield _gauge("fogfold_stopped", "Whether everything is stopped by hand.", bool(status.stopped))
        yield _gauge("fogfold_lease_held", "Whether this instance has the right to act.", status.holds_lease)
        yield _gauge("fogfold_plan_pending", "Whether a plan waits to be approved.", status.pending is not None)
        yield _gauge("fogfold_plan_acting", "Whether a plan is being carried out.", status.acting is not None)
        yield _gauge("fogfold_trouble", "Whether something kept the last cycle from being whole.", bool(status.trouble))
        yield _gauge("fogfold_decision_interval_seconds", "Time between whole decisions.", status.interval_s)
        yield _gauge("fogfold_event_readers", "Readers of events.", self._stream.readers)
        yield _gauge("fogfold_event_readers_dropped", "Readers of events that did not keep up.", self._stream.dropped)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))
