"""What a decision earned: the saving against the same future in which nothing was done (`world.twin`).

The four parts of the saving stay apart to the end; their sum is the reward.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from fogfold.cost.total import TermsWh
from fogfold.model.resources import check_number

__all__ = ["RewardWeights", "saving_wh"]


@dataclass(frozen=True, slots=True)
class RewardWeights:
    """How much each part of the saving counts; at 1 each, the reward is the saving in J, by which policies are judged.

    Raises:
        ModelError: if a weight is negative or not finite.
    """

    energy: float = 1.0
    """Electric energy. The unit of all others: leave it at 1 and turn those."""
    migration: float = 1.0
    """Bytes moved and downtime caused. Above 1 makes for fewer moves than J asks for."""
    sla: float = 1.0
    """Requests late, failed or unserved. Above 1 buys caution with energy; at 0 the agent folds without shame."""
    latency: float = 1.0
    """Round trips of requests that are in time. At 0 only the objectives of the containers count."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_number(field.name, getattr(self, field.name))

    def weighed(self, saving_wh: TermsWh, unit_wh: float) -> TermsWh:
        """The parts of a reward: each part of the saving, weighed, in units of `unit_wh`."""
        return TermsWh(
            energy=self.energy * saving_wh.energy / unit_wh,
            migration=self.migration * saving_wh.migration / unit_wh,
            sla=self.sla * saving_wh.sla / unit_wh,
            latency=self.latency * saving_wh.latency / unit_wh,
        )


def saving_wh(held: TermsWh, spent: TermsWh) -> TermsWh:
    """What a step saved against the twin's, part by part; negative where it cost more."""
    return TermsWh(*(a - b for a, b in zip(astuple(held), astuple(spent))))
