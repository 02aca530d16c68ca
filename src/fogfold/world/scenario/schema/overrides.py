"""Constants of the world and of faults that a scenario may set by name: made from their dataclasses, so that a new
constant can be set in a scenario from the day it exists.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Field, create_model

from fogfold.errors import ModelError
from fogfold.world.faults import FaultParams
from fogfold.world.params import WorldParams
from fogfold.world.scenario.schema.part import Part, fault

__all__ = ["FaultOverrides", "FaultsPart", "WorldOverrides", "field_sentences"]


def field_sentences(owner: type) -> dict[str, str]:
    """The docstring under each field of a dataclass, on one line; fields without one are left out."""
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    if not isinstance(body, ast.ClassDef):
        return {}
    found = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            found[statement.target.id] = " ".join(str(following.value.value).split())
    return found


def _part_of(name: str, owner: Any, sentence: str, **extra: Any) -> type[Part]:
    sentences, types = field_sentences(owner), get_type_hints(owner)
    annotated: Any = Annotated  # built at run time, which type checkers do not read
    keys: dict[str, Any] = {}
    for field in fields(owner):
        described = sentences.get(field.name, f"Constant {field.name} of {owner.__name__}.")
        checked = annotated[types[field.name], AfterValidator(_check(owner, field.name))]
        keys[field.name] = (checked, Field(field.default, description=described))
    made: type[Part] = create_model(name, __base__=Part, __module__=__name__, __doc__=sentence, **keys, **extra)
    return made


def _check(owner: Any, key: str) -> Any:
    def check(value: Any) -> Any:
        try:
            owner(**{key: value})
        except ModelError as error:
            raise fault(str(error)) from error
        return value

    return check


if TYPE_CHECKING:

    class WorldOverrides(Part):
        """Constants of the world, by name."""

    class FaultOverrides(Part):
        """Constants of the faults, by name."""

        enabled: bool = True

else:
    WorldOverrides = _part_of(
        "WorldOverrides", WorldParams, "Constants of the world, by name; those left out keep their defaults."
    )
    FaultOverrides = _part_of(
        "FaultOverrides",
        FaultParams,
        "How often things go wrong, by name; those left out keep their defaults. The word off: never.",
        enabled=(
            bool,
            Field(True, description="Whether anything goes wrong at all; false is what `faults: off` says."),
        ),
    )


def _off(value: Any) -> Any:
    if value == "off":
        return {"enabled": False}
    if isinstance(value, Mapping):
        return value
    raise fault(f"{value!r} is no answer; write off, or a mapping of constants")


FaultsPart = Annotated[FaultOverrides, BeforeValidator(_off)]
"""Constants of the faults, or the word off."""
