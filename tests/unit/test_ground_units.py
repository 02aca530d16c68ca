"""Factors between units, against each other and against what everyone knows."""

from __future__ import annotations

from fogfold import units


def test_bytes_are_counted_in_powers_of_1024():
    assert (units.KIB, units.MIB, units.GIB) == (2**10, 2**20, 2**30)


def test_bits_are_counted_in_powers_of_1000():
    assert units.MBIT == 1_000_000
    # 8 Mbit/s carry a megabyte (not a mebibyte) a second.
    assert 8 * units.MBIT / units.BITS_PER_BYTE == 1_000_000


def test_times_add_up():
    assert units.WEEK_S == 7 * units.DAY_S == 168 * units.HOUR_S == 10_080 * units.MINUTE_S == 604_800
    assert units.MS_PER_S == 1000


def test_watt_hour_is_a_watt_for_an_hour():
    assert units.J_PER_WH == units.HOUR_S
    assert units.J_PER_KWH - 1000 * units.J_PER_WH == 0


def test_tick_divides_the_five_minutes_between_samples_and_decisions():
    assert 5 * units.MINUTE_S % units.TICK_S == 0


def test_every_factor_is_told():
    told = {name for name in vars(units) if name.isupper()}
    assert told == set(units.__all__)
