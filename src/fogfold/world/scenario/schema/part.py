"""What all parts of a scenario file share: strict types, no unknown keys, and spreads of sizes.

Descriptions of keys are the sentences under the fields, so that the reference page, the JSON Schema and an editor's
hints say the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from fogfold.compiled import Array

__all__ = [
    "PATTERNS",
    "Amount",
    "Lognormal",
    "MachineName",
    "Name",
    "Part",
    "Positive",
    "PositiveAmount",
    "PositiveLognormal",
    "Share",
    "fault",
    "shares_sum_to_one",
]


def fault(sentence: str) -> PydanticCustomError:
    """An error of validation that says this sentence and nothing else."""
    return PydanticCustomError("rule", "{sentence}", {"sentence": sentence})


class Part(BaseModel):
    """A mapping in a scenario file. Frozen; unknown keys, wrong types, NaN and infinity are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


Positive = Annotated[float, Field(gt=0)]
"""A number above 0."""

Share = Annotated[float, Field(ge=0, le=1)]
"""A number in [0, 1]."""

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
_MACHINE_NAME = r"^[a-z0-9][a-z0-9-]{0,62}$"

Name = Annotated[str, Field(pattern=_NAME)]
"""A name: letters, digits, dot, underscore and hyphen, at most 63 signs, starting with a letter or digit."""

MachineName = Annotated[str, Field(pattern=_MACHINE_NAME)]
"""A name as the catalogue of machines has them: lower-case letters, digits and hyphens, at most 63 signs."""

PATTERNS = {
    _NAME: "letters, digits and . _ -, at most 63 signs, starting with a letter or digit",
    _MACHINE_NAME: "lower-case letters, digits and hyphens, at most 63 signs, starting with a letter or digit",
}
"""What each pattern of this package asks for, in words."""


def shares_sum_to_one(shares: Iterable[float], of: str) -> None:
    """Nothing, where the shares sum to 1 (within 0.001, so that thirds may be written with three digits).

    Raises:
        PydanticCustomError: with the sum, the rule and the remedy.
    """
    total = math.fsum(shares)
    if abs(total - 1.0) > 1e-3 + 1e-9:
        raise fault(f"the shares of {of} sum to {total:g}; they must sum to 1")


class Lognormal(Part):
    """Sizes that differ: lognormal round a median, kept within bounds. A plain number stands for no spread."""

    median: Annotated[float, Field(ge=0)]
    """Half of the values are below it; in the unit of the key."""
    sigma: Annotated[float, Field(ge=0, le=3)] = 0.0
    """Standard deviation of the natural logarithm: 0 gives all the median; at 0.7 one in six is over twice it."""
    least: Annotated[float, Field(ge=0)] = 0.0
    """Smaller draws are raised to it; in the unit of the key."""
    most: Annotated[float, Field(ge=0)] | None = None
    """Larger draws are lowered to it, in the unit of the key; null for no limit."""

    @model_validator(mode="after")
    def _ordered(self) -> Lognormal:
        if self.median < self.least or (self.most is not None and self.median > self.most):
            raise fault(
                f"median is {self.median:g}, least {self.least:g} and most "
                f"{'null' if self.most is None else format(self.most, 'g')}; they must be in rising order"
            )
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The mapping, or a plain number."""
        whole = handler.resolve_ref_schema(handler(schema))
        return {"anyOf": [{"type": "number", "minimum": 0}, dict(whole)], "description": whole.get("description", "")}

    def draw(self, rng: np.random.Generator, count: int) -> Float[Array, " count"]:
        """That many values. One number is drawn for each whatever the spread, so that no edit shifts a stream."""
        values = self.median * np.exp(self.sigma * rng.standard_normal(count))
        return self.bounded(values)

    def bounded(self, values: Float[Array, " count"]) -> Float[Array, " count"]:
        """The values, kept within `least` and `most`."""
        return np.clip(values, self.least, np.inf if self.most is None else self.most)


def _from_number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"median": float(value)}
    return value


class PositiveLognormal(Lognormal):
    """A spread whose median is above 0: nothing of that size is not an answer."""

    median: Positive
    """Half of the values are below it; above 0, in the unit of the key."""


Amount = Annotated[Lognormal, BeforeValidator(_from_number)]
"""A spread of sizes, or a plain number for all the same."""

PositiveAmount = Annotated[PositiveLognormal, BeforeValidator(_from_number)]
"""A spread of sizes above 0, or a plain number for all the same."""
