"""The one door to the compiler: a typed decorator for loops over arrays.

Numba is imported here alone for its decorator, so that its options stand in one place: results are cached on
disk, division follows numpy (no Python exceptions inside a loop), the interpreter's lock
is released (so that threads run independent worlds side by side), and floating point keeps its order (no
`fastmath`): the same seed gives the same bytes on the same machine, whatever the number of threads.

A trap: numba's disk cache does not notice a change in a *called* function of another file. `make test` keeps a
cache folder per state of the sources for that reason. `inspect.unwrap` takes off the wrapper that the tests' shape
checker puts round every function: compiled loops are checked at their plain callers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    Array = np.ndarray

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["Array", "compiled", "compiled_inline"]


def compiled(function: F) -> F:
    """The function, compiled at its first call for the types it is given."""
    return cast("F", njit(cache=True, error_model="numpy", nogil=True)(inspect.unwrap(function)))


def compiled_inline(function: F) -> F:
    """A small compiled function that the compiler is asked to inline into its callers."""
    return cast("F", njit(cache=True, error_model="numpy", nogil=True, forceinline=True)(inspect.unwrap(function)))
