"""Streams: the same for the same name, whatever else was drawn, on every version of Python and numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.errors import ModelError
from fogfold.seeding import key, stream

roots = st.integers(0, 2**70)
names = st.lists(
    st.one_of(st.integers(0, 10**6), st.text(st.characters(exclude_characters="/"), max_size=5)), max_size=3
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((0,), 4246866556266386882),
        ((0, "faults"), 3981112854071077435),
        ((1, "faults"), 2624660701033237500),
        ((1, "faults", "link"), 5822049015217099673),
        ((42, "world", 3), 2363747720266170444),
    ],
)
def test_keys_stay_what_they_are(path, value):
    """Changed keys change every scenario, every trace and every result that was published: that must be meant."""
    assert key(*path) == value


def test_stream_stays_what_it_is():
    """The bits of the generator, which numpy promises to keep; its distributions it does not promise."""
    bits = stream(1, "faults").bit_generator
    assert bits.random_raw(3).tolist() == [2528538738773827073, 15780469043608244457, 14003454171356312778]


def test_half_of_a_surrogate_pair_is_a_name_like_any_other():
    assert key(0, "\ud800") != key(0, "\ud801")


@given(roots, names)
def test_key_is_a_whole_number_of_63_bits(root, path):
    assert 0 <= key(root, *path) < 2**63
    assert key(root, *path) == key(root, *path)


@given(roots, names, names)
def test_other_names_give_another_key(root, one, other):
    same = [str(name) for name in one] == [str(name) for name in other]
    assert (key(root, *one) == key(root, *other)) == same


@given(roots, roots)
def test_other_root_gives_another_key(one, other):
    assert (key(one, "faults") == key(other, "faults")) == (one == other)


def test_number_and_its_name_are_the_same_and_so_is_numpys():
    assert key(1, "world", 2) == key(1, "world", "2") == key(int(np.int64(1)), "world", str(np.int64(2)))


def test_order_of_names_matters():
    assert key(1, "a", "b") != key(1, "b", "a")


def test_root_is_no_part_of_the_name():
    assert key(12, "3") != key(1, "23")


@pytest.mark.parametrize("draw", [key, stream])
def test_negative_seed_is_refused(draw):
    with pytest.raises(ModelError, match=r"^seed -1 is negative; seeds are whole numbers from 0$"):
        draw(-1, "faults")


def test_same_stream_can_be_had_again_from_its_start():
    assert stream(7, "demand").random(50).tolist() == stream(7, "demand").random(50).tolist()


def test_what_is_drawn_from_one_stream_shifts_no_other():
    alone = stream(7, "faults").random(5).tolist()
    one, other = stream(7, "demand"), stream(7, "faults")
    one.random(1000)
    assert other.random(5).tolist() == alone


@pytest.mark.parametrize(
    ("one", "other"),
    [((7, "a"), (7, "b")), ((7, "a"), (8, "a")), ((7, "a"), (7, "a", 0)), ((7, "world", 0), (7, "world", 1))],
)
def test_streams_do_not_resemble_each_other(one, other):
    count = 20_000
    pair = np.corrcoef(stream(*one).random(count), stream(*other).random(count))
    assert abs(pair[0, 1]) < 4 / count**0.5


def test_first_draws_of_many_seeds_are_spread_evenly():
    """Seeds 0 to 999 are what people use: their first draws must be as good as any."""
    first = np.array([stream(seed, "faults").random() for seed in range(1000)])
    assert first.mean() == pytest.approx(0.5, abs=4 * 0.2887 / 1000**0.5)
    counted = np.bincount((first * 10).astype(int), minlength=10)
    # Chi-square with 9 degrees of freedom: mean 9, deviation sqrt(18); 26 is four of them off.
    assert ((counted - 100.0) ** 2 / 100.0).sum() < 26.0
