"""Reads one day of the PlanetLab CPU traces, from an archive or from CloudSim's own folder of text files.

An archive is `planetlab/<day>.npz` (arrays `cpu`, whole percent, VMs by samples, and `names`). A folder is
`planetlab/<day>/`, one file per VM, one whole percent per line, read in case-insensitive name order: VMs get their
kind by position, and this order gives the figures that papers print (CloudSim takes whatever order the file system
has, Cloudslab/cloudsim issue 71). Nothing is repaired: what does not fit is refused with file, line and value.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Integer

from fogfold.compiled import Array
from fogfold.errors import TraceError, TraceNotFoundError, UnknownNameError, did_you_mean

__all__ = ["SAMPLES", "SAMPLE_S", "DayTrace", "known_days", "read_day", "trace_folder"]

SAMPLES = 288
"""Samples of a day."""

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
    """The folder that holds the days: of `traces`, else of `$FOGFOLD_TRACES`, else of `../shared/traces`.

    In each, the days lie in `planetlab/`, or in the folder itself.

    Raises:
        TraceNotFoundError: if there is no such folder.
    """
    if traces is not None:
        tried = [traces]
    elif os.environ.get("FOGFOLD_TRACES"):
        tried = [Path(os.environ["FOGFOLD_TRACES"])]
    else:
        project = Path(__file__).resolve().parents[4]
        tried = [Path.cwd().parent / "shared" / "traces", project.parent / "shared" / "traces"]
    for root in tried:
        for folder in (root / "planetlab", root):
            if folder.is_dir() and _days_in(folder):
                return folder
    places = " nor in ".join(str(root) for root in dict.fromkeys(tried))
    raise TraceNotFoundError(
        f"no PlanetLab day in {places}; set FOGFOLD_TRACES to the folder that holds planetlab/<day>.npz or "
        "planetlab/<day>/"
    )


def known_days(traces: Path | None = None) -> tuple[str, ...]:
    """The days that can be read, in order.

    Raises:
        TraceNotFoundError: if there is no trace folder.
    """
    return tuple(sorted(_days_in(trace_folder(traces))))


def read_day(day: str, traces: Path | None = None) -> DayTrace:
    """The trace of one day such as `20110303`.

    Raises:
        TraceNotFoundError: if there is no trace folder.
        UnknownNameError: if the folder does not hold that day.
        TraceError: if the day cannot be read as it is.
    """
    folder = trace_folder(traces)
    days = _days_in(folder)
    if day not in days:
        raise UnknownNameError(f'PlanetLab day "{day}" is not in {folder}; {did_you_mean(day, days)}')
    path = days[day]
    return _read_text_folder(day, path) if path.is_dir() else _read_archive(day, path)


def _days_in(folder: Path) -> dict[str, Path]:
    """Where each day of the folder is; an archive goes before a folder of text files."""
    days: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        archive = path.suffix == ".npz"
        day = path.stem if archive else path.name
        if day.isdigit() and len(day) == 8 and (archive or (path.is_dir() and day not in days)):
            days[day] = path
    return days


def _read_archive(day: str, path: Path) -> DayTrace:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays: dict[str, Array] = {key: archive[key] for key in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as cause:
        raise TraceError(f"{path} is not a readable archive of arrays ({cause}); fetch it again") from cause
    for key in ("cpu", "names"):
        if key not in arrays:
            raise TraceError(f'{path} has no array "{key}"; it needs cpu (VMs by samples) and names')
    cpu, names = arrays["cpu"], [str(name) for name in arrays["names"].ravel()]
    if cpu.ndim != 2 or cpu.shape[1] != SAMPLES or cpu.dtype.kind not in "iu":
        raise TraceError(
            f"{path}: cpu has shape {cpu.shape} of {cpu.dtype}; it must be whole numbers, VMs by {SAMPLES} samples"
        )
    for row in range(1, len(names)):
        if names[row].upper() < names[row - 1].upper():
            raise TraceError(
                f"{path}, row {row}: {names[row]} comes after {names[row - 1]}; rows must be in case-insensitive "
                "name order, which gives VMs their kind"
            )
    return _checked(day, path, names, cpu)


def _read_text_folder(day: str, path: Path) -> DayTrace:
    files = sorted((file for file in path.iterdir() if file.is_file()), key=lambda file: file.name.upper())
    if not files:
        raise TraceError(f"{path} holds no file; it needs one file per VM with {SAMPLES} lines")
    rows = [_read_text_file(file) for file in files]
    return _checked(day, path, [file.name for file in files], np.array(rows, np.uint8))


def _read_text_file(file: Path) -> list[int]:
    try:
        lines = file.read_text("ascii").splitlines()
    except UnicodeDecodeError as cause:
        raise TraceError(f"{file} is not plain text ({cause}); it needs {SAMPLES} lines of whole percent") from cause
    values: list[int] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text.isdigit() or int(text) > 100:
            raise TraceError(f'{file}, line {number} is "{line}"; CPU use is a whole percent from 0 to 100')
        values.append(int(text))
    if len(values) != SAMPLES:
        raise TraceError(f"{file} ends at line {len(values)}; a day has {SAMPLES} lines, one every {SAMPLE_S:g} s")
    return values


def _checked(day: str, path: Path, names: list[str], cpu: Array) -> DayTrace:
    try:
        return DayTrace(day, tuple(names), cpu)
    except TraceError as cause:
        raise TraceError(f"{path}: {cause}") from cause
