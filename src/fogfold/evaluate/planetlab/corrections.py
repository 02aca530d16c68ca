"""What can be put right in the benchmark: four switches, all off in the benchmark as published.

Each mends one known fault of CloudSim's PlanetLab example. They stay switches because published figures need them
off and honest figures need them on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from fogfold.errors import UnknownNameError, did_you_mean

__all__ = ["Corrections"]


@dataclass(frozen=True, slots=True)
class Corrections:
    """Which corrections are on."""

    wake: bool = False
    """A host that is off draws nothing before a placement, so that waking it counts its idle power (CloudSim takes
    its idle power off, which makes waking free: Cloudslab/cloudsim issue 167). Start-up is not changed."""
    keep: bool = False
    """A VM whose demand is zero stays (CloudSim deletes it for good: Cloudslab/cloudsim issue 159)."""
    ram: bool = False
    """A VM moves only to a host with room for its memory (CloudSim checks memory at start-up only)."""
    waking: bool = False
    """Waking a host takes `WAKE_S` at full power; VMs start to move there when it is up (CloudSim: no time, no
    energy). Every change of a host from no load to some load counts, but for start-up."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of all corrections."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def of(cls, names: Iterable[str]) -> Corrections:
        """The corrections with these names; `all` means each of them.

        Raises:
            UnknownNameError: if a name is unknown.
        """
        chosen: set[str] = set()
        for name in names:
            if name == "all":
                chosen.update(cls.names())
            elif name in cls.names():
                chosen.add(name)
            else:
                known = (*cls.names(), "all")
                raise UnknownNameError(f'correction "{name}" is unknown; {did_you_mean(name, known)}')
        return cls(**dict.fromkeys(chosen, True))

    def applied(self) -> tuple[str, ...]:
        """The names of those that are on, in the order of the fields."""
        return tuple(name for name in self.names() if getattr(self, name))
