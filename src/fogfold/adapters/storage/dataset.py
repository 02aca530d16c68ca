"""The journal as a table for those who learn from it or look into it: a row for each decision and node, or move.

A row says what was known then, what was proposed and refused, what was done and what came of it, with the unit in each
column's name. What was known comes from the inputs that are kept with a decision: where those are gone, or of another
version, these columns are empty and the rest is there. Empty always means not known, or not applicable: never zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from fogfold.adapters.storage.export import utc
from fogfold.adapters.storage.journal import Journal, JournalEntry
from fogfold.control.inputs import Inputs, unpacked
from fogfold.control.ports import Store
from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import Node
from fogfold.model.resources import RESOURCE_COUNT

__all__ = ["MOVE_COLUMNS", "NODE_COLUMNS", "move_rows", "node_rows"]

_DECISION = {
    "decision": "BIGINT",
    "at_s": "DOUBLE",
    "at_utc": "TIMESTAMPTZ",
    "rhythm": "VARCHAR",
    "policy": "VARCHAR",
    "mode": "VARCHAR",
    "plan": "VARCHAR",
}
NODE_COLUMNS: Mapping[str, str] = {
    **_DECISION,
    "node": "VARCHAR",
    "site": "VARCHAR",
    "tier": "VARCHAR",
    "state": "VARCHAR",
    "blind": "VARCHAR",
    "cpu_share": "DOUBLE",
    "memory_share": "DOUBLE",
    "network_share": "DOUBLE",
    "disk_share": "DOUBLE",
    "cpu_requested_share": "DOUBLE",
    "memory_requested_share": "DOUBLE",
    "containers": "BIGINT",
    "power_w": "DOUBLE",
    "idle_w": "DOUBLE",
    "sleep_w": "DOUBLE",
    "pressure": "DOUBLE",
    "proposed": "VARCHAR",
    "refused_code": "VARCHAR",
    "stays_code": "VARCHAR",
    "planned": "VARCHAR",
    "moves_off": "BIGINT",
    "moves_onto": "BIGINT",
    "done": "VARCHAR",
    "done_code": "VARCHAR",
    "moves_arrived": "BIGINT",
    "moves_failed": "BIGINT",
    "execution_s": "DOUBLE",
    "plan_predicted_w": "DOUBLE",
    "plan_real_w": "DOUBLE",
    "plan_real_wh": "DOUBLE",
    "plan_window_s": "DOUBLE",
    "plan_how": "VARCHAR",
}
"""Columns of a row for each decision and node, with their types in Parquet. `plan_` is of the whole plan."""

MOVE_COLUMNS: Mapping[str, str] = {
    **_DECISION,
    "container": "VARCHAR",
    "source": "VARCHAR",
    "target": "VARCHAR",
    "wave": "BIGINT",
    "cpu_cores": "DOUBLE",
    "memory_bytes": "DOUBLE",
    "network_bit_s": "DOUBLE",
    "disk_iops": "DOUBLE",
    "cpu_requested_cores": "DOUBLE",
    "memory_requested_bytes": "DOUBLE",
    "requests_per_s": "DOUBLE",
    "refused_code": "VARCHAR",
    "end": "VARCHAR",
    "fault": "VARCHAR",
    "runs_on": "VARCHAR",
    "attempts": "BIGINT",
    "began_s": "DOUBLE",
    "duration_s": "DOUBLE",
}
"""Columns of a row for each decision and move, planned or refused."""

_ARRIVED = ("arrived", "elsewhere")


@runtime_checkable
class _Kept(Store, Journal, Protocol):
    """A store that can be read back."""


@dataclass(frozen=True)
class _Found:
    """One decision with what became of it."""

    entry: JournalEntry
    inputs: Inputs | None
    execution: Mapping[str, Any] | None
    outcome: Mapping[str, Any] | None

    @property
    def head(self) -> list[object]:
        """The columns that all its rows share."""
        value = self.entry.value
        mode, plan = value.get("mode"), value.get("plan")
        return [self.entry.number, self.entry.at_s, utc(self.entry.at_s), value["rhythm"], value["policy"], mode, plan]


async def node_rows(store: _Kept, since_s: float | None, until_s: float | None) -> AsyncIterator[list[object]]:
    """A row for each decision and node of which anything is known, in the order of `NODE_COLUMNS`."""
    async for found in _decisions(store, since_s, until_s):
        for name in _nodes_of(found):
            yield _node_row(found, name)


async def move_rows(store: _Kept, since_s: float | None, until_s: float | None) -> AsyncIterator[list[object]]:
    """A row for each decision and move, in the order of `MOVE_COLUMNS`."""
    async for found in _decisions(store, since_s, until_s):
        steps = {step["container"]: step for step in (found.execution or {}).get("steps", ())}
        for move in found.entry.value["moves"]:
            yield _move_row(found, move, None, steps.get(move["container"]))
        for refusal in found.entry.value["refused"]:
            if refusal["act"] == "move":
                yield _move_row(found, {"container": refusal["subject"]}, refusal["code"], None)


async def _decisions(store: _Kept, since_s: float | None, until_s: float | None) -> AsyncIterator[_Found]:
    executions: dict[str, Mapping[str, Any]] = {}
    outcomes: dict[int, Mapping[str, Any]] = {}
    # What became of a decision stands later in the journal than the decision, also beyond the span that is asked for.
    async for entry in store.entries(kinds=("execution", "outcome"), since_s=since_s):
        if entry.kind == "execution":
            executions[entry.value["plan"]] = entry.value
        else:
            outcomes[entry.value["decision"]] = entry.value
    clusters: dict[str, Cluster] = {}
    parts: dict[str, bytes] = {}
    async for entry in store.entries(kinds=("decision",), since_s=since_s, until_s=until_s):
        number = entry.number
        inputs, parts = await _inputs(store, number, parts, clusters)
        yield _Found(entry, inputs, executions.get(f"{number}"), outcomes.get(number))


async def _inputs(
    store: _Kept, number: int, before: Mapping[str, bytes], clusters: dict[str, Cluster]
) -> tuple[Inputs | None, dict[str, bytes]]:
    """The inputs of a decision, where they can be read; and the parts they need."""
    row = await store.inputs_of(number)
    if row is None:
        return None, dict(before)
    parts = {}
    for digest in row.parts:
        value = before.get(digest) or await store.inputs_part(digest)
        if value is not None:
            parts[digest] = value
    try:
        return unpacked(row, parts, clusters), parts
    except ModelError:
        # Of another version, or damaged: the journal's own words are there all the same.
        return None, parts


def _nodes_of(found: _Found) -> list[str]:
    if found.inputs is not None:
        return [node.id for node in found.inputs.known.readings.cluster.nodes]
    value = found.entry.value
    return sorted({*value["pressure"], *value["stays"], *value["blind"], *value["sleep"], *value["wake"]})


def _node_row(found: _Found, name: str) -> list[object]:
    value, execution, outcome = found.entry.value, found.execution or {}, found.outcome or {}
    refused = {one["subject"]: one for one in value["refused"] if one["act"] in ("sleep", "wake")}
    planned = "sleep" if name in value["sleep"] else "wake" if name in value["wake"] else None
    stays = value["stays"].get(name)
    ends = Counter(
        step["end"] in _ARRIVED for step in execution.get("steps", ()) if name in (step["source"], step["target"])
    )
    done, code = _done(execution, name)
    ran = bool(execution)
    return [
        *found.head,
        name,
        *_known(found, NodeId(name)),
        value["pressure"].get(name),
        planned or (refused[name]["act"] if name in refused else None),
        refused[name]["code"] if name in refused else None,
        stays[0] if stays is not None else None,
        planned,
        sum(move["source"] == name for move in value["moves"]),
        sum(move["target"] == name for move in value["moves"]),
        done,
        code,
        ends[True] if ran else None,
        ends[False] if ran else None,
        execution["ended_s"] - execution["began_s"] if ran else None,
        value["saving_w"] if planned is not None or value["sleep"] or value["wake"] else None,
        outcome.get("real_w"),
        outcome.get("real_wh"),
        outcome.get("window_s"),
        outcome.get("how"),
    ]


def _done(execution: Mapping[str, Any], name: str) -> tuple[str | None, str | None]:
    """What became of a node that was to be switched, and the code where it did not come out."""
    if name in execution.get("asleep", ()):
        return "asleep", None
    if name in execution.get("woken", ()):
        return "woken", None
    if name in execution.get("not_asleep", {}):
        return "not asleep", execution["not_asleep"][name][0]
    return ("not woken", None) if name in execution.get("not_woken", {}) else (None, None)


def _known(found: _Found, name: NodeId) -> list[object]:
    """What was known of a node: site, tier, state, why it is blind, shares, containers, power and its description."""
    blind = found.entry.value["blind"].get(name)
    if found.inputs is None:
        return [None, None, None, blind, *[None] * (RESOURCE_COUNT + 6)]
    known = found.inputs.known
    snapshot, cluster = known.collected.snapshot, known.readings.cluster
    node = cluster.nodes[cluster.node_index[name]]
    reading = known.readings.nodes.get(name)
    here = [container for container, where in snapshot.placement.items() if where == name]
    asked = [cluster.containers[cluster.container_index[container]].request for container in here]
    capacity = node.capacity
    return [
        node.site,
        node.tier.value,
        snapshot.states[name].name.lower(),
        blind,
        *(_shares(found, node, here) if blind is None else [None] * RESOURCE_COUNT),
        sum(request.cpu_cores for request in asked) / capacity.cpu_cores,
        sum(request.memory_bytes for request in asked) / capacity.memory_bytes,
        len(here),
        reading.power_w if reading is not None and blind is None else None,
        node.power_curve.idle_w,
        node.sleep_w,
    ]


def _shares(found: _Found, node: Node, here: list[ContainerId]) -> list[float | None]:
    """Shares of each capacity in use: of the node where it was measured, else of its containers where all were."""
    assert found.inputs is not None  # noqa: S101 - asked only where they are there
    known = found.inputs.known
    reading, usage = known.readings.nodes.get(node.id), known.collected.snapshot.usage
    capacity = node.capacity.as_tuple()
    if reading is not None and reading.usage is not None:
        return [used / have for used, have in zip(reading.usage, capacity, strict=True)]
    if reading is None or any(container not in usage for container in here):
        return [None] * RESOURCE_COUNT
    return [sum(usage[container].as_tuple()[r] for container in here) / capacity[r] for r in range(RESOURCE_COUNT)]


def _move_row(
    found: _Found, move: Mapping[str, Any], refused_code: str | None, step: Mapping[str, Any] | None
) -> list[object]:
    container = ContainerId(move["container"])
    source: str | None = move.get("source")
    figures: list[object] = [None] * 7
    if found.inputs is not None:
        known = found.inputs.known
        source = source or known.readings.placement.get(container)
        cluster = known.readings.cluster
        usage, reading = known.collected.snapshot.usage.get(container), known.readings.containers.get(container)
        request = cluster.containers[cluster.container_index[container]].request
        figures = [
            *(usage.as_tuple() if usage is not None else [None] * RESOURCE_COUNT),
            request.cpu_cores,
            request.memory_bytes,
            reading.requests_s if reading is not None else None,
        ]
    done = step or {}
    began_s, ended_s = done.get("began_s"), done.get("ended_s")
    return [
        *found.head,
        container,
        source,
        move.get("target"),
        move.get("wave"),
        *figures,
        refused_code,
        done.get("end"),
        done.get("code"),
        done.get("runs_on"),
        done.get("attempts"),
        began_s,
        ended_s - began_s if began_s is not None and ended_s is not None else None,
    ]
