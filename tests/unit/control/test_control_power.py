"""One node's way to sleep and back: nothing is cut that is not empty, off is only what was read back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.control.boot_times import KEPT, lead_s, with_boot
from fogfold.control.node_power import COUNTS_AS_OFF, POWER_TRANSITIONS, PowerState
from fogfold.control.ports import PowerReading, PowerSight
from fogfold.control.power import NodeSight, PowerAct, PowerRecord, PowerSettings, Wanted, advance
from fogfold.errors import ModelError
from fogfold.model.identity import NodeId

ON, OFF, UNKNOWN = (PowerSight(reading) for reading in PowerReading)
READY = NodeSight(True, is_empty=True, volumes=0, system_is_ready=True, power=ON)
GONE = NodeSight(False, power=OFF)
DARK = NodeSight(False, power=UNKNOWN)


def _step(state, sight, wanted=Wanted.STAY, now_s=0.0, **more):
    options = {name: more.pop(name) for name in ("site_is_busy", "must_stay") if name in more}
    record = PowerRecord(NodeId("n0"), state, **more)
    return advance(record, sight, wanted, now_s, described_boot_s=60.0, **options)


class _Life:
    """A node whose looks are played one after the other."""

    def __init__(self, state=PowerState.ON):
        self.record = PowerRecord(NodeId("n0"), state)
        self.now_s = 0.0
        self.acts: list[PowerAct] = []
        self.alerts: list[str] = []

    def look(self, sight, wanted=Wanted.STAY, *, after_s=30.0):
        self.now_s += after_s
        step = advance(self.record, sight, wanted, self.now_s, described_boot_s=60.0)
        self.record = step.record
        self.acts += step.acts
        if step.alert:
            self.alerts.append(step.alert)
        return self.record.state


def test_node_goes_to_sleep_and_comes_back_through_every_state():
    life, seen = _Life(), []
    sights = [READY] * 5 + [GONE] * 2
    seen += [life.look(sight, Wanted.SLEEP) for sight in sights]
    assert [state.name for state in seen] == [
        "CANDIDATE", "DRAINING", "DRAINED", "OFF_REQUESTED", "OFF_REQUESTED", "OFF_CONFIRMED", "OFF",
    ]  # fmt: skip
    woken = [life.look(sight, Wanted.WAKE) for sight in (GONE, NodeSight(False, power=ON), READY, READY)]
    assert [state.name for state in woken] == ["WAKE_REQUESTED", "BOOTING", "READY", "SETTLING"]
    assert life.look(READY, after_s=30.0) is PowerState.SETTLING
    assert life.look(READY, after_s=30.0) is PowerState.ON
    assert life.acts == [
        PowerAct.CORDON,
        PowerAct.ORDER_OFF,
        PowerAct.MARK_OUT_OF_SERVICE,
        PowerAct.ORDER_ON,
        PowerAct.UNCORDON,
    ]
    assert life.record.boots_s == (60.0,)
    assert life.record.woken_s == life.now_s
    assert life.alerts == []


@pytest.mark.parametrize(
    "sight",
    [
        NodeSight(True, is_empty=False, volumes=0),
        NodeSight(True, is_empty=True, volumes=1),
        NodeSight(True, is_empty=True, volumes=None),
        NodeSight(True, is_empty=None, volumes=0),
    ],
)
def test_power_is_not_cut_before_the_node_is_seen_empty(sight):
    step = _step(PowerState.DRAINED, sight, Wanted.SLEEP, now_s=999.0)
    assert step.record.state is PowerState.DRAINING
    assert step.acts == ()
    assert _step(PowerState.DRAINING, sight, Wanted.SLEEP).record.state is PowerState.DRAINING


def test_empty_node_rests_one_look_before_its_power_goes():
    assert _step(PowerState.DRAINED, READY, Wanted.SLEEP, now_s=29.0).record.state is PowerState.DRAINED
    assert _step(PowerState.DRAINED, READY, Wanted.SLEEP, now_s=30.0).acts == (PowerAct.ORDER_OFF,)


@pytest.mark.parametrize("state", [PowerState.CANDIDATE, PowerState.DRAINING, PowerState.DRAINED])
def test_sleep_is_called_off_until_the_order_is_given(state):
    for step in (
        _step(state, READY),
        _step(state, READY, Wanted.WAKE),
        _step(state, READY, Wanted.SLEEP, must_stay=True),
    ):
        assert step.record.state is PowerState.ON
        assert PowerAct.ORDER_OFF not in step.acts
    if state is not PowerState.CANDIDATE:
        assert step.acts == (PowerAct.UNCORDON,)


def test_one_node_of_a_site_is_switched_at_a_time():
    assert _step(PowerState.DRAINED, READY, Wanted.SLEEP, 99.0, site_is_busy=True).record.state is PowerState.DRAINED
    assert _step(PowerState.OFF, GONE, Wanted.WAKE, 99.0, site_is_busy=True).record.state is PowerState.OFF


def test_off_that_nobody_reads_counts_as_on_and_alerts():
    step = _step(PowerState.OFF_REQUESTED, DARK, Wanted.SLEEP, now_s=300.0, tries=1)
    assert step.record.state is PowerState.OFF_UNCONFIRMED
    assert step.record.state not in COUNTS_AS_OFF
    assert "counts as on" in step.alert
    assert _step(PowerState.OFF_REQUESTED, DARK, Wanted.SLEEP, now_s=299.0).record.state is PowerState.OFF_REQUESTED


def test_node_that_still_answers_is_not_off_whatever_its_meter_says():
    lying = NodeSight(True, power=OFF)
    assert _step(PowerState.OFF_REQUESTED, lying, Wanted.SLEEP, now_s=10.0).record.state is PowerState.OFF_REQUESTED


def test_off_that_is_only_presumed_frees_no_volume():
    presumed = NodeSight(False, power=PowerSight(PowerReading.OFF, presumed=True))
    step = _step(PowerState.OFF_REQUESTED, presumed, Wanted.SLEEP)
    assert step.record.state is PowerState.OFF_CONFIRMED
    assert step.record.is_presumed
    assert step.acts == ()


def test_order_to_go_off_is_given_twice_at_most():
    life = _Life(PowerState.OFF_REQUESTED)
    life.record = PowerRecord(NodeId("n0"), PowerState.OFF_REQUESTED, tries=1)
    for _ in range(30):
        life.look(DARK, Wanted.SLEEP, after_s=300.0)
    assert life.acts == [PowerAct.ORDER_OFF]
    assert life.record.state is PowerState.OFF_UNCONFIRMED
    assert life.look(GONE, Wanted.SLEEP) is PowerState.OFF_CONFIRMED


def test_node_that_does_not_come_up_is_ordered_again_then_another_is_woken():
    life = _Life(PowerState.OFF)
    for _ in range(60):
        life.look(NodeSight(False, power=ON), Wanted.WAKE, after_s=30.0)
        if life.record.state is PowerState.WAKE_FAILED:
            break
    assert life.acts == [PowerAct.ORDER_ON, PowerAct.ORDER_ON, PowerAct.WAKE_ANOTHER]
    assert life.alerts == ["n0 did not come up after 2 orders"]
    assert life.record.boots_s == ()
    # It is not tried again for an hour, then once more.
    assert life.look(GONE, Wanted.WAKE, after_s=3599.0) is PowerState.WAKE_FAILED
    assert life.look(GONE, Wanted.WAKE, after_s=1.0) is PowerState.WAKE_REQUESTED


def test_order_to_wake_that_has_no_effect_is_given_again_after_a_minute():
    life = _Life(PowerState.OFF)
    life.look(GONE, Wanted.WAKE)
    assert life.look(GONE, Wanted.WAKE, after_s=59.0) is PowerState.WAKE_REQUESTED
    assert life.acts == [PowerAct.ORDER_ON]
    life.look(GONE, Wanted.WAKE, after_s=1.0)
    assert life.acts == [PowerAct.ORDER_ON, PowerAct.ORDER_ON]
    assert life.look(GONE, Wanted.WAKE, after_s=60.0) is PowerState.WAKE_FAILED


def test_wake_without_read_back_is_given_the_time_of_a_boot():
    life = _Life(PowerState.OFF)
    life.look(DARK, Wanted.WAKE)
    assert life.look(DARK, Wanted.WAKE, after_s=599.0) is PowerState.WAKE_REQUESTED
    assert life.acts == [PowerAct.ORDER_ON]


def test_boot_after_a_second_order_is_timed_from_that_order():
    life = _Life(PowerState.OFF)
    life.look(GONE, Wanted.WAKE)
    life.look(GONE, Wanted.WAKE, after_s=60.0)
    life.look(READY, Wanted.WAKE, after_s=45.0)
    assert life.record.boots_s == (45.0,)


@pytest.mark.parametrize("state", [PowerState.OFF, PowerState.OFF_UNCONFIRMED, PowerState.WAKE_FAILED, PowerState.LOST])
def test_node_that_comes_up_unasked_is_looked_at_before_it_receives(state):
    step = _step(state, READY)
    assert step.record.state is PowerState.READY
    assert "nobody here had asked" in step.alert


def test_node_does_not_receive_before_its_system_is_ready():
    unready = NodeSight(True, system_is_ready=False, power=ON)
    assert _step(PowerState.READY, unready, now_s=9e9).record.state is PowerState.READY
    assert _step(PowerState.READY, NodeSight(True, system_is_ready=None), now_s=9e9).record.state is PowerState.READY
    assert _step(PowerState.SETTLING, unready, now_s=9e9).record.state is PowerState.READY


def test_silence_makes_a_node_lost_only_after_a_while():
    life = _Life()
    assert [life.look(DARK) for _ in range(4)] == [PowerState.ON] * 3 + [PowerState.LOST]
    life = _Life()
    assert [life.look(sight) for sight in (DARK, DARK, READY, DARK, DARK)] == [PowerState.ON] * 5


def test_lost_node_is_ordered_on_only_where_its_power_is_read_as_off():
    assert _step(PowerState.LOST, DARK, Wanted.WAKE).acts == ()
    assert _step(PowerState.LOST, NodeSight(False, power=ON), Wanted.WAKE).acts == ()
    assert _step(PowerState.LOST, GONE, Wanted.WAKE).acts == (PowerAct.ORDER_ON,)


def test_clock_that_is_set_back_lengthens_no_wait_below_zero():
    step = _step(PowerState.OFF_REQUESTED, DARK, Wanted.SLEEP, now_s=-1e6, since_s=0.0)
    assert step.record.state is PowerState.OFF_REQUESTED


SIGHTS = st.builds(
    NodeSight,
    st.booleans(),
    st.sampled_from([True, False, None]),
    st.sampled_from([0, 1, None]),
    st.sampled_from([True, False, None]),
    st.sampled_from([ON, OFF, UNKNOWN, None, PowerSight(PowerReading.OFF, presumed=True)]),
)


@given(
    looks=st.lists(
        st.tuples(SIGHTS, st.sampled_from(Wanted), st.sampled_from([-50.0, 1.0, 30.0, 400.0, 4000.0]), st.booleans()),
        max_size=40,
    )
)
@settings(max_examples=300, deadline=None)
def test_no_looks_whatever_break_the_table_or_cut_what_is_not_empty(looks):
    record, now_s = PowerRecord(NodeId("n0")), 0.0
    for sight, wanted, passed_s, busy in looks:
        now_s += passed_s
        step = advance(record, sight, wanted, now_s, described_boot_s=60.0, site_is_busy=busy)
        after = step.record.state
        assert after == record.state or after in POWER_TRANSITIONS[record.state]
        if PowerAct.ORDER_OFF in step.acts:
            assert after is PowerState.OFF_REQUESTED
            assert not busy
            if record.state is PowerState.DRAINED:
                assert sight.is_empty is True
                assert sight.volumes == 0
        if after in COUNTS_AS_OFF and record.state not in COUNTS_AS_OFF:
            assert sight.power is not None
            assert sight.power.reading is PowerReading.OFF
            assert not sight.answers
        if PowerAct.MARK_OUT_OF_SERVICE in step.acts:
            assert not sight.power.presumed
        if after is PowerState.ON and record.state is PowerState.SETTLING:
            assert sight.answers
            assert sight.system_is_ready
        assert all(took_s > 0.0 for took_s in step.record.boots_s)
        record = step.record


# Boot times.


def test_lead_is_the_95th_percentile_of_boots():
    # Nearest rank: of 20 the 19th, of 5 the 5th.
    assert lead_s([float(k) for k in range(1, 21)], described_s=1.0) == 19.0
    assert lead_s([50.0, 40.0, 90.0, 60.0, 70.0], described_s=1.0) == 90.0


def test_few_boots_are_trusted_only_where_they_are_longer_than_described():
    assert lead_s([], described_s=60.0) == 90.0
    assert lead_s([30.0, 31.0], described_s=60.0) == 90.0
    assert lead_s([200.0], described_s=60.0) == 200.0


def test_boots_are_remembered_up_to_a_bound():
    boots: tuple[float, ...] = ()
    for k in range(KEPT + 5):
        boots = with_boot(boots, float(k + 1))
    assert len(boots) == KEPT
    assert boots[-1] == KEPT + 5
    with pytest.raises(ModelError, match="boot time"):
        with_boot((), 0.0)


def test_settings_without_a_try_are_refused():
    with pytest.raises(ModelError, match="wake_tries is 0"):
        PowerSettings(wake_tries=0)
