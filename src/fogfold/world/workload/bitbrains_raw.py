"""The original files of Bitbrains GWA-T-12: one text file for each machine, read strictly, line by line.

Columns are parted by ";" and a tab. The column "Timestamp [ms]" holds seconds in truth, and a value that would be
milliseconds is refused. Some files in circulation are several months pasted together; time runs backwards in them,
and they are refused at the line where it does.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.errors import TraceError, TraceNotFoundError

__all__ = ["COLUMNS", "RawMachine", "raw_files", "read_raw"]

COLUMNS = (
    "Timestamp [ms]",
    "CPU cores",
    "CPU capacity provisioned [MHZ]",
    "CPU usage [MHZ]",
    "CPU usage [%]",
    "Memory capacity provisioned [KB]",
    "Memory usage [KB]",
    "Disk read throughput [KB/s]",
    "Disk write throughput [KB/s]",
    "Network received throughput [KB/s]",
    "Network transmitted throughput [KB/s]",
)
SEPARATOR = ";\t"
LATEST_UNIX_S = 1e11
"""A time beyond this (the year 5138) is milliseconds."""


@dataclass(frozen=True)
class RawMachine:
    """One file: quantities at the times they were measured, about each 300 s."""

    name: str
    time_s: Float[Array, " samples"]
    """Unix time, strictly rising."""
    cpu: Float[Array, " samples"]
    """Use over provisioned capacity."""
    memory: Float[Array, " samples"]
    """Use over provisioned memory; 0 where none was provisioned, which `provisioned` tells apart."""
    sent_kb_s: Float[Array, " samples"]
    """What the machine sends, in KB/s."""
    disk_kb_s: Float[Array, " samples"]
    """What it reads and writes, in KB/s."""
    provisioned: Bool[Array, " samples"]
    """Where CPU and memory were provisioned; elsewhere the sample says nothing."""


def raw_files(source: Path) -> list[Path]:
    """The raw files of a folder in the order of the numbers in their names, or the one file itself.

    Raises:
        TraceNotFoundError: if the source is not there.
        TraceError: if the folder holds no such file, or anything else.
    """
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise TraceNotFoundError(f"{source} is neither a file nor a folder; check the path")
    files = sorted(source.iterdir(), key=lambda file: [int(part) for part in re.findall(r"\d+", file.name)])
    for file in files:
        if not file.name.endswith((".csv", ".csv.gz")):
            raise TraceError(f"{file} is no .csv or .csv.gz file; a folder of Bitbrains files holds nothing else")
    if not files:
        raise TraceError(f"{source} holds no file; expected one .csv or .csv.gz file for each machine")
    return files


def read_raw(path: Path) -> RawMachine:
    """One file.

    Raises:
        TraceError: with file, line and value, if a header, a number of columns, a value or a time is wrong.
    """
    lines = _lines(path)
    _check_header(path, lines[0] if lines else "")
    if len(lines) < 3:
        raise TraceError(f"{path} has {max(0, len(lines) - 1)} samples below its header; a trace needs at least two")
    table = np.array([_numbers(path, number, line) for number, line in enumerate(lines[1:], start=2)])
    wrong = ~(np.isfinite(table) & (table >= 0))
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise TraceError(
            f'{path}, line {row + 2}: "{COLUMNS[column]}" is {table[row, column]:g}; it must be finite and at least 0'
        )
    time_s = table[:, 0]
    if time_s.max() > LATEST_UNIX_S:
        row = int(np.argmax(time_s > LATEST_UNIX_S))
        raise TraceError(
            f"{path}, line {row + 2}: time {time_s[row]:.0f} would be milliseconds; despite its header the column "
            "holds seconds in this trace, divide it by 1000"
        )
    steps = np.diff(time_s)
    if (steps <= 0).any():
        row = int(np.argmax(steps <= 0)) + 1
        fault = "stands twice" if steps[row - 1] == 0 else f"runs back from {time_s[row - 1]:.0f}"
        raise TraceError(
            f"{path}, line {row + 2}: time {time_s[row]:.0f} {fault}; times must rise (split a file that was pasted "
            "together from several)"
        )
    cores, capacity, memory = table[:, 1], table[:, 2], table[:, 5]
    return RawMachine(
        name=path.name.removesuffix(".gz").removesuffix(".csv"),
        time_s=time_s,
        cpu=table[:, 4] / 100.0,
        memory=np.divide(table[:, 6], memory, out=np.zeros(len(memory)), where=memory > 0),
        sent_kb_s=table[:, 10],
        disk_kb_s=table[:, 7] + table[:, 8],
        provisioned=(cores > 0) & (capacity > 0) & (memory > 0),
    )


def _lines(path: Path) -> Sequence[str]:
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("ascii").splitlines()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise TraceError(f"{path} cannot be read as text ({error}); check that the file is whole") from error


def _check_header(path: Path, line: str) -> None:
    found = tuple(line.split(SEPARATOR))
    if found != COLUMNS:
        at = next((i for i, (a, b) in enumerate(zip(found, COLUMNS)) if a != b), min(len(found), len(COLUMNS)))
        have = f'"{found[at]}"' if at < len(found) else "nothing"
        want = f'"{COLUMNS[at]}"' if at < len(COLUMNS) else "nothing more"
        raise TraceError(
            f'{path}, line 1: column {at + 1} is {have}, expected {want}; the header is that of GWA-T-12 "rnd", '
            'parted by ";" and a tab'
        )


def _numbers(path: Path, number: int, line: str) -> list[float]:
    parts = line.split(SEPARATOR)
    if len(parts) != len(COLUMNS):
        raise TraceError(f"{path}, line {number} has {len(parts)} columns; the header has {len(COLUMNS)}")
    try:
        return [float(part) for part in parts]
    except ValueError as error:
        raise TraceError(f"{path}, line {number}: {error}; every column holds a number") from error
