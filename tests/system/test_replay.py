"""Decisions of a simulated day, made again from what the store kept of them: over SQLite, and over a restart."""

import asyncio
import csv
import json
import re
import sqlite3
import zlib
from contextlib import closing

import pytest

from fogfold.adapters.simulated.clocks import MONDAY_S, SimulatedClock, start_of
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.holding import Holding
from fogfold.adapters.simulated.orchestrator import SimulatedOrchestrator
from fogfold.adapters.simulated.power import SimulatedPower
from fogfold.adapters.simulated.readings import SimulatedCollector
from fogfold.adapters.storage import schema
from fogfold.adapters.storage.sql_store import SqlStore
from fogfold.control.deciding import Decider, Limits
from fogfold.control.loop import Loop, LoopSettings, Mode
from fogfold.control.means import Means
from fogfold.control.replaying import replay
from fogfold.control.watch import Watch
from fogfold.errors import ModelError
from fogfold.policy.registry import policy
from fogfold.seeding import stream
from fogfold.units import HOUR_S
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario


class Plays:
    """A cluster whose service is ended and started again, with what it keeps in a SQLite file."""

    def __init__(self, path, name, *, hours, nodes=8, limits=None):
        self.url = f"sqlite:///{path}"
        self.name = name
        self.limits = limits or Limits(week_began_s=MONDAY_S)
        built = build(load_scenario("city-20", {"nodes.edge.count": nodes}), 0, hours=hours)
        self.clock = SimulatedClock(start_of(built), lasts_s=hours * HOUR_S)
        self.cluster = SimulatedCluster(built, self.clock)
        self.decided: list[int] = []
        self.lives: list[Loop] = []
        self.moved: list[int] = []

    async def play(self, holder, until_s):
        """One life of the service."""
        await schema.upgrade(self.url)
        chosen = policy(self.name)
        chosen.reset(0)
        async with SqlStore(self.url) as store:
            watch = Watch(SimulatedCollector(self.cluster, self.clock), self.clock)
            orchestrator = SimulatedOrchestrator(self.cluster, stream(0, "orchestrator"))
            kept = Holding(store, self.clock)
            means = Means(
                orchestrator, SimulatedPower(self.cluster), kept, self.clock, watch, stream(0, "executor", holder)
            )
            loop = Loop(
                means,
                watch,
                Decider(chosen, self.limits),
                LoopSettings(holder, Mode.AUTOMATIC),
                on_change=self._changed,
            )
            running = asyncio.create_task(loop.run())
            resting = asyncio.create_task(self.clock.sleep(until_s - self.clock.monotonic_s()))
            over = asyncio.create_task(self.clock.ended())
            await asyncio.wait([running, resting, over], return_when=asyncio.FIRST_COMPLETED)
            running.cancel()
            await asyncio.wait([running])
            for task in (resting, over):
                task.cancel()
        return loop

    def _changed(self, kind, number, value):
        if kind == "decision":
            self.decided.append(number)
            self.moved += [number] if value["moves"] else []

    async def again(self, number):
        async with SqlStore(self.url) as store:
            entry = await store.entry(number)
            assert entry is not None
            return await replay(number, entry.value, store, policy)


def played(path, name, *, hours, **more):
    """Two lives of half the time each."""
    plays = Plays(path, name, hours=hours, **more)

    async def both():
        first = await plays.play("first", hours * HOUR_S / 2)
        second = await plays.play("second", hours * HOUR_S)
        return [first, second]

    plays.lives = asyncio.run(both())
    return plays


async def some_again(plays, numbers):
    return [await plays.again(number) for number in numbers]


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    return played(tmp_path_factory.mktemp("day") / "fogfold.db", "drain-relief", hours=3.0)


def test_decisions_of_a_rule_are_made_again_each_from_its_own_record(day):
    again = asyncio.run(some_again(day, day.decided[::5]))
    assert len(again) > 10
    assert [one.number for one in again if not one.is_same] == []
    assert {one.decisions for one in again} == {1}


@pytest.mark.slow
def test_every_decision_of_a_day_is_made_again(tmp_path):
    plays = played(tmp_path / "fogfold.db", "drain-relief", hours=8.0, nodes=20)
    again = asyncio.run(some_again(plays, plays.decided))
    assert len(again) > 150
    assert [one.number for one in again if not one.is_same] == []
    assert any(one.decision.plan.steps for one in again)
    assert any(one.decision.plan.sleep for one in again)
    assert any(one.decision.refused for one in again)


def test_policy_goes_on_after_a_restart_with_what_it_remembered(day):
    query = "SELECT value FROM decision_inputs WHERE life LIKE ? ORDER BY number"

    def remembered(life):
        with closing(sqlite3.connect(day.url.removeprefix("sqlite:///"))) as connection:
            return [json.loads(zlib.decompress(row))["remembered"] for (row,) in connection.execute(query, (life,))]

    assert remembered("first %")[0] == {"calm": 0, "time_s": None, "woken_s": {}, "slept": []}
    taken_up = remembered("second %")[0]
    # A fresh policy would have begun to count anew, and would have seen no time yet.
    assert taken_up["calm"] > 0
    assert 0.0 < remembered("second %")[1]["time_s"] - taken_up["time_s"] < 3600.0


@pytest.mark.slow
def test_chain_of_a_policy_that_cannot_say_what_it_remembers(tmp_path):
    plays = played(tmp_path / "fogfold.db", "rehearsed", hours=1.0)
    early, late = asyncio.run(some_again(plays, (plays.decided[3], plays.decided[-1])))
    assert (early.is_same, late.is_same) == (True, True)
    assert early.decisions >= 4
    # The chain begins with the second life, and holds the light decisions that stand in no journal.
    assert 2 < late.decisions <= plays.lives[1].status().decisions


def test_chain_with_a_missing_link_says_so(tmp_path):
    plays = played(tmp_path / "fogfold.db", "rehearsed", hours=0.5)
    (late,) = asyncio.run(some_again(plays, plays.decided[-1:]))
    assert late.is_same
    assert 2 < late.decisions <= plays.lives[1].status().decisions
    with closing(sqlite3.connect(plays.url.removeprefix("sqlite:///"))) as connection:
        connection.execute("DELETE FROM decision_inputs WHERE life LIKE 'second %' AND number = 2")
        connection.commit()
    with pytest.raises(ModelError, match="decision 2 of the"):
        asyncio.run(plays.again(plays.decided[-1]))


def test_limits_of_then_are_used(tmp_path):
    # What is stored of the limits is used, whatever a decider would be made with now.
    plays = played(tmp_path / "fogfold.db", "drain-relief", hours=0.5, limits=Limits.none(week_began_s=MONDAY_S))
    (one,) = asyncio.run(some_again(plays, plays.decided[-1:]))
    assert one.is_same


def test_tampered_record_is_found(day, tmp_path, fogfold):
    moved = day.moved[0]
    code, out, err = fogfold("journal", "replay", moved, "--store", day.url)
    assert (code, err) == (0, "")
    assert out == f"same decision: {moved}, by drain-relief\n"
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(day.url.removeprefix("sqlite:///"))) as source, closing(sqlite3.connect(copy)) as to:
        source.backup(to)
        # Whoever would change the journal has to take its trigger away first.
        to.execute("DROP TRIGGER journal_is_only_added_to")
        (text,) = to.execute("SELECT value FROM journal WHERE number = ?", (moved,)).fetchone()
        value = json.loads(text)
        value["moves"][0]["target"] = "edge-99"
        to.execute("UPDATE journal SET value = ? WHERE number = ?", (json.dumps(value), moved))
        to.commit()
    code, out, _ = fogfold("journal", "replay", moved, "--store", f"sqlite:///{copy}", "--json")
    found = json.loads(out)
    assert code == 8
    assert not found["same"]
    assert [(one["field"], one["then"]) for one in found["differences"]] == [("moves[0].target", "edge-99")]
    assert fogfold("journal", "replay", moved, "--store", f"sqlite:///{copy}")[0] == 8


def test_tampered_input_is_found(day, tmp_path, fogfold):
    copy = tmp_path / "copy.db"
    number = day.decided[-1]
    with closing(sqlite3.connect(day.url.removeprefix("sqlite:///"))) as source, closing(sqlite3.connect(copy)) as to:
        source.backup(to)
        (other,) = to.execute("SELECT value FROM decision_inputs WHERE journal = ?", (day.decided[0],)).fetchone()
        to.execute("UPDATE decision_inputs SET value = ? WHERE journal = ?", (other, number))
        to.commit()
    code, out, _ = fogfold("journal", "replay", number, "--store", f"sqlite:///{copy}", "--json")
    assert code == 8
    assert "at_s" in [one["field"] for one in json.loads(out)["differences"]]


def test_day_is_told_with_what_its_plans_saved(day, fogfold):
    code, out, _ = fogfold("journal", "replay", "--store", day.url)
    assert code == 0
    out = " ".join(out.split())  # a narrow screen breaks lines
    assert re.search(r"outcome plan \d+ was to save \d+\.\d W, saves -?\d+\.\d W \(measured\) over \d+ min", out)


def test_dataset_of_a_day_has_a_row_for_each_decision_and_node(day, tmp_path, fogfold):
    path = tmp_path / "nodes.csv"
    code, out, err = fogfold("journal", "dataset", "--to", path, "--store", day.url, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"file": str(path), "rows": 8 * len(day.decided)}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["node"] for row in rows} == {f"edge-0{k}" for k in range(8)}
    assert all(0.0 <= float(row["cpu_share"]) <= 1.0 for row in rows if row["state"] == "on" and row["cpu_share"])
    assert any(row["plan_real_w"] for row in rows)
    code, out, _ = fogfold("journal", "dataset", "--rows", "move", "--to", tmp_path / "moves.csv", "--store", day.url)
    assert code == 0
    assert "rows in" in out


def test_decision_without_inputs_says_why(day, fogfold):
    async def forget():
        async with SqlStore(day.url) as store:
            await store.prune_inputs(MONDAY_S + HOUR_S, 10**9)

    copied = day.decided[0]
    asyncio.run(forget())
    code, _, err = fogfold("journal", "replay", copied, "--store", day.url)
    assert code == 3
    assert f"nothing is stored of what decision {copied} was made from" in err
    code, _, err = fogfold("journal", "replay", 10**6, "--store", day.url)
    assert (code, "there is no entry 1000000" in err) == (2, True)
