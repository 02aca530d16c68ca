"""A scenario file as a whole, and its published JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from fogfold.units import HOUR_S, TICK_S
from fogfold.world.scenario.schema.containers import ContainersPart
from fogfold.world.scenario.schema.nodes import MachinePart, NodeGroup
from fogfold.world.scenario.schema.overrides import FaultOverrides, FaultsPart, WorldOverrides
from fogfold.world.scenario.schema.part import Name, Part, Positive, fault
from fogfold.world.scenario.schema.sites import SiteGroup
from fogfold.world.scenario.schema.workload import WorkloadPart

__all__ = ["SCHEMA_VERSION", "WEEKDAYS", "Scenario", "Start", "json_schema"]

SCHEMA_VERSION = 1
"""Version of the form of scenario files; a change that old files do not survive raises it."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
"""Days of the week in their order; world time counts from Monday, 00:00 UTC."""


class Start(Part):
    """When the world starts, in UTC."""

    day: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = "monday"
    """Day of the week."""
    hour: Annotated[float, Field(ge=0, lt=24)] = 0.0
    """Hour of the day in UTC, in [0, 24[; a whole number of ticks of 30 s."""

    @field_validator("hour")
    @classmethod
    def _on_a_tick(cls, hour: float) -> float:
        return _whole_ticks("hour", hour)

    @property
    def seconds(self) -> float:
        """Seconds since Monday, 00:00 UTC."""
        return (WEEKDAYS.index(self.day) * 24 + self.hour) * HOUR_S


class Scenario(Part):
    """A cluster, its users and its days. One seed makes one world of it."""

    schema_version: Literal[1]
    """Version of the form of this file: 1."""
    name: Name
    """Name of the scenario, as results show it."""
    description: str = ""
    """What it is for, in a sentence or two."""
    start: Start = Start()
    """When a generated workload starts; a trace brings its own day."""
    hours: Positive | None = None
    """How long it runs, in hours, a whole number of ticks of 30 s; null for the whole trace, or a day if generated."""
    machines: Annotated[tuple[MachinePart, ...], Field(strict=False)] = ()
    """Machines that the catalogue does not have."""
    sites: Annotated[tuple[SiteGroup, ...], Field(min_length=1, strict=False)]
    """Groups of sites, at least one."""
    nodes: Annotated[tuple[NodeGroup, ...], Field(min_length=1, strict=False)]
    """Groups of nodes, at least one."""
    containers: ContainersPart
    """How many containers, and of which services."""
    workload: WorkloadPart
    """What the users want over time."""
    world: WorldOverrides = WorldOverrides()
    """Constants of the world that differ from the defaults."""
    faults: FaultsPart = FaultOverrides()
    """How often things go wrong, or the word off."""

    @field_validator("hours")
    @classmethod
    def _on_a_tick(cls, hours: float | None) -> float | None:
        return None if hours is None else _whole_ticks("hours", hours)


def _whole_ticks(name: str, hours: float) -> float:
    ticks = hours * HOUR_S / TICK_S
    if abs(ticks - round(ticks)) > 1e-6:
        raise fault(f"{name} is {hours:g}; it must be a whole number of ticks of {TICK_S:g} s")
    return hours


def json_schema() -> dict[str, Any]:
    """JSON Schema of scenario files (draft 2020-12), for editors and other checkers of YAML.

    Rules between keys (shares that sum to 1, names that lead somewhere) are not in it; `load_scenario` checks them.
    """
    schema = Scenario.model_json_schema()
    faults = schema["properties"]["faults"]
    schema["properties"]["faults"] = {
        "anyOf": [{"const": "off"}, {"$ref": "#/$defs/FaultOverrides"}],
        "description": faults["description"],
    }
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"fogfold scenario, version {SCHEMA_VERSION}",
    }
    return {**schema, **head}
