"""What commands print: tables for people, one JSON object for programs, progress on the error stream."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from fogfold.compiled import compiles_anew

__all__ = ["Track", "print_json", "progress", "screen"]


def print_json(value: object) -> None:
    """One JSON object on standard output, keys in their order, numbers as Python prints them, nothing else."""
    sys.stdout.write(json.dumps(value, allow_nan=False, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def screen() -> Console:
    """The console for results; a width that tables can live with where the output is no terminal."""
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else 160
    return Console(highlight=False, width=width)


class _RateColumn(ProgressColumn):
    """How much is done in a second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.1f}/s", style="dim")


class Track:
    """A bar that shows what is done, how fast it goes and how long it will still take."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar = bar
        self._task = task

    def to(self, done: float, **fields: Any) -> None:
        """Set how much is done."""
        self._bar.update(self._task, completed=done, **fields)

    def by(self, more: float = 1) -> None:
        """Add to what is done."""
        self._bar.advance(self._task, more)

    def name(self, what: str) -> None:
        """Say what is being done now."""
        self._bar.update(self._task, description=what)


@contextmanager
def progress(what: str, total: float, unit: str) -> Iterator[Track]:
    """A progress bar on the error stream; nothing where that is no terminal.

    Args:
        what: what is being done.
        total: how much there is to do.
        unit: what is counted, for the rate.
    """
    console = Console(stderr=True)
    if compiles_anew():
        console.print("fogfold: the first run of a version compiles its loops, once; about a minute", style="dim")
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        _RateColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        yield Track(bar, bar.add_task(what, total=total, unit=unit))
