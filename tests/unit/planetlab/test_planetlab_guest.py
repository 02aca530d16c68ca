"""Policies of fogfold in the benchmark: what they are shown is what is there, and who plays under a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fogfold.errors import UnknownNameError
from fogfold.evaluate.planetlab import Corrections, Observation, play_day
from fogfold.evaluate.planetlab.cluster import ClusterMaker
from fogfold.evaluate.planetlab.guest import Guest, player_named
from fogfold.evaluate.planetlab.rules import Rule
from fogfold.model.node import NodeState


class Onlooker:
    """A policy that moves nothing and keeps what it was shown, as a cluster."""

    name = "onlooker"

    def __init__(self) -> None:
        self.maker = ClusterMaker()
        self.shown: list[Any] = []

    def moves(self, seen: Observation) -> Sequence[tuple[int, int]]:
        self.shown.append((seen, *self.maker.view(seen)))
        return []


@pytest.fixture
def shown(busy_day):
    looking = Onlooker()
    play_day(busy_day, looking, Corrections(), hosts=30)
    return looking.shown


def test_nodes_are_hosts_and_containers_the_vms_that_are_left(shown):
    for seen, view, vms in shown:
        assert view.fleet.nodes == 30
        np.testing.assert_array_equal(vms, np.flatnonzero(seen.vm_host >= 0))
        np.testing.assert_array_equal(view.placement, seen.vm_host[vms])
    assert len(shown[-1][2]) < 40  # some wanted nothing and were removed


def test_load_of_a_node_is_what_its_vms_want_over_the_hosts_mips(shown):
    for seen, view, vms in shown:
        wanted = np.bincount(seen.vm_host[vms], seen.vm_demand_mips[vms], 30)
        np.testing.assert_allclose(view.used[0] / view.fleet.capacity[0], wanted / seen.host_mips, atol=1e-6)


def test_a_g4_is_two_cores_of_1860_mips_and_draws_86_to_117_w(shown):
    _, view, _ = shown[0]
    assert view.fleet.capacity[0, 0] == pytest.approx(3.72)
    assert (view.fleet.power_curve[0, 0], view.fleet.power_curve[0, -1]) == (86.0, 117.0)


def test_hosts_without_vms_sleep_and_the_others_are_on(shown):
    for seen, view, _ in shown:
        used = np.array([len(vms) > 0 for vms in seen.on_host])
        np.testing.assert_array_equal(view.state == NodeState.ON, used)
        np.testing.assert_array_equal(view.state == NodeState.ASLEEP, ~used)


def test_history_is_what_the_vms_wanted_before_newest_last(shown):
    seen, view, vms = shown[4]
    assert view.cpu_history.shape == (4, len(vms))
    for age in range(1, 5):
        np.testing.assert_allclose(view.cpu_history[-age], seen.vm_history_mips[vms, age] / 1000.0)
    assert shown[0][1].cpu_history.shape[0] == 0


def test_a_vm_that_wants_more_than_a_slow_core_may_go_to_fast_hosts_alone(day):
    looking = Onlooker()
    play_day(day([90, 90, 90], [10, 10, 10]), looking, Corrections(), hosts=4)  # 90 % of 2500 MIPS against 1860
    _, view, _ = looking.shown[0]
    containers, nodes = view.fleet.cluster.containers, view.fleet.cluster.nodes
    assert [nodes[n].architecture in containers[0].architectures for n in range(4)] == [False, True, False, True]
    assert [nodes[n].architecture in containers[1].architectures for n in range(4)] == [True] * 4


def test_memory_is_scarce_only_where_it_is_checked(busy_day):
    for corrections, mb in ((Corrections(), 1e9), (Corrections(ram=True), 4096.0)):
        looking = Onlooker()
        play_day(busy_day, looking, corrections, hosts=30)
        assert looking.shown[0][1].fleet.capacity[1, 0] == pytest.approx(mb * 1e6)


def test_waking_takes_the_time_that_the_correction_says(busy_day):
    for corrections, wake_s in ((Corrections(), 1.0), (Corrections(waking=True), 260.0)):
        looking = Onlooker()
        play_day(busy_day, looking, corrections, hosts=30)
        assert looking.shown[0][1].fleet.cluster.nodes[0].wake_s == wake_s


def test_a_guest_that_holds_plays_the_day_of_one_that_moves_nothing(busy_day, script):
    assert play_day(busy_day, Guest("hold"), Corrections(), hosts=30) == play_day(
        busy_day, script({}), Corrections(), hosts=30
    )


def test_drain_relief_saves_energy_here_and_plays_the_same_day_twice(busy_day):
    guest = Guest("drain-relief")
    once = play_day(busy_day, guest, Corrections(), hosts=30)
    assert once == play_day(busy_day, guest, Corrections(), hosts=30)
    held = play_day(busy_day, Guest("hold"), Corrections(), hosts=30)
    assert once.energy_kwh < 0.7 * held.energy_kwh
    assert once.migrations > 0


@pytest.mark.parametrize("corrections", [Corrections(keep=True, ram=True, waking=True), Corrections(wake=True)])
def test_moves_of_a_guest_are_legal_under_every_correction(busy_day, corrections):
    play_day(busy_day, Guest("drain-relief"), corrections, hosts=30)  # checked_moves raises where one is not


def test_an_opening_decides_for_the_first_half_hour_and_no_longer(busy_day):
    asked = []

    class Listening(Guest):
        def moves(self, seen: Observation) -> Sequence[tuple[int, int]]:
            moves = super().moves(seen)
            asked.append((seen.step, len(moves)))
            return moves

    play_day(busy_day, Listening("hold", opening="drain-relief"), Corrections(), hosts=30)
    assert sum(moves for step, moves in asked if step <= 6) > 0
    assert sum(moves for step, moves in asked if step > 6) == 0


def test_names_of_the_benchmark_go_before_those_of_fogfold():
    assert isinstance(player_named("lr-mmt"), Rule)
    assert isinstance(player_named("drain-relief"), Guest)
    with pytest.raises(UnknownNameError, match='"drain-releif" is unknown; did you mean "drain-relief"'):
        player_named("drain-releif")
    with pytest.raises(UnknownNameError, match='has no parameter "speed"'):
        Guest("drain-relief", {"speed": 1})
