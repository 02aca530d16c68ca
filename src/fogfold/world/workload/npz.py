"""Reading numpy archives without trust: no pickles, no unknown members, no surprise in shape or kind."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path

import numpy as np

from fogfold.compiled import Array
from fogfold.errors import TraceError, TraceNotFoundError, did_you_mean

__all__ = ["check_array", "read_npz"]


def read_npz(path: Path, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Array]:
    """All arrays of a `.npz` file, by name.

    Raises:
        TraceNotFoundError: if there is no such file.
        TraceError: if it is no archive of plain arrays, or holds other members than those named.
    """
    if not path.is_file():
        raise TraceNotFoundError(f"{path} is not a file; check the path")
    if not zipfile.is_zipfile(path):
        raise TraceError(f"{path} is no numpy archive (.npz); check that the file is whole and of this form")
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = archive.files
            for name in names:
                if name not in required and name not in optional:
                    known = [*required, *optional]
                    raise TraceError(f'{path} holds an array "{name}", which is unknown; {did_you_mean(name, known)}')
            missing = [name for name in required if name not in names]
            if missing:
                raise TraceError(
                    f"{path} lacks {', '.join(missing)}; it holds {', '.join(names) or 'nothing'}, "
                    "so it is not of the form that is read here"
                )
            return {name: archive[name] for name in names}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise TraceError(
            f"{path} cannot be read as a numpy archive ({error}); give an .npz file of plain arrays"
        ) from error


def check_array(path: Path, name: str, array: Array, shape: tuple[int | None, ...], kinds: str) -> None:
    """Nothing, where the array has this shape (None: any length) and one of these kinds of numpy type.

    Raises:
        TraceError: with what it has and what is expected.
    """
    fits = len(array.shape) == len(shape) and all(want in (None, have) for have, want in zip(array.shape, shape))
    if not fits or array.dtype.kind not in kinds:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        words = {"u": "unsigned", "i": "integer", "f": "float", "U": "text"}
        raise TraceError(
            f'{path}: array "{name}" is {array.dtype} of shape {array.shape}; '
            f"expected {' or '.join(words[kind] for kind in kinds)} of shape ({wanted})"
        )
