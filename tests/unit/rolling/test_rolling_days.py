"""Rolling days: what they cost by hand, what policies may know, and what no policy can beat."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from fogfold.errors import ModelError, PlacementError, UnknownNameError
from fogfold.evaluate.rolling.bench import Figures, RollingRow, RollingTask, run_day
from fogfold.evaluate.rolling.bound import lower_bound_wh
from fogfold.evaluate.rolling.clairvoyant import Hindsight, plan_with_hindsight
from fogfold.evaluate.rolling.draw import DAY_SLOTS, RollingWorld, draw_world, spread
from fogfold.evaluate.rolling.forecast import seasonal
from fogfold.evaluate.rolling.greedy import Greedy, GreedyFigures
from fogfold.evaluate.rolling.policies import Hold, Maker, Mpc, MpcFigures, play
from fogfold.evaluate.rolling.referee import Prices, judge
from fogfold.evaluate.rolling.room import room_of
from fogfold.evaluate.rolling.search import improve
from fogfold.evaluate.rolling.sheet import cost_of, lift, route, sheet_of


def a_world(demand, cores=(10.0, 10.0), gib=(8.0, 8.0), memory=(2.0, 2.0)):
    """Two equal nodes and two containers, with three idle days before."""
    demand = np.asarray(demand, float)
    history = np.ones((len(demand), 3 * DAY_SLOTS))
    return RollingWorld(
        seed=0,
        cores=np.array(cores),
        room_gib=np.array(gib),
        idle_w=np.array([100.0, 80.0]),
        slope_w=np.array([10.0, 10.0]),
        memory_gib=np.array(memory),
        demand=np.concatenate([history, demand], axis=1),
    )


def a_flat_day(a, b):
    return np.repeat([[a], [b]], DAY_SLOTS, axis=1).astype(float)


def test_one_move_in_the_second_slot_costs_what_is_worked_out_by_hand():
    world = a_world(a_flat_day(4.0, 6.0))
    where = np.zeros((2, DAY_SLOTS), np.int64)
    where[1, 0] = 1
    cost = judge(world, np.array([0, 1]), where, Prices(migration=5.0))
    # Both nodes for one slot, then node 0 alone; 10 cores in use all day.
    assert cost.energy == pytest.approx(0.5 * (180 + 100) + 47 * 0.5 * (100 + 100))
    assert cost.migration == pytest.approx(5 * (0.5 + 0.15 * 2))
    # 10 cores on a node of 10 are one above nine tenths, in 47 slots.
    assert cost.sla == pytest.approx(47 * 50.0)
    assert cost.moves == 1


def test_a_node_that_comes_back_pays_for_power_on_and_draws_no_more_than_its_cores():
    world = a_world(a_flat_day(1.0, 12.0))
    where = np.zeros((2, DAY_SLOTS), np.int64)
    where[1, 1:] = 1
    cost = judge(world, np.array([0, 0]), where, Prices(migration=0.0))
    assert cost.energy == pytest.approx(0.5 * (100 + 100) + 25 + 47 * 0.5 * (180 + 10 + 100))


def test_too_much_memory_on_a_node_is_refused():
    world = a_world(a_flat_day(1.0, 1.0), memory=(5.0, 5.0))
    with pytest.raises(PlacementError, match="holds 10 GiB"):
        judge(world, np.array([0, 1]), np.zeros((2, DAY_SLOTS), np.int64), Prices())


def test_the_worlds_are_those_of_the_yardstick():
    # Worlds 0 to 4 of this size have a mean bound of 23,428 without the price of moves; this is the third.
    pytest.importorskip("highspy", reason="the extra `exact` is not installed")
    world = draw_world(8, 32, 2)
    assert lower_bound_wh(world, spread(world), Prices(migration=0.0)) == pytest.approx(20_798, rel=2e-3)


def test_same_seed_draws_the_same_world_and_another_does_not():
    assert (draw_world(4, 9, 3).demand == draw_world(4, 9, 3).demand).all()
    assert (draw_world(4, 9, 3).demand != draw_world(4, 9, 4).demand).any()


def test_a_world_without_nodes_is_refused():
    with pytest.raises(ModelError, match="0 nodes"):
        draw_world(0, 3, 0)


def test_forecast_of_a_repeating_day_is_that_day():
    day = 1.0 + np.arange(DAY_SLOTS, dtype=float)
    seen = np.tile(day, 3)[None]
    assert seasonal(seen, 5)[0] == pytest.approx(day[:5])


def test_forecast_moves_towards_what_was_just_seen_and_the_difference_fades():
    seen = np.ones((1, 2 * DAY_SLOTS + 2))
    seen[0, -2:] = 2.0
    assert seasonal(seen, 3)[0] == pytest.approx([2.0, 1.7, 1.49])


def test_forecast_without_a_full_day_is_refused():
    with pytest.raises(ModelError, match="needs 50"):
        seasonal(np.ones((1, 40)), 3)


MAKERS: dict[str, Maker] = {
    "hold": lambda past, prices: Hold(),
    "greedy": lambda past, prices: Greedy(past, prices, GreedyFigures()),
    "mpc": lambda past, prices: Mpc(past, prices, MpcFigures(4, effort=20_000)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_no_policy_knows_what_is_to_come(name):
    world = draw_world(4, 12, 1)
    start, cut = spread(world), 20
    other = world.demand.copy()
    other[:, world.first_slot + cut :] = other[:, world.first_slot + cut :][::-1] * 1.5
    changed = replace(world, demand=other)
    same = play(world, start, Prices(), MAKERS[name]).where[:, : cut + 1]
    assert (play(changed, start, Prices(), MAKERS[name]).where[:, : cut + 1] == same).all()


@pytest.mark.parametrize("seed", range(12))
def test_a_routed_container_is_on_the_cheapest_of_all_its_ways(seed):
    # Four nodes, four slots, others anywhere: 256 ways, each costed by the whole sheet.
    world, slots = draw_world(4, 3, seed), 4
    start, prices = spread(world), Prices(migration=0.1, power_on_wh=200.0)
    demand = world.day[:, :slots]
    others = np.random.default_rng(seed).integers(0, 4, (3, slots))
    costs = []
    for way in product(range(4), repeat=slots):
        where = others.copy()
        where[2] = way
        costs.append(cost_of(sheet_of(world, start, demand, prices, where=where)))
    sheet = sheet_of(world, start, demand, prices, where=others)
    lift(2, sheet)
    assert route(2, sheet)
    assert cost_of(sheet) == pytest.approx(min(costs))


def test_a_plan_costs_what_the_referee_says():
    world = draw_world(5, 15, 2)
    start, prices = spread(world), Prices()
    sheet = sheet_of(world, start, world.day, prices)
    assert improve(sheet, key=1, effort=2_000_000) == pytest.approx(
        judge(world, start, sheet.where[:, 1:], prices).total
    )


def test_greedy_empties_a_node_where_that_pays_and_not_where_it_does_not():
    world = a_world(a_flat_day(3.0, 1.0))
    start = np.array([0, 1])
    # A slot without node 1 saves 40 Wh; the move costs 0.8 x the factor.
    cheap = play(world, start, Prices(migration=40.0), MAKERS["greedy"])
    dear = play(world, start, Prices(migration=80.0), MAKERS["greedy"])
    assert len(set(cheap.where[:, -1].tolist())) == 1
    assert (dear.where == start[:, None]).all()


@pytest.mark.parametrize("seed", range(3))
def test_bound_is_below_hindsight_and_hindsight_below_everybody(seed):
    pytest.importorskip("highspy", reason="the extra `exact` is not installed")
    world = draw_world(4, 12, seed)
    start, prices = spread(world), Prices()
    brief = Hindsight(2, (8,), 50_000, 2_000_000, 1, 2_000_000)
    ceiling = judge(world, start, plan_with_hindsight(world, start, prices, brief), prices).total
    assert lower_bound_wh(world, start, prices) <= ceiling * (1 + 1e-9)
    for maker in MAKERS.values():
        assert ceiling <= judge(world, start, play(world, start, prices, maker).where, prices).total


def test_a_day_gives_the_same_row_twice_but_for_the_clock():
    task = RollingTask(3, 6, 5.0, "mpc", 0, Figures(mpc=MpcFigures(4, effort=10_000)))
    first, second = (replace(run_day(task), decision_ms=None, cpu_s=0.0) for _ in range(2))
    assert first == second


def test_unknown_policy_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match='did you mean "greedy"'):
        run_day(RollingTask(3, 6, 5.0, "greedi", 0))


def a_row(policy, seed, total):
    return RollingRow(8, 32, 5.0, policy, seed, total, None, None, None, None, None, 0.0)


def test_room_and_the_part_that_mpc_closes_are_ratios_of_means():
    totals = {"greedy": (100.0, 300.0), "mpc": (90.0, 290.0), "clairvoyant": (80.0, 240.0)}
    room = room_of([a_row(policy, seed, cost) for policy, costs in totals.items() for seed, cost in enumerate(costs)])
    assert room is not None
    assert room.share.mean == pytest.approx(80 / 400)
    assert room.closed_by_mpc is not None
    assert room.closed_by_mpc.mean == pytest.approx(20 / 80)


def test_no_room_is_told_without_a_ceiling():
    assert room_of([a_row("greedy", 0, 1.0)]) is None


def test_policies_on_different_worlds_are_not_compared():
    with pytest.raises(ModelError, match="different worlds"):
        room_of([a_row("greedy", 0, 2.0), a_row("clairvoyant", 1, 1.0)])
