"""The sites of a scenario, drawn from a seed: where they lie, how they are linked, and how many users each has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.encoding.geography import distance_km
from fogfold.model.cluster import Site
from fogfold.model.identity import SiteId
from fogfold.seeding import stream
from fogfold.units import MBIT
from fogfold.world.scenario.layout import site_positions
from fogfold.world.scenario.schema import Scenario

__all__ = ["Ground", "draw_ground"]


@dataclass(frozen=True)
class Ground:
    """The sites of a cluster and what was drawn with them."""

    sites: tuple[Site, ...]
    groups: Mapping[str, Int[Array, " members"]]
    """Positions of the sites of each group, by the group's name."""
    has_users: Bool[Array, " sites"]
    crowding: Float[Array, " sites"]
    """Users for each core of the site, relative to the other sites."""
    km: Float[Array, "sites sites"]
    """Great-circle distance between every two sites, in km."""

    @property
    def longitude_deg(self) -> Float[Array, " sites"]:
        """Longitude of each site, in degrees east."""
        return np.array([site.longitude_deg for site in self.sites])


def draw_ground(scenario: Scenario, seed: int) -> Ground:
    """The sites of all groups, in the order of the file; each group and each figure has a stream of its own.

    Raises:
        TraceNotFoundError: if real positions are asked for and are not on this machine.
        ModelError: if a drawn id is given twice.
    """
    sites: list[Site] = []
    groups: dict[str, Int[Array, " members"]] = {}
    users: list[bool] = []
    crowding: list[float] = []
    for group in scenario.sites:

        def rng(what: str, name: str = group.name) -> np.random.Generator:
            return stream(seed, "sites", name, what)

        points = site_positions(group, rng("positions"))
        count = len(points)
        uplink = group.uplink_mbit_s.draw(rng("uplink"), count) * MBIT
        access = group.access_ms.draw(rng("access"), count)
        jitter = group.jitter_ms.draw(rng("jitter"), count)
        loss = np.minimum(group.loss.draw(rng("loss"), count), 1.0)
        groups[group.name] = np.arange(len(sites), len(sites) + count)
        sites += [
            Site(SiteId(name), latitude, longitude, float(up), float(way), float(shake), float(lost))
            for (name, latitude, longitude), up, way, shake, lost in zip(
                points, uplink, access, jitter, loss, strict=True
            )
        ]
        users += [group.users] * count
        crowding += np.exp(group.users_sigma * rng("users").standard_normal(count)).tolist()
    latitude = np.array([site.latitude_deg for site in sites])
    longitude = np.array([site.longitude_deg for site in sites])
    return Ground(tuple(sites), groups, np.array(users), np.array(crowding), distance_km(latitude, longitude))
