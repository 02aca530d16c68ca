"""The constants of a world that are not of one machine, one container or one site, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass, fields

from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.units import MIB

__all__ = ["WorldParams"]


@dataclass(frozen=True, slots=True)
class WorldParams:
    """Constants of a world. All have defaults that work; a scenario may override each by name."""

    ticks_per_step: int = 10
    """Ticks of 30 s between two decisions: 10 is the 5 min of routine optimisation."""
    ceiling: float = 0.9
    """Share of a node's capacity that usage may reach through a move; the world refuses moves beyond it."""
    load_bound: float = 0.98
    """Load at which the queueing formula is capped: latency stays within 1 / (1 - 0.98) = 50 service times."""
    path_stretch: float = 2.0
    """Length of the fibre over the great circle: cables follow roads and meet at exchanges. Assumed; published round
    trips over the Internet lie at some three times light in vacuum, half of which the glass itself accounts for."""
    fibre_km_per_ms: float = 204.2
    """Speed of light in fibre: 299.792 km/ms in vacuum over a group index of 1.468 (G.652 fibre at 1550 nm)."""
    hop_ms: float = 1.0
    """Switching and routing between two different sites, there and back."""
    migration_link_share: float = 0.5
    """Most that all migrations together may take of a link's capacity (CloudSim reserves half as well)."""
    migration_link_floor: float = 0.05
    """Least that migrations get of a link that service traffic fills: transport protocols share, they do not starve."""
    migration_cap_bit_s: float = 1e9
    """Limit on one migration's rate, so that moves cannot take a link that users need."""
    precopy_stop_bytes: float = 16 * MIB
    """Dirty memory left at which pre-copy stops and the container is frozen: about a tenth of a second at 1 Gbit/s.
    Assumed; runc and CRIU leave the choice to the caller."""
    precopy_traffic_limit: float = 3.0
    """Most that pre-copy may send, in memory sizes, before it gives up and freezes (Xen's limit for live migration)."""
    restore_s: float = 0.3
    """Time frozen beside the copy: the last dump and the restore (0.11 + 0.20 s for a process of 1 MB, measured with
    CRIU 4.1.1 under Podman 5.4 on a quiet machine)."""
    migration_overhead: float = 0.1
    """Extra CPU demand of a container that is being copied (10 %: Beloglazov and Buyya 2012; Voorsluys et al. 2009)."""
    migration_failure_base: float = 0.01
    """Chance that one attempt fails on a calm link."""
    migration_failure_per_jitter: float = 0.02
    """Added chance for each ms of jitter on the path: chosen so that about a third of attempts fails at 15 ms, what
    practitioners report of moves over a realistic wide-area network."""
    migration_failure_per_loss: float = 2.0
    """Added chance for each unit of packet loss on the path (1 % of loss adds 2 %)."""
    migration_attempts: int = 3
    """Attempts before a move is undone."""
    migration_retry_s: float = 60.0
    """Pause before another attempt; it doubles with each."""
    migration_timeout_s: float = 1800.0
    """Time after which a move that is still waiting or copying is undone."""
    reschedule_s: float = 60.0
    """Time from the loss of a node until its containers are started elsewhere (detection and scheduling)."""
    idle_memory_share: float = 0.6
    """Share of a container's requested memory that it holds at no load; the rest grows with its load up to 1."""
    keep_images: bool = True
    """Whether an image that was pulled stays on the node."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool):
                continue
            check_number(field.name, float(value))
        for name in ("ceiling", "migration_link_share", "migration_link_floor", "idle_memory_share"):
            check_number(name, getattr(self, name), above=True, high=1.0)
        check_number("load_bound", self.load_bound, above=True, high=0.999)
        check_number("path_stretch", self.path_stretch, low=1.0)
        check_number("fibre_km_per_ms", self.fibre_km_per_ms, above=True)
        check_number("migration_cap_bit_s", self.migration_cap_bit_s, above=True)
        if self.ticks_per_step < 1 or self.migration_attempts < 1:
            raise ModelError(
                f"ticks_per_step is {self.ticks_per_step} and migration_attempts is {self.migration_attempts}; "
                "both must be at least 1"
            )
