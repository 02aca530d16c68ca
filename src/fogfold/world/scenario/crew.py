"""The containers of a scenario, drawn from a seed, with their images and groups, each checked to fit somewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from fogfold.compiled import Array
from fogfold.errors import PlacementError
from fogfold.model.cluster import Group, Scope
from fogfold.model.container import Container, Image, ServiceClass
from fogfold.model.identity import ContainerId, GroupId, ImageId
from fogfold.model.node import Accelerator, Architecture
from fogfold.model.resources import Resource, Resources
from fogfold.units import MIB
from fogfold.world.scenario.claims import Claims
from fogfold.world.scenario.deployments import Deployments, Regions, draw_deployments, member_counts
from fogfold.world.scenario.fleet import Fleet, whole_counts
from fogfold.world.scenario.ground import Ground
from fogfold.world.scenario.reach import Reach, why_nowhere
from fogfold.world.scenario.schema import Scenario
from fogfold.world.scenario.schema.containers import Service
from fogfold.world.scenario.sizes import draw_requests

__all__ = ["Crew", "draw_crew"]


@dataclass(frozen=True)
class Crew:
    """The containers of a cluster and what was drawn with them."""

    images: tuple[Image, ...]
    groups: tuple[Group, ...]
    containers: tuple[Container, ...]
    profiles: tuple[str, ...]
    """Name of each container's profile."""
    main_region: Int[Array, " containers"]
    """Site from whose region most of each container's requests come."""


def draw_crew(scenario: Scenario, ground: Ground, fleet: Fleet, count: int, seed: int) -> Crew:
    """So many containers, in the shares of the services; service after service, in the order of the file.

    Raises:
        PlacementError: if a container fits on no node, naming it and the first rule that leaves none; if a group has
            more members than there are places for them; or if all together ask for more than there is.
        ScenarioError: if the requests cannot take the share of the capacity that was asked for.
    """
    services = scenario.containers.services
    members = [
        member_counts(service, number)
        for service, number in zip(services, whole_counts([service.share for service in services], count), strict=True)
    ]
    requests = draw_requests(services, members, scenario.containers.request_share, fleet.base_capacity, seed)
    regions, reach = Regions.of(ground, fleet), Reach.of(ground, fleet)
    claims = Claims(ground, fleet)
    images: dict[str, Image] = {}
    groups: list[Group] = []
    containers: list[Container] = []
    profiles: list[str] = []
    main: list[int] = []
    for service, sizes, request in zip(services, members, requests, strict=True):
        drawn = draw_deployments(service, sizes, request, regions, reach, claims, seed)
        made = _containers(drawn, regions, ground, claims, fleet, reach)
        _check_fit(drawn, made, fleet)
        _check_groups(drawn, reach)
        containers += made
        groups += _groups(drawn)
        for image in _images(service):
            images.setdefault(image.id, image)
        profiles += [service.profile] * len(made)
        homes = [regions.main(home, service.users) for home in drawn.home.tolist()]
        main += np.repeat(homes, drawn.members).tolist()
    _check_totals(containers, fleet)
    return Crew(tuple(images.values()), tuple(groups), tuple(containers), tuple(profiles), np.array(main, np.int64))


def _image_id(service: Service, variant: int) -> ImageId:
    name = service.image.name
    return ImageId(name if service.image.variants == 1 else f"{name}:{variant}")


def _images(service: Service) -> list[Image]:
    size = service.image.size_mib * MIB
    return [Image(_image_id(service, variant), size) for variant in range(service.image.variants)]


def _group_id(service: Service, deployment: int, digits: int) -> GroupId:
    return GroupId(f"{service.name}-set-{deployment:0{digits}d}")


def _digits(count: int) -> int:
    return max(2, len(str(count - 1)))


def _groups(drawn: Deployments) -> list[Group]:
    rules = drawn.service.replicas
    if rules is None:
        return []
    return [
        Group(
            _group_id(drawn.service, i, _digits(len(drawn.members))),
            anti_affinity=Scope[rules.anti_affinity.upper()],
            spread=Scope[rules.spread.upper()],
            max_skew=rules.max_skew,
            ghosts_count=rules.ghosts_count,
            may_be_missing=rules.may_be_missing,
        )
        for i in range(len(drawn.members))
    ]


def _containers(
    drawn: Deployments, regions: Regions, ground: Ground, claims: Claims, fleet: Fleet, reach: Reach
) -> list[Container]:
    service = drawn.service
    total = int(drawn.members.sum())
    digits, group_digits = max(2, len(str(total - 1))), _digits(len(drawn.members))
    architectures = frozenset(Architecture[name.upper()] for name in service.architectures)
    need = service.accelerator
    accelerator = Accelerator(need.kind, need.count) if need is not None else None
    objective_ms = math.inf if service.latency_objective_ms is None else service.latency_objective_ms
    service_class = ServiceClass[service.service_class.upper()]
    image_ids = [_image_id(service, variant) for variant in range(service.image.variants)]
    found: list[Container] = []
    for i, size in enumerate(drawn.members.tolist()):
        request = Resources(*drawn.request[:, i].tolist())
        data = int(drawn.data_site[i])
        km = service.data.distance_km if service.data is not None and data >= 0 else math.inf
        group = _group_id(service, i, group_digits) if service.replicas is not None else None
        users = regions.mix(int(drawn.home[i]), service.users)
        taken: list[int] = []
        for _ in range(size):
            number = len(found)
            node = None
            if drawn.pinned[number]:
                could = reach.nodes(drawn.kinds[i], data, km)
                node = claims.pin(service, drawn.request[:, i], could, int(drawn.home[i]), taken)
            found.append(
                Container(
                    id=ContainerId(f"{service.name}-{number:0{digits}d}"),
                    image=image_ids[int(drawn.variant[i])],
                    request=request,
                    service_time_ms=service.service_time_ms,
                    users=users,
                    latency_objective_ms=objective_ms,
                    service_class=service_class,
                    architectures=architectures,
                    accelerator=accelerator,
                    data_site=ground.sites[data].id if data >= 0 else None,
                    data_distance_km=km,
                    group=group,
                    movability=drawn.movability[i],
                    pinned_to=fleet.nodes[node].id if node is not None else None,
                    dirty_rate_bit_s=float(drawn.dirty_rate_bit_s[i]),
                    start_s=service.start_s,
                )
            )
    return found


def _check_fit(drawn: Deployments, made: list[Container], fleet: Fleet) -> None:
    nowhere = np.flatnonzero(~drawn.kinds.any(axis=1))
    if len(nowhere):
        container = made[int(drawn.members[: nowhere[0]].sum())]
        raise PlacementError(why_nowhere(container, fleet.nodes))


def _check_groups(drawn: Deployments, reach: Reach) -> None:
    rules = drawn.service.replicas
    if rules is None or rules.anti_affinity == "none" or len(drawn.members) == 0:
        return
    places = reach.places(drawn.kinds, rules.anti_affinity)
    if drawn.service.data is not None:
        within = reach.places(drawn.kinds, rules.anti_affinity, drawn.service.data.distance_km)
        bound = drawn.data_site >= 0
        places[bound] = within[bound, drawn.data_site[bound]]
    short = np.flatnonzero(places < drawn.members)
    if len(short):
        i = int(short[0])
        raise PlacementError(
            f"group {_group_id(drawn.service, i, _digits(len(drawn.members)))!r} has {drawn.members[i]} members that "
            f"may not share a {rules.anti_affinity}, but only {places[i]} {rules.anti_affinity}s can hold one; "
            "lower replicas.count, relax anti_affinity, or add nodes"
        )


def _check_totals(containers: list[Container], fleet: Fleet) -> None:
    """Nothing, where all containers together ask for no more than all nodes together offer."""
    asked = np.array([container.request.as_tuple() for container in containers]).sum(axis=0)
    offered = fleet.capacity.sum(axis=1)
    for resource in Resource:
        if asked[resource] > offered[resource]:
            raise PlacementError(
                f"all containers together ask for {asked[resource]:.6g} of {resource.name.lower()}, all nodes offer "
                f"{offered[resource]:.6g}; lower request_share, the sizes or the number of containers, or add nodes"
            )
    for kind in sorted({container.accelerator.kind for container in containers if container.accelerator}):
        need = sum(one.accelerator.count for one in containers if one.accelerator and one.accelerator.kind == kind)
        have = sum(one.accelerator.count for one in fleet.nodes if one.accelerator and one.accelerator.kind == kind)
        if need > have:
            raise PlacementError(
                f"the containers need {need} x {kind} together, the nodes have {have}; "
                "lower the share of the services that need it, or add such nodes"
            )
