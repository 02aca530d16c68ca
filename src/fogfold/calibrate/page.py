"""The reference page of records, written from their forms, so that it cannot fall behind."""

from __future__ import annotations

from fogfold.calibrate.files import FORMS
from fogfold.calibrate.records import Kind

__all__ = ["records_page"]

_HEAD = """# Records for calibration

Three forms, each a CSV file (UTF-8, a header, commas) or a Parquet file (needs `duckdb`) in one folder: `readings`,
`moves` and `boots`. Columns may stand in any order; a name that is not in the form is refused. An empty cell is a
figure that was not measured, never zero. Times are in seconds by one clock: since the epoch, or since any start.

This page is written from the code (see `fogfold.calibrate.page`). What is done with the records:
[Calibrate the simulator to a cluster](../how-to/calibrate.md).
"""

_ABOUT = {
    Kind.READINGS: "Draw and load of nodes, a row a reading, both of the same moment.",
    Kind.MOVES: "Attempts to move a container, a row an attempt. A move that was tried three times is three rows.\n"
    "Moves that shared a link explain each other, so leave none out.",
    Kind.BOOTS: "Orders to wake a node, a row an order.",
}

_REFUSED = """
## Rows that are refused

Rows whose figures cannot be are counted by reason and not used: power that is negative, or 0 W on a node that is on;
usage that is negative or above the node's capacity; a second reading of a node at one time; a move that ended before it
began, went from a node to itself, or was down for longer than it lasted; a boot that was up before it was ordered;
nodes, machines and containers that the scenario does not know. More than half of a form's rows refused is an error.
Readings of nodes that were not on, or that lack power or usage, are left out and counted, and are no fault.
"""


def records_page() -> str:
    """The page as Markdown."""
    parts = [_HEAD]
    for kind, columns in FORMS.items():
        parts.append(f"\n## {kind.value}\n\n{_ABOUT[kind]}\n\n| column | needed | may be empty | what it is |")
        parts.append("| --- | --- | --- | --- |")
        for column in columns:
            told = ["yes" if flag else "no" for flag in (column.is_needed, column.may_be_empty)]
            parts.append(f"| `{column.name}` | {told[0]} | {told[1]} | {column.meaning} |")
    return "\n".join([*parts, _REFUSED])
