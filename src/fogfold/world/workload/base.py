"""The one form of a workload: how much each container is wanted, sample by sample, beside short surges by region.

The world interpolates linearly between samples, so that a five-minute trace runs in ticks of 30 s; surges are
given tick by tick. Everything is drawn or read before the world starts, from streams of its own: two policies on
one seed meet the same users.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from fogfold.compiled import Array
from fogfold.errors import TraceError
from fogfold.model.resources import check_number
from fogfold.units import TICK_S

__all__ = ["Workload"]


@dataclass(frozen=True)
class Workload:
    """Demand over time, relative to what each container requested.

    Raises:
        TraceError: if a level is missing (NaN), infinite or negative, or the arrays do not agree.
    """

    level: Float32[Array, "samples containers"]
    """CPU demand as a share of the container's CPU request; 1 asks for all it was promised, and it may exceed 1."""
    sample_s: float
    """Time between two samples, a multiple of a tick."""
    start_s: float
    """World time of the first sample, in seconds since Monday 00:00 UTC."""
    surge: Float32[Array, "ticks sites"]
    """Factor on the demand of all containers whose main user region is that site, tick by tick; 1 when calm."""
    memory_level: Float32[Array, "samples containers"] | None = None
    """Memory demand as a share of the request; None: grows with the CPU level (`idle_memory_share`)."""
    network_level: Float32[Array, "samples containers"] | None = None
    """Network demand as a share of the request; None: follows the CPU level."""
    disk_level: Float32[Array, "samples containers"] | None = None
    """Disk demand as a share of the request; None: follows the CPU level."""

    def __post_init__(self) -> None:
        check_number("sample_s", self.sample_s, low=TICK_S)
        if abs(self.sample_s / TICK_S - round(self.sample_s / TICK_S)) > 1e-9:
            raise TraceError(f"sample_s is {self.sample_s:g}; it must be a multiple of a tick of {TICK_S:g} s")
        if self.level.shape[0] < 2 or self.level.shape[1] < 1:
            raise TraceError(
                f"workload has {self.level.shape[0]} samples of {self.level.shape[1]} containers; "
                "it needs at least two samples and one container"
            )
        for name in ("level", "surge", "memory_level", "network_level", "disk_level"):
            array = getattr(self, name)
            if array is None:
                continue
            if name.endswith("level") and array.shape != self.level.shape:
                raise TraceError(
                    f"workload {name} has shape {array.shape}, level has {self.level.shape}; they must agree"
                )
            bad = np.argwhere(~(np.isfinite(array) & (array >= 0)))
            if len(bad):
                row, column = (int(i) for i in bad[0])
                raise TraceError(
                    f"workload {name}, sample {row}, column {column} is {array[row, column]}; "
                    "fill gaps before (absence is never read as zero), and give no negative demand"
                )
        if self.surge.shape[0] < self.ticks:
            raise TraceError(f"workload has surges for {self.surge.shape[0]} ticks; it runs for {self.ticks}")

    @property
    def containers(self) -> int:
        """How many containers it drives."""
        return int(self.level.shape[1])

    @property
    def ticks(self) -> int:
        """How many ticks it lasts: the last sample is only interpolated towards."""
        return round((int(self.level.shape[0]) - 1) * self.sample_s / TICK_S)
