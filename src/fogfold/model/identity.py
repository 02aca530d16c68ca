"""Ids with types of their own, and the words an id may be made of."""

from __future__ import annotations

import re
from typing import NewType

from fogfold.errors import ModelError

__all__ = ["ContainerId", "GroupId", "ImageId", "NodeId", "SiteId", "check_id", "check_unique"]

NodeId = NewType("NodeId", str)
ContainerId = NewType("ContainerId", str)
ImageId = NewType("ImageId", str)
GroupId = NewType("GroupId", str)
SiteId = NewType("SiteId", str)

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,252}")


def check_id(kind: str, value: str) -> None:
    """Nothing, where the id is well formed.

    Raises:
        ModelError: if it is empty, longer than 253 signs, or holds blanks or other signs.
    """
    if not _ID.fullmatch(value):
        raise ModelError(
            f"{kind} id {value!r} is not allowed; use letters, digits and . _ : / @ -, at most 253 signs, "
            "starting with a letter or digit"
        )


def check_unique(kind: str, values: list[str]) -> None:
    """Nothing, where no id stands twice.

    Raises:
        ModelError: naming the first id that does.
    """
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise ModelError(f"{kind} id {value!r} is given twice; ids are unique within a cluster")
        seen.add(value)
