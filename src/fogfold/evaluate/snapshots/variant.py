"""How hard a drawn snapshot is: load, groups and restrictions, by name."""

from __future__ import annotations

from dataclasses import dataclass

from fogfold.errors import UnknownNameError, did_you_mean

__all__ = ["VARIANTS", "Variant", "variant"]


@dataclass(frozen=True, slots=True)
class Variant:
    """What is drawn."""

    name: str
    load: float = 0.38
    """CPU requests over the cores of all nodes, in ]0, 1[."""
    replicated: float = 0.20
    """Share of containers in groups of three that keep off each other's nodes."""
    paired: float = 0.06
    """Share of containers in pairs that share a node."""
    bound_to_kind: float = 0.10
    """Share of containers that run on one kind of node only (four nodes in ten are of it)."""
    fog: bool = False
    """Whether places matter: sites, accelerators, data that must be near, users who do not wait."""


VARIANTS: dict[str, Variant] = {
    known.name: known
    for known in (
        Variant("base"),
        Variant("util25", load=0.25),
        Variant("util55", load=0.55),
        Variant("util70", load=0.70),
        Variant("tight", load=0.55, replicated=0.45, paired=0.10, bound_to_kind=0.20),
        Variant("fog", fog=True),
    )
}
"""All variants, in the order in which they are listed."""


def variant(name: str) -> Variant:
    """The variant of that name.

    Raises:
        UnknownNameError: if there is none.
    """
    if name not in VARIANTS:
        raise UnknownNameError(f'snapshot variant "{name}" is unknown; {did_you_mean(name, VARIANTS)}')
    return VARIANTS[name]
