"""Records in files: three forms of CSV or Parquet, a header with known names, one row a record.

An empty cell is a figure that was not measured. A file that is not of its form is refused as a whole, by line and
column; a row whose figures cannot be is the affair of `sift`.
"""

from __future__ import annotations

import csv
import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fogfold.calibrate.records import Boots, Kind, Moves, NodeReadings, Observations
from fogfold.errors import MissingExtraError, TraceError, TraceNotFoundError, did_you_mean

__all__ = ["FORMS", "Column", "cell", "observations_of", "read_folder", "read_rows", "write_rows"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a form."""

    name: str
    is_text: bool
    is_needed: bool
    """Whether the file must have it; its cells may be empty all the same where `may_be_empty`."""
    may_be_empty: bool
    meaning: str


def _number(name: str, meaning: str, *, needed: bool = True, empty: bool = False) -> Column:
    return Column(name, False, needed, empty or not needed, meaning)


def _text(name: str, meaning: str, *, needed: bool = True) -> Column:
    return Column(name, True, needed, not needed, meaning)


FORMS: Mapping[Kind, tuple[Column, ...]] = {
    Kind.READINGS: (
        _number("time_s", "when it was measured, in s"),
        _text("node", "id of the node"),
        _number("power_w", "draw at the plug, in W", empty=True),
        _number("cpu_cores", "cores in use on the whole node, in the scenario's reference cores", empty=True),
        _text("state", "on, or another state, whose rows are not used; empty means on", needed=False),
        _text("machine", "kind of machine; empty: what the scenario's node of that id is", needed=False),
    ),
    Kind.MOVES: (
        _text("container", "id of the container"),
        _text("source", "node that it left"),
        _text("target", "node that it was to go to"),
        _text("outcome", "arrived or failed"),
        _number("memory_bytes", "memory that it held, in bytes", empty=True),
        _number("start_s", "when its memory began to be copied, or it was stopped, in s", empty=True),
        _number("end_s", "when it ran on the target, or the attempt broke, in s", empty=True),
        _number("downtime_s", "how long it did not answer, in s", needed=False),
        _number("sent_bytes", "memory that was sent, what was sent again included, in bytes", needed=False),
        _number("resolution_s", "by how much at most end less start may be too long, in s; empty: 0", needed=False),
        _text("service", "service of the scenario; empty: that of the scenario's container of that id", needed=False),
    ),
    Kind.BOOTS: (
        _text("node", "id of the node"),
        _number("ordered_s", "when it was ordered on, in s"),
        _number("up_s", "when it could run containers, in s; empty only where it failed", empty=True),
        _text("outcome", "up or failed; empty: up, where up_s is given", needed=False),
        _number("resolution_s", "by how much at most up less ordered may be too long, in s; empty: 0", needed=False),
        _text("machine", "kind of machine; empty: what the scenario's node of that id is", needed=False),
    ),
}
"""The columns of each form."""

_ENDINGS = (".csv", ".parquet")


def read_folder(folder: Path) -> dict[Kind, list[dict[str, Any]]]:
    """The rows of a folder's `readings`, `moves` and `boots`, each as .csv or .parquet, those that there are.

    Raises:
        TraceNotFoundError: if the folder holds none of them.
        TraceError: if a file is not of its form, or one stands there twice.
        MissingExtraError: if a Parquet file is there and duckdb is not.
    """
    found: dict[Kind, list[dict[str, Any]]] = {}
    for kind in Kind:
        paths = [folder / (kind.value + ending) for ending in _ENDINGS if (folder / (kind.value + ending)).is_file()]
        if len(paths) > 1:
            raise TraceError(f"{folder} holds both {paths[0].name} and {paths[1].name}; keep one")
        if paths:
            found[kind] = read_rows(paths[0], kind)
    if not found:
        raise TraceNotFoundError(
            f"{folder} holds no records; give a folder with readings, moves or boots as .csv or .parquet"
        )
    return found


def read_rows(path: Path, kind: Kind) -> list[dict[str, Any]]:
    """The rows of one file, each checked against its form: text, numbers, NaN for an empty cell. With their lines.

    Raises:
        TraceError: naming the line, the column and the value.
        MissingExtraError: if a Parquet file cannot be read here.
    """
    header, lines = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    form = {column.name: column for column in FORMS[kind]}
    for name in header:
        if name not in form:
            raise TraceError(f"{path}:1: {kind.value} have no column {name!r}; {did_you_mean(name, form)}")
        if header.count(name) > 1:
            raise TraceError(f"{path}:1: column {name!r} stands there twice; keep one")
    missing = [column.name for column in form.values() if column.is_needed and column.name not in header]
    if missing:
        raise TraceError(f"{path}:1: column {missing[0]!r} is missing; {kind.value} need {', '.join(_needed(kind))}")
    rows = [_row(path, line, cells, header, form) for line, cells in lines]
    if not rows:
        raise TraceError(f"{path}: the file has no rows; leave it out where nothing was measured")
    return rows


def write_rows(path: Path, kind: Kind, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write records as CSV with all columns of their form; None and NaN become empty cells. Gives how many."""
    names = [column.name for column in FORMS[kind]]
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in rows:
            writer.writerow([cell(row.get(name)) for name in names])
            count += 1
    return count


def cell(value: Any) -> str:
    """A value as a cell: nothing for what was not measured."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)


def observations_of(rows: Mapping[Kind, Sequence[Mapping[str, Any]]]) -> Observations:
    """Rows as columns, in the order of time; what a row leaves out is NaN, empty text, or its form's default."""

    def columns(kind: Kind) -> dict[str, Any] | None:
        if not rows.get(kind):
            return None
        made: dict[str, Any] = {"line": np.array([row.get("line", i + 2) for i, row in enumerate(rows[kind])])}
        for column in FORMS[kind]:
            values = [row.get(column.name) for row in rows[kind]]
            if column.is_text:
                made[column.name] = np.array(["" if value is None else str(value) for value in values], dtype=np.str_)
            else:
                made[column.name] = np.array([math.nan if value is None else float(value) for value in values])
        return made

    readings, moves, boots = columns(Kind.READINGS), columns(Kind.MOVES), columns(Kind.BOOTS)
    if boots is not None:
        came_up = (boots["outcome"] == "") & ~np.isnan(boots["up_s"])
        boots["outcome"] = np.where(came_up, "up", boots["outcome"])
    for made in (moves, boots):
        if made is not None:
            made["resolution_s"] = np.nan_to_num(made["resolution_s"], nan=0.0)
    return Observations(
        None if readings is None else _ordered(NodeReadings(**readings), readings["time_s"]),
        None if moves is None else _ordered(Moves(**moves), Moves(**moves).at_s),
        None if boots is None else _ordered(Boots(**boots), boots["ordered_s"]),
    )


def _ordered(columns: Any, at_s: Any) -> Any:
    return columns.take(np.argsort(at_s, kind="stable"))


def _needed(kind: Kind) -> list[str]:
    return [column.name for column in FORMS[kind] if column.is_needed]


def _csv(path: Path) -> tuple[list[str], list[tuple[int, list[Any]]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, cells) for cells in reader if cells]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f"{path} cannot be read as CSV in UTF-8: {error}") from error
    if not lines:
        raise TraceError(f"{path} is empty; give a header and rows, or leave the file out")
    return [name.strip() for name in lines[0][1]], lines[1:]


def _parquet(path: Path) -> tuple[list[str], list[tuple[int, list[Any]]]]:
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError as error:
        raise MissingExtraError(
            f"reading {path.name} needs duckdb ({error}); pip install duckdb, or give CSV"
        ) from error
    try:
        with duckdb.connect() as connection:
            found = connection.read_parquet(str(path))
            return list(found.columns), [(i + 2, list(row)) for i, row in enumerate(found.fetchall())]
    except duckdb.Error as error:
        raise TraceError(f"{path} cannot be read as Parquet: {error}") from error


def _row(path: Path, line: int, cells: list[Any], header: list[str], form: Mapping[str, Column]) -> dict[str, Any]:
    if len(cells) != len(header):
        raise TraceError(f"{path}:{line}: the row has {len(cells)} cells, the header {len(header)}; they must agree")
    row: dict[str, Any] = {"line": line}
    for name, value in zip(header, cells, strict=True):
        column = form[name]
        is_empty = value is None or (isinstance(value, str) and not value.strip())
        if is_empty and not column.may_be_empty:
            raise TraceError(f"{path}:{line}: {name} is empty; give {column.meaning}")
        if is_empty:
            continue
        if column.is_text:
            row[name] = str(value).strip()
            continue
        try:
            row[name] = float(value)
        except (TypeError, ValueError) as error:
            raise TraceError(
                f"{path}:{line}: {name} is {value!r}, which is no number; give {column.meaning}"
            ) from error
    return row
