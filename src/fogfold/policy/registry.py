"""Every policy by its name. What a policy needs is imported when it is first asked for.

Entries name a module and the recipe in it, so that policies with heavy or optional needs can stand here beside the
classic rules without a price for those who do not use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from fogfold.errors import UnknownNameError, did_you_mean
from fogfold.policy.base import Policy
from fogfold.policy.recipe import Recipe

__all__ = ["POLICIES", "RULES", "Entry", "policy", "recipe"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the recipe of a policy stands."""

    module: str
    attribute: str
    classic: bool = True
    """Whether it is one of the classic rules: no learning, no solver, no forecast."""
    by_name_only: bool = False
    """Whether it is left out of "all policies": a yardstick that refuses clusters beyond its size, or takes hours."""

    takes: str | None = None
    """The figure that may follow its name after a colon, as in `learned:runs/train/best.safetensors`."""

    def load(self) -> Recipe[Any]:
        """The recipe, imported now."""
        found = getattr(import_module(self.module), self.attribute)
        assert isinstance(found, Recipe)  # noqa: S101 - an entry of this table that names no recipe is a fault here
        return found


POLICIES: Mapping[str, Entry] = MappingProxyType(
    {
        "hold": Entry("fogfold.policy.hold", "HOLD"),
        "first-fit": Entry("fogfold.policy.first_fit", "FIRST_FIT"),
        "best-fit": Entry("fogfold.policy.best_fit", "BEST_FIT"),
        "drain": Entry("fogfold.policy.drain", "DRAIN"),
        "drain-relief": Entry("fogfold.policy.drain_relief", "DRAIN_RELIEF"),
        "thr-mmt": Entry("fogfold.policy.mmt", "THR_MMT"),
        "iqr-mmt": Entry("fogfold.policy.mmt", "IQR_MMT"),
        "mad-mmt": Entry("fogfold.policy.mmt", "MAD_MMT"),
        "lr-mmt": Entry("fogfold.policy.mmt", "LR_MMT"),
        "lrr-mmt": Entry("fogfold.policy.mmt", "LRR_MMT"),
        "high-node-utilization": Entry("fogfold.policy.high_node_utilization", "HIGH_NODE_UTILIZATION"),
        "balanced": Entry("fogfold.policy.balanced", "BALANCED"),
        "guided": Entry("fogfold.policy.guided", "GUIDED", classic=False),
        "mpc": Entry("fogfold.policy.mpc", "MPC", classic=False, by_name_only=True),
        "clairvoyant": Entry("fogfold.policy.clairvoyant", "CLAIRVOYANT", classic=False, by_name_only=True),
        "exact": Entry("fogfold.policy.exact", "EXACT", classic=False, by_name_only=True),
        "learned": Entry(
            "fogfold.policy.learned.policy", "LEARNED", classic=False, by_name_only=True, takes="checkpoint"
        ),
        "rehearsed": Entry("fogfold.decide.policy", "REHEARSED", classic=False, by_name_only=True, takes="rule"),
    }
)
"""All policies, in the order in which tables show them."""

RULES: tuple[str, ...] = tuple(name for name, entry in POLICIES.items() if entry.classic)
"""Names of the classic rules."""


def recipe(name: str) -> Recipe[Any]:
    """How the policy of that name is made: its default figures and which of them are worth a search.

    Raises:
        UnknownNameError: if there is no policy of that name.
    """
    if name not in POLICIES:
        raise UnknownNameError(f'policy "{name}" is unknown; {did_you_mean(name, POLICIES)}')
    return POLICIES[name].load()


def policy(name: str, **overrides: Any) -> Policy:
    """A new policy of that name, with some of its figures set otherwise.

    >>> policy("best-fit", low_mark=0.4).name
    'best-fit'

    What an entry `takes` may follow the name after a colon; the policy is then called by the whole of it.

    Raises:
        UnknownNameError: if there is no policy of that name, or it has no figure of a given name.
        ModelError: if a figure is out of its range.
    """
    base, colon, argument = name.partition(":")
    if not colon:
        return recipe(name).make(**overrides)
    found = recipe(base)
    figure = POLICIES[base].takes
    if figure is None:
        raise UnknownNameError(f'policy "{name}" is unknown; {base} takes nothing after a colon')
    made = found.make(**{figure: argument, **overrides})
    made.name = name
    return made
