"""What a move takes: the closed form of pre-copy by hand, its round-by-round twin, restarts, and the chance to fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.cost.migration import failure_probability, migration_cost_gib_s, precopy, restart
from fogfold.errors import ModelError
from fogfold.units import GIB

RULES = {"stop_bytes": 10.0, "traffic_limit": 3.0, "restore_s": 0.5}


def one_move(memory, rate, dirty, **rules):
    """Duration, downtime and bytes of a single move."""
    figures = precopy(np.array([memory]), np.array([rate]), np.array([dirty]), **{**RULES, **rules})
    return tuple(float(figure[0]) for figure in figures)


@pytest.mark.parametrize(
    ("memory", "rate", "dirty", "duration", "downtime", "sent"),
    [
        # Nothing is written: 90 bytes in 9 s, then 10 frozen (1 s) and the restore.
        (100.0, 10.0, 0.0, 10.5, 1.5, 100.0),
        # Half of what is sent is written anew: 90 / (10 - 5) = 18 s, 180 bytes, then the last 10.
        (100.0, 10.0, 5.0, 19.5, 1.5, 190.0),
        # 90 / (10 - 7) = 30 s is just when three memories have been sent.
        (100.0, 10.0, 7.0, 31.5, 1.5, 310.0),
        # Written nearly as fast as sent: given up after 300 bytes, 30 s. Of 100, 30 x 1 are gone, 70 are left: 7 s.
        (100.0, 10.0, 9.0, 37.5, 7.5, 370.0),
        # Written as fast as sent: all is left.
        (100.0, 10.0, 10.0, 40.5, 10.5, 400.0),
        # Written faster than sent: all is left, and no more than all.
        (100.0, 10.0, 25.0, 40.5, 10.5, 400.0),
        # Less memory than what may be left to the end: frozen at once.
        (8.0, 10.0, 5.0, 1.3, 1.3, 8.0),
        # No memory: only the restore.
        (0.0, 10.0, 0.0, 0.5, 0.5, 0.0),
        (0.0, 10.0, 20.0, 0.5, 0.5, 0.0),
    ],
)
def test_precopy_by_hand(memory, rate, dirty, duration, downtime, sent):
    assert one_move(memory, rate, dirty) == pytest.approx((duration, downtime, sent))


def test_without_traffic_to_spend_all_is_sent_frozen():
    assert one_move(100.0, 10.0, 0.0, traffic_limit=0.0) == pytest.approx((10.5, 10.5, 100.0))


def test_many_moves_are_worked_out_side_by_side():
    duration, downtime, sent = precopy(np.array([100.0, 100.0]), np.array([10.0, 10.0]), np.array([0.0, 25.0]), **RULES)
    assert duration == pytest.approx([10.5, 40.5])
    assert downtime == pytest.approx([1.5, 10.5])
    assert sent == pytest.approx([100.0, 400.0])


def round_by_round(memory: float, rate: float, dirty: float) -> tuple[float, float, float]:
    """The same as the world of rounds has it: send what is dirty, meanwhile more is written, until little is left."""
    left, spent, sent = memory, 0.0, 0.0
    while left > RULES["stop_bytes"]:
        took = left / rate
        sent += left
        spent += took
        left = dirty * took
    return spent, left, sent


@given(st.floats(20.0, 1e4), st.floats(1.0, 100.0), st.floats(0.01, 0.6))
def test_closed_form_is_the_limit_of_the_rounds(memory, rate, ratio):
    """Rounds stop at the first that leaves little enough, the closed form between two: at most a round apart."""
    dirty = ratio * rate
    duration, downtime, sent = one_move(memory, rate, dirty)
    spent, left, rounds_sent = round_by_round(memory, rate, dirty)
    last_round_s = left / dirty
    copied_s = duration - downtime
    assert copied_s <= spent * (1 + 1e-9)
    assert copied_s >= (spent - last_round_s) * (1 - 1e-9)
    assert sent - RULES["stop_bytes"] <= rounds_sent * (1 + 1e-9)
    # Geometric series: M / (R - D) bounds the copying, whatever the rounds.
    assert copied_s <= memory / (rate - dirty)


moves = st.tuples(st.floats(0.0, 1e12), st.floats(1.0, 1e9), st.floats(0.0, 2e9))


@given(moves, st.floats(1.0, 1e9))
def test_faster_writing_never_makes_a_move_shorter_or_smaller(move, more):
    memory, rate, dirty = move
    calm, busy = one_move(memory, rate, dirty), one_move(memory, rate, dirty + more)
    assert all(b >= c * (1 - 1e-9) - 1e-6 for c, b in zip(calm, busy, strict=True))


@given(moves)
def test_move_sends_all_memory_once_and_no_more_than_the_limit_and_the_rest(move):
    memory, rate, dirty = move
    duration, downtime, sent = one_move(memory, rate, dirty)
    assert memory * (1 - 1e-9) <= sent <= (RULES["traffic_limit"] + 1.0) * memory * (1 + 1e-9)
    assert RULES["restore_s"] <= downtime <= duration
    # Every byte takes its time, and nothing else but the restore does.
    assert duration == pytest.approx(sent / rate + RULES["restore_s"], rel=1e-9)


@given(moves, st.floats(1.0, 10.0))
def test_faster_link_never_makes_a_move_longer(move, times):
    memory, rate, dirty = move
    assert one_move(memory, rate * times, dirty)[0] <= one_move(memory, rate, dirty)[0] * (1 + 1e-9)


def test_restart_pulls_the_image_first_and_is_down_for_its_start():
    duration, downtime, sent = restart(np.array([600.0, 0.0]), np.array([20.0, 20.0]), np.array([5.0, 7.0]))
    assert duration.tolist() == [35.0, 7.0]
    assert downtime.tolist() == [5.0, 7.0]
    assert sent.tolist() == [600.0, 0.0]


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_path_without_bandwidth_is_refused(rate):
    rates, nothing = np.array([10.0, rate]), np.zeros(2)
    with pytest.raises(ModelError, match="rate is not positive; leave out moves whose path has no bandwidth"):
        precopy(nothing, rates, nothing, **RULES)
    with pytest.raises(ModelError, match="rate is not positive; leave out moves whose path has no bandwidth"):
        restart(nothing, rates, nothing)


def test_no_moves_take_nothing():
    none = np.zeros(0)
    assert [len(figure) for figure in precopy(none, none, none, **RULES)] == [0, 0, 0]


def test_cost_of_a_move_is_its_memory_times_its_duration():
    assert migration_cost_gib_s(np.array([2 * GIB, 0.5 * GIB]), np.array([30.0, 8.0])).tolist() == [60.0, 4.0]


@pytest.mark.parametrize(
    ("jitter_ms", "loss", "chance"),
    [
        (0.0, 0.0, 0.01),
        (15.0, 0.0, 0.31),  # 0.01 + 0.02 x 15
        (2.0, 0.05, 0.15),  # 0.01 + 0.04 + 2 x 0.05
        (100.0, 0.0, 1.0),  # no more than certain
        (0.0, 1.0, 1.0),
    ],
)
def test_chance_to_fail_rises_with_jitter_and_loss(jitter_ms, loss, chance):
    assert failure_probability(jitter_ms, loss, 0.01, 0.02, 2.0) == pytest.approx(chance)


chances = st.floats(0.0, 1.0)


@settings(deadline=None)
@given(st.floats(0.0, 100.0), chances, chances, st.floats(0.0, 1.0), st.floats(0.0, 5.0))
def test_chance_to_fail_is_a_chance(jitter_ms, loss, base, per_jitter, per_loss):
    assert 0.0 <= failure_probability(jitter_ms, loss, base, per_jitter, per_loss) <= 1.0
