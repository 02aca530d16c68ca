"""What containers ask for: drawn service by service, then scaled together to a share of the capacity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ScenarioError
from fogfold.model.resources import Resource
from fogfold.seeding import stream
from fogfold.units import MBIT, MIB
from fogfold.world.scenario.schema.containers import RequestShare, Service
from fogfold.world.scenario.schema.part import Lognormal

__all__ = ["draw_requests"]

_ROUNDS = 50
_TOLERANCE = 0.01
"""Largest relative distance from the share asked for that is let pass: bounds may keep sizes from meeting it."""
_CORE_STEP = 1e-3


def draw_requests(
    services: Sequence[Service],
    members: Sequence[Int[Array, " _"]],
    share: RequestShare,
    capacity: Float[Array, " 4"],
    seed: int,
) -> list[Float[Array, "4 _"]]:
    """The request of one container of each deployment, service by service; rows as in `Resource`.

    Args:
        services: the templates.
        members: for each service, how many containers each of its deployments has.
        share: which share of the capacity all of them are to take.
        capacity: what the nodes that count offer together.
        seed: the root of the streams.

    Raises:
        ScenarioError: if the bounds of the sizes keep the requests from taking the share asked for.
    """

    def drawn(what: str) -> list[Float[Array, " _"]]:
        return [
            getattr(service, what).draw(stream(seed, "containers", service.name, what), len(count))
            for service, count in zip(services, members, strict=True)
        ]

    cores = _scaled(
        drawn("cpu_cores"),
        [service.cpu_cores for service in services],
        members,
        _target(share.cpu, capacity[Resource.CPU]),
        "cpu",
    )
    cores = [np.ceil(values / _CORE_STEP - 1e-6) * _CORE_STEP for values in cores]
    memory = _scaled(
        drawn("memory_mib_per_core"),
        [service.memory_mib_per_core for service in services],
        [count * core for count, core in zip(members, cores, strict=True)],
        _target(share.memory, capacity[Resource.MEMORY] / MIB),
        "memory",
    )
    network, disk = drawn("network_mbit_s_per_core"), drawn("disk_iops_per_core")
    return [
        np.stack([core, np.ceil(core * each_memory - 1e-6) * MIB, core * each_network * MBIT, core * each_disk])
        for core, each_memory, each_network, each_disk in zip(cores, memory, network, disk, strict=True)
    ]


def _target(share: float | None, capacity: float) -> float | None:
    return None if share is None else share * float(capacity)


def _scaled(
    values: list[Float[Array, " _"]],
    bounds: Sequence[Lognormal],
    weights: Sequence[Array],
    target: float | None,
    what: str,
) -> list[Float[Array, " _"]]:
    """The values times one factor, kept within their bounds, so that their weighted sum is the target.

    What the bounds take away is given to the others: the factor is corrected until the sum stands.
    """
    kept = [bound.bounded(value) for bound, value in zip(bounds, values, strict=True)]
    if target is None:
        return kept
    factor = 1.0
    for _ in range(_ROUNDS):
        total = sum(float((value * weight).sum()) for value, weight in zip(kept, weights, strict=True))
        if abs(total - target) <= 1e-4 * target:
            return kept
        factor *= target / total
        kept = [bound.bounded(value * factor) for bound, value in zip(bounds, values, strict=True)]
    total = sum(float((value * weight).sum()) for value, weight in zip(kept, weights, strict=True))
    if abs(total - target) > _TOLERANCE * target:
        raise ScenarioError(
            [
                f"containers.request_share.{what} cannot be met: within the bounds `least` and `most` of their sizes "
                f"the containers ask for {total / target:.2f} times as much; change the bounds, the number of "
                "containers, or the share"
            ]
        )
    return kept
