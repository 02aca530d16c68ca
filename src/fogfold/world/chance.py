"""Draws that depend on what is done: a number from a key, not from a stream.

Whether the third move of a container fails must not depend on how many other moves were tried before it, or two
policies on one seed would not meet the same luck. So each such draw is a hash of the world's key and of what it is
about (SplitMix64's finaliser; Steele, Lea and Flood, OOPSLA 2014). Draws that nothing can change (demand, surges,
faults) are made before the world starts.
"""

from __future__ import annotations

import numpy as np

from fogfold.compiled import compiled_inline

__all__ = ["chance"]

_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_STEP = 1.0 / 9007199254740992.0


@compiled_inline
def chance(key: int, subject: int, occasion: int, purpose: int) -> float:
    """A number in [0, 1[ that belongs to this key, subject, occasion and purpose (all at least 0)."""
    z = np.uint64(key)
    for part in (np.uint64(subject), np.uint64(occasion), np.uint64(purpose)):
        z = z + _GOLDEN * (part + np.uint64(1))
        z = (z ^ (z >> _S30)) * _A
        z = (z ^ (z >> _S27)) * _B
        z = z ^ (z >> _S31)
    return float(z >> _S11) * _STEP
