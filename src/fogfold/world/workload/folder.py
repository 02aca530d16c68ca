"""Where the real traces lie on this machine: looked up, never downloaded."""

from __future__ import annotations

import os
from pathlib import Path

from fogfold.errors import TraceNotFoundError

__all__ = ["TRACES_VARIABLE", "find_trace", "traces_folder"]

TRACES_VARIABLE = "FOGFOLD_TRACES"
RELATIVE = Path("shared") / "traces"
PROJECT_MARK = "pyproject.toml"


def traces_folder() -> Path:
    """The folder of traces: $FOGFOLD_TRACES where it is set, else `../shared/traces`.

    The relative form is tried from the current directory and from the project root found upward of it.

    Raises:
        TraceNotFoundError: with the places that were tried and the remedy. A variable that is set and wrong is
            an error: falling back would read other traces than those asked for.
    """
    named = os.environ.get(TRACES_VARIABLE)
    if named:
        if not Path(named).is_dir():
            raise TraceNotFoundError(
                f"${TRACES_VARIABLE} names {named}, which is no folder; set it to the traces folder"
            )
        return Path(named)
    here = Path.cwd()
    roots = [here, *(folder for folder in (here, *here.parents) if (folder / PROJECT_MARK).is_file())]
    tried = list(dict.fromkeys(root.parent / RELATIVE for root in roots))
    for folder in tried:
        if folder.is_dir():
            return folder
    raise TraceNotFoundError(
        f"no folder of traces at {', '.join(map(str, tried))}; set ${TRACES_VARIABLE} to the folder that holds them"
    )


def find_trace(*parts: str) -> Path:
    """A file or folder below the traces folder, as in `find_trace("planetlab", "20110303.npz")`.

    Raises:
        TraceNotFoundError: if it is not there; names what is there instead.
    """
    path = traces_folder().joinpath(*parts)
    if not path.exists():
        present = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
        there = f"that folder holds {', '.join(present)}" if present else "that folder is not there either"
        raise TraceNotFoundError(f"trace {path} is not on this machine; {there}")
    return path
