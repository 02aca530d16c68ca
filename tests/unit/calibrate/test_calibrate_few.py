"""Too little, or nothing that tells: the value stays, and the report says why."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.calibrate.calibration import calibrate
from fogfold.calibrate.estimate import CalibrationSettings, Estimate, Parameter, Verdict
from fogfold.calibrate.files import observations_of
from fogfold.calibrate.records import Kind
from fogfold.cost.migration import precopy
from fogfold.errors import ModelError
from fogfold.units import MIB
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario


@pytest.fixture(scope="module")
def built():
    return build(load_scenario("tiny-4"), 1)


def of(found, parameter, name=""):
    return next(one for one in found.estimates if (one.parameter, one.of) == (parameter, name))


def kind_of(built, index=0):
    return built.cluster.nodes[index].power_curve.name


def boots(node, took, start=0.0):
    return [{"node": node, "ordered_s": start + 1000.0 * i, "up_s": start + 1000.0 * i + s} for i, s in enumerate(took)]


def test_four_boots_are_too_few(built):
    node = str(built.cluster.nodes[0].id)
    found = calibrate(built, observations_of({Kind.BOOTS: boots(node, [80.0] * 4)}))
    one = of(found, Parameter.BOOT, kind_of(built))
    assert (one.verdict, one.fitted) == (Verdict.TOO_FEW, None)
    assert one.why == "3 boots; 5 are needed"
    assert one.now.tolist() == [built.cluster.nodes[0].wake_s]
    assert found.changes == ()


def test_median_of_boots_by_hand(built):
    # Eight of ten are fitted to: 70, 71, ..., 76 and one of 500; the median is 73.5, the 95th percentile the 500.
    node = str(built.cluster.nodes[0].id)
    took = [70.0, 71.0, 72.0, 73.0, 74.0, 75.0, 76.0, 500.0, 74.0, 73.0]
    found = calibrate(built, observations_of({Kind.BOOTS: boots(node, took)}))
    one = of(found, Parameter.BOOT, kind_of(built))
    assert one.now.tolist() == [73.5]
    assert one.verdict is Verdict.ADOPTED
    assert one.error_after == pytest.approx(0.5)
    assert one.why.startswith("p50 73.5 s, p95 500 s")


def test_what_predicts_no_better_is_not_adopted(built):
    # It took 90 s for weeks and takes the described time again of late: the old value predicts the end better.
    node = built.cluster.nodes[0]
    took = [90.0] * 16 + [node.wake_s] * 4
    found = calibrate(built, observations_of({Kind.BOOTS: boots(str(node.id), took)}))
    one = of(found, Parameter.BOOT, kind_of(built))
    assert one.verdict is Verdict.NO_BETTER
    assert one.now.tolist() == [node.wake_s]
    assert (one.error_before, one.error_after) == (0.0, 90.0 - node.wake_s)
    assert found.changes == ()


def test_few_readings_leave_the_curve(built):
    rows = [{"time_s": 60.0 * i, "node": "edge-00", "power_w": 9.0, "cpu_cores": 0.5} for i in range(49)]
    found = calibrate(built, observations_of({Kind.READINGS: rows}))
    assert {one.verdict for one in found.estimates} == {Verdict.TOO_FEW}
    assert found.predictions[0].before == found.predictions[0].after


def test_idle_below_sleep_cannot_be(built):
    rows = [{"time_s": 60.0 * i, "node": "edge-00", "power_w": 0.01, "cpu_cores": 0.0} for i in range(200)]
    found = calibrate(built, observations_of({Kind.READINGS: rows}))
    one = of(found, Parameter.CURVE, kind_of(built))
    assert one.verdict is Verdict.IMPOSSIBLE
    assert "W asleep" in one.why


def a_move(built, i, *, rate, **more):
    """One live move at a time within a site, at that rate, by the closed form."""
    container = next(c for c in built.cluster.containers if c.id == "web-00")
    site: dict[str, list[str]] = {}
    for node in built.cluster.nodes:
        site.setdefault(node.site, []).append(str(node.id))
    source, target = next(names for names in site.values() if len(names) > 1)[:2]
    memory = (600 + 10 * (i % 7)) * MIB
    duration, downtime, sent = (
        float(part[0])
        for part in precopy(
            np.array([memory]),
            np.array([rate]),
            np.array([more.pop("dirty", container.dirty_rate_bit_s / 8)]),
            stop_bytes=16 * MIB,
            traffic_limit=3.0,
            restore_s=0.3,
        )
    )
    measured = {"sent_bytes": sent, "downtime_s": downtime}
    return {
        "container": "web-00",
        "source": source,
        "target": target,
        "outcome": "arrived",
        "memory_bytes": memory,
        "start_s": 1000.0 * i,
        "end_s": 1000.0 * i + duration,
        **{name: measured[name] for name in more.pop("with_", ())},
    }


def believed_rate(built):
    """Half of the slower of the two nodes' links, in byte/s."""
    row = a_move(built, 0, rate=1e7)
    nodes = {str(node.id): node for node in built.cluster.nodes}
    up, down = nodes[row["source"]].capacity.as_tuple()[2], nodes[row["target"]].network_down_bit_s
    return 0.5 * min(up, down) / 8


def test_times_alone_give_the_rate_and_say_that_it_rests_on_belief(built):
    rate = 0.7 * min(believed_rate(built), 1e9 / 8)
    rows = [a_move(built, i, rate=rate) for i in range(40)]
    found = calibrate(built, observations_of({Kind.MOVES: rows}))
    links = [one for one in found.estimates if one.parameter in {Parameter.LINK_SHARE, Parameter.CAP}]
    fitted = [one for one in links if one.fitted is not None]
    assert fitted
    assert all("rests on the dirty rates" in one.why for one in fitted)
    dirty = of(found, Parameter.DIRTY, "web")
    assert dirty.verdict is Verdict.NOT_IDENTIFIED
    assert dirty.now.tolist() == [1.0]
    assert found.predictions[0].after["mape"] < 0.01 < found.predictions[0].before["mape"]


def test_downtime_tells_the_dirty_rate_too(built):
    web = next(c for c in built.cluster.containers if c.id == "web-00")
    rate = 0.7 * min(believed_rate(built), 1e9 / 8)
    dirty = 1.3 * web.dirty_rate_bit_s / 8
    rows = [a_move(built, i, rate=rate, dirty=dirty, with_=("downtime_s",)) for i in range(40)]
    found = calibrate(built, observations_of({Kind.MOVES: rows}))
    assert of(found, Parameter.DIRTY, "web").now == pytest.approx([1.3], rel=1e-3)
    assert found.predictions[0].after["mape"] < 0.001


def test_nine_attempts_say_nothing_of_failures(built):
    rows = [a_move(built, i, rate=1e7) for i in range(9)]
    one = of(calibrate(built, observations_of({Kind.MOVES: rows})), Parameter.FAILURE)
    assert one.verdict is Verdict.TOO_FEW


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ModelError, match="hold_back"):
        CalibrationSettings(hold_back=0.0)
    with pytest.raises(ModelError, match="least_boots is 1"):
        CalibrationSettings(least_boots=1)


def test_a_value_within_its_interval_is_left_alone():
    one = Estimate(
        Parameter.FAILURE, "", "", np.array([0.1]), np.array([0.12]), np.array([0.09]), np.array([0.15]), records=100
    )
    assert one.judged(50, 20, 0.40, 0.39, "log loss").verdict is Verdict.AGREES
    assert one.judged(5, 20, 0.40, 0.39, "log loss").verdict is Verdict.NOT_CHECKED
