"""What all benchmarks print: their rows as a table, or `{bench, machine, rows}` as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from fogfold.cli.output import print_json, screen

__all__ = ["machine", "show", "words"]


def machine() -> dict[str, Any]:
    """What the figures were taken on, as far as it matters for them."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {"processor": model, "cores": os.cpu_count(), "python": platform.python_version()}


def show(name: str, rows: Sequence[dict[str, Any]], json: bool) -> None:
    """Print rows as a table, or as one JSON object with the benchmark's name and the machine."""
    if json:
        print_json({"bench": name, "machine": machine(), "rows": list(rows)})
        return
    table = Table(box=None, pad_edge=False)
    for key in rows[0] if rows else ():
        table.add_column(key, justify="right" if isinstance(rows[0][key], int | float) else "left")
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    screen().print(table)


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
