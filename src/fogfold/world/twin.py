"""What happened in a world as terms of J, and what would have happened had nothing been ordered.

The twin makes a comparison fair to its day: ups and downs, surges and faults come to both worlds and cancel out, and
whoever does nothing has saved exactly nothing.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.cost.total import ExchangeRates, TermsWh, total_cost
from fogfold.errors import ModelError
from fogfold.world.dynamics import no_orders
from fogfold.world.rows import Total
from fogfold.world.world import World

__all__ = ["HoldTwin", "terms_wh"]


def terms_wh(happened: Float[Array, " totals"], rates: ExchangeRates) -> TermsWh:
    """The terms of the total cost J of a stretch of time, from sums that are rows of `world.rows.Total`."""
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
        self.steps: list[TermsWh] = [terms_wh(world.step(nothing)[0], rates) for _ in range(steps)]
        """Terms of J of each step."""
        self.mean_wh = float(np.mean([terms.total for terms in self.steps]))
        """Mean cost of a step: the unit of rewards, so that they are alike in small clusters and large ones."""
        if not self.mean_wh > 0.0:
            raise ModelError(
                f"doing nothing costs {self.mean_wh:g} Wh-equivalents a step, so no saving can be measured by it; "
                "give exchange rates or machines that cost something"
            )
