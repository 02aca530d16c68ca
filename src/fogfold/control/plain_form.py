"""Frozen dataclasses as plain rows and back, by their own type hints: exact, compact, and only for one form of them.

A dataclass becomes a list of its fields in their order, so names are not written; `fingerprint` says of which form the
rows are, and whoever reads compares it first. Floats stay as they are, also infinite ones: a row is JSON as Python
writes it, not for other languages.
"""

from __future__ import annotations

import dataclasses
import hashlib
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from fogfold.errors import ModelError

__all__ = ["fingerprint", "of_row", "row_of"]

_T = TypeVar("_T")
_Way = Callable[[Any], Any]

_AS_IT_IS = (str, int, float, bool, type(None))
_LISTS: Mapping[Any, Callable[[list[Any]], Any]] = {
    tuple: tuple,
    frozenset: frozenset,
    Sequence: tuple,
    Collection: tuple,
    list: list,
}
_FIELDS: dict[type[Any], tuple[tuple[str, _Way, _Way], ...]] = {}
"""Of each dataclass that was met: name of each field, and the ways to its plain form and back."""


def row_of(value: Any, *, leave_out: Collection[str] = ()) -> list[Any]:
    """A dataclass as a list of plain values.

    Args:
        value: the dataclass.
        leave_out: fields of it that are written elsewhere.

    Raises:
        ModelError: if a field is of a type that has no plain form.
    """
    return [write(getattr(value, name)) for name, write, _ in _fields(type(value)) if name not in leave_out]


def of_row(kind: type[_T], row: Sequence[Any], **given: Any) -> _T:
    """The dataclass that a row stands for.

    Args:
        kind: the dataclass.
        row: as `row_of` wrote it.
        given: the fields that were left out.

    Raises:
        ModelError: if the row is not of that form.
    """
    fields = [(name, read) for name, _, read in _fields(kind) if name not in given]
    try:
        values = {name: read(plain) for (name, read), plain in zip(fields, row, strict=True)}
        return kind(**values, **given)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ModelError(f"a row cannot be read as {kind.__name__} ({error}); it is of another version") from error


def fingerprint(*kinds: type[Any]) -> str:
    """A hash of the fields of these dataclasses and of all they are made of: rows are read in the same form only."""
    seen: dict[Any, str] = {}
    for kind in kinds:
        _describe(kind, seen)
    text = "\n".join(sorted(seen.values()))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _fields(kind: type[Any]) -> tuple[tuple[str, _Way, _Way], ...]:
    """Name of each field, and the ways to its plain form and back."""
    if kind not in _FIELDS:
        hints = get_type_hints(kind)
        _FIELDS[kind] = tuple((field.name, *_ways(hints[field.name])) for field in dataclasses.fields(kind))
    return _FIELDS[kind]


def _ways(hint: Any) -> tuple[_Way, _Way]:
    hint = _bare(hint)
    if hint in _AS_IT_IS or hint is Any:
        return _same, _same
    if isinstance(hint, type) and issubclass(hint, Enum):
        return (lambda value: value.value), hint
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return row_of, lambda row: of_row(hint, row)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return _optional(hint, inner)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(*inner)
    if origin in _LISTS:
        return _list(origin, inner)
    raise ModelError(f"{hint} has no plain form; use dataclasses, enums, lists, mappings and single values")


def _optional(hint: Any, inner: tuple[Any, ...]) -> tuple[_Way, _Way]:
    others = [one for one in inner if one is not type(None)]
    if len(others) != 1 or len(inner) != 2:
        raise ModelError(f"{hint} has no plain form; which of its types a value is of would be lost")
    write, read = _ways(others[0])
    if write is _same:
        return _same, _same
    return (
        lambda value: None if value is None else write(value),
        lambda plain: None if plain is None else read(plain),
    )


def _mapping(key: Any, value: Any) -> tuple[_Way, _Way]:
    write, read = _ways(value)
    if _bare(key) is not str:
        raise ModelError(f"a mapping by {key} has no plain form; only names are keys")
    if write is _same:
        return dict, dict
    return (
        lambda mapping: {name: write(item) for name, item in mapping.items()},
        lambda plain: {name: read(item) for name, item in plain.items()},
    )


def _list(origin: Any, inner: tuple[Any, ...]) -> tuple[_Way, _Way]:
    made = _LISTS[origin]
    if origin is tuple and inner[-1] is not ...:
        ways = [_ways(one) for one in inner]
        return (
            lambda value: [write(item) for (write, _), item in zip(ways, value, strict=True)],
            lambda plain: tuple(read(item) for (_, read), item in zip(ways, plain, strict=True)),
        )
    write, read = _ways(inner[0])
    if origin is frozenset:
        # A set has no order of its own: the same set gives the same row.
        return (
            lambda value: sorted(write(item) for item in value),
            lambda plain: frozenset(read(item) for item in plain),
        )
    return (
        lambda value: [write(item) for item in value],
        lambda plain: made([read(item) for item in plain]),
    )


def _bare(hint: Any) -> Any:
    """A type without the name that was given to it."""
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    return hint


def _same(value: Any) -> Any:
    return value


def _describe(hint: Any, seen: dict[Any, str]) -> None:
    hint = _bare(hint)
    if hint in seen:
        return
    if isinstance(hint, type) and issubclass(hint, Enum):
        seen[hint] = f"{hint.__name__}: {sorted(str(member.value) for member in hint)}"
    elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint)
        fields = dataclasses.fields(hint)
        seen[hint] = f"{hint.__name__}: {[(field.name, _told(hints[field.name])) for field in fields]}"
        for field in fields:
            _describe(hints[field.name], seen)
    else:
        for inner in get_args(hint):
            if inner is not ...:
                _describe(inner, seen)


def _told(hint: Any) -> str:
    hint = _bare(hint)
    inner = get_args(hint)
    name = getattr(get_origin(hint) or hint, "__name__", str(hint))
    return f"{name}[{', '.join('...' if one is ... else _told(one) for one in inner)}]" if inner else name
