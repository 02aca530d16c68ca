"""Look-ahead groups: from one state several chains are drawn and each is played ahead in the same future.

What a choice is worth shows hours later, under bursts that cost more than all choices of a day. Played side by side in
the same future the bursts cancel out: the advantage of a chain is the group's mean cost less its own, and no value
network is needed (the idea of group-relative advantages: Shao et al., arXiv 2402.03300). After the first step a rule
goes on, more and more seldom, so that a chain is judged as the beginning of a sensible day and not of a neglected one.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.cost.total import ExchangeRates
from fogfold.encoding.arrays import fleet_arrays
from fogfold.policy.learned.deciding import Choice, Chooser, Context, Decider, Decision
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy as policy_named
from fogfold.train.rollout import training_world
from fogfold.train.settings import TrainSettings
from fogfold.world.dynamics import Orders, no_orders
from fogfold.world.twin import terms_wh
from fogfold.world.world import World

__all__ = ["AheadSeat", "Group"]

_TAIL_STEPS = 3
"""Steps at the end of a look ahead that stand for what comes after it."""
_TAIL_WEIGHT = 3.0
"""How often they count: a node that sleeps goes on sleeping."""


@dataclass(frozen=True)
class Group:
    """Chains from one state, and what each was worth."""

    contexts: tuple[Context, ...]
    choices: tuple[tuple[Choice, ...], ...]
    advantage: Float[Array, " chains"]
    """The group's mean cost less the chain's, in units of what the idle fleet draws in a step."""


class AheadSeat:
    """Where one world after another is played, with a look ahead at each step.

    Args:
        settings: of the run.
        number: which seat; its worlds are `number`, `number + seats`, ...
    """

    def __init__(self, settings: TrainSettings, number: int) -> None:
        self._settings = settings
        self._next = number
        self._decider = Decider()
        self._rule = policy_named(settings.ahead_rule)
        self._rates = ExchangeRates()
        self._world: World | None = None
        self._nothing: Orders
        self._unit_wh = 1.0
        self._left = 0

    def play(self, chooser: Chooser, steps: int, rng: np.random.Generator) -> list[Group]:
        """So many steps; gives a group for each in which the chains differ.

        Args:
            chooser: who draws the chains.
            steps: how many.
            rng: which of the chains the world goes on with.
        """
        groups = []
        for _ in range(steps):
            world = self._begun()
            chains, after = self._drawn(world, chooser)
            self._rule.propose(world.view())  # it sees every step, as if it had been in charge
            cost = self._costs(world, chains)
            if np.ptp(cost) > 0.0:
                groups.append(
                    Group(
                        tuple(chain.context for chain in chains),
                        tuple(tuple(chain.choices) for chain in chains),
                        (cost.mean() - cost) / self._unit_wh,
                    )
                )
            taken = int(rng.integers(len(chains)))
            self._decider = after[taken]
            world.step(orders_of(chains[taken].proposal, world.frame.fleet.nodes))
            self._left -= 1
        return groups

    def _begun(self) -> World:
        if self._world is not None and self._left > self._settings.ahead_steps:
            return self._world
        built = training_world(self._settings, self._next)
        self._next += self._settings.seats
        fleet = fleet_arrays(built.cluster)
        self._world = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
        self._nothing = no_orders(1, fleet.nodes)
        self._left = built.ticks // built.params.ticks_per_step
        # Idle power of the whole fleet for a step of five minutes: the same unit in small clusters and large ones.
        self._unit_wh = float(fleet.idle_w.sum()) * built.params.ticks_per_step / 120.0
        self._decider.reset(built.seed)
        self._rule.reset(built.seed)
        return self._world

    def _drawn(self, world: World, chooser: Chooser) -> tuple[list[Decision], list[Decider]]:
        view, chains, after = world.view(), [], []
        for _ in range(self._settings.chains):
            decider = self._decider.twin()
            chains.append(decider.decide(view, chooser))
            after.append(decider)
        return chains, after

    def _costs(self, world: World, chains: list[Decision]) -> Float[Array, " chains"]:
        """What each chain costs by the end of the look ahead, in Wh-equivalents; the world stays as it is."""
        before, past = world.remember()
        known: dict[object, float] = {}
        costs = []
        for chain in chains:
            proposal = chain.proposal
            what = (proposal.moves, proposal.sleep, proposal.wake)
            if what not in known:
                world.recall(before, past)
                known[what] = self._ahead(world, orders_of(proposal, world.frame.fleet.nodes))
            costs.append(known[what])
        world.recall(before, past)
        return np.array(costs)

    def _ahead(self, world: World, orders: Orders) -> float:
        fleet = world.frame.fleet
        # What never changes is shared: a cluster is hundreds of frozen values.
        rule = copy.deepcopy(self._rule, {id(fleet): fleet, id(fleet.cluster): fleet.cluster})
        total, steps = 0.0, self._settings.ahead_steps
        for k in range(steps):
            happened = world.step(orders)[0]
            weight = _TAIL_WEIGHT if k >= steps - _TAIL_STEPS else 1.0
            total += weight * terms_wh(happened, self._rates).total
            # After 1, 2, 4, 7, 11, 16, ... steps: what is urgent is answered soon, what is not seldom.
            orders = orders_of(rule.propose(world.view()), fleet.nodes) if _is_triangular(k) else self._nothing
        return total


def _is_triangular(k: int) -> bool:
    """Whether k is one of 0, 1, 3, 6, 10, 15, ..."""
    root = round((8 * k + 1) ** 0.5)
    return root * root == 8 * k + 1
