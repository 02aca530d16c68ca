"""The arrays of one world in the hands of compiled code: what is fixed, what is live, what will come.

Named tuples of few packed arrays: the compiler passes them on at little cost, and each figure is named where it is
used, as in `live.container_int[CI.PHASE, c]`. (A tuple with one view for each figure reads better still, and was
tried: 90 members took two minutes to compile and doubled the time of a step.)
"""

from __future__ import annotations

from typing import NamedTuple

from fogfold.compiled import Array

__all__ = ["Fixed", "Future", "Live"]


class Fixed(NamedTuple):
    """What does not change in a world; rows as in `encoding.rows`."""

    node: Array
    node_int: Array
    curve: Array
    container: Array
    container_int: Array
    group: Array
    members: Array
    site: Array
    site_km: Array
    round_trip_ms: Array
    user_site: Array
    user_share: Array
    constants: Array
    request: Array
    """Requests once more, a row a container: (containers, 4)."""


class Live(NamedTuple):
    """What changes in a world; rows as in `world.rows`."""

    node: Array
    node_int: Array
    container: Array
    container_int: Array
    image: Array
    site: Array
    clock: Array
    total: Array
    used: Array
    """Demand on each node in the last tick, (nodes, 4)."""


class Future(NamedTuple):
    """What will happen in a world whatever is done."""

    level: Array
    memory_level: Array
    network_level: Array
    disk_level: Array
    surge: Array
    fault: Array
    fault_magnitude: Array
