"""The one door to the compiler: a typed decorator for loops over arrays.

Numba is imported here alone for its decorator, so that its options stand in one place: results are cached on
disk, division follows numpy (no Python exceptions inside a loop), the interpreter's lock is released (so that threads
run independent worlds side by side), and floating point keeps its order (no `fastmath`): the same seed gives the same
bytes on the same machine, whatever the number of threads.

Numba's own disk cache does not notice a change in a *called* function of another file, nor in a constant. So the cache
of each function lives in a folder named after the contents of all sources that it may call: a change anywhere below
compiles anew, and nothing stale is ever run. `inspect.unwrap` takes off the wrapper that the tests' shape checker puts
round every function: compiled loops are checked at their plain callers.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from numba.np import arrayobj

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    Array = np.ndarray

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["Array", "borrowed", "compiled", "compiled_inline", "compiled_inner", "compiles_anew"]

_PACKAGE = Path(__file__).parent
_GROUND = (".", "model", "cost", "encoding", "world")
"""Folders whose sources compiled code anywhere may call or take constants from."""


@functools.cache
def _sources_stamp(folder: Path) -> str:
    """A short hash of the contents of all sources in the ground, in one more folder, and in the folders round it."""
    digest = hashlib.blake2b(digest_size=8)
    folders = [(_PACKAGE / name).resolve() for name in _GROUND]
    around = [place for place in folder.parents if _PACKAGE.resolve() in place.parents]
    for place in dict.fromkeys([*folders, folder, *around]):
        for path in sorted(place.glob("*.py")):
            digest.update(str(path.relative_to(place)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _cache_folder(function: Callable[..., Any]) -> str:
    """Where this function's compiled form is kept: under `NUMBA_CACHE_DIR`, or the user's cache folder."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return str(Path(base) / "fogfold" / _sources_stamp(Path(inspect.getfile(function)).parent.resolve()))


def _compile(function: F, **options: bool) -> F:
    plain = inspect.unwrap(function)
    config: Any = numba.config
    elsewhere = config.CACHE_DIR
    config.CACHE_DIR = _cache_folder(plain)
    try:
        njit: Any = numba.njit
        compiler = njit(cache=True, error_model="numpy", nogil=True, **options)
        return cast("F", compiler(plain))
    finally:
        config.CACHE_DIR = elsewhere


def compiled(function: F) -> F:
    """The function, compiled at its first call for the types it is given."""
    return _compile(function)


def compiled_inner(function: F) -> F:
    """A function that only other compiled functions call: without a door for Python, which takes time to compile."""
    return _compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled_inline(function: F) -> F:
    """A small compiled function that the compiler is asked to inline into its callers."""
    return _compile(function, forceinline=True)


def _disown(_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        make_array: Any = arrayobj.make_array
        view = make_array(array)(context, builder, value=arguments[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        view.parent = ir.Constant(view.parent.type, None)
        return view._getvalue()  # noqa: SLF001 - how numba's own array code gives a struct back

    return array(array), generate


_disowned: Any = intrinsic(_disown)


@compiled_inline
def borrowed(array: Array) -> Array:
    """The same array without an owner, for compiled code only: nobody counts who holds it.

    Numba counts references to every array that a function takes, members of tuples too, with atomic instructions; for a
    function of a microsecond and thirty arrays that is most of its time. The caller keeps the array alive meanwhile.
    """
    lent: Array = _disowned(array)
    return lent


def compiles_anew() -> bool:
    """Whether this version has not been compiled on this machine yet: its first run takes about a minute more."""
    return not Path(_cache_folder(_cache_folder)).exists()
