"""The containers of a scenario file: services as templates, from which so many containers are drawn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from fogfold.world.scenario.schema.nodes import AcceleratorPart, ArchitectureName
from fogfold.world.scenario.schema.part import (
    Amount,
    Name,
    Part,
    Positive,
    PositiveAmount,
    Share,
    fault,
    shares_sum_to_one,
)

__all__ = ["ContainersPart", "DataPart", "ImagePart", "Movabilities", "Replicas", "RequestShare", "Service", "Users"]

ScopeName = Literal["none", "node", "site"]


class ImagePart(Part):
    """What the containers of a service are started from."""

    name: Name
    """Name of the image; services may share one."""
    size_mib: Annotated[float, Field(ge=0)]
    """What a node without it must pull, in MiB."""
    variants: Annotated[int, Field(ge=1)] = 1
    """How many different images of that name and size there are; each deployment uses one of them."""


class Movabilities(Part):
    """In which shares the deployments of a service can be moved, and how; the three sum to 1."""

    live: Share = 1.0
    """Share that is moved by checkpoint with pre-copy of memory."""
    restart: Share = 0.0
    """Share that is stopped here and started there."""
    never: Share = 0.0
    """Share that stays where it is."""

    @model_validator(mode="after")
    def _whole(self) -> Movabilities:
        shares_sum_to_one((self.live, self.restart, self.never), "movability (live, restart, never)")
        return self


class DataPart(Part):
    """Data that a service depends on: it lies at the home region, and the container may not run far from it."""

    share: Share
    """Share of the deployments that depend on such data, in [0, 1]."""
    distance_km: Annotated[float, Field(ge=0)]
    """The farthest from its data that a container may run, in km."""


class Replicas(Part):
    """Containers that do one job together, and how they must stand to each other."""

    count: Annotated[int, Field(ge=2, le=1000)]
    """Containers in one group; the last group takes what is left over."""
    anti_affinity: ScopeName = "node"
    """No two of them on one node (or site); none for no such rule."""
    spread: ScopeName = "none"
    """Their counts per node (or site) may differ by at most `max_skew`; none for no such rule."""
    max_skew: Annotated[int, Field(ge=1)] = 1
    """Largest difference of counts that the spread allows."""
    ghosts_count: bool = True
    """Whether nodes that sleep or have failed still count as empty places for the spread, as in Kubernetes."""
    may_be_missing: Annotated[int, Field(ge=0)] = 1
    """How many of them may be down or on the move at once."""


class Users(Part):
    """Where the requests of a container come from."""

    local_share: Share = 0.8
    """Share of requests from the home region, in [0, 1]; the home region also sets the phase of the day."""
    neighbours: Annotated[int, Field(ge=0)] = 2
    """How many of the nearest other regions share the rest evenly; 0 gives all to the home region."""


class Service(Part):
    """A template: containers of one kind. Amounts per core are multiplied by the CPU request that was drawn."""

    name: Name
    """Name of the service; its containers are named after it, as in web-0042."""
    share: Annotated[float, Field(gt=0, le=1)]
    """Its share of all containers, in ]0, 1]; the shares of all services sum to 1."""
    profile: Name = "steady"
    """Shape of its day where the workload is generated (see the reference page for the profiles)."""
    service_class: Literal["critical", "standard", "batch"] = "standard"
    """How much it matters that it answers in time: critical, standard or batch."""
    cpu_cores: PositiveAmount
    """CPU request of one container, in reference cores."""
    memory_mib_per_core: PositiveAmount
    """Memory request for each requested core, in MiB."""
    network_mbit_s_per_core: Amount
    """Network request (sent to users) for each requested core, in Mbit/s."""
    disk_iops_per_core: Amount
    """Disk request for each requested core, in input/output operations a second."""
    service_time_ms: Positive
    """CPU time of one request on a reference core, in ms."""
    latency_objective_ms: Positive | None
    """A request that takes longer counts as late, in ms; null where nobody waits."""
    architectures: Annotated[tuple[ArchitectureName, ...], Field(min_length=1, strict=False)]
    """Instruction sets that its image is built for."""
    image: ImagePart
    """What it is started from."""
    movability: Movabilities = Movabilities()
    """How its containers can be moved."""
    dirty_rate_mbit_s: Amount
    """How fast it rewrites its memory, in Mbit/s: what a live move must send again."""
    start_s: Annotated[float, Field(ge=0)] = 5.0
    """Time from start to the first answer, image present, in s."""
    data: DataPart | None = None
    """Data nearby that it depends on; null for none."""
    pinned_share: Share = 0.0
    """Share of containers bound to one node by a local volume or device, in [0, 1]."""
    replicas: Replicas | None = None
    """Groups of containers that do one job together; null where each stands alone."""
    accelerator: AcceleratorPart | None = None
    """Accelerators it needs; null for none."""
    users: Users = Users()
    """Where its requests come from."""


class RequestShare(Part):
    """Which share of the capacity all requests together are to take; every size is scaled by one factor to meet it."""

    cpu: Annotated[float, Field(gt=0, le=1)] | None = None
    """Sum of CPU requests over the CPU of all nodes but the spare ones; null leaves the sizes as drawn."""
    memory: Annotated[float, Field(gt=0, le=1)] | None = None
    """Sum of memory requests over the memory of all nodes but the spare ones; null leaves the sizes as drawn."""


class ContainersPart(Part):
    """How many containers there are, and of which services."""

    total: Annotated[int, Field(ge=1)] | None = None
    """How many containers in all; null where `per_node` or a trace says."""
    per_node: Positive | None = None
    """How many containers for each node that is not spare; null where `total` or a trace says."""
    request_share: RequestShare = RequestShare()
    """Share of the capacity that the requests take."""
    services: Annotated[tuple[Service, ...], Field(min_length=1, strict=False)]
    """The templates, at least one."""

    @field_validator("services")
    @classmethod
    def _whole(cls, services: tuple[Service, ...]) -> tuple[Service, ...]:
        shares_sum_to_one((service.share for service in services), "the services")
        return services

    @model_validator(mode="after")
    def _one_count(self) -> ContainersPart:
        if self.total is not None and self.per_node is not None:
            raise fault("both total and per_node are given; keep one")
        return self
