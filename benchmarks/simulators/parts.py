"""Where a step of fogfold's world spends its time, on the day of the comparison: call, orders, ticks, moves.

Told by leaving out: the same day without orders, with one tick a step and with none. Best of several days, in
microseconds of CPU time for a step of one world.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from fogfold.world.dynamics import Orders, advance, no_orders
from fogfold.world.world import World
from simulators.draw import draw_day, ground

_DAYS = 7


def main(worlds: int) -> None:
    """Print the cost of a step with less and less in it."""
    here = ground(0)
    _, orders = draw_day(here, worlds)
    still = [no_orders(worlds, here.fleet.nodes)] * len(orders)

    def best(play: Callable[[World, Orders], object], steps: Sequence[Orders]) -> float:
        costs = []
        for _ in range(_DAYS):
            batch = here.worlds(worlds)
            started = time.process_time()
            for order in steps:
                play(batch, order)
            costs.append(time.process_time() - started)
        return min(costs) / len(steps) / worlds * 1e6

    def ticks(count: int | None) -> Callable[[World, Orders], None]:
        return lambda batch, order: advance(batch.frame, batch.tape, batch.state, order, ticks=count)

    print(f"{worlds} worlds in one call; us a step and world")
    print(f"all, with the step's readings  {best(World.step, orders):8.2f}")
    print(f"all                            {best(ticks(None), orders):8.2f}")
    print(f"no orders                      {best(ticks(None), still):8.2f}")
    print(f"no orders, one tick            {best(ticks(1), still):8.2f}")
    print(f"no orders, no tick             {best(ticks(0), still):8.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
