"""Decisions as a table: what was known, proposed, refused and done, with what is not known left empty."""

import csv
import sys
from typing import Any

import pytest

from fogfold.adapters.storage.dataset import MOVE_COLUMNS, NODE_COLUMNS, move_rows, node_rows
from fogfold.adapters.storage.export import write_rows
from fogfold.control.collect import CollectSettings, assemble
from fogfold.control.deciding import Decider, Known, Limits
from fogfold.control.guard.memory import Memory
from fogfold.control.ports import Capabilities
from fogfold.control.readings import ContainerReading, NodeReading, Readings
from fogfold.control.recorder import InputsSettings, Recorder
from fogfold.control.schedule import Rhythm, Run
from fogfold.errors import MissingExtraError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources
from fogfold.policy.base import Move, Proposal
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.testing.clock import FakeClock
from fogfold.testing.memory_store import MemoryStore
from fogfold.units import GIB

pytestmark = pytest.mark.asyncio

NOW_S = 1_767_571_200.0
CLUSTER = a_cluster([a_node(f"n{k}") for k in range(3)], [a_container(f"c{k}", cores=2.0) for k in range(3)])
EXECUTION: dict[str, Any] = {
    "plan": "1",
    "steps": [
        {
            "container": "c0",
            "source": "n0",
            "target": "n1",
            "end": "arrived",
            "attempts": 2,
            "runs_on": "n1",
            "code": None,
            "began_s": NOW_S + 5.0,
            "ended_s": NOW_S + 35.5,
        }
    ],
    "asleep": ["n0"],
    "woken": [],
    "not_asleep": {},
    "not_woken": {},
    "began_s": NOW_S + 2.0,
    "ended_s": NOW_S + 92.0,
}
OUTCOME: dict[str, Any] = {
    "decision": 1,
    "predicted_w": 45.0,
    "real_w": 41.5,
    "real_wh": 20.75,
    "window_s": 1800.0,
    "how": "measured",
}


class Proposes:
    name = "proposes"

    def reset(self, seed):
        pass

    def propose(self, view):
        return Proposal(self.name, moves=(Move(0, 1), Move(2, 1)), sleep=(0,))


async def a_store(*, with_inputs=True, with_execution=True):
    """One decision: c0 goes from n0 to n1 and n0 sleeps; c2 on n2 may not move, since n2 is blind."""
    store = MemoryStore()
    node, container = NodeId, ContainerId
    readings = Readings(
        CLUSTER,
        NOW_S,
        {node(f"n{k}"): NodeState.ON for k in range(3)},
        {container(f"c{k}"): node(f"n{k}") for k in range(3)},
        nodes={
            node("n0"): NodeReading(NOW_S, usage=(3.0, 2 * GIB, 0.0, 0.0), power_w=66.0),
            node("n1"): NodeReading(NOW_S),
        },
        containers={
            container(f"c{k}"): ContainerReading(NOW_S, Resources(1.0 + k, GIB, 0.0, 0.0), requests_s=7.0)
            for k in range(3)
        },
    )
    known = Known(
        readings, assemble(readings, NOW_S), NOW_S, Memory(), {}, {}, Capabilities(live=True, exact_target=True)
    )
    decider = Decider(Proposes(), Limits.none())
    recorder = Recorder(decider, CollectSettings(), InputsSettings(), "one")
    taken = recorder.take(known, Run(Rhythm.MACRO))
    decision = decider.decide(known, Run(Rhythm.MACRO))
    number = await store.append("decision", {**decision.to_json(), "mode": "automatic", "plan": "act"}, at_s=NOW_S)
    if with_inputs:
        recorder.note(taken, decision, number)
        await recorder.write(store, FakeClock(NOW_S))
    if with_execution:
        await store.append("execution", EXECUTION, at_s=NOW_S + 92.0)
        await store.append("outcome", OUTCOME, at_s=NOW_S + 1900.0)
    return store


async def table(store, columns, make, **span):
    rows = [row async for row in make(store, span.get("since_s"), span.get("until_s"))]
    return [dict(zip(columns, row, strict=True)) for row in rows]


async def test_row_of_a_node_says_what_was_known_and_what_came_of_it():
    first, second, third = await table(await a_store(), NODE_COLUMNS, node_rows)
    assert first == {
        "decision": 1,
        "at_s": NOW_S,
        "at_utc": "2026-01-05T00:00:00+00:00",
        "rhythm": "macro",
        "policy": "proposes",
        "mode": "automatic",
        "plan": "act",
        "node": "n0",
        "site": "s0",
        "tier": "edge",
        "state": "on",
        "blind": None,
        "cpu_share": 0.3,
        "memory_share": 0.2,
        "network_share": 0.0,
        "disk_share": 0.0,
        "cpu_requested_share": 0.2,
        "memory_requested_share": pytest.approx(first["memory_requested_share"]),
        "containers": 1,
        "power_w": 66.0,
        "idle_w": 50.0,
        "sleep_w": 5.0,
        # 3 of 10 cores at a mark of 0.8.
        "pressure": 0.375,
        "proposed": "sleep",
        "refused_code": None,
        "stays_code": None,
        "planned": "sleep",
        "moves_off": 1,
        "moves_onto": 0,
        "done": "asleep",
        "done_code": None,
        "moves_arrived": 1,
        "moves_failed": 0,
        "execution_s": 90.0,
        "plan_predicted_w": 45.0,
        "plan_real_w": 41.5,
        "plan_real_wh": 20.75,
        "plan_window_s": 1800.0,
        "plan_how": "measured",
    }
    # No usage of the node, so that of its container: 2 of 10 cores.
    assert (second["cpu_share"], second["power_w"], second["moves_onto"]) == (0.2, None, 1)
    assert second["stays_code"] is not None
    # Nothing is known of a blind node, and nothing is zero.
    assert "n2" in third["blind"]
    assert {third[name] for name in ("cpu_share", "memory_share", "power_w", "pressure")} == {None}


async def test_row_of_a_move_says_how_it_ended_or_why_it_was_refused():
    done, refused = await table(await a_store(), MOVE_COLUMNS, move_rows)
    wanted = {
        "container": "c0",
        "source": "n0",
        "target": "n1",
        "wave": 0,
        "cpu_cores": 1.0,
        "memory_bytes": GIB,
        "cpu_requested_cores": 2.0,
        "requests_per_s": 7.0,
        "refused_code": None,
        "end": "arrived",
        "attempts": 2,
        "began_s": NOW_S + 5.0,
        "duration_s": 30.5,
    }
    assert {name: done[name] for name in wanted} == wanted
    assert (refused["container"], refused["source"], refused["target"]) == ("c2", "n2", None)
    assert refused["refused_code"] == "DATA_STALE"
    assert (refused["cpu_cores"], refused["end"], refused["duration_s"]) == (None, None, None)


async def test_decision_whose_inputs_are_gone_keeps_what_the_journal_says():
    rows = await table(await a_store(with_inputs=False, with_execution=False), NODE_COLUMNS, node_rows)
    assert [row["node"] for row in rows] == ["n0", "n1", "n2"]
    assert {row["cpu_share"] for row in rows} == {None}
    assert [row["planned"] for row in rows] == ["sleep", None, None]
    assert {row["done"] for row in rows} == {row["moves_arrived"] for row in rows} == {None}
    assert rows[0]["pressure"] == 0.375
    assert rows[0]["plan_real_w"] is None


async def test_span_is_that_of_the_decisions():
    store = await a_store()
    assert await table(store, NODE_COLUMNS, node_rows, since_s=NOW_S + 1.0) == []
    (row, *_) = await table(store, NODE_COLUMNS, node_rows, until_s=NOW_S + 1.0)
    assert row["plan_real_w"] == 41.5, "what came of it lies beyond the span"


async def test_table_is_written_as_csv(tmp_path):
    path = tmp_path / "nodes.csv"
    assert await write_rows(NODE_COLUMNS, node_rows(await a_store(), None, None), path, parquet=False) == 3
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["cpu_share"], rows[0]["decision"], rows[1]["power_w"]) == ("0.3", "1", "")


async def test_table_is_written_as_parquet(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "moves.parquet"
    assert await write_rows(MOVE_COLUMNS, move_rows(await a_store(), None, None), path, parquet=True) == 2
    with duckdb.connect() as connection:
        query = f"SELECT container, cpu_cores, duration_s, target FROM '{path}'"  # noqa: S608
        assert connection.execute(query).fetchall() == [("c0", 1.0, 30.5, "n1"), ("c2", None, None, None)]


async def test_missing_duckdb_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"fogfold\[parquet\]"):
        await write_rows(NODE_COLUMNS, node_rows(await a_store(), None, None), tmp_path / "a.parquet", parquet=True)
    assert list(tmp_path.iterdir()) == []
