"""Settings that stand in code as frozen dataclasses, offered as parts of a settings file: each figure stands once.

A part has the names and the defaults of its dataclass and refuses what the dataclass refuses, at its place in the file.
"""

from __future__ import annotations

import dataclasses
import types
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic import Field, create_model, model_validator

from fogfold.errors import ModelError
from fogfold.world.scenario.schema.part import Part, fault

__all__ = ["Figures", "figures_of"]

_T = TypeVar("_T")


class Figures(Part, Generic[_T]):
    """Figures of a dataclass, as they stand in a settings file."""

    @model_validator(mode="after")
    def _can_be(self) -> Figures[_T]:
        try:
            self.made()
        except ModelError as error:
            raise fault(str(error)) from error
        return self

    @classmethod
    def of(cls) -> type[Any]:
        """The dataclass. Parts that are made by `figures_of` know theirs."""
        raise NotImplementedError

    def made(self) -> _T:
        """The dataclass with these figures.

        Raises:
            ModelError: if it refuses them; never after validation.
        """
        values = {name: _made(getattr(self, name)) for name in type(self).model_fields}
        made: _T = self.of()(**values)
        return made


@cache
def figures_of(owner: type[_T]) -> type[Figures[_T]]:
    """The part of a settings file that gives the figures of a dataclass; dataclasses in it are parts of their own."""
    hints = get_type_hints(owner)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(owner):  # type: ignore[arg-type]  # any dataclass will do
        annotation = _offered(hints[field.name])
        if field.default is not dataclasses.MISSING:
            default = _as_part(field.default)
            fields[field.name] = (annotation, default)
        elif field.default_factory is not dataclasses.MISSING:
            fields[field.name] = (annotation, _as_part(field.default_factory()))
        else:
            fields[field.name] = (annotation, ...)
    made: Any = create_model(owner.__name__, __base__=Figures, __doc__=owner.__doc__, **fields)
    made.of = classmethod(lambda _: owner)  # type: ignore[assignment, method-assign]  # each knows its own
    return cast("type[Figures[_T]]", made)


def _offered(annotation: Any) -> Any:
    """An annotation with parts in the place of dataclasses; lists of YAML may stand for tuples and sets."""
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return figures_of(annotation)
    origin, inner = get_origin(annotation), tuple(_offered(a) if a is not ... else a for a in get_args(annotation))
    if origin in {tuple, frozenset}:
        return Annotated[origin[inner], Field(strict=False)]
    if origin in {Union, types.UnionType}:
        return Union[inner]  # noqa: UP007 - made from a tuple of types
    return annotation


def _as_part(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        values = {field.name: _as_part(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return figures_of(type(value)).model_construct(**values)
    return value


def _made(value: Any) -> Any:
    if isinstance(value, Figures):
        return value.made()
    if isinstance(value, tuple):
        return tuple(_made(item) for item in value)
    return value
