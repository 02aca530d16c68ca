"""Sites lie as measured: generated ones to the statistics of the real ones."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.errors import TraceError, TraceNotFoundError
from fogfold.model.geography import great_circle_km
from fogfold.seeding import stream
from fogfold.world.scenario.layout import ASPECT, SITES_PER_KM2, area_km, draw_offsets_km, site_positions
from fogfold.world.scenario.schema.sites import SiteGroup
from fogfold.world.workload.folder import traces_folder


def group(**layout: object) -> SiteGroup:
    figures = {"uplink_mbit_s": 1000.0, "access_ms": 3.0, "jitter_ms": 0.5, "loss": 0.0}
    return SiteGroup.model_validate({"name": "g", "layout": layout, **figures})


def generated(count: int, extent_km: float | None = 10.0, latitude_deg: float = 50.0, longitude_deg: float = 7.0):
    centre = {"latitude_deg": latitude_deg, "longitude_deg": longitude_deg}
    return group(kind="generated", count=count, centre=centre, extent_km=extent_km)


def nearest_km(points: np.ndarray) -> np.ndarray:
    gap = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    np.fill_diagonal(gap, np.inf)
    return gap.min(axis=1)


def statistics(points: np.ndarray, area: float) -> np.ndarray:
    """Clark-Evans ratio, deviation over mean, tenth and ninetieth percentile over the median."""
    near = nearest_km(points)
    low, middle, high = np.percentile(near, [10, 50, 90])
    return np.array(
        [near.mean() / (0.5 / math.sqrt(len(points) / area)), near.std() / near.mean(), low / middle, high / middle]
    )


MEASURED = np.array([0.870, 0.727, 0.332, 2.431])


@pytest.mark.parametrize(("count", "extent_km"), [(125, None), (125, 40.0), (60, 20.0)])
def test_generated_sites_have_the_measured_statistics(count: int, extent_km: float | None):
    long_km, short_km = area_km(count, extent_km)
    drawn = [
        statistics(draw_offsets_km(stream(seed, "layout"), count, long_km, short_km), long_km * short_km)
        for seed in range(40)
    ]
    mean = np.mean(drawn, axis=0)
    assert np.abs(mean / MEASURED - 1).max() < 0.1


def test_sites_without_an_extent_have_the_measured_density():
    long_km, short_km = area_km(125, None)
    assert long_km == pytest.approx(1.8537, abs=1e-4)
    assert short_km == pytest.approx(0.9536, abs=1e-4)
    assert 125 / (long_km * short_km) == pytest.approx(SITES_PER_KM2)
    assert area_km(1, 10.0) == pytest.approx((10.0, 10.0 * ASPECT))


@given(st.integers(1, 40), st.floats(0.1, 500), st.floats(-88, 88), st.floats(-180, 180), st.integers(0, 2**31))
def test_sites_lie_within_the_area_and_on_the_globe(
    count: int, extent_km: float, latitude_deg: float, longitude_deg: float, seed: int
):
    group_ = generated(count, extent_km, latitude_deg, longitude_deg)
    farthest = 0.5 * math.hypot(extent_km, ASPECT * extent_km)
    for _, latitude, longitude in site_positions(group_, stream(seed, "x")):
        assert -90 <= latitude <= 90
        assert -180 <= longitude <= 180
        assert great_circle_km(latitude_deg, longitude_deg, latitude, longitude) <= farthest * (1 + 1e-6) + 1e-6


def test_same_stream_gives_the_same_sites():
    assert site_positions(generated(20), stream(7, "a")) == site_positions(generated(20), stream(7, "a"))
    assert site_positions(generated(20), stream(7, "a")) != site_positions(generated(20), stream(8, "a"))


def test_long_side_points_north_of_east():
    points = np.array([p[1:] for p in site_positions(generated(400, 10.0, 0.0, 0.0), stream(1, "t"))])
    values, vectors = np.linalg.eigh(np.cov(points[:, ::-1].T))
    axis = vectors[:, -1] * np.sign(vectors[0, -1])
    assert math.degrees(math.atan2(axis[1], axis[0])) == pytest.approx(18.34, abs=3)
    assert math.sqrt(values[0] / values[1]) == pytest.approx(ASPECT, rel=0.1)


def test_listed_sites_are_taken_as_they_are():
    places = [{"id": "a", "latitude_deg": 1.0, "longitude_deg": 2.0}]
    assert site_positions(group(kind="listed", places=places), stream(1, "x")) == [("a", 1.0, 2.0)]


@pytest.fixture
def traces() -> Path:
    try:
        return traces_folder()
    except TraceNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.traces
def test_measured_figures_are_those_of_the_file(traces: Path):
    if not (traces / "eua").is_dir():
        pytest.skip("the EUA sites are not in the traces folder")
    points = np.array([p[1:] for p in site_positions(group(kind="eua"), stream(1, "x"))])
    middle = points.mean(axis=0)
    flat = np.radians(points - middle)[:, ::-1] * 6371.0088 * np.array([math.cos(math.radians(middle[0])), 1.0])
    _, vectors = np.linalg.eigh(np.cov(flat.T))
    turned = flat @ vectors[:, ::-1]
    extent = np.ptp(turned, axis=0)
    assert len(points) == 125
    assert extent == pytest.approx([1.854, 0.954], abs=1e-3)
    assert extent[1] / extent[0] == pytest.approx(ASPECT, abs=1e-3)
    assert 125 / extent.prod() == pytest.approx(SITES_PER_KM2, rel=1e-3)
    assert statistics(turned, extent.prod()) == pytest.approx(MEASURED, abs=2e-3)
    assert nearest_km(turned).mean() == pytest.approx(0.0517, abs=1e-4)
    long_axis = vectors[:, -1] * np.sign(vectors[0, -1])
    assert math.degrees(math.atan2(long_axis[1], long_axis[0])) == pytest.approx(18.34, abs=0.05)


@pytest.mark.traces
@pytest.mark.parametrize(
    ("layout", "count"),
    [
        ({"kind": "eua", "count": 30}, 30),
        ({"kind": "melbourne-cbd"}, 118),
        ({"kind": "melbourne-cbd", "level": "proxies"}, 12),
        ({"kind": "melbourne-cbd", "level": "datacentre"}, 1),
    ],
)
def test_real_sites_lie_in_the_melbourne_cbd(traces: Path, layout: dict[str, object], count: int):
    if not (traces / "ifogsim_melbcbd").is_dir() or not (traces / "eua").is_dir():
        pytest.skip("the real layouts are not in the traces folder")
    points = site_positions(group(**layout), stream(1, "x"))
    assert len(points) == len(set(points)) == count
    assert all(great_circle_km(-37.8146, 144.9632, lat, lon) < 2.0 for _, lat, lon in points)


@pytest.mark.traces
def test_more_proxies_than_there_are_is_refused(traces: Path):
    if not (traces / "ifogsim_melbcbd").is_dir():
        pytest.skip("the real layouts are not in the traces folder")
    with pytest.raises(TraceError, match="asks for 13 of 12 real positions"):
        site_positions(group(kind="melbourne-cbd", level="proxies", count=13), stream(1, "x"))


HEAD = "SITE_ID,LATITUDE,LONGITUDE\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("SITE_ID,LATITUDE\n1,2\n", "has no column 'LONGITUDE'"),
        (HEAD + "1,-37.8,144.9\n2,x,144.9\n", "line 3: 'x', '144.9' is no position in degrees"),
        (HEAD + "1,-37.8\n", "line 2: '-37.8', None is no position"),
        (HEAD + "1,137.8,14\n", r"line 2: \(137.8, 14.0\) is no position"),
        (HEAD, "holds no position"),
    ],
)
def test_file_of_another_form_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str):
    (tmp_path / "eua").mkdir()
    (tmp_path / "eua" / "site-optus-melbCBD.csv").write_text(text, encoding="utf-8")
    monkeypatch.setenv("FOGFOLD_TRACES", str(tmp_path))
    with pytest.raises(TraceError, match=sentence):
        site_positions(group(kind="eua"), stream(1, "x"))


def test_real_layout_without_its_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FOGFOLD_TRACES", str(tmp_path))
    with pytest.raises(TraceNotFoundError):
        site_positions(group(kind="eua"), stream(1, "x"))
