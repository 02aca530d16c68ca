"""All that acting on a cluster needs, in one hand: the ports, the eyes, the chance, the right to act and the waits.

The executor and recovery are made of the same movers and switchers, so what one begins the other can end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fogfold.control.asking import Asking
from fogfold.control.eyes import Eyes
from fogfold.control.mandate import Mandate
from fogfold.control.moving import Mover, MoveSettings
from fogfold.control.ports import Clock, Lease, Orchestrator, Power, Store
from fogfold.control.switching import Switcher, SwitchSettings
from fogfold.control.waves import PlanSettings
from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.model.resources import check_number
from fogfold.units import MINUTE_S

__all__ = ["ExecuteSettings", "Means"]


@dataclass(frozen=True, slots=True)
class ExecuteSettings:
    """How plans are carried out."""

    moves: MoveSettings = field(default_factory=MoveSettings)
    switching: SwitchSettings = field(default_factory=SwitchSettings)
    caps: PlanSettings = field(default_factory=PlanSettings)
    """How much may go on at once: those of the plan."""
    settle_s: float = 5.0
    """How long after its mark a node is read anew: what was bound to it before the mark was seen shows by then."""
    fresh_s: float = MINUTE_S
    """How long to wait for a reading that is newer than the marks."""
    stale_s: float = 3 * MINUTE_S
    """Age of a snapshot above which nothing is begun on it."""
    lease_s: float = MINUTE_S
    """For how long the lease is renewed each time."""
    substitutes: int = 2
    """Nodes that may be woken in the place of one that does not come up."""
    cycle_s: float = 5 * MINUTE_S
    """How long recovery waits for what is still on its way; the next cycle looks again."""

    def __post_init__(self) -> None:
        for name in ("fresh_s", "stale_s", "lease_s", "cycle_s"):
            check_number(name, float(getattr(self, name)), above=True)
        check_number("settle_s", self.settle_s)
        if self.substitutes < 0:
            raise ModelError(f"substitutes is {self.substitutes}; give at least 0")


@dataclass(frozen=True)
class Means:
    """What one acts with and through."""

    orchestrator: Orchestrator
    power: Power
    store: Store
    clock: Clock
    eyes: Eyes
    rng: np.random.Generator
    """The jitter of waits: a stream of its own, as in `seeding.stream(root, "executor")`."""

    def mandate(self, lease: Lease, settings: ExecuteSettings) -> Mandate:
        """The right to act that a lease gives."""
        return Mandate(lease, self.store, self.clock, for_s=settings.lease_s)

    def mover(self, mandate: Mandate, settings: ExecuteSettings) -> Mover:
        """Who carries single moves through."""
        asking = self.asking(mandate, settings)
        return Mover(self.orchestrator, self.store, self.clock, mandate, asking, settings.moves)

    def switcher(self, cluster: Cluster, mandate: Mandate, settings: ExecuteSettings, *, plan: str) -> Switcher:
        """Who takes single nodes to sleep and back."""
        return Switcher(
            cluster,
            self.orchestrator,
            self.power,
            self.store,
            self.clock,
            mandate,
            self.asking(mandate, settings),
            self.eyes,
            settings.switching,
            plan=plan,
        )

    def asking(self, mandate: Mandate, settings: ExecuteSettings) -> Asking:
        """How to ask somebody who may not answer."""
        return Asking(self.clock, mandate, self.rng, settings.moves.patience)
