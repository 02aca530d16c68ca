"""Short days of chaos on the simulated cluster: nobody is lost or doubled, and nothing is locked in the evening."""

import asyncio
import json
from dataclasses import replace

import pytest

from fogfold.adapters.simulated.chaos.day import play_chaos
from fogfold.adapters.simulated.chaos.settings import ChaosSettings, Trouble, troubles_of
from fogfold.adapters.simulated.chaos.sqlite import sqlite_stores
from fogfold.cli.app import main
from fogfold.control import loop
from fogfold.control.recover import RecoveryReport
from fogfold.errors import ModelError
from fogfold.testing.chaos import chaos_day, restless
from fogfold.testing.memory_store import MemoryStore
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario

SHORT = ChaosSettings(kills=8, hours=1.0, calm_s=1800.0)
OFTEN = replace(
    SHORT,
    lost_answers=0.1,
    node_losses_h=10.0,
    bad_readings_h=20.0,
    outages_h=10.0,
    clock_jumps_h=6.0,
    pauses_h=12.0,
)
"""The trouble of half a day in half an hour."""


def put_right(report):
    """What is not as it must be at the end of a day."""
    return [*report.nowhere, *report.locked, *report.broken, *report.crashes]


def test_killed_service_leaves_nothing_that_is_not_put_right():
    report = chaos_day(SHORT, 0)
    row = report.row
    assert put_right(report) == []
    assert report.is_good
    assert (row.kills, row.lost, row.doubled, row.locked) == (8, 0, 0, 0)
    assert row.moves >= row.failed_moves >= row.undone > 0
    assert row.safe_share == 1.0
    assert sum(report.deaths.values()) == 8


def test_same_seed_makes_the_same_day():
    settings = replace(OFTEN, hours=0.5, calm_s=600.0, troubles=frozenset(Trouble))
    assert chaos_day(settings, 3) == chaos_day(settings, 3)


@pytest.mark.parametrize("trouble", list(Trouble))
def test_each_kind_of_trouble_beside_kills_is_put_right(trouble):
    report = chaos_day(replace(OFTEN, troubles=frozenset({trouble})), 1)
    assert put_right(report) == []
    assert report.row.doubled == 0
    assert report.row.kills == 8
    assert report.row.safe_share is not None
    assert report.row.safe_share >= 0.99
    if trouble not in {Trouble.ANSWERS, Trouble.RIVAL}:
        assert sum(report.befell.values()) > 0


@pytest.mark.parametrize("seed", [2, 4])
def test_all_kinds_of_trouble_at_once_are_put_right(seed):
    report = chaos_day(replace(OFTEN, troubles=frozenset(Trouble)), seed)
    assert put_right(report) == []
    assert report.row.doubled == 0


def test_service_that_recovers_nothing_is_found_out(monkeypatch):
    async def nothing(*_, **__):
        return RecoveryReport()

    monkeypatch.setattr(loop, "recover", nothing)
    report = chaos_day(replace(SHORT, kills=16), 0)
    assert report.row.locked > 0
    assert report.row.locked == len(report.locked)
    assert not report.is_good


def test_store_that_gives_an_old_fence_out_is_found_out():
    class Forgetful(MemoryStore):
        async def acquire(self, holder, *, for_s, now_s):
            lease = await super().acquire(holder, for_s=for_s, now_s=now_s)
            return None if lease is None else replace(lease, fence=-lease.fence)

    report = chaos_day(replace(SHORT, kills=2), 0, store=Forgetful())
    assert any("fence -2 was given to" in sentence for sentence in report.broken)
    assert not report.is_good


def test_day_over_sqlite_is_put_right():
    built = build(load_scenario("tiny-4"), 0, hours=1.0)

    async def play():
        async with sqlite_stores() as stores:
            return await play_chaos(built, SHORT, restless, stores)

    report = asyncio.run(play())
    assert put_right(report) == []
    assert report.row.kills == 8


def test_command_prints_the_row(capsys):
    assert main(["bench", "chaos", "--kills", "2", "--hours", "1.25", "--scenario", "tiny-4", "--json"]) == 0
    out = json.loads(capsys.readouterr().out)
    (row,) = out["rows"]
    assert out["bench"] == "chaos"
    assert out["faults"] == []
    assert list(row) == [
        "seed",
        "kills",
        "moves",
        "failed_moves",
        "undone",
        "lost",
        "doubled",
        "locked",
        "safe_share",
        "hours",
    ]
    assert (row["kills"], row["lost"], row["doubled"], row["locked"], row["hours"]) == (2, 0, 0, 0, 1.25)


def test_unknown_trouble_is_refused():
    with pytest.raises(ModelError, match="clock"):
        troubles_of("nodes,clok")
    assert troubles_of("all") == frozenset(Trouble)
    assert troubles_of("none") == frozenset()


@pytest.mark.slow
def test_two_hundred_kills_and_three_moves_in_ten_that_break_lock_nothing():
    report = chaos_day(ChaosSettings(hours=12.0), 0)
    assert put_right(report) == []
    assert report.row.kills == 200
    assert (report.row.lost, report.row.doubled, report.row.locked) == (0, 0, 0)
    assert report.row.safe_share is not None
    assert report.row.safe_share >= 0.99
