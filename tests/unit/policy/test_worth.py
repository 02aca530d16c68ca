"""What sleep saves and what moves cost, against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.model.container import Image, Movability
from fogfold.model.identity import ImageId
from fogfold.policy.worth import estimate_moves, move_cost_wh, sleep_saving_wh
from fogfold.testing.builders import a_cluster, a_container, a_node, a_site
from fogfold.units import GIB, MIB


def test_sleep_saves_idle_power_less_switching_and_sleeping(look):
    view = look(a_cluster([a_node()]), {})
    # Idle 50 W for 3600 + 60 s; shutdown 1500 J, boot 6000 J, 5 W for 3570 s.
    joules = 50 * 3660 - 1500 - 6000 - 5 * 3570
    assert sleep_saving_wh(view, 3600.0)[0] == pytest.approx(joules / 3600)
    # 61 s: idle 50 W x 121 s = 6050 J, switching 7500 J, asleep 155 J.
    assert sleep_saving_wh(view, 61.0)[0] == pytest.approx((6050 - 7655) / 3600)


def test_live_move_copies_memory_and_restart_waits_for_the_start(look):
    images = [Image(ImageId("app"), 100 * MIB)]
    containers = [
        a_container("live", memory_gib=2.0),
        a_container("again", memory_gib=2.0, movability=Movability.RESTART, start_s=7.0),
    ]
    view = look(a_cluster([a_node(network_mbit_s=800.0)], containers, images=images), {"live": "n0", "again": "n0"})
    moves = estimate_moves(view)
    # Half of 800 Mbit/s are 50e6 byte/s; usage is 1 GiB; 16 MiB are left when it is frozen, then 0.3 s to restore.
    pull = 100 * MIB / 50e6
    copy = (GIB - 16 * MIB) / 50e6
    down = 16 * MIB / 50e6 + 0.3
    assert moves.duration_s.tolist() == pytest.approx([pull + copy + down, pull + 7.0])
    assert moves.downtime_s.tolist() == pytest.approx([down, 7.0])
    assert moves.sent_bytes.tolist() == pytest.approx([100 * MIB + GIB, 100 * MIB])


def test_moves_at_once_share_the_nodes_uplink_and_the_sites(look):
    sites = [a_site(uplink_bit_s=400e6)]
    view = look(a_cluster([a_node(network_mbit_s=800.0)], [a_container(memory_gib=2.0)], sites=sites), {"c0": "n0"})
    moves = estimate_moves(view, at_once=np.array([4]))
    # Half of the site's 400 Mbit/s for four: 6.25e6 byte/s each.
    assert moves.downtime_s[0] == pytest.approx(16 * MIB / 6.25e6 + 0.3)


def test_cost_counts_traffic_downtime_and_lost_requests(look):
    images = [Image(ImageId("app"), 1 * GIB)]
    container = a_container(cores=1.0, movability=Movability.RESTART, start_s=5.0)
    view = look(a_cluster([a_node()], [container], images=images), {"c0": "n0"})
    cost = move_cost_wh(view, estimate_moves(view))
    # 1 GiB at 0.06; 5 s at 0.02; half a core at 10 ms a request: 50 a second, 250 lost at 1e-3.
    assert cost[0] == pytest.approx(0.06 + 0.1 + 0.25)
