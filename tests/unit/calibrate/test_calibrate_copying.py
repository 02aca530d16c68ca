"""Pre-copy turned round: what its closed form foretells is read back from it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.calibrate.copying import copied
from fogfold.cost.migration import precopy
from fogfold.units import MIB
from fogfold.world.params import WorldParams

PARAMS = WorldParams()
NAN = np.array([math.nan])


def played(memory, rate, dirty):
    return precopy(
        np.array([memory]),
        np.array([rate]),
        np.array([dirty]),
        stop_bytes=PARAMS.precopy_stop_bytes,
        traffic_limit=PARAMS.precopy_traffic_limit,
        restore_s=PARAMS.restore_s,
    )


def test_by_hand():
    # 1040 MiB at 50 MiB/s, 10 of them rewritten: 1024 MiB net of 40 a second take 25.6 s, the last 16 take 0.32 s.
    duration, downtime, sent = played(1040 * MIB, 50 * MIB, 10 * MIB)
    assert duration == pytest.approx([25.6 + 0.32 + 0.3])
    assert sent == pytest.approx([1296 * MIB])
    said = copied(np.array([1040 * MIB]), duration, sent, downtime, NAN, PARAMS)
    assert said.rate_byte_s == pytest.approx([50 * MIB])
    assert said.dirty_byte_s == pytest.approx([10 * MIB])
    assert said.is_identified.all()


SIZES = st.floats(64 * MIB, 16_384 * MIB)
RATES = st.floats(1 * MIB, 100 * MIB)


@given(SIZES, RATES, st.floats(0.0, 0.9))
def test_bytes_sent_and_downtime_tell_both(memory, rate, share):
    duration, downtime, sent = played(memory, rate, share * rate)
    said = copied(np.array([memory]), duration, sent, downtime, NAN, PARAMS)
    assert said.rate_byte_s == pytest.approx([rate], rel=1e-6)
    assert said.dirty_byte_s == pytest.approx([share * rate], rel=1e-6, abs=rate * 1e-6)


@given(SIZES, RATES, st.floats(0.0, 0.9))
def test_downtime_alone_tells_both_whether_precopy_converged_or_gave_up(memory, rate, share):
    duration, downtime, _ = played(memory, rate, share * rate)
    said = copied(np.array([memory]), duration, NAN, downtime, np.array([share * rate]), PARAMS)
    assert said.is_identified.all()
    assert said.rate_byte_s == pytest.approx([rate], rel=1e-5)
    assert said.dirty_byte_s == pytest.approx([share * rate], rel=1e-4, abs=rate * 1e-4)


@given(SIZES, RATES, st.floats(0.0, 0.6))
def test_with_neither_the_rate_rests_on_the_dirty_rate_that_is_believed(memory, rate, share):
    duration, _, _ = played(memory, rate, share * rate)
    said = copied(np.array([memory]), duration, NAN, NAN, np.array([share * rate]), PARAMS)
    assert not said.is_identified.any()
    assert np.isnan(said.dirty_byte_s).all()
    assert said.rate_byte_s == pytest.approx([rate], rel=1e-3)


def test_a_copy_that_gave_up_without_a_downtime_says_nothing_of_the_dirty_rate():
    # Rewritten as fast as it is copied: three memory sizes are sent, then all is frozen.
    memory, rate = 1024 * MIB, 50 * MIB
    duration, _, sent = played(memory, rate, rate)
    said = copied(np.array([memory]), duration, sent, NAN, NAN, PARAMS)
    assert said.rate_byte_s == pytest.approx([rate])
    assert np.isnan(said.dirty_byte_s).all()
