"""The deployments of one service, drawn from a seed: whom they serve, where their data lies, how they are moved.

A deployment is one container, or a group of replicas: its members share sizes, image, users and data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.model.container import Movability
from fogfold.model.identity import SiteId
from fogfold.seeding import stream
from fogfold.units import MBIT
from fogfold.world.scenario.claims import Claims
from fogfold.world.scenario.fleet import Fleet
from fogfold.world.scenario.ground import Ground
from fogfold.world.scenario.reach import Reach
from fogfold.world.scenario.schema.containers import Service, Users

__all__ = ["Deployments", "Regions", "draw_deployments", "member_counts"]


@dataclass(frozen=True)
class Regions:
    """Where users live, and which regions are near which."""

    share: Float[Array, " sites"]
    """Share of all users in the region of each site; 0 where none live. Users follow cores, times a site's crowding."""
    neighbours: Int[Array, "sites others"]
    """For each site the other sites with users, nearest first."""
    ids: tuple[SiteId, ...]
    _mixes: dict[tuple[int, float, int], tuple[tuple[SiteId, float], ...]] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(ground: Ground, fleet: Fleet) -> Regions:
        """The regions of a cluster. A region without nodes of its own has as many users as the mean of the others."""
        cores = np.bincount(fleet.site, fleet.capacity[0], len(ground.sites))
        served = ground.has_users & (cores > 0)
        cores[ground.has_users & ~served] = cores[served].mean() if served.any() else 1.0
        weight = np.where(ground.has_users, cores * ground.crowding, 0.0)
        with_users = np.flatnonzero(ground.has_users)
        order = np.argsort(ground.km[:, with_users], axis=1, kind="stable")
        nearest = with_users[order]
        others = [[site for site in row if site != here] for here, row in enumerate(nearest.tolist())]
        width = min(len(row) for row in others)
        neighbours = np.array([row[:width] for row in others], np.int64).reshape(len(others), width)
        return Regions(weight / weight.sum(), neighbours, tuple(site.id for site in ground.sites))

    def mix(self, home: int, users: Users) -> tuple[tuple[SiteId, float], ...]:
        """Regions and shares of the requests of a container at home there; the home region first."""
        key = (home, users.local_share, users.neighbours)
        if key not in self._mixes:
            around = self.neighbours[home, : users.neighbours].tolist()
            local = users.local_share if around else 1.0
            mix = [(self.ids[home], local)] if local > 0 else []
            if local < 1:
                mix += [(self.ids[site], (1.0 - local) / len(around)) for site in around]
            self._mixes[key] = tuple(mix)
        return self._mixes[key]

    def main(self, home: int, users: Users) -> int:
        """The region with the largest share of those requests: its clock and its surges drive the demand."""
        around = self.neighbours[home, : users.neighbours].tolist()
        if around and (1.0 - users.local_share) / len(around) > users.local_share:
            return int(around[0])
        return home


@dataclass(frozen=True)
class Deployments:
    """The deployments of one service, one entry each."""

    service: Service
    members: Int[Array, " deployments"]
    """How many containers each has."""
    request: Float[Array, "4 deployments"]
    """What one of its containers was promised of each resource."""
    home: Int[Array, " deployments"]
    """Site whose region is its home."""
    kinds: Bool[Array, "deployments kinds"]
    """Kinds of node that could hold one of its containers."""
    data_site: Int[Array, " deployments"]
    """Site of the data it depends on; -1 where it depends on none."""
    movability: tuple[Movability, ...]
    variant: Int[Array, " deployments"]
    """Which variant of the image it is started from."""
    dirty_rate_bit_s: Float[Array, " deployments"]
    pinned: Bool[Array, " containers"]
    """Which of all its containers are bound to one node, deployment after deployment."""


def member_counts(service: Service, containers: int) -> Int[Array, " deployments"]:
    """How many containers each deployment of a service has, when there are so many in all."""
    size = service.replicas.count if service.replicas is not None else 1
    whole, rest = divmod(containers, size)
    return np.array([size] * whole + ([rest] if rest else []), np.int64)


def draw_deployments(
    service: Service,
    members: Int[Array, " deployments"],
    request: Float[Array, "4 deployments"],
    regions: Regions,
    reach: Reach,
    claims: Claims,
    seed: int,
) -> Deployments:
    """The deployments of a service; users and containers draw from streams of their own."""
    count = len(members)

    def rng(what: str) -> np.random.Generator:
        return stream(seed, "containers", service.name, what)

    home = stream(seed, "users", service.name, "home").choice(len(regions.share), count, p=regions.share)
    kinds = reach.holds(request) & reach.suits(service)
    data_site = _data_sites(service, members, kinds, home, reach, claims, rng("data"))
    moves = service.movability
    shares = np.cumsum([moves.live, moves.restart, moves.never])
    which = np.searchsorted(shares / shares[-1], rng("movability").random(count), side="right")
    return Deployments(
        service=service,
        members=members,
        request=request,
        home=home,
        kinds=kinds,
        data_site=data_site,
        movability=tuple(Movability(int(i)) for i in which),
        variant=rng("image").integers(service.image.variants, size=count),
        dirty_rate_bit_s=service.dirty_rate_mbit_s.draw(rng("dirty-rate"), count) * MBIT,
        pinned=rng("pins").random(int(members.sum())) < service.pinned_share,
    )


def _data_sites(
    service: Service,
    members: Int[Array, " deployments"],
    kinds: Bool[Array, "deployments kinds"],
    home: Int[Array, " deployments"],
    reach: Reach,
    claims: Claims,
    rng: np.random.Generator,
) -> Int[Array, " deployments"]:
    """Where each deployment's data lies; -1 for none.

    Data lies at the home region, or at the nearest site from which a node that could run the container is within
    the distance: nobody would have put it elsewhere. Where it needs accelerators, the nearest site that leaves everyone
    one is taken, so that no two districts hang on the same.
    """
    data_site = np.full(len(home), -1, np.int64)
    bound = rng.random(len(home)) < (service.data.share if service.data is not None else 0.0)
    if service.accelerator is not None:
        for i in np.flatnonzero(~bound).tolist():
            claims.ask(kinds[i][reach.kind], service.accelerator.count * int(members[i]))
    if service.data is None:
        return data_site
    allowed = reach.places(kinds, "node", service.data.distance_km) > 0
    # The home itself is at distance 0, so it is the nearest wherever it is allowed.
    away = np.where(allowed, reach.km[home], np.inf)
    data_site[bound] = np.where(allowed.any(axis=1), away.argmin(axis=1), home)[bound]
    if service.accelerator is not None:
        for i in np.flatnonzero(bound).tolist():
            count = service.accelerator.count * int(members[i])
            sites = np.argsort(away[i], kind="stable")[: int(allowed[i].sum())].tolist()
            could = {site: reach.nodes(kinds[i], site, service.data.distance_km) for site in sites}
            roomy = (site for site in sites if claims.leaves_choice(could[site], count))
            data_site[i] = next(roomy, data_site[i])
            if sites:
                claims.ask(could[int(data_site[i])], count)
    return data_site
