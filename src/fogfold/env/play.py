"""One world played choice by choice: a question is open, an answer is given, and at the end of a chain time goes on.

What the agent sees, and by which interface it is called, is decided elsewhere. The twin that does nothing is played
when the world begins; the world itself moves on one step whenever a chain of choices ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from fogfold.cost.total import ExchangeRates, TermsWh
from fogfold.encoding.arrays import ClusterView, fleet_arrays
from fogfold.env.reward import RewardWeights, saving_wh
from fogfold.errors import ModelError
from fogfold.policy.learned.deciding import Asking, Decider, Decision, Question
from fogfold.policy.orders import orders_of
from fogfold.world.invariants import check_step
from fogfold.world.scenario.build import BuiltScenario
from fogfold.world.twin import HoldTwin, terms_wh
from fogfold.world.world import World

__all__ = ["Outcome", "Play"]


@dataclass(frozen=True)
class Outcome:
    """What came of a decision and of the step that followed it."""

    terms: TermsWh
    """Parts of the reward: weighed savings in units of the twin's mean cost of a step."""
    dead_ends: int
    """Containers that had no option but to stay."""
    abandoned: int
    """Nodes whose folding was given up on the way."""


class Play:
    """A world, its twin, and the question that is open.

    Args:
        built: the world's inputs.
        rates: exchange rates of J, from which the reward is made. The figures that are shown are at the default rates.
        weights: how much each part of the saving counts.
        check: whether the referee of `world.invariants` looks at every step.

    Raises:
        PlacementError: if a container fits nowhere.
        ModelError: if the scenario is shorter than one step.
    """

    def __init__(self, built: BuiltScenario, *, rates: ExchangeRates, weights: RewardWeights, check: bool) -> None:
        self._rates, self._weights, self._check = rates, weights, check
        self.steps = built.ticks // built.params.ticks_per_step
        """Decisions until the end."""
        if self.steps < 1:
            raise ModelError(
                f"the scenario lasts {built.ticks} ticks and one step takes {built.params.ticks_per_step}; "
                "give it more hours"
            )
        fleet = fleet_arrays(built.cluster)
        futures = [(built.workload, built.faults)]
        self._twin = HoldTwin(World(fleet, built.params, futures, seed=built.seed), self.steps, rates)
        self._world = World(fleet, built.params, futures, seed=built.seed)
        self._decider = Decider()
        self._decider.reset(built.seed)
        self.step = 0
        """Decisions made."""
        self.view: ClusterView
        """The cluster as the open question finds it."""
        self.question: Question
        """What is to be chosen now. After the end it is what would have been asked next."""
        self._asking: Asking
        self._ask()

    @property
    def is_over(self) -> bool:
        """Whether the scenario's time is up."""
        return self.step >= self.steps

    def answer(self, option: int) -> Outcome | None:
        """Choose an option of the open question; gives what came of the decision, None while it goes on.

        Args:
            option: its row in `question.rows`.

        Raises:
            InvariantError: if the world is checked and breaks a rule of its own.
        """
        try:
            self.question = self._asking.send((option, 0.0))
        except StopIteration as end:
            return self._carry_out(end.value)
        return None

    def _carry_out(self, decision: Decision) -> Outcome:
        world = self._world
        before = world.state.copy() if self._check else None
        happened = world.step(orders_of(decision.proposal, world.frame.fleet.nodes))[0]
        if before is not None:
            check_step(world.frame, before, world.state)
        saving = saving_wh(self._twin.steps[self.step], terms_wh(happened, self._rates))
        self.step += 1
        self._ask()
        terms = self._weights.weighed(saving, self._twin.mean_wh)
        return Outcome(terms, decision.dead_ends, decision.abandoned)

    def _ask(self) -> None:
        self.view = self._world.view()
        self._asking = self._decider.ask(self.view, name="agent")
        self.question = next(self._asking)  # how hard: the first question is always asked
