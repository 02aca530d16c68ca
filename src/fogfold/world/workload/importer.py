"""Any measurement as a workload: one CSV file of time, container and demand.

The header names the columns: `time_s`, `container`, `cpu`, and any of `memory`, `network`, `disk`, all as shares of
what the container requested. Rows of one container stand in the order of time; containers may be mixed in any way.
All times lie on one regular grid. What does not fit is refused with its line.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import TraceError, TraceNotFoundError, did_you_mean
from fogfold.units import TICK_S
from fogfold.world.workload.reading import (
    CARRY_LIMIT,
    GapRule,
    TraceReading,
    build_reading,
    carried_rows,
    seconds_since_monday,
)

__all__ = ["import_csv"]

LEVELS = {"cpu": "level", "memory": "memory_level", "network": "network_level", "disk": "disk_level"}
"""Column of the file -> field of the workload."""


def import_csv(
    path: Path,
    *,
    sample_s: float | None = None,
    time_origin: Literal["monday", "unix"] = "monday",
    gaps: GapRule = "refuse",
    carry_limit: int = CARRY_LIMIT,
    sites: int = 1,
) -> TraceReading:
    """The workload in a CSV file; its containers in the order of their first row.

    The file's last time closes the workload: a file from 0 s to 3600 s lasts an hour.

    Args:
        path: the file.
        sample_s: time between two samples, a multiple of a tick of 30 s; None takes the smallest step of the file.
        time_origin: what `time_s` counts from: "monday" is Monday 00:00 UTC, "unix" is 1970.
        gaps: "refuse" stops where a container lacks a time that others have; "carry" takes its last value.
        carry_limit: most samples in a row that are carried.
        sites: number of regions of the scenario; all surges are 1.

    Raises:
        TraceNotFoundError: if there is no such file.
        TraceError: with line and value, if the file is not of the form.
    """
    names, container, line, table, columns = _read(path)
    time_s = table[:, 0]
    _check_order(path, names, container, line, time_s)
    distinct = np.unique(time_s)
    if len(distinct) < 2:
        raise TraceError(f"{path} has {len(distinct)} distinct time; a workload needs at least two samples")
    step_s = float(np.diff(distinct).min()) if sample_s is None else sample_s
    if step_s < TICK_S or abs(step_s / TICK_S - round(step_s / TICK_S)) > 1e-6:
        raise TraceError(
            f"{path} has a step of {step_s:g} s; it must be a multiple of a tick of {TICK_S:g} s (average the samples "
            "over such a step before)"
        )
    place = (time_s - distinct[0]) / step_s
    off = np.abs(place - np.round(place)) > 1e-6
    if off.any():
        at = int(np.argmax(off))
        raise TraceError(
            f"{path}, line {line[at]}: time_s {time_s[at]:g} lies between two samples of {step_s:g} s from "
            f"{distinct[0]:g} s; all times must lie on one grid"
        )
    row = np.round(place).astype(np.int64)
    shape = (int(row.max()) + 1, len(names))
    observed = np.zeros(shape, np.bool_)
    observed[row, container] = True
    levels = {}
    for i, column in enumerate(columns, start=1):
        levels[LEVELS[column]] = np.zeros(shape)
        levels[LEVELS[column]][row, container] = table[:, i]

    def describe(sample: int, machine: int) -> str:
        return f"{path}: container {names[machine]}, time_s {distinct[0] + sample * step_s:g}"

    rows = np.arange(shape[0])
    first_s = float(distinct[0])
    return build_reading(
        source=str(path),
        names=names,
        levels=levels,
        rows=rows,
        taken=carried_rows(observed, rows, gaps=gaps, limit=carry_limit, describe=describe),
        sample_s=float(step_s),
        start_s=seconds_since_monday(first_s) if time_origin == "unix" else first_s,
        sites=sites,
    )


def _read(
    path: Path,
) -> tuple[list[str], Int[Array, " rows"], Int[Array, " rows"], Float[Array, "rows numbers"], list[str]]:
    """Names, and for each row its container, its line, and its time and levels; then the columns of the levels."""
    if not path.is_file():
        raise TraceNotFoundError(f"{path} is not a file; check the path")
    number: dict[str, int] = {}
    container: list[int] = []
    line: list[int] = []
    rows: list[list[float]] = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            columns = _check_header(path, next(reader, []))
            at_time, at_name = columns.index("time_s"), columns.index("container")
            numeric = [at_time] + [i for i, column in enumerate(columns) if column in LEVELS]
            for parts in reader:
                if len(parts) != len(columns):
                    raise TraceError(
                        f"{path}, line {reader.line_num} has {len(parts)} columns; the header has {len(columns)}"
                    )
                name = parts[at_name].strip()
                if not name:
                    raise TraceError(f"{path}, line {reader.line_num}: container is empty; give each a name")
                rows.append([_number(path, reader.line_num, columns[i], parts[i]) for i in numeric])
                container.append(number.setdefault(name, len(number)))
                line.append(reader.line_num)
    except (UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f"{path} cannot be read as CSV text ({error}); check that the file is whole") from error
    if not rows:
        raise TraceError(f"{path} holds no row below its header; the trace is empty")
    return list(number), np.array(container), np.array(line), np.array(rows), [columns[i] for i in numeric[1:]]


def _check_header(path: Path, columns: list[str]) -> list[str]:
    known = ("time_s", "container", *LEVELS)
    for column in columns:
        if column not in known:
            raise TraceError(f'{path}, line 1: column "{column}" is unknown; {did_you_mean(column, known)}')
        if columns.count(column) > 1:
            raise TraceError(f'{path}, line 1: column "{column}" stands twice; keep one')
    for column in ("time_s", "container", "cpu"):
        if column not in columns:
            raise TraceError(f'{path}, line 1 lacks column "{column}"; time_s, container and cpu are needed')
    return columns


def _number(path: Path, line: int, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise TraceError(f'{path}, line {line}: {column} is "{text}"; give a number') from error
    if not (math.isfinite(value) and value >= 0):
        raise TraceError(f"{path}, line {line}: {column} is {value:g}; it must be finite and at least 0")
    return value


def _check_order(
    path: Path,
    names: list[str],
    container: Int[Array, " rows"],
    line: Int[Array, " rows"],
    time_s: Float[Array, " rows"],
) -> None:
    """Refuse a time that stands twice for a container, or runs backwards."""
    # Stable: rows of one container keep the order of the file.
    order = np.argsort(container, kind="stable")
    step_s = np.diff(time_s[order])
    wrong = (np.diff(container[order]) == 0) & (step_s <= 0)
    if wrong.any():
        at = order[1:][wrong].min()
        before = order[np.flatnonzero(order == at)[0] - 1]
        fault = "stands twice" if time_s[at] == time_s[before] else f"runs back from {time_s[before]:g}"
        raise TraceError(
            f"{path}, line {line[at]}: time_s {time_s[at]:g} of container {names[container[at]]} {fault}; "
            "the times of a container must rise"
        )
