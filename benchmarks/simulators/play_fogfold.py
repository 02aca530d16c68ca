"""The day in fogfold with every effect switched on: one world, or a batch of many in one call, on one core.

Each step is ten ticks of 30 s, and carries out five random moves that are legal when they are ordered, beside sleep and
wake orders of empty nodes. A first play is thrown away, since it loads compiled code, as in `fogfold bench world`. What
came of the day is checked: no order may be refused.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from fogfold.world.dynamics import Orders
from fogfold.world.rows import Total
from simulators.draw import Ground, ground
from simulators.play import answer, fastest
from simulators.workload import load_day

EFFECTS = (
    "ticks of 30 s",
    "power curves of real machines",
    "moves with image pull, pre-copy over shared links, failure and retry",
    "sleep, wake and boot with time and energy",
    "faults of nodes and links, restarts",
    "queueing, round trips, latency objectives",
    "demand with surges, in four resources",
)


def play(here: Ground, orders: list[Orders]) -> dict[str, Any]:
    """Play the day, and give what it cost and what came of its first world."""
    batch = here.worlds(len(orders[0].moves))
    started = time.process_time()
    for order in orders:
        batch.step(order)
    cpu_s = time.process_time() - started
    total = batch.state.total
    refused = int(total[:, Total.REFUSED].sum())
    if refused:
        raise SystemExit(f"{refused} orders were refused; all were legal when they were drawn")
    first = total[0]
    return {
        "cpu_s": cpu_s,
        "energy_kwh": float(first[Total.ENERGY_J] / 3.6e6),
        "requests": int(first[Total.REQUESTS]),
        **{
            name.lower(): int(first[Total[name]])
            for name in (
                "MOVES_STARTED",
                "MOVES_DONE",
                "ATTEMPTS_FAILED",
                "MOVES_UNDONE",
                "REFUSED",
                "NODE_LOSSES",
                "RESTARTS",
                "SLEEPS",
                "WAKES",
            )
        },
    }


def main(path: str, orders_path: str, worlds: str) -> None:
    """Play the day with the orders of its first worlds, and print what it cost."""
    day, count = load_day(Path(path)), int(worlds)
    with np.load(orders_path) as read:
        steps = zip(read["moves"][:, :count], read["power"][:, :count])
        orders = [Orders(np.ascontiguousarray(moves), np.ascontiguousarray(power)) for moves, power in steps]
    here = ground(day.seed, day.nodes, day.containers, day.steps)
    play(here, orders)
    played = fastest(lambda: play(here, orders))
    played["process_cpu_s"] = time.process_time()
    print(json.dumps(answer(day, played, version("fogfold"), EFFECTS, (), count)))


if __name__ == "__main__":
    main(*sys.argv[1:])
