"""`fogfold calibrate` as a user meets it."""

from __future__ import annotations

import json

import pytest

TRUE = ("--set", "world.migration_link_share=0.21", "--set", "world.migration_failure_base=0.2")
KEYS = ["scenario", "records", "refused", "unused", "parameters", "predictions", "pairs", "changes", "file"]


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Records of a morning of a small world that copies slower than it is said to."""
    from fogfold.cli.app import main

    folder = tmp_path_factory.mktemp("records")
    assert main(["calibrate", "record", "tiny-4", str(folder), "--hours", "6", "--seed", "1", *TRUE]) == 0
    return folder


def test_report_has_the_documented_keys_and_the_file_is_a_scenario(fogfold, records, tmp_path):
    file = tmp_path / "calibrated.yaml"
    arguments = ("--records", str(records), "--seed", 1, "--set", "world.migration_link_share=0.3")
    code, out, _ = fogfold("calibrate", "tiny-4", *arguments, "--to", str(file), "--json")
    assert code == 0
    found = json.loads(out)
    assert list(found) == KEYS
    (share,) = [one["now"] for one in found["parameters"] if one["parameter"] == "share of links"]
    assert share == pytest.approx(0.21, rel=0.03)
    assert {one["path"] for one in found["changes"]} >= {"world.migration_link_share", "world.migration_failure_base"}
    code, out, _ = fogfold("run", str(file), "--hours", 1, "--policy", "hold", "--json")
    assert code == 0
    assert json.loads(out)["scenario"] == "tiny-4"


def test_table_says_what_was_adopted_and_how_it_predicts(fogfold, records, monkeypatch):
    monkeypatch.setenv("COLUMNS", "220")
    code, out, _ = fogfold("calibrate", "tiny-4", "--records", str(records), "--seed", 1)
    assert code == 0
    assert "share of links" in out
    assert "adopted" in out
    assert "log_loss" in out


def test_nothing_to_calibrate_to_is_an_error(fogfold):
    code, _, problems = fogfold("calibrate", "tiny-4")
    assert code == 3
    assert "give --records FOLDER, --store URL, or both" in problems


def test_misspelt_column_is_told_by_file_and_line(fogfold, tmp_path):
    (tmp_path / "readings.csv").write_text("time_s,node,power,cpu_cores\n0,edge-00,7,1\n", encoding="utf-8")
    code, _, problems = fogfold("calibrate", "tiny-4", "--records", str(tmp_path))
    assert code == 4
    assert "readings.csv:1" in problems
    assert 'did you mean "power_w"?' in problems


def test_store_that_is_not_there_is_an_error(fogfold, tmp_path):
    code, _, problems = fogfold("calibrate", "tiny-4", "--store", f"sqlite:///{tmp_path}/none.db")
    assert code == 3
    assert "there is no store" in problems


def test_where_nothing_can_be_written_is_told_first(fogfold, tmp_path):
    code, _, problems = fogfold("calibrate", "tiny-4", "--records", str(tmp_path), "--to", f"{tmp_path}/none/a.yaml")
    assert code == 3
    assert "make it first" in problems
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, problems = fogfold("calibrate", "record", "tiny-4", str(tmp_path / "file"))
    assert code == 3
    assert "is a file; give the folder" in problems


def test_record_refuses_what_cannot_be(fogfold, tmp_path):
    code, _, problems = fogfold("calibrate", "record", "tiny-4", str(tmp_path), "--noise", 2)
    assert code == 3
    assert "noise is in [0, 1[" in problems
