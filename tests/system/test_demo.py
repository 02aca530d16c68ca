"""`fogfold demo`: a day through the whole service, with figures from the world's own ledger."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

from fogfold.bootstrap.demo import DemoSettings, Standing, open_demo
from fogfold.bootstrap.demo_sums import LoopSums, sums_of
from fogfold.cli.demo_running import loop_view, standing_line
from fogfold.cli.output import screen
from fogfold.encoding.arrays import fleet_arrays
from fogfold.evaluate.episodes import run_episode
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy
from fogfold.world.rows import CI
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World

LIMIT_S = 120.0
CALM = {
    "world.migration_failure_base": 0.0,
    "world.migration_failure_per_jitter": 0.0,
    "world.migration_failure_per_loss": 0.0,
}


class Seeing:
    """A policy that notes where everything runs when it is asked."""

    def __init__(self, inner):
        self.name, self.inner, self.placements = inner.name, inner, []

    def reset(self, seed):
        self.inner.reset(seed)

    def propose(self, view):
        self.placements.append(view.placement.copy())
        return self.inner.propose(view)


async def played(settings):
    """A demonstration played to its end: what was seen, and what came of it."""
    async with open_demo(settings) as demo:
        decider = demo.service.loop.decider
        decider.policy = Seeing(decider.policy)
        told: list[Standing] = []
        await demo.play(asyncio.Event(), told.append)
        return decider.policy.placements, await sums_of(demo), told


def test_bare_demo_is_the_day_that_run_plays():
    hours, scenario = 3.0, load_scenario("city-20", CALM)
    built = build(scenario, 0, hours=hours)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=0)
    directly, rule = [], policy("drain-relief")
    rule.reset(0)
    for _ in range(built.ticks // built.params.ticks_per_step):
        directly.append(world.state.container_int[0, CI.PLACEMENT].copy())
        world.step(orders_of(rule.propose(world.view()), fleet.nodes))

    through, sums, told = asyncio.run(played(DemoSettings(scenario, hours=hours, is_bare=True)))
    through = through[: len(directly)]
    assert [k for k, (a, b) in enumerate(zip(directly, through, strict=True)) if (a != b).any()] == []
    assert len({placement.tobytes() for placement in directly}) > 5
    # Every figure of `fogfold run`, to the last digit, but for those that hang on when exactly a node goes off: the
    # loop has to see first that it is empty.
    ran = run_episode(built, policy("drain-relief"))
    through_it, run = sums.played.result.as_json(), ran.result.as_json()
    assert {key for key in run if run[key] != through_it[key]} <= {
        "energy_kwh", "nodes_asleep_share", "total_cost", "terms",
    }  # fmt: skip
    assert run["energy_kwh"] <= through_it["energy_kwh"] <= 1.002 * run["energy_kwh"]
    assert through_it["terms"]["energy"] == pytest.approx(1000.0 * through_it["energy_kwh"])
    others = ("migration", "sla", "latency")
    assert [through_it["terms"][term] for term in others] == [run["terms"][term] for term in others]
    assert sums.hold.result == run_episode(built, policy("hold")).result
    assert sums.loop.moves["arrived"] == ran.result.moves
    assert sums.loop.refused == {}
    saved_kwh = sums.hold.result.energy_kwh - sums.played.result.energy_kwh
    assert told[-1].saved_kwh <= saved_kwh + 1e-9


def test_demo_prints_the_documented_object_twice_the_same(fogfold, tmp_path):
    def once(name):
        code, out, err = fogfold(
            "demo", "--scenario", "tiny-4", "--hours", 2, "--exit", "--json", "--store", f"sqlite:///{tmp_path}/{name}"
        )
        assert code == 0, err
        return json.loads(out)

    found = once("a.db")
    assert list(found) == ["runs", "summary", "paired", "loop"]
    assert [run["policy"] for run in found["runs"]] == ["hold", "drain-relief"]
    assert [run["hours"] for run in found["runs"]] == [2.0, 2.0]
    assert list(found["loop"]) == [
        "decisions", "interventions", "refused", "plans", "verdicts", "moves", "journal_entries",
    ]  # fmt: skip
    loop = found["loop"]
    assert loop["decisions"] >= sum(loop["plans"].values()) > 0
    assert loop["journal_entries"] >= sum(loop["plans"].values())
    assert once("b.db") == found
    # A journal that goes on counts the entries of this demonstration alone.
    assert once("a.db")["runs"][0] == found["runs"][0]


def test_demo_ends_with_a_table_and_a_report(fogfold, tmp_path):
    page = tmp_path / "report.html"
    code, out, _ = fogfold("demo", "--scenario", "tiny-4", "--hours", 2, "--exit", "--report", page)
    assert code == 0
    assert "hold (baseline)" in out
    assert "held back" in out
    assert "drain-relief" in page.read_text(encoding="utf-8")


def test_demo_that_serves_is_asked_and_ends_with_what_was_done(tmp_path):
    errors = tmp_path / "errors"
    with errors.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "fogfold", "demo", "--scenario", "tiny-4", "--port", "0", "--speed", "3600"],
            stdout=subprocess.PIPE, stderr=file, text=True, env={**os.environ, "COLUMNS": "160"},
        )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = "".join(process.stdout.readline() for _ in range(2))
        found = re.search(r"http://127\.0\.0\.1:\d+", lines)
        assert found, f"{lines}; {errors.read_text()}"
        url = found.group()
        end_s = time.monotonic() + LIMIT_S
        decisions = 0
        while decisions < 12 and time.monotonic() < end_s:
            with urllib.request.urlopen(url + "/api/v1/status", timeout=60) as answer:  # noqa: S310 (our own)
                decisions = json.load(answer)["decisions"]
            time.sleep(0.1)
        assert decisions >= 12
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
    assert process.returncode == 0, errors.read_text()
    assert "hold (baseline)" in out
    assert "nodes asleep" in errors.read_text()
    assert "Traceback" not in errors.read_text()


def test_demo_that_is_interrupted_keeps_whole_steps():
    async def cut():
        stop = asyncio.Event()

        def watch(standing):
            if standing.hours > 0.5:
                stop.set()

        async with open_demo(DemoSettings(load_scenario("tiny-4"))) as demo:
            await demo.play(stop, watch)
            return await sums_of(demo)

    sums = asyncio.run(cut())
    result = sums.played.result
    assert 0.5 <= result.hours < 24.0
    assert sums.hold.result.hours == result.hours
    whole = run_episode(build(load_scenario("tiny-4"), 0, hours=24.0), policy("hold"))
    steps = round(result.hours * 12)
    np.testing.assert_array_equal(sums.hold.series.power_w, whole.series.power_w[:steps])


def test_line_says_how_it_stands():
    monday_s = 1_767_571_200.0
    at_s = monday_s + 8 * 3600 + 300
    standing = Standing(at_s, 8.1, 7, 20, 1.234, 0.181, 63, at_s + 720.0, is_over=False)
    assert standing_line(standing).plain == (
        "Mon 08:05  ·   7 of 20 nodes asleep  ·  1.23 kWh saved (18 %)  ·  63 moves  ·  next decision 08:17"
    )
    early = Standing(at_s, 0.1, 0, 20, -0.0001, -0.0001, 0, None, is_over=False)
    assert standing_line(early).plain == "Mon 08:05  ·   0 of 20 nodes asleep  ·  0 Wh saved (0 %)  ·  0 moves"


def test_reasons_beyond_the_largest_are_counted_together(capsys):
    refused = {"SPARE": 9, "COOLDOWN": 5, "NO_ROOM": 3, "SPREAD": 2, "CYCLE": 1, "TAINT": 1}
    screen().print(loop_view(LoopSums(50, 12, refused, {"none": 20, "act": 2}, {"done": 2}, {"arrived": 4}, 24)))
    out = " ".join(capsys.readouterr().out.split())  # a narrow screen breaks lines
    assert "21" in out
    assert "SPARE 9, COOLDOWN 5, NO_ROOM 3, SPREAD 2, others 2" in out


@pytest.mark.parametrize("module", ["fastapi", "sqlalchemy"])
def test_base_install_names_the_extra(fogfold, monkeypatch, module):
    service = ("fogfold.bootstrap.demo", "fogfold.bootstrap.service", "fogfold.cli.demo_running")
    ours = (*service, "fogfold.api.server", "fogfold.adapters.storage")
    for name in [name for name in sys.modules if name.startswith((*ours, module))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    code, out, err = fogfold("demo", "--exit")
    assert (code, out) == (7, "")
    assert err.startswith("fogfold: the demonstration is the whole service and needs the package")
    assert f"needs the package '{module}'" in err
    assert "fogfold[serve]" in err


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--policy", "drian"), 2), (("--speed", 0), 3), (("--port", 70000), 3), (("--scenario", "ctiy-20"), 2)],
)
def test_bad_input_is_refused(fogfold, words, code):
    found, out, err = fogfold("demo", *words)
    assert (found, out) == (code, "")
    assert str(words[1]) in err
