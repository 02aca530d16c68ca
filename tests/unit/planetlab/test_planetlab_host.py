"""One host of the benchmark: its watts, how it shares, how long a VM takes to leave it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.evaluate.planetlab.fleet import SHARING
from fogfold.evaluate.planetlab.machines import HOST_KINDS, VM_KINDS, vm_kind_of
from fogfold.evaluate.planetlab.moves import migration_s
from fogfold.evaluate.planetlab.power import interval_energy_j, power_w, utilisation
from fogfold.evaluate.planetlab.sharing import ARRIVING, LEAVING, RESIDENT, share_mips

CURVES = np.array([kind.power_w for kind in HOST_KINDS])
G4, G5 = 0, 1


@pytest.mark.parametrize(
    ("host", "share", "watts"),
    [
        (G4, 0.0, 86.0),
        (G4, 1.0, 117.0),
        (G4, 0.05, 87.7),  # halfway from 86 to 89.4
        (G5, 0.25, 103.0),  # halfway from 101 to 105
        (G5, 0.999, 134.98),  # 133 + 0.99 x 2
        (G5, 0.3, 105.0),  # 0.3 is not a multiple of 0.1 in floats
    ],
)
def test_power_lies_on_the_straight_line_between_tens(host, share, watts):
    assert power_w(CURVES, host, share) == pytest.approx(watts, rel=1e-12)


def test_a_host_that_was_off_costs_nothing_until_the_next_event():
    assert interval_energy_j(CURVES, G4, 0.0, 0.9, 300.0) == 0.0


def test_an_interval_costs_the_mean_of_both_ends():
    # G4 from 10 % (89.4 W) to off, which counts as idle (86 W).
    assert interval_energy_j(CURVES, G4, 0.1, 0.0, 10.0) == pytest.approx(877.0)


def test_utilisation_above_one_counts_as_one():
    assert utilisation(3721.0, 3720.0) == 1.0


@pytest.mark.parametrize(("ram_mb", "seconds"), [(613.0, 9.808), (870.0, 13.92), (1740.0, 27.84)])
def test_a_move_takes_memory_over_half_the_bandwidth(ram_mb, seconds):
    assert migration_s(ram_mb) == pytest.approx(seconds, rel=1e-12)


def shared(*asked: tuple[float, int]) -> tuple[list[float], float]:
    """What a G4 gives to VMs of (MIPS, role), and what it has left."""
    sharing = np.array(list(asked), SHARING)
    free = share_mips(sharing, len(sharing), 3720.0)
    return sharing["mips"].tolist(), free


def test_a_host_with_room_gives_what_is_asked():
    given_mips, free = shared((1000.0, RESIDENT), (2000.0, LEAVING), (500.0, ARRIVING))
    assert given_mips == [1000.0, 1800.0, 50.0]
    # 1000 + 2000 (a VM on its way out is charged in full) + 50
    assert free == pytest.approx(670.0)


def test_a_short_host_scales_down_to_whole_mips():
    # 3720 / 4720 = 0.788136: 1465.9 and 788.1
    asked = (1860.0, RESIDENT), (1860.0, RESIDENT), (1000.0, RESIDENT)
    assert shared(*asked) == ([1465.0, 1465.0, 788.0], 0.0)


def test_a_short_host_scales_before_it_slows_a_leaver():
    # 3720 / (1860 + 1860 + 186) = 0.952381: 1771.4; 1771.4 x 0.9 = 1594.3; 186 x 0.952381 = 177.1
    asked = (1860.0, RESIDENT), (1860.0, LEAVING), (1860.0, ARRIVING)
    assert shared(*asked) == ([1771.0, 1594.0, 177.0], 0.0)


@given(
    st.lists(st.tuples(st.floats(0.0, 2500.0), st.sampled_from([RESIDENT, LEAVING, ARRIVING])), min_size=1, max_size=9)
)
def test_sharing_never_gives_more_than_asked_or_there(vms):
    given_mips, free = shared(*vms)
    assert all(got <= asked for got, (asked, _) in zip(given_mips, vms))
    assert sum(given_mips) <= 3720.0 + 1e-6
    assert free >= 0.0


def test_vms_get_their_kind_by_position_in_four_blocks():
    # 10 VMs: blocks of ceil(10 / 4) = 3, the last block is short.
    assert vm_kind_of(10).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert [kind.mips for kind in VM_KINDS] == [2500.0, 2000.0, 1000.0, 500.0]
