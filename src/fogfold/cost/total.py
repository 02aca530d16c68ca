"""The one sum that policies are compared by: J, in Wh-equivalents, with its exchange rates and their reasons.

J = energy + migration + SLA + latency, each in Wh. It is the reward's sum with the sign turned, over a whole episode
and not against a rollout. The terms are always kept beside it: one number alone misleads.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from fogfold.model.resources import check_number
from fogfold.units import GIB, J_PER_WH

__all__ = ["ExchangeRates", "TermsWh", "total_cost"]


@dataclass(frozen=True, slots=True)
class ExchangeRates:
    """What one unit of harm is worth, in Wh of electric energy."""

    late_request_wh: float = 1e-3
    """A request late, failed or unserved. A critical edge service answers some 10 requests a second on a tenth of a
    core of a 10 W node: 0.1 Wh buys an hour of it, 36,000 requests. A violated request is priced at several hundred
    times the energy of a served one, so that 1 % of violations outweighs any saving: first do no harm."""
    migrated_gib_wh: float = 0.06
    """A GiB sent over the network: 0.06 kWh/GB for fixed networks in 2015, halving every two years (Aslan et al.,
    J. Industrial Ecology 2018), gives some 1.3 Wh/GB in 2026 for the whole Internet; a metropolitan path of one or
    two hops is taken as a twentieth of it."""
    downtime_s_wh: float = 0.02
    """A second in which a container does not answer because it is being moved, beside the requests lost in it: the
    price of interruption itself (sessions, caches, operators' trust). 1 s weighs as 20 lost requests."""
    latency_ms_request_wh: float = 2e-7
    """A millisecond more for one request: 1000 ms of delay, spread over requests, weigh as a fifth of a late one."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_number(field.name, getattr(self, field.name))


@dataclass(frozen=True, slots=True)
class TermsWh:
    """The four terms of J, in Wh-equivalents, and their sum."""

    energy: float
    migration: float
    sla: float
    latency: float

    @property
    def total(self) -> float:
        """J, in Wh-equivalents."""
        return self.energy + self.migration + self.sla + self.latency


def total_cost(
    rates: ExchangeRates,
    *,
    energy_j: float,
    moved_bytes: float,
    downtime_s: float,
    violated_requests: float,
    latency_ms_requests: float,
) -> TermsWh:
    """The terms of J for what happened in a stretch of time.

    Args:
        rates: what a unit of each harm is worth.
        energy_j: electric energy of all nodes, in J.
        moved_bytes: bytes sent by migrations.
        downtime_s: container-seconds of downtime that moves caused.
        violated_requests: requests late, failed or unserved.
        latency_ms_requests: sum over served requests of the round trip (the transmission part of latency), in ms.
    """
    return TermsWh(
        energy=energy_j / J_PER_WH,
        migration=moved_bytes / GIB * rates.migrated_gib_wh + downtime_s * rates.downtime_s_wh,
        sla=violated_requests * rates.late_request_wh,
        latency=latency_ms_requests * rates.latency_ms_request_wh,
    )
