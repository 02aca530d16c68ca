"""A day small enough to be worked by hand, and what holds on every day."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fogfold.errors import ModelError, PlacementError
from fogfold.evaluate.planetlab import Corrections, DayTrace, lower_bound_kwh, play_day, rule_named

# One VM of the first kind (2500 MIPS, 870 MB) that wants 40 %: 1000 MIPS. It starts on host 1, a G5, as its MIPS
# exceed a core of a G4. Events at 300.1 and 600.1 s; a move takes 13.92 s.
STILL = (40, 40, 40)
G5_W = 97 + 4 * (1000 / 5320 * 10 - 1)
G4_W = 92.6 + 3.4 * (1000 / 3720 * 10 - 2)
G4_RECEIVING_W = 86 + 3.4 * (100 / 3720 * 10)


def test_a_day_without_moves_costs_the_power_of_its_load(day):
    figures = play_day(day(STILL), rule_named("dvfs"), Corrections(), hosts=2)
    # The first 300.1 s are free; host 0 is never used, which counts as one shutdown, at the first event.
    assert figures.energy_kwh == pytest.approx(G5_W * 300 / 3.6e6, rel=1e-12)
    assert (figures.migrations, figures.slatah, figures.pdm, figures.overall_sla) == (0, 0.0, 0.0, 0.0)
    assert (figures.host_shutdowns, figures.removed_vms, figures.host_wakes) == (1, 0, 0)
    assert figures.seconds_before_shutdown == pytest.approx(300.1)


def test_without_power_management_all_hosts_burn_all_the_time(day):
    figures = play_day(day(STILL), rule_named("npa"), Corrections(), hosts=2)
    assert figures.energy_kwh == pytest.approx((117 + 135) * 600.1 / 3.6e6, rel=1e-12)


def test_one_move_by_hand(day, script):
    figures = play_day(day(STILL), script({1: [(0, 0)]}), Corrections(), hosts=2)
    moving_s, after_s = 13.92, 300 - 13.92
    assert figures.migrations == 1
    # Both hosts are active during the move; the receiving one counts as short, the leaving one does not.
    assert figures.slatah == pytest.approx(moving_s / (2 * moving_s + after_s))
    assert figures.pdm == pytest.approx(100 * moving_s / (1000 * 300))
    assert figures.overall_sla == pytest.approx(figures.pdm)
    assert figures.average_sla == pytest.approx(0.1)
    assert figures.slav == figures.slatah * figures.pdm
    joules = (G5_W + G4_RECEIVING_W) * moving_s + G4_W * after_s
    assert figures.energy_kwh == pytest.approx(joules / 3.6e6, rel=1e-12)
    # Host 1 goes off at 314.02 s, and host 0 has been "on" since the start.
    assert figures.host_shutdowns == 1
    assert figures.seconds_before_shutdown == pytest.approx(300.1 + moving_s)


def test_waking_a_host_takes_time_and_energy(day, script):
    figures = play_day(day(STILL), script({1: [(0, 0)]}), Corrections(waking=True), hosts=2)
    # 260 s at 117 W; the move runs from 560.1 to 574.02 s.
    assert figures.host_wakes == 1
    assert figures.wake_kwh == pytest.approx(260 * 117 / 3.6e6)
    joules = G5_W * 260 + (G5_W + G4_RECEIVING_W) * 13.92 + G4_W * (40 - 13.92) + 260 * 117
    assert figures.energy_kwh == pytest.approx(joules / 3.6e6, rel=1e-12)
    assert figures.slatah == pytest.approx(13.92 / (300 + 13.92))


def test_a_vm_sent_to_two_hosts_ends_on_the_later(day, script):
    policy = script({1: [(0, 0), (0, 2)]})
    figures = play_day(day(STILL), policy, Corrections(), hosts=3)
    assert figures.migrations == 2
    assert policy.seen[-1].vm_host.tolist() == [2]


def test_a_vm_that_is_capped_by_a_core_counts_as_short(day, script):
    # 2500 MIPS wanted, 1860 given on a G4: from 314.02 s on.
    figures = play_day(day((80, 100, 100, 100)), script({1: [(0, 0)]}), Corrections(), hosts=2)
    lost = 250 * 13.92 + 640 * (600 - 13.92)
    assert figures.overall_sla == pytest.approx(lost / (2500 * 600))


def test_a_vm_without_demand_is_removed_unless_kept(day, script):
    rows = (40, 40, 0, 0, 40, 40)
    removed, kept = script({}), script({})
    assert play_day(day(rows), removed, Corrections(), hosts=2).removed_vms == 1
    assert play_day(day(rows), kept, Corrections(keep=True), hosts=2).removed_vms == 0
    assert [seen.vm_host.tolist() for seen in removed.seen] == [[1], [-1], [-1], [-1], [-1]]
    # A single zero is not enough: at the event demand is already on its way up again.
    assert play_day(day((40, 40, 0, 40, 40)), script({}), Corrections(), hosts=2).removed_vms == 0


def test_demand_is_read_a_tenth_of_a_second_after_the_sample(day, script):
    policy = script({})
    play_day(day((0, 10, 70, 70)), policy, Corrections(), hosts=2)
    assert policy.seen[0].vm_demand_mips == pytest.approx([(0.1 + 0.6 * 0.1 / 300) * 2500])


def test_start_up_checks_memory_and_mips(day):
    # Two VMs of kinds 2500 and 2000 MIPS fit one G5; a third of 2500 MIPS does not.
    with pytest.raises(PlacementError, match=r"VM 2 \(vm2\)"):
        play_day(day(*[STILL] * 9), rule_named("thr"), Corrections(), hosts=2)


def test_no_host_is_refused(day):
    with pytest.raises(ModelError, match="0 hosts"):
        play_day(day(STILL), rule_named("thr"), Corrections(), hosts=0)


def test_off_hosts_look_free_to_wake_until_corrected(busy_day):
    stock, corrected = (play_day(busy_day, rule_named("lr"), Corrections(wake=on), hosts=30) for on in (False, True))
    assert corrected.host_wakes < stock.host_wakes
    assert corrected.energy_kwh < stock.energy_kwh


@pytest.mark.parametrize("policy", ["dvfs", "thr", "iqr", "mad", "lr"])
def test_same_day_same_figures(busy_day, policy):
    first, second = (play_day(busy_day, rule_named(policy), Corrections(), hosts=30) for _ in range(2))
    assert first == second


def test_robust_regression_is_the_plain_one(busy_day):
    plain, robust = (play_day(busy_day, rule_named(name), Corrections(), hosts=30) for name in ("lr", "lrr"))
    assert plain == robust


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10_000),
    st.sampled_from(["dvfs", "thr", "iqr", "mad", "lr"]),
    st.lists(st.sampled_from(Corrections.names()), unique=True),
)
def test_shares_are_shares_and_demand_is_paid_for(seed, policy, corrections):
    rng = np.random.default_rng(seed)
    percent = rng.integers(0, 100, (12, 8)).astype(np.uint8)
    trace = DayTrace("19700103", tuple(f"vm{i:02}" for i in range(12)), percent)
    figures = play_day(trace, rule_named(policy), Corrections.of(corrections), hosts=14)
    for share in (figures.slatah, figures.pdm, figures.overall_sla, figures.average_sla):
        assert 0.0 <= share <= 1.0
    assert figures.energy_kwh > 0.0
    assert (figures.wake_kwh > 0.0) == ("waking" in corrections and figures.host_wakes > 0)


def test_the_lower_bound_by_hand(day):
    # 1000 MIPS for 300 s at 135 W / 5320 MIPS.
    assert lower_bound_kwh(day(STILL)) == pytest.approx(1000 * 300 * 135 / 5320 / 3.6e6)


def test_the_lower_bound_forgets_removed_vms_unless_kept(day):
    trace = day((50, 0, 0, 50, 50))
    assert lower_bound_kwh(trace) == 0.0
    assert lower_bound_kwh(trace, Corrections(keep=True)) > 0.0
