"""Worlds that go on side by side, and what happened in them: the experience that an update learns from.

Each seat plays one world after another. The same future is played beside it with every order left out; a step is paid
by what it saves against that twin, so that the day's ups and downs, surges and faults cancel out.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from fogfold.cost.total import ExchangeRates
from fogfold.encoding.arrays import fleet_arrays
from fogfold.policy.learned.deciding import Choice, Chooser, Context, Decider, Decision
from fogfold.policy.orders import orders_of
from fogfold.seeding import stream
from fogfold.train.settings import TrainSettings
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.scenario.schema import Scenario
from fogfold.world.twin import HoldTwin, terms_wh
from fogfold.world.world import World

__all__ = ["Seat", "Step", "training_world"]


@dataclass(frozen=True)
class Step:
    """One decision of training and what came of it."""

    context: Context
    choices: tuple[Choice, ...]
    reward: float
    """Saving against the twin, over the twin's mean cost of a step."""
    after: Context
    """What the next decision saw; beyond a day's end, what it would have seen."""
    is_last: bool
    """Whether the next step of this seat belongs to another world. A day's end is a cut, not an end: what comes after
    still has a value."""


@functools.lru_cache(maxsize=256)
def _variant(name: str, nodes: int, level: float, day: str, hour: int) -> Scenario:
    """The scenario with other figures; what is listed or replayed there stays as it is."""
    scenario = load_scenario(name)
    changes: dict[str, Any] = {"nodes.0.count": nodes}
    if scenario.sites[0].layout.kind == "generated":
        changes["sites.0.layout.count"] = max(2, round(0.34 * nodes))
    if scenario.workload.kind == "generated":
        changes |= {"workload.mean_level": level, "start.day": day, "start.hour": hour}
    return load_scenario(name, changes)


def training_world(settings: TrainSettings, number: int, *, hours: float | None = None) -> BuiltScenario:
    """World of that number: size, load, day and hour are drawn from the settings, and then everything else.

    Of a scenario whose sites are listed the sites stay, of one that replays a trace load, day and hour.

    Args:
        settings: of the run.
        number: which world.
        hours: how long it lasts, where not as long as an episode.
    """
    rng = stream(settings.seed, "train", "world", number)
    nodes = int(rng.choice(settings.nodes))
    level = round(float(rng.uniform(*settings.mean_level)), 3)
    scenario = _variant(settings.scenario, nodes, level, str(rng.choice(settings.days)), int(rng.integers(24)))
    return build(scenario, settings.first_world + number, hours=settings.hours if hours is None else hours)


class Seat:
    """Where one world after another is played.

    Args:
        settings: of the run.
        number: which seat; its worlds are `number`, `number + seats`, ...
        cut: steps after which its first world is left, so that not all seats change worlds at once.
    """

    def __init__(self, settings: TrainSettings, number: int, cut: int) -> None:
        self._settings = settings
        self._next = number
        self._decider = Decider()
        self._rates = ExchangeRates()
        self._cut = cut
        self._world: World
        self._twin: HoldTwin
        self._pending: Decision | None = None
        self._step = 0

    def _begin(self, chooser: Chooser) -> None:
        settings = self._settings
        built = training_world(settings, self._next)
        self._next += settings.seats
        fleet = fleet_arrays(built.cluster)
        futures = [(built.workload, built.faults)]
        steps = built.ticks // built.params.ticks_per_step
        self._twin = HoldTwin(World(fleet, built.params, futures, seed=built.seed), steps, self._rates)
        self._world = World(fleet, built.params, futures, seed=built.seed)
        self._decider.reset(built.seed)
        self._step = 0
        self._pending = self._decider.decide(self._world.view(), chooser)

    def play(self, chooser: Chooser, steps: int) -> list[Step]:
        """So many decisions and what came of them."""
        out: list[Step] = []
        for _ in range(steps):
            if self._pending is None:
                self._begin(chooser)
            now = self._pending
            assert now is not None  # noqa: S101 - just made
            happened = self._world.step(orders_of(now.proposal, self._world.frame.fleet.nodes))[0]
            saved_wh = self._twin.steps[self._step].total - terms_wh(happened, self._rates).total
            reward = saved_wh / self._twin.mean_wh
            self._step += 1
            after = self._decider.decide(self._world.view(), chooser)
            last = self._step >= min(len(self._twin.steps), self._cut)
            out.append(Step(now.context, tuple(now.choices), reward, after.context, last))
            self._pending = None if last else after
            if last:
                self._cut = len(self._twin.steps)
        return out
