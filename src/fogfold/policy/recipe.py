"""How a policy is made: its name, what it is, its default figures, which of them are worth a search, and the maker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

from fogfold.errors import UnknownNameError, did_you_mean
from fogfold.policy.base import Policy
from fogfold.policy.space import Space

__all__ = ["Recipe"]

P = TypeVar("P")


@dataclass(frozen=True)
class Recipe(Generic[P]):
    """How to make one policy."""

    name: str
    summary: str
    """One sentence: what it does, and whose rule it is."""
    params: P
    """Its default figures: a frozen dataclass."""
    space: Space
    """Values of its figures that a search may try."""
    maker: Callable[[str, P], Policy]
    """Makes the policy of that name with those figures."""

    def make(self, **overrides: Any) -> Policy:
        """The policy, with some of its figures set otherwise.

        Raises:
            UnknownNameError: if it has no figure of that name.
            ModelError: if a figure is out of its range.
        """
        known = [field.name for field in fields(self.params)]  # type: ignore[arg-type]  # P is a dataclass
        for name in overrides:
            if name not in known:
                raise UnknownNameError(f'policy {self.name} has no parameter "{name}"; {did_you_mean(name, known)}')
        return self.maker(self.name, replace(self.params, **overrides))  # type: ignore[type-var]  # P is a dataclass
