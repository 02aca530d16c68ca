"""Readings of nodes written to a file as they are collected: what `fogfold calibrate` fits power curves to.

Wrapped round a collector, it passes on what that brings and adds nothing to it. A reading is written once, whatever how
often it is collected; what was not measured stays empty. Moves and boots need no recorder: the journal has them.
"""

from __future__ import annotations

import csv
from pathlib import Path

from fogfold.calibrate.files import FORMS, cell
from fogfold.calibrate.records import Kind
from fogfold.control.ports import Collector
from fogfold.control.readings import Readings
from fogfold.errors import TraceError
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState

__all__ = ["RecordingCollector"]

_ON = (NodeState.ON, NodeState.DRAINING)
_COLUMNS = [column.name for column in FORMS[Kind.READINGS]]


class RecordingCollector:
    """A `Collector` that writes down the node readings of another.

    Args:
        inner: whose readings they are.
        path: the file, `readings.csv` by custom; rows are added to one that is there.

    Raises:
        TraceError: if the file is there and has another header.
    """

    def __init__(self, inner: Collector, path: Path) -> None:
        self._inner, self._path = inner, path
        self._last_s: dict[NodeId, float] = {}
        if path.is_file() and path.stat().st_size:
            with path.open(encoding="utf-8", newline="") as file:
                header = next(csv.reader(file), [])
            if header != _COLUMNS:
                raise TraceError(f"{path}:1: the header is {header}, not {_COLUMNS}; move the file away")
        else:
            path.write_text(",".join(_COLUMNS) + "\r\n", encoding="utf-8", newline="")

    async def read(self) -> Readings:
        """What the other collector found; its readings of nodes are in the file by then."""
        found = await self._inner.read()
        rows = []
        for node, reading in found.nodes.items():
            if reading.at_s <= self._last_s.get(node, float("-inf")) or not reading.responds:
                continue
            self._last_s[node] = reading.at_s
            state = found.states.get(node)
            rows.append(
                {
                    "time_s": reading.at_s,
                    "node": str(node),
                    "power_w": reading.power_w,
                    "cpu_cores": None if reading.usage is None else reading.usage[0],
                    "state": "unknown" if state is None else "on" if state in _ON else state.name.lower(),
                }
            )
        if rows:
            with self._path.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerows([cell(row.get(name)) for name in _COLUMNS] for row in rows)
        return found
