"""CloudSim 3.0.3's own figures, digit for digit, on the real days."""

from __future__ import annotations

import json

import pytest

from fogfold.errors import TraceNotFoundError
from fogfold.evaluate.planetlab import (
    Corrections,
    known_days,
    lower_bound_kwh,
    play_day,
    read_day,
    rule_named,
    run,
    run_day,
    trace_folder,
)

pytestmark = pytest.mark.traces

DAYS = ("20110303", "20110306", "20110309", "20110322", "20110325", "20110420")


@pytest.fixture(scope="module", autouse=True)
def _need_the_days():
    try:
        missing = set(DAYS) - set(known_days())
    except TraceNotFoundError as absent:
        pytest.skip(str(absent))
    if missing:
        pytest.skip(f"days {sorted(missing)} are not on this machine")


@pytest.fixture(scope="module")
def golden():
    path = trace_folder() / "cloudsim_golden.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {(row["day"], row["pol"]): row for row in rows}


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("policy", ["npa", "dvfs", "thr", "iqr", "mad", "lr", "lrr"])
def test_every_figure_is_cloudsims(golden, day, policy):
    expected = golden[day, "lr" if policy == "lrr" else policy]
    figures = play_day(read_day(day), rule_named(policy), Corrections())
    # CloudSim prints energy to four digits here; the rest is in full.
    assert round(figures.energy_kwh, 4) == expected["energy"]
    assert figures.migrations == expected["mig"]
    assert figures.host_shutdowns == expected["shut"]
    assert figures.removed_vms == expected["removed"]
    assert figures.slatah == pytest.approx(expected["SLATAH"], rel=1e-12)
    assert figures.pdm == pytest.approx(expected["PDM"], rel=1e-10)
    assert figures.slav == pytest.approx(expected["SLAV"], rel=1e-10)
    assert figures.esv == pytest.approx(expected["ESV"], rel=1e-6)
    assert figures.overall_sla == pytest.approx(expected["overall"], rel=1e-9, abs=1e-12)
    assert figures.average_sla == pytest.approx(expected["avg"], rel=1e-10)
    assert figures.seconds_before_shutdown == pytest.approx(expected["mtbs"], rel=1e-12)


@pytest.mark.parametrize(
    ("corrections", "policy", "energy", "migrations", "slatah", "pdm", "slav_e5", "esv_e3", "shutdowns"),
    [
        ("wake", "thr", 165.54, 30804, 5.139, 0.0910, 4.68, 7.745, 2990),
        ("wake", "iqr", 147.16, 28171, 4.825, 0.0843, 4.069, 5.988, 1863),
        ("wake", "mad", 146.47, 28371, 5.213, 0.0889, 4.633, 6.786, 1975),
        ("wake", "lr", 134.64, 11786, 5.509, 0.0297, 1.635, 2.202, 1044),
        ("keep", "dvfs", 928.00, 0, 0.0, 0.0, 0.0, 0.0, 569),
        ("keep", "thr", 253.64, 41589, 5.318, 0.0624, 3.32, 8.416, 7764),
        ("keep", "lr", 223.73, 44975, 6.846, 0.0737, 5.05, 11.292, 7184),
        ("keep wake", "thr", 208.50, 62974, 5.605, 0.1275, 7.15, 14.898, 4584),
        ("keep wake", "lr", 160.82, 25540, 7.809, 0.0421, 3.29, 5.291, 1424),
    ],
)
def test_corrections_give_the_figures_of_an_independent_model(
    corrections, policy, energy, migrations, slatah, pdm, slav_e5, esv_e3, shutdowns
):
    row = run_day("20110303", policy, corrections.split())
    assert (round(row.energy_kwh, 2), row.migrations, row.host_shutdowns) == (energy, migrations, shutdowns)
    assert (round(100 * row.slatah, 3), round(100 * row.pdm, 4)) == (slatah, pdm)
    assert row.slav * 1e5 == pytest.approx(slav_e5, abs=0.0051)
    assert round(row.esv * 1e3, 3) == esv_e3


@pytest.mark.parametrize(
    ("day", "energy", "migrations", "esv_e3"),
    [
        ("20110306", 96.9, 8214, 1.50),
        ("20110309", 113.5, 11956, 3.31),
        ("20110322", 142.1, 18041, 3.95),
        ("20110325", 125.3, 14835, 3.08),
        ("20110420", 102.6, 13006, 4.32),
    ],
)
def test_corrected_waking_helps_the_regression_on_every_day(day, energy, migrations, esv_e3):
    row = run_day(day, "lr", ["wake"])
    assert (round(row.energy_kwh, 1), row.migrations, round(row.esv * 1e3, 2)) == (energy, migrations, esv_e3)


@pytest.mark.parametrize(
    ("day", "as_shipped", "kept"),
    [
        ("20110303", 95.4, 114.2),
        ("20110306", 70.9, 90.2),
        ("20110309", 80.0, 104.6),
        ("20110322", 97.0, 129.7),
        ("20110325", 84.5, 105.5),
        ("20110420", 69.8, 96.4),
    ],
)
def test_lower_bounds_are_as_computed_before(day, as_shipped, kept):
    trace = read_day(day)
    assert round(lower_bound_kwh(trace), 1) == as_shipped
    assert round(lower_bound_kwh(trace, Corrections(keep=True)), 1) == kept


def test_with_all_corrections_waking_costs_and_bounds_hold():
    stock, corrected = run_day("20110306", "lr"), run_day("20110306", "lr", ["all"])
    assert corrected.corrected == ("wake", "keep", "ram", "waking")
    assert corrected.energy_kwh > stock.energy_kwh > stock.lower_bound_kwh
    assert corrected.lower_bound_kwh > stock.lower_bound_kwh


def test_rows_come_in_order_from_several_processes():
    seen = []
    rows = run(DAYS[:2], ["dvfs", "lr-mmt"], (), lambda done, of, row: seen.append((done, of)), workers=2)
    assert [(row.day, row.policy) for row in rows] == [(day, p) for day in DAYS[:2] for p in ("dvfs", "lr")]
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    alone = run(DAYS[:1], ["dvfs"], workers=1)
    assert alone[0].energy_kwh == rows[0].energy_kwh
