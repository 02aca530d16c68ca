"""The four things that a container asks of a node: CPU, memory, network and disk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from fogfold.errors import ModelError

__all__ = ["RESOURCE_COUNT", "Resource", "Resources", "check_number"]


class Resource(IntEnum):
    """Position of each resource in every array that has a resource axis."""

    CPU = 0
    """Cores (reference cores: a core of speed 1.0)."""
    MEMORY = 1
    """Bytes."""
    NETWORK = 2
    """Bit/s on the uplink: what a container sends to its users."""
    DISK = 3
    """Input/output operations a second."""


RESOURCE_COUNT = len(Resource)


def check_number(name: str, value: float, *, low: float = 0.0, high: float = math.inf, above: bool = False) -> None:
    """Nothing, where the value is a finite number in [low, high] (or ]low, high] with `above`).

    An infinite value never passes: callers that allow infinity test for it before.

    Raises:
        ModelError: with the value, the rule and the remedy.
    """
    if not math.isfinite(value):
        raise ModelError(f"{name} is {value}; give a finite number (absence is never read as zero)")
    if value < low or value > high or (above and value == low):
        rule = f"above {low:g}" if above else f"at least {low:g}"
        if math.isfinite(high):
            rule += f" and at most {high:g}"
        raise ModelError(f"{name} is {value:.12g}; it must be {rule}")


@dataclass(frozen=True, slots=True)
class Resources:
    """An amount of each resource: a capacity, a request, a demand or a usage."""

    cpu_cores: float
    memory_bytes: float
    network_bit_s: float
    disk_iops: float

    def __post_init__(self) -> None:
        check_number("cpu_cores", self.cpu_cores)
        check_number("memory_bytes", self.memory_bytes)
        check_number("network_bit_s", self.network_bit_s)
        check_number("disk_iops", self.disk_iops)

    def as_tuple(self) -> tuple[float, float, float, float]:
        """The four amounts in the order of `Resource`."""
        return (self.cpu_cores, self.memory_bytes, self.network_bit_s, self.disk_iops)

    def __add__(self, other: Resources) -> Resources:
        return Resources(*(a + b for a, b in zip(self.as_tuple(), other.as_tuple(), strict=True)))

    def fits(self, room: Resources) -> bool:
        """Whether this amount is within the room on every dimension (with a relative slack of 1e-9)."""
        return all(a <= b * (1 + 1e-9) for a, b in zip(self.as_tuple(), room.as_tuple(), strict=True))
