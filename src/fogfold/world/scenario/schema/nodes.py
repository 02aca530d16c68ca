"""The nodes of a scenario file: which machines stand where, and machines that the catalogue does not have."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from fogfold.model.node import POWER_CURVE_POINTS
from fogfold.world.scenario.schema.part import MachineName, Name, Part, Positive, Share, fault, shares_sum_to_one

__all__ = ["AcceleratorPart", "MachinePart", "MachineShare", "NodeGroup"]

ArchitectureName = Literal["amd64", "arm64", "riscv64"]


class AcceleratorPart(Part):
    """Accelerators of one kind."""

    kind: Name
    """Kind of the accelerator, as the machine names it."""
    count: Annotated[int, Field(ge=1)] = 1
    """How many."""


class MachinePart(Part):
    """A machine that the catalogue does not have. None of its figures is guessed where it is left out."""

    name: MachineName
    """Name of the machine, to be used in a mix: lower-case letters, digits and hyphens."""
    architecture: ArchitectureName
    """Instruction set: amd64, arm64 or riscv64."""
    cores: Annotated[int, Field(ge=1)]
    """Physical cores."""
    core_speed: Positive
    """Speed of one core against the reference core (1.0)."""
    memory_gib: Positive
    """Memory, in GiB."""
    network_mbit_s: Positive
    """What its link sends, in Mbit/s."""
    network_down_mbit_s: Positive | None = None
    """What its link takes in, in Mbit/s; null where it is the same both ways."""
    disk_iops: Positive
    """Input/output operations a second that its disk serves."""
    accelerator: AcceleratorPart | None = None
    """Accelerators it has; null for none."""
    power_w: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(strict=False)]
    """Power curve: eleven figures in W, at 0, 10, ..., 100 % CPU load (absence is never read as zero)."""
    power_source: Annotated[str, Field(min_length=1)]
    """Where the power curve comes from: a measurement, a data sheet, a paper."""
    sleep_w: Annotated[float, Field(ge=0)]
    """Power while asleep, in W; 0 only where the plug is cut."""
    shutdown_s: Positive
    """Time from the order to sleep until it draws its sleep power, in s."""
    wake_s: Positive
    """Time from the order to wake until it can run containers, in s."""
    shutdown_energy_j: Annotated[float, Field(ge=0)]
    """Energy drawn in all while it shuts down, in J."""
    wake_energy_j: Annotated[float, Field(ge=0)]
    """Energy drawn in all while it boots, in J."""
    wake_failure_probability: Share
    """Share of wake orders after which it does not come up, in [0, 1]."""
    mtbf_days: Positive
    """Mean time between failures, in days; a node group's `failures: false` switches them off."""
    mttr_hours: Positive
    """Mean time to repair, in hours."""

    @field_validator("power_w")
    @classmethod
    def _whole_curve(cls, points: tuple[float, ...]) -> tuple[float, ...]:
        if len(points) != POWER_CURVE_POINTS:
            raise fault(
                f"the power curve has {len(points)} points; "
                f"give {POWER_CURVE_POINTS}, in W at 0, 10, ..., 100 % CPU load"
            )
        if points[0] > points[-1]:
            raise fault(
                f"the power curve falls from {points[0]:g} W idle to {points[-1]:g} W at full load; "
                "give the points in order of rising load"
            )
        return points

    @model_validator(mode="after")
    def _sleep_saves(self) -> MachinePart:
        if self.sleep_w > self.power_w[0]:
            raise fault(
                f"sleep_w is {self.sleep_w:g} W, above the idle power of {self.power_w[0]:g} W; "
                "sleeping would cost energy"
            )
        return self


class MachineShare(Part):
    """One machine of a mix."""

    machine: Name
    """Name of a machine: of the catalogue, or of this file's `machines`."""
    share: Annotated[float, Field(gt=0, le=1)]
    """Its share of the group's nodes, in ]0, 1]; the shares of a mix sum to 1."""
    tier: Literal["edge", "fog", "cloud"] = "edge"
    """How far from the users it stands: edge, fog or cloud."""


class NodeGroup(Part):
    """Nodes of one mix, dealt over the sites of one group."""

    name: Name
    """Name of the group; its nodes are named after it, as in edge-007."""
    sites: Name
    """Name of the site group they stand at; every site gets at least one node."""
    count: Annotated[int, Field(ge=1)]
    """How many nodes."""
    spare: Annotated[int, Field(ge=0)] = 0
    """Further nodes of the same mix, kept in reserve: they count neither for `per_node` nor for `request_share`."""
    most_per_site: Annotated[int, Field(ge=1)] = 10
    """Most nodes that one site may have."""
    mix: Annotated[tuple[MachineShare, ...], Field(min_length=1, strict=False)]
    """Which machines, and in which shares; the counts are exact, only who stands where is drawn."""
    never_sleep_share: Share = 0.0
    """Share of the nodes that must stay on (control plane, storage, gateway), in [0, 1]; rounded up."""
    failures: bool = True
    """Whether the nodes fail at their machines' mean time between failures; false for never."""

    @field_validator("mix")
    @classmethod
    def _whole(cls, mix: tuple[MachineShare, ...]) -> tuple[MachineShare, ...]:
        shares_sum_to_one((entry.share for entry in mix), "a mix of machines")
        return mix
