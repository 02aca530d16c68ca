"""What all benchmarks print: their rows as a table, or `{bench, machine, rows}` as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from fogfold.cli.output import print_json, screen

__all__ = ["as_object", "machine", "show", "table_of", "words"]


def machine() -> dict[str, Any]:
    """What the figures were taken on, as far as it matters for them."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {"processor": model, "cores": os.cpu_count(), "python": platform.python_version()}


def as_object(name: str, rows: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The object that a benchmark prints as JSON; `more` are keys of its own, after those that all have."""
    return {"bench": name, "machine": machine(), "rows": list(rows), **more}


def show(name: str, rows: Sequence[dict[str, Any]], json: bool) -> None:
    """Print rows as a table, or as one JSON object with the benchmark's name and the machine."""
    if json:
        print_json(as_object(name, rows))
    else:
        screen().print(table_of(rows, _text))


def table_of(rows: Sequence[dict[str, Any]], text: Callable[[object], str]) -> Table:
    """Rows as a table, a column a key; words and lists stand left, all else right."""
    table = Table(box=None, pad_edge=False)
    for key in rows[0] if rows else ():
        table.add_column(key, justify="left" if isinstance(rows[0][key], str | list | tuple) else "right")
    for row in rows:
        table.add_row(*(text(value) for value in row.values()))
    return table


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.5g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return "+".join(map(str, value)) or "-"
    return str(value)


def words(text: str) -> list[str]:
    """The parts of a list with commas between."""
    return [part.strip() for part in text.split(",") if part.strip()]
