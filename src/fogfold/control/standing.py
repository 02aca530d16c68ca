"""How the service is to go on, and how it stands: its modes and figures, a plan that waits, its status at a glance."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fogfold.control.deciding import Decision
from fogfold.control.guard.memory import MemorySettings
from fogfold.control.load_evidence import EvidenceSettings
from fogfold.control.means import ExecuteSettings
from fogfold.control.recorder import InputsSettings
from fogfold.control.saving import SavingSettings
from fogfold.control.schedule import ScheduleSettings
from fogfold.control.signs import SignSettings
from fogfold.control.volatility import VolatilitySettings
from fogfold.errors import ModelError
from fogfold.model.resources import check_number

__all__ = ["LoopSettings", "Mode", "Pending", "Status"]


class Mode(StrEnum):
    """What becomes of a plan."""

    RECOMMEND = "recommend"
    """It is shown, and nothing more."""
    APPROVE = "approve"
    """It waits until somebody says yes or no, or until it is too old."""
    AUTOMATIC = "automatic"


@dataclass(frozen=True)
class LoopSettings:
    """How the service goes on."""

    holder: str
    """A name that no other process ever bears: under it the lease is held."""
    mode: Mode = Mode.RECOMMEND
    collect_s: float = 30.0
    """Time between two looks: what evidence and signs are counted in."""
    lease_s: float = 60.0
    approval_s: float = 600.0
    """How long a plan waits to be approved; later it is of another cluster."""
    schedule: ScheduleSettings = field(default_factory=ScheduleSettings)
    volatility: VolatilitySettings = field(default_factory=VolatilitySettings)
    signs: SignSettings = field(default_factory=SignSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    execute: ExecuteSettings = field(default_factory=ExecuteSettings)
    inputs: InputsSettings = field(default_factory=InputsSettings)
    saving: SavingSettings = field(default_factory=SavingSettings)

    def __post_init__(self) -> None:
        for name in ("collect_s", "lease_s", "approval_s"):
            check_number(name, float(getattr(self, name)), above=True)
        if not self.holder:
            raise ModelError("holder is empty; give a name that no other process bears")
        if not self.lease_s > self.collect_s:
            raise ModelError(
                f"lease_s is {self.lease_s:g} and collect_s {self.collect_s:g}; a lease must outlast a look, by which "
                "it is renewed"
            )


@dataclass(frozen=True)
class Pending:
    """A plan that waits to be approved."""

    number: int
    """Of its decision in the journal."""
    decision: Decision
    until_s: float


@dataclass(frozen=True)
class Status:
    """How the service stands."""

    mode: Mode
    stopped: str
    """Why everything is stopped by hand; empty where it is not."""
    holds_lease: bool
    now_s: float
    next_in_s: float | None
    interval_s: float
    decisions: int
    acting: int | None
    """Number of the decision that is being carried out."""
    pending: int | None
    trouble: str
    """What kept the last cycle from being whole; empty where nothing did."""
