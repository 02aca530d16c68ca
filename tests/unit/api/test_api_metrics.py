"""Figures for Prometheus: they are the journal's, and what is not known has no sample."""

import asyncio
import shutil
import subprocess
from collections import Counter

import pytest
from prometheus_client.parser import text_string_to_metric_families

PROMTOOL = shutil.which("promtool")


def samples(served):
    text = served.metrics.text().decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_counts_are_those_of_the_journal(played):
    found = samples(played)
    decisions = [value for kind, _, value in played.written if kind == "decision"]
    executions = [value for kind, _, value in played.written if kind == "execution"]
    for (rhythm, plan), count in Counter((value["rhythm"], value["plan"]) for value in decisions).items():
        assert found["fogfold_decisions_total", plan, rhythm] == count
    refusals = Counter(refusal["code"] for value in decisions for refusal in value["refused"])
    shown = {key[1]: value for key, value in found.items() if key[0] == "fogfold_refusals_total" and value}
    assert shown == dict(refusals)
    ends = Counter(step["end"] for value in executions for step in value["steps"])
    assert {key[1]: value for key, value in found.items() if key[0] == "fogfold_moves_total" and value} == dict(ends)
    assert ends["arrived"] > 0


def test_nodes_are_counted_by_state_and_power_only_where_it_is_read(played):
    found = samples(played)
    states = {key[1]: value for key, value in found.items() if key[0] == "fogfold_nodes"}
    assert sum(states.values()) == 20
    assert states["asleep"] > 0
    assert found["fogfold_nodes_metered",] == states["on"]
    assert found["fogfold_power_watts",] > 0


def test_what_is_not_known_has_no_sample(kit):
    found = {key[0] for key in samples(kit.Served(kit.a_city(1.0)))}
    assert not {"fogfold_power_watts", "fogfold_nodes", "fogfold_snapshot_age_seconds"} & found
    assert "fogfold_lease_held" in found


def test_names_have_the_prefix_and_no_times_of_creation(played):
    names = {key[0] for key in samples(played)}
    assert {name for name in names if not name.startswith("fogfold_")} == set()
    assert not {name for name in names if name.endswith("_created")}


def test_two_services_in_one_process_count_apart(kit):
    one, other = kit.Served(kit.a_city(1.0)), kit.Served(kit.a_city(1.0))
    one.metrics.time_cycle(0.2)
    counts = [samples(served)["fogfold_cycle_duration_seconds_count",] for served in (one, other)]
    assert counts == [1.0, 0.0]


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_promtool_has_nothing_to_say(played):
    done = subprocess.run(  # noqa: S603 (found above, no arguments of others)
        [str(PROMTOOL), "check", "metrics"], input=played.metrics.text(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_cycles_are_timed_on_the_way(kit):
    from fogfold.bootstrap.service import open_service
    from fogfold.bootstrap.settings import parse_settings

    async def one():
        settings = parse_settings("plane: {kind: simulated, speed: max, hours: 1}")
        async with open_service(settings, environment={}) as service:
            await service.loop.cycle()
            return service.metrics.text().decode()

    assert "fogfold_cycle_duration_seconds_count 1.0" in asyncio.run(one())
