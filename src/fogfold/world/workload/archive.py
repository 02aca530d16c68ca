"""A workload as one file: compressed numpy arrays with the number of the form they are in.

What is written is read back bit for bit, and the same workload gives the same bytes. A file of another version, or
with members that this version does not know, is refused: a part that is silently left out would be another workload.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fogfold.errors import TraceError
from fogfold.world.workload.base import Workload
from fogfold.world.workload.npz import check_array, read_npz

__all__ = ["SCHEMA_VERSION", "load_workload", "save_workload"]

SCHEMA_VERSION = 1
"""Raised with each change of what the arrays of the file mean."""

REQUIRED = ("schema_version", "level", "sample_s", "start_s", "surge")
OPTIONAL = ("memory_level", "network_level", "disk_level")


def save_workload(workload: Workload, path: Path) -> None:
    """Write the workload to a file that ends in `.npz`; an interrupted write leaves no half file under its name.

    Raises:
        TraceError: if the name does not end in `.npz`.
    """
    if path.suffix != ".npz":
        raise TraceError(f'{path} does not end in ".npz"; a workload is kept as a numpy archive, name it so')
    # Any, for the writer's own options are typed as if an array could carry their names.
    arrays: dict[str, Any] = {
        "schema_version": np.array(SCHEMA_VERSION, np.int64),
        "level": workload.level,
        "sample_s": np.array(workload.sample_s, np.float64),
        "start_s": np.array(workload.start_s, np.float64),
        "surge": workload.surge,
    }
    for name in OPTIONAL:
        array = getattr(workload, name)
        if array is not None:
            arrays[name] = array
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("wb") as file:
        np.savez_compressed(file, **arrays)
    unfinished.replace(path)


def load_workload(path: Path) -> Workload:
    """The workload in a file that `save_workload` wrote.

    Raises:
        TraceNotFoundError: if there is no such file.
        TraceError: if it is of another version or form, or holds what no workload may hold.
    """
    arrays = read_npz(path, required=REQUIRED, optional=OPTIONAL)
    check_array(path, "schema_version", arrays["schema_version"], (), "ui")
    version = int(arrays["schema_version"])
    if version != SCHEMA_VERSION:
        raise TraceError(
            f"{path} is a workload of version {version}, this fogfold reads version {SCHEMA_VERSION}; "
            "write it again with the fogfold that made it, or generate it anew"
        )
    for name in ("sample_s", "start_s"):
        check_array(path, name, arrays[name], (), "f")
    for name in ("level", "surge", *OPTIONAL):
        if name in arrays:
            shape = arrays["level"].shape if name in OPTIONAL else (None, None)
            check_array(path, name, arrays[name], shape, "f")
            if arrays[name].dtype != np.float32:
                raise TraceError(f'{path}: array "{name}" is {arrays[name].dtype}; a workload is kept in float32')
    return Workload(
        level=arrays["level"],
        sample_s=float(arrays["sample_s"]),
        start_s=float(arrays["start_s"]),
        surge=arrays["surge"],
        memory_level=arrays.get("memory_level"),
        network_level=arrays.get("network_level"),
        disk_level=arrays.get("disk_level"),
    )
