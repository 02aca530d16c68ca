"""Notes taken of a simulated world: they count what the world counts, and claim no more than a clock can see."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.calibrate import playing
from fogfold.calibrate.playing import exercise_of, record_world
from fogfold.calibrate.records import Kind
from fogfold.cost.power import node_power_w
from fogfold.model.node import NodeState
from fogfold.units import TICK_S
from fogfold.world.rows import Total
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World


@pytest.fixture(scope="module")
def built():
    return build(load_scenario("tiny-4", {"world.migration_failure_base": 0.3}), 2, hours=4.0)


@pytest.fixture(scope="module")
def played(built):
    """The notes, and what the world itself counted."""
    made = []

    class Kept(World):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(playing, "World", Kept)
        notes = record_world(built, exercise_of(built, moves_at_once=3), read_every=1)
    return notes.rows, made[0].state.total[0]


def test_every_attempt_is_written_down(played):
    rows, total = played
    outcomes = [row["outcome"] for row in rows[Kind.MOVES]]
    assert outcomes.count("arrived") == total[Total.MOVES_DONE] > 50
    assert outcomes.count("failed") == total[Total.ATTEMPTS_FAILED] > 10


def test_every_boot_that_came_up_is_written_down(played):
    rows, total = played
    assert 0 < len(rows[Kind.BOOTS]) <= total[Total.WAKES]
    for row in rows[Kind.BOOTS]:
        if row["outcome"] == "up":
            assert (row["up_s"] - row["ordered_s"]) % TICK_S == 0.0
            assert row["resolution_s"] == TICK_S


def test_draw_is_the_curve_at_the_load_that_was_read(built, played):
    rows, _ = played
    nodes = {str(node.id): node for node in built.cluster.nodes}
    some = rows[Kind.READINGS][::29]
    load = np.array([row["cpu_cores"] / nodes[row["node"]].capacity.as_tuple()[0] for row in some])
    curves = np.array([nodes[row["node"]].power_curve.points_w for row in some])
    seen = np.array([row["power_w"] for row in some])
    assert len(some) > 50
    assert seen == pytest.approx(node_power_w(np.clip(load, 0.0, 1.0), curves))


def test_exercise_keeps_to_its_moves_at_once():
    built = build(load_scenario("tiny-4"), 2, hours=1.0)
    decide, busiest = exercise_of(built, moves_at_once=2), 0

    def watched(view):
        nonlocal busiest
        orders = decide(view)
        busiest = max(busiest, int((view.target >= 0).sum()) + orders.moves.shape[1])
        for _, target in orders.moves[0].tolist():
            assert view.state[target] == NodeState.ON
        return orders

    record_world(built, watched)
    assert busiest == 2


def test_same_seed_takes_the_same_notes():
    built = build(load_scenario("tiny-4"), 2, hours=1.0)
    first, second = (record_world(built, exercise_of(built), noise=0.05).rows for _ in range(2))
    assert first == second
