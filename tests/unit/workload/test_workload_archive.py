"""A workload kept as a file comes back bit for bit, and only from a file that is one."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from fogfold.errors import TraceError, TraceNotFoundError
from fogfold.world.workload.archive import SCHEMA_VERSION, load_workload, save_workload
from fogfold.world.workload.base import Workload


def workload(**others) -> Workload:
    rng = np.random.default_rng(1)
    return Workload(
        level=rng.random((4, 3), np.float32), sample_s=60.0, start_s=1.5, surge=np.ones((6, 2), np.float32), **others
    )


def altered(path: Path, **changes) -> Path:
    """The file written anew with some arrays exchanged; None takes one away."""
    save_workload(workload(), path)
    with np.load(path) as kept:
        arrays = dict(kept) | changes
    np.savez_compressed(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


@pytest.mark.parametrize("names", [(), ("memory_level",), ("memory_level", "network_level", "disk_level")])
def test_round_trip_keeps_every_bit(tmp_path, names) -> None:
    original = workload(**{name: np.full((4, 3), i, np.float32) for i, name in enumerate(names)})
    save_workload(original, tmp_path / "w.npz")
    back = load_workload(tmp_path / "w.npz")
    for field in fields(Workload):
        kept, read = getattr(original, field.name), getattr(back, field.name)
        assert (kept is None) == (read is None)
        if kept is not None:
            assert np.array_equal(kept, read)
            assert np.asarray(kept).dtype == np.asarray(read).dtype


def test_same_workload_gives_the_same_bytes(tmp_path) -> None:
    save_workload(workload(), tmp_path / "a.npz")
    save_workload(workload(), tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_other_ending_is_refused(tmp_path) -> None:
    with pytest.raises(TraceError, match=r'does not end in "\.npz"'):
        save_workload(workload(), tmp_path / "w.dat")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema_version": np.array(SCHEMA_VERSION + 1)}, "is a workload of version 2, this fogfold reads version 1"),
        ({"schema_version": np.array("1")}, 'array "schema_version" is <U1'),
        ({"schema_version": None}, "lacks schema_version"),
        ({"gpu_level": np.ones((4, 3), np.float32)}, 'array "gpu_level", which is unknown; did you mean'),
        ({"surge": None}, "lacks surge"),
        ({"level": np.ones((4, 3))}, 'array "level" is float64; a workload is kept in float32'),
        ({"level": np.ones(4, np.float32)}, 'array "level" is float32 of shape'),
        ({"level": np.full((4, 3), np.nan, np.float32)}, "is nan; fill gaps before"),
        ({"level": np.full((4, 3), -1, np.float32)}, "is -1.0"),
        ({"memory_level": np.ones((5, 3), np.float32)}, 'array "memory_level" is float32 of shape'),
        ({"surge": np.ones((5, 2), np.float32)}, "surges for 5 ticks; it runs for 6"),
        ({"sample_s": np.array([60.0])}, 'array "sample_s"'),
        ({"sample_s": np.array(45.0)}, "multiple of a tick"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path, changes, message) -> None:
    with pytest.raises(TraceError, match=message):
        load_workload(altered(tmp_path / "w.npz", **changes))


def test_absent_or_foreign_file_is_refused(tmp_path) -> None:
    with pytest.raises(TraceNotFoundError, match="is not a file"):
        load_workload(tmp_path / "w.npz")
    np.save(tmp_path / "array.npy", np.ones(3))
    with pytest.raises(TraceError, match="is no numpy archive"):
        load_workload(tmp_path / "array.npy")
