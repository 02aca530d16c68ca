"""One day of the PlanetLab CPU traces in the form that the benchmark needs: whole percent, VMs in a fixed order.

Reading and its checks are `fogfold.world.workload.planetlab`'s (an archive `planetlab/<day>.npz`, or CloudSim's own
folder `planetlab/<day>/` with one file per VM). What is added here is the order: VMs get their kind by position, and
only case-insensitive order of the names gives the figures that papers print. CloudSim takes whatever order the file
system has (Cloudslab/cloudsim issue 71).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Integer

from fogfold.compiled import Array
from fogfold.errors import TraceError, TraceNotFoundError, UnknownNameError, did_you_mean
from fogfold.world.workload.folder import TRACES_VARIABLE, traces_folder
from fogfold.world.workload.planetlab import read_planetlab

__all__ = ["SAMPLE_S", "DayTrace", "known_days", "read_day", "trace_folder"]

SAMPLE_S = 300.0
"""Time between two samples, in s."""


@dataclass(frozen=True)
class DayTrace:
    """CPU use of every VM of a day, in whole percent of what the VM was sold.

    Raises:
        TraceError: if the table is empty, does not match the names, or a value lies outside 0 to 100.
    """

    day: str
    names: tuple[str, ...]
    """One name per VM, in the order that gives VMs their kind."""
    cpu_percent: Integer[Array, "vms samples"]

    def __post_init__(self) -> None:
        vms, samples = self.cpu_percent.shape
        if vms < 1 or samples < 2:
            raise TraceError(
                f"trace of day {self.day} holds {vms} VMs of {samples} samples; it needs one VM and two samples"
            )
        if len(self.names) != vms:
            raise TraceError(f"trace of day {self.day} has {len(self.names)} names for {vms} VMs; they must agree")
        bad = np.argwhere((self.cpu_percent < 0) | (self.cpu_percent > 100))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            raise TraceError(
                f"trace of day {self.day}, row {row} ({self.names[row]}), sample {column} is "
                f"{self.cpu_percent[row, column]}; CPU use is a whole percent from 0 to 100"
            )


def trace_folder(traces: Path | None = None) -> Path:
    """The folder that holds the days: `planetlab/` in the traces folder (looked up if None), or that folder itself.

    Raises:
        TraceNotFoundError: if there is no day in either.
    """
    root = traces_folder() if traces is None else traces
    for folder in (root / "planetlab", root):
        if folder.is_dir() and _days_in(folder):
            return folder
    raise TraceNotFoundError(
        f"no PlanetLab day in {root}; set ${TRACES_VARIABLE} to the folder that holds planetlab/<day>.npz or "
        "planetlab/<day>/"
    )


def known_days(traces: Path | None = None) -> tuple[str, ...]:
    """The days that can be read, in order.

    Raises:
        TraceNotFoundError: if there is none.
    """
    return tuple(sorted(_days_in(trace_folder(traces))))


def read_day(day: str, traces: Path | None = None) -> DayTrace:
    """The trace of one day such as `20110303`.

    Raises:
        TraceNotFoundError: if there are no days.
        UnknownNameError: if there are, but not this one.
        TraceError: if the day cannot be read as it is.
    """
    folder = trace_folder(traces)
    days = _days_in(folder)
    if day not in days:
        raise UnknownNameError(f'PlanetLab day "{day}" is not in {folder}; {did_you_mean(day, days)}')
    reading = read_planetlab(days[day])
    for row in range(1, len(reading.names)):
        earlier, name = reading.names[row - 1], reading.names[row]
        if name.upper() < earlier.upper():
            raise TraceError(
                f"{days[day]}, row {row}: {name} comes after {earlier}; rows must be in case-insensitive order of "
                "their names, which gives VMs their kind"
            )
    # A workload repeats the last sample to interpolate towards; whole percent survive single precision.
    percent = np.rint(reading.workload.level[:-1].T.astype(np.float64) * 100.0)
    return DayTrace(day, reading.names, percent.astype(np.uint8))


def _days_in(folder: Path) -> dict[str, Path]:
    """Where each day of the folder is; an archive goes before a folder of text files."""
    days: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        archive = path.suffix == ".npz"
        day = path.stem if archive else path.name
        if day.isdigit() and len(day) == 8 and (archive or (path.is_dir() and day not in days)):
            days[day] = path
    return days
