"""The catalogue of machines: real ones of four kinds, looked up by name.

Every figure of every machine carries its source (`Machine.sources`); what no source gives is marked as assumed, with
the reason. `docs/reference/machines.md` shows it all as tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fogfold.cost.catalogue.boards import ARM_BOARDS
from fogfold.cost.catalogue.boxes import EDGE_BOXES, GPU_BOXES
from fogfold.cost.catalogue.servers import SERVERS
from fogfold.cost.machine import Machine, MachineKind, break_even_s, node
from fogfold.errors import UnknownNameError, did_you_mean

__all__ = ["MACHINES", "Machine", "MachineKind", "break_even_s", "machine", "node"]

MACHINES: Mapping[str, Machine] = MappingProxyType(
    {each.name: each for each in (*SERVERS, *EDGE_BOXES, *ARM_BOARDS, *GPU_BOXES)}
)
"""All machines by name, kind after kind."""


def machine(name: str) -> Machine:
    """The machine of this name.

    Raises:
        UnknownNameError: if the catalogue has none.
    """
    try:
        return MACHINES[name]
    except KeyError:
        raise UnknownNameError(f"machine {name!r} is not in the catalogue; {did_you_mean(name, MACHINES)}") from None
