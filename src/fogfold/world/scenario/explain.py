"""What pydantic found wrong, as sentences with a place: value, rule, remedy, and "did you mean"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fogfold.errors import did_you_mean
from fogfold.world.scenario.read import Path
from fogfold.world.scenario.schema.part import PATTERNS, Part

__all__ = ["Fault", "explain", "shown", "spelt"]

_TYPES = {
    "bool_type": "true or false",
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "text",
    "tuple_type": "a list",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than": ("gt", "above {}"),
    "greater_than_equal": ("ge", "at least {}"),
    "less_than": ("lt", "below {}"),
    "less_than_equal": ("le", "at most {}"),
}
_BOOLEANS_OF_YAML_1_1 = {"y", "yes", "n", "no", "on", "off"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, and where."""

    path: Path
    """Where it is; the path of a key that should be there and is not ends with that key."""
    sentence: str
    """Value, rule and remedy."""
    at_key: bool = False
    """Whether the key itself is at fault, not its value."""


def explain(error: ValidationError, values: Any, root: type[Part]) -> list[Fault]:
    """One fault for each of pydantic's.

    Args:
        error: what pydantic raised.
        values: the document that was validated.
        root: the model that it was validated against.
    """
    details = error.errors(include_url=False)
    # A list whose entries are all refused counts as empty to pydantic; that is its entries' fault, told there.
    told = [detail for detail in details if not (detail["type"] == "too_short" and detail["input"])]
    return [_fault(detail, values, root) for detail in told]


def spelt(path: Path) -> str:
    """A path as one would write it: nodes[0].mix[2].share.

    >>> spelt(("nodes", 0, "mix", 2, "share"))
    'nodes[0].mix[2].share'
    """
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the file"


def shown(value: Any) -> str:
    """A value as a sentence names it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:g}" if abs(value) < 1e15 else str(value)
    if isinstance(value, str):
        return f'"{value}"'
    return "a mapping" if isinstance(value, Mapping) else "a list"


def _fault(detail: ErrorDetails, values: Any, root: type[Part]) -> Fault:
    kind, loc, context = detail["type"], detail["loc"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        path = (*_path(loc[:-1], values), loc[-1])
        return Fault(
            path,
            f'unknown key "{loc[-1]}" in {spelt(path[:-1])}; {did_you_mean(str(loc[-1]), _keys(loc[:-1], root))}',
            at_key=True,
        )
    if kind == "missing":
        path = (*_path(loc[:-1], values), loc[-1])
        return Fault(path, f'{spelt(path[:-1])} lacks the key "{loc[-1]}". {_description(loc, root)}'.rstrip())
    path = _path(loc, values)
    where = spelt(path)
    if kind == "union_tag_not_found":
        return Fault((*path, "kind"), f'{where} lacks the key "kind"; known: {", ".join(sorted(_kinds(loc, root)))}')
    if kind == "union_tag_invalid":
        tag = str(context["tag"])
        return Fault((*path, "kind"), f'{where}.kind is "{tag}"; {did_you_mean(tag, _kinds(loc, root))}')
    if kind == "rule":
        return Fault(path, f"{where}: {context['sentence']}")
    return Fault(path, f"{where} {_trouble(kind, detail['input'], context, detail['msg'])}")


def _trouble(kind: str, value: Any, context: Mapping[str, Any], message: str) -> str:
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", str(context["expected"]))
        if isinstance(value, str) and choices:
            return f"is {shown(value)}; {did_you_mean(value, choices)}"
        return f"is {shown(value)}; it must be {context['expected']}"
    if kind == "bool_type" and isinstance(value, str) and value.lower() in _BOOLEANS_OF_YAML_1_1:
        return f"is the word {shown(value)}; write true or false"
    if kind in _TYPES:
        remedy = "; put it in quotes" if kind == "string_type" and isinstance(value, int | float) else ""
        return f"is {shown(value)}; it must be {_TYPES[kind]}{remedy}"
    if kind in _BOUNDS:
        bound, rule = _BOUNDS[kind]
        return f"is {shown(value)}; it must be {rule.format(shown(context[bound]))}"
    if kind == "too_short":
        return "is empty; give at least one" if context["actual_length"] == 0 else f"is too short: {message}"
    if kind == "string_too_short":
        return "is empty; write something"
    if kind == "string_pattern_mismatch":
        return f"is {shown(value)}; use {PATTERNS[context['pattern']]}"
    return f"is {shown(value)}: {message}"


def _path(loc: Iterable[str | int], values: Any) -> Path:
    """Where an error stands in the document: pydantic's location without the tags of unions and what was made up."""
    path: list[str | int] = []
    here = values
    for part in loc:
        inside = isinstance(here, list) and isinstance(part, int) and part < len(here)
        if inside or (isinstance(here, Mapping) and part in here):
            here = here[part]
            path.append(part)
    return tuple(path)


def _models(annotation: Any) -> Iterator[type[Part]]:
    """All models in an annotation: through lists, unions and what is annotated to them."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
        return
    for argument in get_args(annotation):
        yield from _models(argument)


def _at(loc: Iterable[str | int], root: type[Part]) -> list[type[Part]]:
    """The models that may stand at a location."""
    models = [root]
    for part in loc:
        if isinstance(part, int):
            continue
        owners = [model for model in models if part in model.model_fields]
        if owners:
            models = [inner for model in owners for inner in _models(model.model_fields[part].annotation)]
        else:
            models = [model for model in models if part in _tags(model)]
    return models


def _tags(model: type[Part]) -> tuple[Any, ...]:
    kind = model.model_fields.get("kind")
    return get_args(kind.annotation) if kind is not None and get_origin(kind.annotation) is Literal else ()


def _keys(loc: Iterable[str | int], root: type[Part]) -> set[str]:
    return {key for model in _at(loc, root) for key in model.model_fields}


def _kinds(loc: Iterable[str | int], root: type[Part]) -> set[str]:
    return {tag for model in _at(loc, root) for tag in _tags(model)}


def _description(loc: tuple[str | int, ...], root: type[Part]) -> str:
    for model in _at(loc[:-1], root):
        field = model.model_fields.get(str(loc[-1]))
        if field is not None and field.description:
            return " ".join(field.description.split())
    return ""
