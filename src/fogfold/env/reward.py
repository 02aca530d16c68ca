"""What a decision earned: the saving against the same future in which nothing was done.

The twin makes the reward fair to its day: ups and downs, surges and faults come to both and cancel out, and whoever
does nothing earns exactly nothing. The four parts of the saving stay apart to the end; their sum is the reward.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.cost.total import ExchangeRates, TermsWh, total_cost
from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.world.dynamics import no_orders
from fogfold.world.rows import Total
from fogfold.world.world import World

__all__ = ["HoldTwin", "RewardWeights", "happened_wh"]


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


def happened_wh(happened: Float[Array, " totals"], rates: ExchangeRates) -> TermsWh:
    """The terms of J for what happened in a step, rows of `world.rows.Total`."""
    return total_cost(
        rates,
        energy_j=float(happened[Total.ENERGY_J]),
        moved_bytes=float(happened[Total.MOVED_BYTES]),
        downtime_s=float(happened[Total.MOVE_DOWNTIME_S]),
        violated_requests=float(happened[Total.LATE] + happened[Total.UNSERVED]),
        latency_ms_requests=float(happened[Total.ROUND_TRIP_MS]),
    )


class HoldTwin:
    """What every step of a world costs when nothing is ever done.

    Args:
        world: a batch of one at its first tick, made like the one that is played; it is played to its end here.
        steps: how many steps that is.
        rates: exchange rates of J.

    Raises:
        ModelError: if the world costs nothing, so that no saving can be measured by it.
    """

    def __init__(self, world: World, steps: int, rates: ExchangeRates) -> None:
        nothing = no_orders(1, world.frame.fleet.nodes)
        self._steps = [happened_wh(world.step(nothing)[0], rates) for _ in range(steps)]
        self.mean_wh = float(np.mean([terms.total for terms in self._steps]))
        """Mean cost of a step: the unit of rewards, so that they are alike in small clusters and large ones."""
        if not self.mean_wh > 0.0:
            raise ModelError(
                f"doing nothing costs {self.mean_wh:g} Wh-equivalents a step, so no saving can be measured by it; "
                "give exchange rates or machines that cost something"
            )

    def saving_wh(self, step: int, cost: TermsWh) -> TermsWh:
        """What a step saved against the twin's, part by part; negative where it cost more."""
        return TermsWh(*(held - spent for held, spent in zip(astuple(self._steps[step]), astuple(cost))))
