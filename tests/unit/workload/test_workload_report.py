"""The load report: right on series whose statistics are known, and near the real traces where it should be."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.errors import TraceNotFoundError
from fogfold.world.workload.base import Workload
from fogfold.world.workload.bitbrains import bitbrains_month, read_bitbrains
from fogfold.world.workload.generate import generate
from fogfold.world.workload.planetlab import planetlab_day, read_planetlab
from fogfold.world.workload.statistics import autocorrelation, load_report, markdown_table


def of(level: np.ndarray) -> Workload:
    ticks = (len(level) - 1) * 10
    return Workload(level=level.astype(np.float32), sample_s=300.0, start_s=0.0, surge=np.ones((ticks, 1), np.float32))


def test_autocorrelation_of_an_alternating_series_changes_sign() -> None:
    """+1, -1, ... n = 8: lag 1 has 7 products of -1 over 8 variances; the mean of each is taken, so exactly -1."""
    level = np.array([[1.0], [-1.0]] * 4)
    assert autocorrelation(level, 1)[0] == pytest.approx(-1.0)
    assert autocorrelation(level, 2)[0] == pytest.approx(1.0)


def test_autocorrelation_of_a_flat_or_short_series_is_unknown() -> None:
    assert np.isnan(autocorrelation(np.ones((10, 2)), 1)).all()
    assert np.isnan(autocorrelation(np.arange(10.0)[:, None], 6)).all()


def test_two_flat_containers_have_spread_but_no_variation() -> None:
    report = load_report(of(np.tile([0.1, 0.4], (10, 1))))
    assert report.mean == pytest.approx(0.25)
    assert report.scale_spread == pytest.approx(np.log(4.0) / 2)
    assert report.variation == pytest.approx(0.0, abs=1e-6)
    assert report.burstiness == pytest.approx(1.0)
    assert report.after_day is None
    assert report.total_peak == pytest.approx(1.0)


def test_one_spike_is_seen() -> None:
    """A level of 1 in 100 samples and none else: mean 0.01, all its demand above five times the mean."""
    level = np.zeros((100, 1))
    level[40] = 1.0
    report = load_report(of(level))
    assert report.spike_share == pytest.approx(1.0)
    # sqrt(0.01 - 0.0001) / 0.01
    assert report.variation == pytest.approx(9.95, abs=0.01)


def test_idle_workload_has_a_report() -> None:
    report = load_report(of(np.zeros((10, 2))))
    assert report.mean == 0.0
    assert report.scale_spread is None


def test_daily_rhythm_shows_after_a_day() -> None:
    hour = np.arange(3 * 288 + 1)[:, None] / 12
    report = load_report(of(1.0 + np.cos(2 * np.pi * hour / 24)))
    assert report.after_day == pytest.approx(1.0, abs=0.01)
    assert report.total_after_day == pytest.approx(1.0, abs=0.01)


def test_table_has_a_dash_where_nothing_is_known() -> None:
    table = markdown_table({"flat": load_report(of(np.ones((4, 1))))})
    assert table.startswith("| statistic | flat |\n|---|---:|\n| mean | 1.000 |")
    assert "| after_day | - |" in table


def generated(names: list[str], days: int) -> Workload:
    return generate(
        profiles=[names[i % len(names)] for i in range(300)],
        main_region=np.arange(300) // len(names) % 10,
        region_longitude_deg=np.linspace(-10.0, 30.0, 10),
        start_s=0.0,
        ticks=2880 * days,
        seed=0,
    )


@pytest.mark.traces
def test_generated_day_is_like_planetlab_where_it_claims_to_be() -> None:
    try:
        day = planetlab_day("20110309")
    except TraceNotFoundError as absent:
        pytest.skip(str(absent))
    real = load_report(read_planetlab(day).workload)
    made = load_report(generated(["residential"], 1))
    assert made.mean == pytest.approx(real.mean, rel=0.1)
    assert made.p95 == pytest.approx(real.p95, rel=0.2)
    assert made.scale_spread == pytest.approx(real.scale_spread, rel=0.2)
    assert made.variation == pytest.approx(real.variation, rel=0.3)
    assert made.burstiness == pytest.approx(real.burstiness, rel=0.2)


@pytest.mark.traces
def test_steady_profile_has_the_memory_of_bitbrains() -> None:
    try:
        month = bitbrains_month()
    except TraceNotFoundError as absent:
        pytest.skip(str(absent))
    real = load_report(read_bitbrains(month, offset_s=5 * 86400.0, duration_s=7 * 86400.0).workload)
    made = load_report(generated(["steady"], 7))
    assert made.variation == pytest.approx(real.variation, rel=0.2)
    assert made.after_sample == pytest.approx(real.after_sample, abs=0.12)
    assert made.after_hour == pytest.approx(real.after_hour, abs=0.05)
