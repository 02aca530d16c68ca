"""Readings written down while they are collected, and what a store tells of moves and boots."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fogfold.adapters.simulated.clocks import start_of
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.readings import SimulatedCollector
from fogfold.adapters.storage.observed import observed_rows
from fogfold.calibrate.calibration import calibrate
from fogfold.calibrate.files import observations_of, read_folder, read_rows
from fogfold.calibrate.recording import RecordingCollector
from fogfold.calibrate.records import Kind
from fogfold.control.orders import MoveOrder
from fogfold.control.ports import MigrationRow
from fogfold.control.readings import NodeReading, Readings
from fogfold.errors import TraceError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState
from fogfold.model.node import NodeState
from fogfold.testing.builders import a_cluster, a_node, a_site
from fogfold.testing.clock import FakeClock
from fogfold.testing.memory_store import MemoryStore
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario

N0, N1 = NodeId("n0"), NodeId("n1")


def columns_of(rows) -> Any:
    return observations_of(rows)


class Given:
    """A collector that brings what a test gives it."""

    def __init__(self, **nodes):
        self.cluster = a_cluster(sites=[a_site()], nodes=[a_node("n0"), a_node("n1")])
        self.states = {N0: NodeState.ON, N1: NodeState.ASLEEP}
        self.nodes = {NodeId(name): reading for name, reading in nodes.items()}

    async def read(self):
        return Readings(self.cluster, 0.0, self.states, {}, nodes=self.nodes)


@pytest.mark.asyncio
async def test_a_reading_is_written_once_and_what_was_not_measured_stays_empty(tmp_path):
    path = tmp_path / "readings.csv"
    inner = Given(
        n0=NodeReading(10.0, usage=(1.5, 0.0, 0.0, 0.0), power_w=None), n1=NodeReading(10.0, usage=None, power_w=2.0)
    )
    recorder = RecordingCollector(inner, path)
    first = await recorder.read()
    assert first.nodes == inner.nodes
    await recorder.read()
    rows = read_rows(path, Kind.READINGS)
    assert [(row["node"], row.get("power_w"), row.get("cpu_cores"), row["state"]) for row in rows] == [
        ("n0", None, 1.5, "on"),
        ("n1", 2.0, None, "asleep"),
    ]


@pytest.mark.asyncio
async def test_recording_goes_on_in_a_file_that_is_there(tmp_path):
    path = tmp_path / "readings.csv"
    for at_s in (10.0, 20.0):
        await RecordingCollector(Given(n0=NodeReading(at_s, usage=(1.0, 0, 0, 0), power_w=60.0)), path).read()
    assert [row["time_s"] for row in read_rows(path, Kind.READINGS)] == [10.0, 20.0]


def test_a_file_of_another_form_is_not_written_to(tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text("time,watts\n", encoding="utf-8")
    with pytest.raises(TraceError, match="move the file away"):
        RecordingCollector(Given(), path)


@pytest.mark.asyncio
async def test_a_silent_node_leaves_no_row(tmp_path):
    path = tmp_path / "readings.csv"
    await RecordingCollector(Given(n0=NodeReading(10.0, responds=False, power_w=3.0)), path).read()
    assert path.read_text(encoding="utf-8").count("\n") == 1


@pytest.mark.asyncio
async def test_readings_of_a_simulated_plane_can_be_calibrated_to(tmp_path):
    built = build(load_scenario("tiny-4"), 1, hours=4.0)
    clock = FakeClock(start_of(built))
    recorder = RecordingCollector(SimulatedCollector(SimulatedCluster(built, clock), clock), tmp_path / "readings.csv")
    for _ in range(100):
        clock.advance(60.0)
        await recorder.read()
    found = calibrate(built, columns_of(read_folder(tmp_path)))
    assert found.records["readings"] == 400
    # The world is as it is believed to be; what is off is that usage is a mean of minutes and power of the moment.
    assert found.predictions[0].after["mape"] < 0.05


async def play(store, steps, key="k", facts=None):
    lease = await store.acquire("a", for_s=1e9, now_s=0.0)
    row = MigrationRow(key, "p", MoveOrder(ContainerId("c"), N0, N1), MigrationState.PLANNED)
    await store.add_migrations([row], fence=lease.fence)
    before = MigrationState.PLANNED
    for at_s, after, told in steps:
        await store.transition(key, before, after, at_s=at_s, facts=told, fence=lease.fence)
        before = after
    return lease


R, M, V, F, U = (
    MigrationState.RESERVED,
    MigrationState.MOVING,
    MigrationState.VERIFIED,
    MigrationState.FAILED,
    MigrationState.UNDONE,
)


@pytest.mark.asyncio
async def test_each_attempt_of_a_migration_is_a_row():
    store = MemoryStore()
    await play(
        store,
        [
            (0.0, R, {"memory_bytes": 1e9}),
            (5.0, M, {}),
            (95.0, F, {"code": "BROKE"}),
            (200.0, R, {}),
            (210.0, M, {}),
            (310.0, V, {"runs_on": "n1", "elsewhere": False}),
        ],
    )
    rows = (await observed_rows(store))[Kind.MOVES]
    assert [(row["outcome"], row["start_s"], row["end_s"]) for row in rows] == [
        ("failed", 5.0, 95.0),
        ("arrived", 210.0, 310.0),
    ]
    assert rows[1]["memory_bytes"] == 1e9
    assert rows[1]["sent_bytes"] is None


@pytest.mark.asyncio
async def test_a_move_that_was_hardly_seen_on_its_way_has_no_start():
    store = MemoryStore()
    await play(store, [(0.0, R, {}), (10.0, M, {}), (15.0, V, {"runs_on": "n1"})])
    ((row,),) = (await observed_rows(store)).values()
    assert row["start_s"] is None
    assert math.isnan(columns_of({Kind.MOVES: [row]}).moves.start_s[0])


@pytest.mark.asyncio
async def test_what_was_never_tried_is_no_attempt():
    store = MemoryStore()
    await play(store, [(0.0, R, {}), (9.0, F, {"code": "UNANSWERED"}), (9.0, U, {})], key="a")
    await play(store, [(0.0, U, {})], key="b")
    assert await observed_rows(store) == {}


@pytest.mark.asyncio
async def test_a_move_that_arrived_after_all_counts_as_failed_once():
    store = MemoryStore()
    steps = [(0.0, R, {}), (5.0, M, {}), (95.0, F, {"code": "BROKE"})]
    await play(store, [*steps, (99.0, R, {}), (99.0, M, {}), (99.0, V, {"runs_on": "n1"})])
    ((row,),) = (await observed_rows(store)).values()
    assert row["outcome"] == "failed"


@pytest.mark.asyncio
async def test_boots_of_the_power_records_come_in_their_order():
    store = MemoryStore()
    lease = await store.acquire("a", for_s=1e9, now_s=0.0)
    assert lease is not None
    await store.keep("power", "n0", {"state": "ON", "boots_s": [61.0, 75.0]}, fence=lease.fence)
    found = columns_of(await observed_rows(store)).boots
    assert found.took_s.tolist() == [61.0, 75.0]
    assert found.node.tolist() == ["n0", "n0"]
