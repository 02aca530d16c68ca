"""The workload of a scenario file: generated, or replayed from a trace."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from fogfold.world.scenario.schema.part import Part, Positive

__all__ = ["BitbrainsWorkload", "FileWorkload", "GeneratedWorkload", "PlanetLabWorkload", "WorkloadPart"]

Day = Annotated[str, BeforeValidator(lambda day: str(day) if isinstance(day, int) else day)]


class GeneratedWorkload(Part):
    """Daily and weekly cycles with bursts and long tails, by the profile of each service."""

    kind: Literal["generated"]
    """Which kind of workload this is."""
    mean_level: Positive = 0.4
    """Mean CPU demand over the CPU request; nodes are mostly idle because requests are mostly air."""
    load_factor: Positive = 1.0
    """Factor on the mean level: 1.3 asks what happens with 30 % more."""


class PlanetLabWorkload(Part):
    """One day of PlanetLab virtual machines (CoMon, 2011), in samples of 5 min; needs the traces folder."""

    kind: Literal["planetlab"]
    """Which kind of workload this is."""
    day: Day = "20110303"
    """Which day, as year, month and day: 20110303 (1052 machines), 20110306, 20110309, 20110322, 20110325, 20110420."""
    containers: Annotated[int, Field(ge=1)] | None = None
    """How many of the day's virtual machines; null for all."""
    load_factor: Positive = 1.0
    """Factor on the demand for CPU, network and disk; memory stays as it was."""


class BitbrainsWorkload(Part):
    """Days of Bitbrains virtual machines (GWA-T-12 rnd, August 2013), in samples of 5 min; needs the traces folder."""

    kind: Literal["bitbrains"]
    """Which kind of workload this is."""
    first_day: Annotated[int, Field(ge=0, le=29)] = 0
    """First day, counted from 0 (Thursday, 1 August 2013, from midnight in Amsterdam)."""
    days: Annotated[int, Field(ge=1, le=30)] = 1
    """How many days; `hours`, where given, takes less or more."""
    containers: Annotated[int, Field(ge=1)] | None = None
    """How many of the 250 virtual machines; null for all."""
    load_factor: Positive = 1.0
    """Factor on the demand for CPU, network and disk; memory stays as it was."""


class FileWorkload(Part):
    """Levels from a file of your own, as `fogfold.world.workload.archive.save_workload` writes it."""

    kind: Literal["file"]
    """Which kind of workload this is."""
    path: Annotated[str, Field(min_length=1)]
    """Path of the file (.npz); relative paths start at the folder of the scenario file."""
    load_factor: Positive = 1.0
    """Factor on the demand for CPU, network and disk; memory stays as it was."""


WorkloadPart = Annotated[
    GeneratedWorkload | PlanetLabWorkload | BitbrainsWorkload | FileWorkload,
    Field(discriminator="kind"),
]
