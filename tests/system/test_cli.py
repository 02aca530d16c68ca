"""The command line as a user meets it: what it prints, what it refuses, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from fogfold.errors import EXIT_CODES

RUN_KEYS = [
    *("scenario", "policy", "seed", "hours", "energy_kwh", "nodes_asleep_share", "sla_violation_rate"),
    *("migration_cost", "mean_latency_ms", "moves", "failed_moves", "refused", "total_cost", "terms"),
    *("work_core_h", "waiting_container_h", "first_placements", "decision_ms_p50", "decision_ms_p99", "cpu_s"),
]


def test_run_prints_one_object_with_the_documented_keys(fogfold):
    code, out, _ = fogfold("run", "tiny-4", "--hours", 2, "--json")
    assert code == 0
    result = json.loads(out)
    assert list(result) == RUN_KEYS
    assert list(result["terms"]) == ["energy", "migration", "sla", "latency"]
    assert result["total_cost"] == pytest.approx(sum(result["terms"].values()))
    assert out.count("\n") == 1


def test_same_seed_prints_the_same_bytes_and_another_does_not(fogfold):
    first = fogfold("run", "tiny-4", "--hours", 2, "--seed", 3, "--json")
    assert fogfold("run", "tiny-4", "--hours", 2, "--seed", 3, "--json") == first
    assert fogfold("run", "tiny-4", "--hours", 2, "--seed", 4, "--json") != first


def test_compare_prints_runs_summary_and_paired_differences(fogfold):
    arguments = ("compare", "tiny-4", "--policies", "hold,drain", "--seeds", 2, "--first-seed", 7, "--hours", 1)
    code, out, _ = fogfold(*arguments, "--jobs", 1, "--json")
    assert code == 0
    found = json.loads(out)
    assert [(run["policy"], run["seed"]) for run in found["runs"]] == [
        ("hold", 7),
        ("hold", 8),
        ("drain", 7),
        ("drain", 8),
    ]
    assert [row["policy"] for row in found["summary"]] == ["hold", "drain"]
    assert set(found["summary"][0]["energy_kwh"]) >= {"mean", "low", "high"}
    assert [(row["policy"], row["against"]) for row in found["paired"]] == [("drain", "hold")]


def test_number_of_processes_changes_no_byte(fogfold):
    arguments = ("compare", "tiny-4", "--policies", "hold,drain", "--seeds", 2, "--hours", 1, "--json")
    assert fogfold(*arguments, "--jobs", 1) == fogfold(*arguments, "--jobs", 2)


def test_timing_fills_in_the_times(fogfold):
    _, out, _ = fogfold("run", "tiny-4", "--hours", 1, "--timing", "--json")
    result = json.loads(out)
    assert result["decision_ms_p50"] > 0
    assert result["cpu_s"] > 0


def test_tables_name_every_policy(fogfold):
    code, out, _ = fogfold("compare", "tiny-4", "--policies", "hold,drain", "--seeds", 2, "--hours", 1, "--jobs", 1)
    assert code == 0
    assert "hold" in out
    assert "drain" in out


def test_scenarios_lists_what_can_be_run(fogfold):
    code, out, _ = fogfold("scenarios", "--json")
    assert code == 0
    names = [entry["name"] for entry in json.loads(out)["scenarios"]]
    assert {"city-20", "city-50", "city-200", "region-1000", "planetlab", "bitbrains"} <= set(names)


def test_scenario_in_full_can_be_run_again(fogfold, tmp_path):
    _, out, _ = fogfold("scenarios", "tiny-4")
    file = tmp_path / "mine.yaml"
    file.write_text(out, encoding="utf-8")
    named = json.loads(fogfold("run", "tiny-4", "--hours", 1, "--json")[1])
    mine = json.loads(fogfold("run", file, "--hours", 1, "--json")[1])
    assert mine == named


def test_import_makes_a_file_that_a_scenario_can_replay(fogfold, tmp_path):
    table = tmp_path / "load.csv"
    rows = [f"{300 * k},c{i},{0.1 + 0.01 * k}" for k in range(13) for i in range(4)]
    table.write_text("time_s,container,cpu\n" + "\n".join(rows) + "\n", encoding="utf-8")
    code, out, _ = fogfold("import", table, "--to", tmp_path / "load.npz", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["containers"], found["hours"], found["filled_samples"]) == (4, 1.0, 0)
    code, _, err = fogfold("import", table, "--to", tmp_path / "load.npz")
    assert code == 1
    assert "--replace" in err


BAD = {
    "unknown scenario": (("run", "city-5O"), 2, 'did you mean "city-50"'),
    "unknown policy": (("run", "tiny-4", "--policy", "drain-relif"), 2, 'did you mean "drain-relief"'),
    "unknown command": (("rnu", "tiny-4"), 2, "run"),
    "unknown option": (("run", "tiny-4", "--sed", "1"), 2, "--sed"),
    "no scenario": (("run",), 2, "scenario"),
    "text for a number": (("run", "tiny-4", "--seed", "one"), 2, "seed"),
    "negative seed": (("run", "tiny-4", "--seed", "-1"), 3, "seeds count from 0"),
    "no seeds": (("compare", "tiny-4", "--seeds", "0"), 3, "at least one"),
    "both forms of seeds": (("compare", "tiny-4", "--seed", "1", "--seeds", "2"), 3, "leave out"),
    "negative hours": (("run", "tiny-4", "--hours", "-1"), 3, "hours"),
    "hours of no tick": (("run", "tiny-4", "--hours", "0.001"), 3, "ticks"),
    "shorter than a step": (("run", "tiny-4", "--hours", "0.05"), 3, "one step takes"),
    "unknown key": (("run", "tiny-4", "--set", "wrold.ceiling=1"), 3, "did you mean"),
    "negative size": (("run", "tiny-4", "--set", "world.restore_s=-1"), 3, "restore_s"),
    "no equals sign": (("run", "tiny-4", "--set", "world"), 3, "path=value"),
    "no folder for the report": (("run", "tiny-4", "--report", "/nowhere/x.html"), 1, "does not exist"),
    "no such trace": (("import", "/nowhere.csv", "--to", "/nowhere/x.npz"), 5, "nowhere.csv"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_sentence_and_an_exit_code(fogfold, name):
    arguments, expected, part = BAD[name]
    code, out, err = fogfold(*arguments)
    assert code == expected
    assert code in EXIT_CODES
    assert part in err
    assert out == ""
    assert "Traceback" not in err


TRACES = {
    "empty": "",
    "only a header": "time_s,container,cpu\n",
    "not a number": "time_s,container,cpu\n0,a,much\n300,a,0.1\n",
    "NaN": "time_s,container,cpu\n0,a,nan\n300,a,0.1\n",
    "negative": "time_s,container,cpu\n0,a,-0.1\n300,a,0.1\n",
    "gap": "time_s,container,cpu\n0,a,0.1\n300,a,0.1\n600,a,0.1\n0,b,0.1\n600,b,0.1\n",
    "twice": "time_s,container,cpu\n0,a,0.1\n0,a,0.2\n300,a,0.1\n",
    "unknown column": "time_s,container,cpus\n0,a,0.1\n300,a,0.1\n",
}


@pytest.mark.parametrize("name", TRACES)
def test_malformed_trace_is_refused_with_its_file(fogfold, tmp_path, name):
    file = tmp_path / "bad.csv"
    file.write_text(TRACES[name], encoding="utf-8")
    code, _, err = fogfold("import", file, "--to", tmp_path / "out.npz")
    assert code == 4
    assert "bad.csv" in err
    assert not (tmp_path / "out.npz").exists()


def test_scenario_file_with_many_faults_names_all_with_their_lines(fogfold, tmp_path):
    out = fogfold("scenarios", "tiny-4")[1]
    file = tmp_path / "bad.yaml"
    file.write_text(
        out.replace("hours:", "huors:", 1).replace("schema_version: 1", "schema_version: 9"), encoding="utf-8"
    )
    code, _, err = fogfold("run", file)
    assert code == 3
    assert err.count("bad.yaml:") >= 2
    assert "did you mean" in err


def test_missing_power_curve_stops_the_run(fogfold, tmp_path):
    out = fogfold("scenarios", "tiny-4", "--json")[1]
    scenario = json.loads(out)
    scenario["nodes"][0]["mix"][0]["machine"] = "no-such-machine"
    file = tmp_path / "curve.yaml"
    file.write_text(json.dumps(scenario), encoding="utf-8")
    code, _, err = fogfold("run", file)
    assert code == 3
    assert "no-such-machine" in err


def test_zero_nodes_are_refused(fogfold):
    code, _, err = fogfold("run", "tiny-4", "--set", "nodes.0.count=0")
    assert code == 3
    assert "count" in err


def test_interrupted_comparison_keeps_what_was_finished(fogfold, monkeypatch):
    from fogfold.evaluate.runs import run_tasks as real

    def one_then_interrupt(tasks, **options):
        yield next(iter(real(tasks[:1], **options)))
        raise KeyboardInterrupt

    monkeypatch.setattr("fogfold.cli.compare.run_tasks", one_then_interrupt)
    code, out, err = fogfold("compare", "tiny-4", "--policies", "hold,drain", "--seeds", 2, "--hours", 1, "--json")
    assert code == 130
    assert len(json.loads(out)["runs"]) == 1
    assert "1 of 4" in err


def test_module_can_be_run():
    done = subprocess.run([sys.executable, "-m", "fogfold", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.strip()


def test_bench_world_prints_speed_rows(fogfold):
    code, out, _ = fogfold("bench", "world", "--nodes", 20, "--worlds", 1, "--worlds", 2, "--budget-s", 0.01, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["bench"] == "world"
    assert [row["worlds"] for row in found["rows"]] == [1, 2]
    row = found["rows"][0]
    assert row["node_ticks_per_s"] == pytest.approx(row["macro_steps_per_s"] * 10 * row["nodes"])
    assert np.isfinite(row["cpu_s"])


@pytest.mark.traces
def test_real_traces_run_and_repeat(fogfold):
    from fogfold.errors import TraceNotFoundError
    from fogfold.world.workload.folder import traces_folder

    try:
        traces_folder()
    except TraceNotFoundError as error:
        pytest.skip(str(error))
    for arguments in (("run", "planetlab", "--day", "20110306"), ("run", "bitbrains", "--days", "1")):
        first = fogfold(*arguments, "--hours", 2, "--json")
        assert first[0] == 0
        assert fogfold(*arguments, "--hours", 2, "--json") == first
