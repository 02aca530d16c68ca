"""The thing that moves: what a container needs, whom it serves, and how it can be moved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, GroupId, ImageId, NodeId, SiteId, check_id
from fogfold.model.node import Accelerator, Architecture
from fogfold.model.resources import Resources, check_number

__all__ = ["Container", "Image", "Movability", "ServiceClass"]


class ServiceClass(IntEnum):
    """How much it matters that a container answers in time."""

    CRITICAL = 0
    STANDARD = 1
    BATCH = 2


class Movability(IntEnum):
    """How a container can be moved."""

    LIVE = 0
    """By checkpoint with pre-copy of memory; frozen only for the last part."""
    RESTART = 1
    """Stopped here, started there; its memory is lost."""
    NEVER = 2
    """Stays where it is."""


@dataclass(frozen=True, slots=True)
class Image:
    """What a container is started from."""

    id: ImageId
    size_bytes: float

    def __post_init__(self) -> None:
        check_id("image", self.id)
        check_number(f"image {self.id!r}: size_bytes", self.size_bytes)


@dataclass(frozen=True, slots=True)
class Container:
    """One container. Its demand over time is the workload's affair; here stands what does not change."""

    id: ContainerId
    image: ImageId
    request: Resources
    """What it was promised: reference cores, bytes, bit/s up, IOPS."""
    service_time_ms: float
    """CPU time of one request on a reference core; CPU demand / service time is the request rate."""
    users: tuple[tuple[SiteId, float], ...]
    """Where its requests come from: regions (the area round a site) and their shares, which sum to 1."""
    latency_objective_ms: float = math.inf
    """A request that takes longer counts as late; infinite where nobody waits."""
    service_class: ServiceClass = ServiceClass.STANDARD
    architectures: frozenset[Architecture] = frozenset({Architecture.AMD64})
    accelerator: Accelerator | None = None
    data_site: SiteId | None = None
    """Where the data it depends on lives."""
    data_distance_km: float = math.inf
    """How far from its data it may run."""
    group: GroupId | None = None
    movability: Movability = Movability.LIVE
    pinned_to: NodeId | None = None
    """The one node it may run on, where a local volume or device binds it."""
    dirty_rate_bit_s: float = 0.0
    """How fast it rewrites its memory: what pre-copy must send again."""
    start_s: float = 5.0
    """Time from start to the first answer, image present."""

    def __post_init__(self) -> None:
        check_id("container", self.id)
        where = f"container {self.id!r}: "
        check_number(where + "cpu_cores", self.request.cpu_cores, above=True)
        check_number(where + "memory_bytes", self.request.memory_bytes, above=True)
        check_number(where + "service_time_ms", self.service_time_ms, above=True)
        if self.latency_objective_ms != math.inf:
            check_number(where + "latency_objective_ms", self.latency_objective_ms, above=True)
        if self.data_distance_km != math.inf:
            check_number(where + "data_distance_km", self.data_distance_km)
            if self.data_site is None:
                raise ModelError(f"{where}data_distance_km is given without data_site; say where the data is")
        check_number(where + "dirty_rate_bit_s", self.dirty_rate_bit_s)
        check_number(where + "start_s", self.start_s)
        if not self.architectures:
            raise ModelError(f"{where}architectures is empty; name at least one")
        if not self.users:
            raise ModelError(f"{where}users is empty; name at least one region (its own site will do)")
        for region, share in self.users:
            check_number(f"{where}share of region {region!r}", share)
        total = sum(share for _, share in self.users)
        if abs(total - 1.0) > 1e-6:
            raise ModelError(f"{where}the shares of its user regions sum to {total:.12g}; they must sum to 1")
