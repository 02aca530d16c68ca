"""The comparison with other simulators: one seeded day for all, and rows whose arithmetic is right."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fogfold.world.rows import Total

_BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def simulators() -> Iterator[dict[str, ModuleType]]:
    """The modules of the benchmark that need neither of the other simulators."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(_BENCHMARKS))
        yield {name: importlib.import_module(f"simulators.{name}") for name in ("draw", "play", "rows", "workload")}


@pytest.fixture(scope="module")
def drawn(simulators: dict[str, ModuleType]) -> tuple[Any, Any, Any]:
    """A short day of twenty nodes, its orders for two worlds, and what it is played on."""
    draw = simulators["draw"]
    here = draw.ground(7, nodes=20, containers=80, steps=24)
    day, orders = draw.draw_day(here, 2, 3)
    return day, orders, here


@pytest.fixture
def two_nodes(simulators: dict[str, ModuleType]) -> Any:
    """Two nodes, two containers, two steps; the first container goes over to the second node after the first step."""
    return simulators["workload"].Day(
        seed=0,
        capacity_mcpu=[1000, 2000],
        capacity_mib=[1024, 1024],
        idle_w=[10.0, 20.0],
        peak_w=[30.0, 60.0],
        request_mcpu=[500, 1000],
        request_mib=[100, 100],
        placement=[0, 1],
        moves=[[(0, 1)], [(1, 0)]],
        demand_mcpu=[[250, 500]] * 10 + [[500, 0]] * 10,
        site=[0, 0],
        user_site=[0, 0],
    )


def test_one_seed_draws_one_day(simulators: dict[str, ModuleType], drawn: tuple[Any, Any, Any]) -> None:
    draw = simulators["draw"]
    again, _ = draw.draw_day(draw.ground(7, nodes=20, containers=80, steps=24), 1, 3)
    other, _ = draw.draw_day(draw.ground(8, nodes=20, containers=80, steps=24), 1, 3)
    # However many worlds are drawn beside it, the first is the same.
    assert again == drawn[0]
    assert other.moves != drawn[0].moves


def test_a_day_has_the_size_that_was_asked_for(drawn: tuple[Any, Any, Any]) -> None:
    day, orders, _ = drawn
    assert (day.nodes, day.containers, day.steps, len(orders)) == (20, 80, 24, 24)
    assert [len(moves) for moves in day.moves] == [3] * 24
    assert np.shape(day.demand_mcpu) == (240, 80)


def test_other_simulators_get_the_moves_of_fogfolds_first_world(drawn: tuple[Any, Any, Any]) -> None:
    day, orders, _ = drawn
    assert day.moves == [[tuple(move) for move in step.moves[0].tolist()] for step in orders]


def test_fogfold_refuses_none_of_the_orders(drawn: tuple[Any, Any, Any]) -> None:
    _, orders, here = drawn
    worlds = here.worlds(2)
    for step in orders:
        worlds.step(step)
    assert worlds.state.total[:, Total.REFUSED].tolist() == [0.0, 0.0]
    assert worlds.state.total[:, Total.MOVES_STARTED].tolist() == [72.0, 72.0]


def test_instant_moves_never_overfill_a_node(drawn: tuple[Any, Any, Any]) -> None:
    day, _, _ = drawn
    where = list(day.placement)
    for moves in [[], *day.moves]:
        for container, node in moves:
            assert where[container] != node
            where[container] = node
            for request, capacity in ((day.request_mcpu, day.capacity_mcpu), (day.request_mib, day.capacity_mib)):
                used = np.bincount(where, request, day.nodes)
                assert (used <= capacity).all()


def test_no_container_uses_more_than_its_request(drawn: tuple[Any, Any, Any]) -> None:
    day, _, _ = drawn
    assert (np.array(day.demand_mcpu) <= np.array(day.request_mcpu)).all()
    assert np.std(day.demand_mcpu, axis=0).max() > 0


def test_a_day_comes_back_from_its_file(
    simulators: dict[str, ModuleType], drawn: tuple[Any, Any, Any], tmp_path: Path
) -> None:
    day, _, _ = drawn
    day.save(tmp_path / "day.json")
    assert simulators["workload"].load_day(tmp_path / "day.json") == day


def test_energy_of_steady_demand_is_that_worked_by_hand(two_nodes: Any) -> None:
    # Step 1: 10 + 20 x 500/1000 = 20 W and 20 + 40 x 1000/2000 = 40 W. Step 2: 10 W and 20 + 40 x 1500/2000 = 50 W.
    # Two steps of 60 W x 300 s = 36 kJ = 0.01 kWh. What is moved after the last step costs nothing any more.
    assert two_nodes.energy_kwh(1, changing=False) == pytest.approx(0.01, rel=1e-12)
    assert two_nodes.energy_kwh(10, changing=False) == pytest.approx(0.01, rel=1e-12)


def test_energy_of_changing_demand_is_that_worked_by_hand(two_nodes: Any) -> None:
    # Step 1: 10 + 20 x 0.25 = 15 W and 20 + 40 x 0.25 = 30 W. Step 2: 10 W and 20 + 40 x 500/2000 = 30 W.
    # (45 + 40) W x 300 s = 25.5 kJ.
    assert two_nodes.energy_kwh(10, changing=True) == pytest.approx(25.5e3 / 3.6e6, rel=1e-12)


def test_power_of_unused_nodes_is_that_worked_by_hand(two_nodes: Any) -> None:
    # Step 1: both run something. Step 2: both containers are on node 1, so node 0 is idle at 10 W.
    assert two_nodes.unused_w() == [0, 10.0]
    # A container that asks for nothing (the second, in step 2) keeps no node in use: move the other away from it.
    alone = dataclasses.replace(two_nodes, moves=[[], []])
    assert alone.unused_w() == [0, 20.0]


def test_moves_are_made_at_the_end_of_their_step(two_nodes: Any) -> None:
    assert list(two_nodes.placements()) == [[0, 1], [1, 1], [1, 0]]


def test_the_ledger_of_instant_moves_knows_what_still_fits(simulators: dict[str, ModuleType], two_nodes: Any) -> None:
    ledger = simulators["draw"]._Instant(two_nodes)
    # Node 0 has 500 of 1,000 left, node 1 has 1,000 of 2,000: the first container (500) may go over, the second (1,000)
    # may not until the first has gone.
    assert ledger.takes(0).tolist() == [False, True]
    assert ledger.takes(1).tolist() == [False, False]
    ledger.move(0, 1)
    assert ledger.takes(1).tolist() == [True, False]


def test_the_last_placement_has_the_last_moves(two_nodes: Any) -> None:
    assert two_nodes.last_placement() == [1, 0]
    assert two_nodes.first(1).last_placement() == [1, 1]
    assert two_nodes.first(1).demands(10, changing=True) == [[250, 500]] * 10


def _run(simulators: dict[str, ModuleType], simulator: str, cpu_s: float, worlds: int = 1) -> Any:
    return simulators["rows"].Run(
        simulator=simulator,
        version="1",
        variant=f"{worlds} worlds",
        nodes=60,
        containers=240,
        steps=288,
        worlds=worlds,
        moves=1440,
        cpu_s=cpu_s,
        process_cpu_s=cpu_s + 1,
        effects=(),
        lacks=(),
        outcome={},
    )


def test_speed_is_nodes_times_steps_over_cpu_seconds(simulators: dict[str, ModuleType]) -> None:
    # 60 x 288 = 17,280 node-steps in 2 s; three worlds at once make three times as many.
    assert _run(simulators, "leaf", 2.0).node_steps_per_cpu_s == 8640.0
    assert _run(simulators, "fogfold", 2.0, worlds=3).node_steps_per_cpu_s == 25_920.0


def test_ratios_are_of_medians_with_the_extremes_beside(simulators: dict[str, ModuleType]) -> None:
    ours = [_run(simulators, "fogfold", cpu_s) for cpu_s in (1.0, 2.0, 4.0)]
    batch = [_run(simulators, "fogfold", 1.0, worlds=4)]
    theirs = [_run(simulators, "leaf", cpu_s) for cpu_s in (20.0, 10.0, 40.0)]
    rows = simulators["rows"].rows_of([*ours, *batch, *theirs])
    assert [(row["simulator"], row["runs"], row["aim"]) for row in rows] == [
        ("fogfold", 3, None),
        ("fogfold", 1, None),
        ("leaf", 3, 10.0),
    ]
    assert rows[2]["cpu_s"] == 20.0
    assert rows[2]["node_steps_per_cpu_s"] == {"median": 864.0, "least": 432.0, "most": 1728.0}
    # Medians 2 s against 20 s; least our slowest, 4 s, against their fastest, 10 s; most 1 s against 40 s.
    assert rows[2]["ratio_to_fogfold"] == {"median": 10.0, "least": 2.5, "most": 40.0}
    # Four worlds in 1 s: 69,120 against 864, 1,728 and 432.
    assert rows[2]["ratio_to_fogfold_batch"] == {"median": 80.0, "least": 40.0, "most": 160.0}


def test_a_ratio_without_one_side_is_absent(simulators: dict[str, ModuleType]) -> None:
    (row,) = simulators["rows"].rows_of([_run(simulators, "leaf", 1.0)])
    assert row["ratio_to_fogfold"] is None


def test_the_fastest_of_several_plays_counts(simulators: dict[str, ModuleType]) -> None:
    costs = iter([0.3, 0.1, 0.2, 9.0])
    # Three plays make 0.6 s, which is not enough; the fourth would be the next, but three is the most.
    assert simulators["play"].fastest(lambda: {"cpu_s": next(costs)}, most=3, enough_s=1.0) == {"cpu_s": 0.1}
    # 9 s are enough at once.
    assert simulators["play"].fastest(lambda: {"cpu_s": next(costs)}, most=3, enough_s=1.0) == {"cpu_s": 9.0}


def test_each_simulator_is_asked_for_least_first(simulators: dict[str, ModuleType]) -> None:
    for variants in simulators["play"].VARIANTS.values():
        assert variants[0] == simulators["play"].Variant("steady demand")
        assert len({variant.name for variant in variants}) == len(variants)


def test_each_simulator_is_asked_as_its_own_examples_do_last(simulators: dict[str, ModuleType]) -> None:
    for variants in simulators["play"].VARIANTS.values():
        ours = [bool(variant.example) for variant in variants]
        assert ours == sorted(ours)
        assert ours[-1]
        # Demand changes with every step there, and nothing is asked for more often.
        assert {(variant.changing, variant.ticks_a_step) for variant in variants if variant.example} == {(True, 1)}
