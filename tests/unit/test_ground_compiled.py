"""The compiler's door: a cache that never goes stale, Python's own arithmetic, and arrays lent without an owner."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from fogfold import compiled as door
from fogfold.compiled import Array, borrowed, compiled, compiled_inline

PACKAGE = Path(door.__file__).parent
WITH_LOOPS = sorted(
    path for path in PACKAGE.rglob("*.py") if path.name != "compiled.py" and "@compiled" in path.read_text()
)


@pytest.fixture
def ground(tmp_path, monkeypatch):
    """A package of our own in the form of fogfold's, with a folder above the ground; nothing remembered of it."""
    for name in ("model", "cost", "encoding", "world", "policy", "cost/catalogue"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thing.py").write_text(f"NAME = {name!r}\n")
    (tmp_path / "units.py").write_text("GIB = 2**30\n")
    monkeypatch.setattr(door, "_PACKAGE", tmp_path)
    door._sources_stamp.cache_clear()
    yield tmp_path
    door._sources_stamp.cache_clear()


def stamp(folder):
    """The stamp as a new process would work it out."""
    door._sources_stamp.cache_clear()
    return door._sources_stamp(folder)


@pytest.mark.parametrize(
    "source", ["units.py", "model/thing.py", "cost/thing.py", "encoding/thing.py", "world/thing.py"]
)
def test_change_anywhere_in_the_ground_compiles_anew(ground, source):
    policy = ground / "policy"
    before = stamp(policy)
    (ground / source).write_text((ground / source).read_text() + "# another sign\n")
    assert stamp(policy) != before


def test_change_in_a_folder_round_the_loop_compiles_anew(ground):
    inner = ground / "policy" / "learned"
    inner.mkdir()
    before = stamp(inner)
    (ground / "policy" / "thing.py").write_text("NAME = 'other'\n")
    assert stamp(inner) != before


def test_change_beside_the_loop_compiles_anew(ground):
    policy, world = ground / "policy", ground / "world"
    before = stamp(policy), stamp(world)
    (policy / "thing.py").write_text("NAME = 'other'\n")
    # What stands above the ground is nothing to the ground.
    assert stamp(policy) != before[0]
    assert stamp(world) == before[1]


def test_new_file_and_new_name_compile_anew(ground):
    first = stamp(ground / "world")
    (ground / "world" / "more.py").write_text("")
    second = stamp(ground / "world")
    (ground / "world" / "more.py").rename(ground / "world" / "other.py")
    assert len({first, second, stamp(ground / "world")}) == 3


def test_same_sources_give_the_same_stamp_wherever_they_lie(ground, tmp_path_factory, monkeypatch):
    before = stamp(ground / "policy")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for path in ground.rglob("*.py"):
        copy = elsewhere / path.relative_to(ground)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(door, "_PACKAGE", elsewhere)
    assert stamp(elsewhere / "policy") == before


def test_what_loops_cannot_call_is_left_out(ground):
    before = stamp(ground / "world")
    (ground / "world" / "notes.txt").write_text("not a source")
    (ground / "cost" / "catalogue" / "thing.py").write_text("NAME = 'a table of machines'\n")
    assert stamp(ground / "world") == before


def test_cache_lies_under_the_first_folder_that_is_named(monkeypatch, tmp_path):
    def folder():
        return Path(door._cache_folder(stamp))

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder().parent == tmp_path / "NUMBA_CACHE_DIR" / "fogfold"
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert folder().parent == tmp_path / "XDG_CACHE_HOME" / "fogfold"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert folder().parent == tmp_path / ".cache" / "fogfold"


def test_compiled_form_is_kept_in_the_folder_of_its_sources(ground, tmp_path, monkeypatch):
    """From end to end: a loop whose neighbour changes is kept elsewhere, so that the old form is never found."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    source = ground / "policy" / "loop.py"
    source.write_text("from fogfold.compiled import compiled\n\n@compiled\ndef loop(x):\n    return x + 1\n")

    def kept_in():
        door._sources_stamp.cache_clear()
        spec = importlib.util.spec_from_file_location("a_loop_of_our_own", source)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return Path(module.loop._cache.cache_path)

    first, again = kept_in(), kept_in()
    (ground / "policy" / "thing.py").write_text("NAME = 'other'\n")
    second = kept_in()
    assert first == again != second
    for path in (first, second):
        assert path.is_relative_to(tmp_path / "cache" / "fogfold")


@pytest.mark.parametrize("path", WITH_LOOPS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_loops_call_only_what_their_stamp_covers(path):
    """Compiled functions and enumerations that a loop names come from the ground, its own folder, or one round it."""
    module = importlib.import_module(".".join(("fogfold", *path.relative_to(PACKAGE).with_suffix("").parts)))
    covered = {(PACKAGE / name).resolve() for name in door._GROUND} | {*path.resolve().parents}
    loops = [value for value in vars(module).values() if hasattr(value, "py_func")]
    assert loops
    for loop in loops:
        for name in loop.py_func.__code__.co_names:
            used = loop.py_func.__globals__.get(name)
            used = getattr(used, "py_func", used)
            if inspect.isfunction(used) or inspect.isclass(used):
                source = Path(sys.modules[used.__module__].__file__ or "")
                inside = source.is_relative_to(PACKAGE)
                assert not inside or source.parent.resolve() in covered, f"{loop.__name__} calls {name}"


def test_setting_for_one_function_is_taken_back_for_all_others(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    config: Any = numba.config
    before = config.CACHE_DIR
    compiled(lambda x: x)
    assert before == config.CACHE_DIR


@compiled
def quotient(a: float, b: float) -> float:
    return a / b


@compiled
def sum_in_order(values: Array) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def test_division_follows_numpy_and_raises_nothing():
    assert quotient(1.0, 0.0) == math.inf
    assert math.isnan(quotient(0.0, 0.0))


def test_sums_keep_their_order():
    """1e16 + 1 is 1e16: whoever regroups the terms gets another sum."""
    values = np.array([1e16, *[1.0] * 64, -1e16])
    plain = 0.0
    for value in values:
        plain += value
    assert sum_in_order(values) == plain == 0.0
    assert math.fsum(values) == 64.0


@compiled_inline
def doubled(x: float) -> float:
    return 2.0 * x


@compiled
def quadrupled(x: float) -> float:
    return doubled(doubled(x))


def test_inlined_function_says_the_same():
    assert quadrupled(1.5) == 6.0
    assert doubled(1.5) == 3.0


@compiled
def total_of(array: Array) -> float:
    lent = borrowed(array)
    total = 0.0
    for i in range(lent.shape[0]):
        for j in range(lent.shape[1]):
            total += lent[i, j]
    return total


@compiled
def write_through(array: Array, row: int) -> None:
    lent = borrowed(array[row])
    for i in range(len(lent)):
        lent[i] = -1.0


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 4), (4, 0)])
def test_borrowed_array_has_the_same_values(shape):
    array = np.arange(float(np.prod(shape))).reshape(shape)
    assert total_of(array) == array.sum()


def test_borrowed_array_keeps_its_strides():
    array = np.arange(24.0).reshape(4, 6)
    assert total_of(array[::2, 1::2]) == array[::2, 1::2].sum()


def test_what_is_written_to_a_borrowed_row_is_in_the_array():
    array = np.zeros((3, 2))
    write_through(array, 1)
    assert array.tolist() == [[0.0, 0.0], [-1.0, -1.0], [0.0, 0.0]]


def test_borrowing_does_not_count_as_holding():
    array = np.ones((2, 2))
    before = sys.getrefcount(array)
    for _ in range(100):
        total_of(array)
    assert sys.getrefcount(array) == before
    assert array.sum() == 4.0
