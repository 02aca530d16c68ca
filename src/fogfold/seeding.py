"""Named streams of randomness: same root, same name, same numbers, whatever else was drawn.

A stream's seed is a hash of its name, so that adding a draw in one part never shifts another part's numbers, and
two policies on one seed meet the same users, bursts and faults.
"""

from __future__ import annotations

import hashlib

import numpy as np

from fogfold.errors import ModelError

__all__ = ["key", "stream"]


def key(root: int, *names: str | int) -> int:
    """A 63-bit key that belongs to this root and path of names, stable across versions of Python and numpy.

    Raises:
        ModelError: if the root is negative.
    """
    if root < 0:
        raise ModelError(f"seed {root} is negative; seeds are whole numbers from 0")
    text = "/".join([str(root), *(str(name) for name in names)])
    # A name may come from a file name that is no text: half of a surrogate pair is as good as any other sign.
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little") >> 1


def stream(root: int, *names: str | int) -> np.random.Generator:
    """A generator of its own for this root and path of names, as in `stream(seed, "faults")`."""
    return np.random.Generator(np.random.PCG64(key(root, *names)))
