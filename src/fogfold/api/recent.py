"""The last whole decision, kept at hand: it says why each node stays on, which later light decisions do not.

After a restart it is looked up in the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fogfold.api.journal import Journal

__all__ = ["DECISION", "Recent"]

DECISION = "decision"
"""Kind of the entries that decisions are written down as."""

_WHOLE = "macro"
_LOOKED_THROUGH = 200
"""Decisions that are looked through for a whole one: some hours of light ones."""


class Recent:
    """Knows the last whole decision."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._value: Mapping[str, Any] = {}

    def note(self, kind: str, number: int, value: Mapping[str, Any]) -> None:
        """Take note of an entry that was just written."""
        if kind == DECISION and value.get("rhythm") == _WHOLE:
            self._number, self._value = number, value

    async def whole(self, journal: Journal) -> tuple[int, Mapping[str, Any]] | None:
        """Number and values of the last whole decision; None before the first."""
        if self._number is None:
            async for entry in journal.entries(kinds=(DECISION,), newest_first=True, limit=_LOOKED_THROUGH):
                if self._number is None and entry.value.get("rhythm") == _WHOLE:
                    self._number, self._value = entry.number, entry.value
                    break
        return None if self._number is None else (self._number, self._value)
