"""The sites of a scenario file: where they lie, and what their links to the rest are like."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fogfold.world.scenario.schema.part import Amount, Name, Part, Positive, PositiveAmount

__all__ = [
    "Centre",
    "EuaLayout",
    "GeneratedLayout",
    "Layout",
    "ListedLayout",
    "MelbourneCbdLayout",
    "Place",
    "SiteGroup",
]

Latitude = Annotated[float, Field(ge=-90, le=90)]
Longitude = Annotated[float, Field(ge=-180, le=180)]


class Centre(Part):
    """A point on the globe."""

    latitude_deg: Latitude
    """Degrees north of the equator, in [-90, 90]."""
    longitude_deg: Longitude
    """Degrees east of Greenwich, in [-180, 180]; it also sets the local time of the users there."""


class Place(Centre):
    """One named site."""

    id: Name
    """Id of the site, unique in the scenario."""


class GeneratedLayout(Part):
    """Positions drawn to the statistics of the real base stations of the Melbourne CBD, at any size."""

    kind: Literal["generated"]
    """Which kind of layout this is."""
    count: Annotated[int, Field(ge=1, le=10_000)]
    """How many sites."""
    centre: Centre
    """Middle of the area."""
    extent_km: Positive | None = None
    """Long side of the area, in km; null keeps the measured density of 71 sites per square kilometre."""


class ListedLayout(Part):
    """Positions written out."""

    kind: Literal["listed"]
    """Which kind of layout this is."""
    places: Annotated[tuple[Place, ...], Field(min_length=1, strict=False)]
    """The sites, at least one."""


class EuaLayout(Part):
    """Real positions of 125 base stations in the Melbourne CBD (EUA dataset); needs the traces folder."""

    kind: Literal["eua"]
    """Which kind of layout this is."""
    count: Annotated[int, Field(ge=1, le=125)] | None = None
    """How many of the 125, drawn by the seed; null for all."""


class MelbourneCbdLayout(Part):
    """Real positions of iFogSim2's fog hierarchy in the Melbourne CBD; needs the traces folder."""

    kind: Literal["melbourne-cbd"]
    """Which kind of layout this is."""
    level: Literal["gateways", "proxies", "datacentre"] = "gateways"
    """Which level of the hierarchy: 118 gateways, 12 proxies of blocks, or the one data centre."""
    count: Annotated[int, Field(ge=1, le=118)] | None = None
    """How many sites of that level, drawn by the seed; null for all."""


Layout = Annotated[
    GeneratedLayout | ListedLayout | EuaLayout | MelbourneCbdLayout,
    Field(discriminator="kind"),
]


class SiteGroup(Part):
    """Sites of one kind. Each is a place with nodes and, where it has users, a region of users round it."""

    name: Name
    """Name of the group; its sites are named after it, as in city-07."""
    layout: Layout
    """Where the sites lie."""
    users: bool = True
    """Whether users live round these sites; false for a data centre that serves the others."""
    users_sigma: Annotated[float, Field(ge=0, le=3)] = 0.5
    """How unevenly users spread over the sites: standard deviation of the logarithm of users per core of the site."""
    uplink_mbit_s: PositiveAmount
    """Capacity of the link between a site and the rest, in Mbit/s."""
    access_ms: Amount
    """Time between a user of the region and the site, there and back, in ms."""
    jitter_ms: Amount
    """Standard deviation of the round trip over a site's uplink, in ms."""
    loss: Amount
    """Share of packets lost on a site's uplink; draws above 1 are lowered to 1."""
