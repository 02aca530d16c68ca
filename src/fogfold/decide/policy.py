"""Rehearsed: many propose, each proposal is played over the same futures, and the best is taken if it is good enough.

It is a policy like any other: it sees views, and what it knows of demand it has seen itself. Whatever is done is, by
the model, never worse than what its base rule would do, and better than holding by more than the noise. Every decision
leaves a record from which it can be made again (`replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.cost.total import ExchangeRates
from fogfold.decide.bias import Bias
from fogfold.decide.check import LoadCheck
from fogfold.decide.futures import Experience, Futures, FuturesParams, futures_of
from fogfold.decide.proposers import HOLD, LEARNED_MARK, distinct, lineup
from fogfold.decide.rehearse import Rehearsal, RehearsalParams, rehearse, script_of
from fogfold.decide.score import Choice, Score, ScoreParams, choose, cost_wh, scores_of
from fogfold.decide.shaping import Shaping, ShapingParams
from fogfold.decide.weighing import Scales
from fogfold.encoding.arrays import ClusterView, FleetArrays
from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.forecast.registry import DEFAULT, FORECASTERS
from fogfold.model.resources import check_number
from fogfold.policy.base import Policy, Proposal
from fogfold.policy.recipe import Recipe
from fogfold.policy.registry import recipe as recipe_named
from fogfold.policy.space import Space
from fogfold.world.dynamics import Orders
from fogfold.world.params import WorldParams

__all__ = ["REHEARSED", "Record", "Rehearsed", "RehearsedParams", "replay"]


@dataclass(frozen=True)
class RehearsedParams:
    """Figures of the policy; those of its parts stand there.

    Raises:
        ModelError: if a figure is out of its range.
    """

    rule: str = "tuned"
    """The base rule, which no choice may be worse than: `tuned` is drain-relief with tuned figures; else a rule's name
    in the registry, or `learned:checkpoint`. `learned=checkpoint` leaves it at `tuned` and names a `checkpoint`."""
    checkpoint: str = ""
    """A checkpoint whose policy proposes beside the rules; none where empty."""
    draws: int = 4
    """Proposals that are drawn from that policy, beside its likeliest."""
    steps: int = FuturesParams.steps
    """Decisions ahead."""
    futures: int = FuturesParams.count
    """How many futures."""
    step_s: float = FuturesParams.step_s
    """Time between two decisions, in s."""
    spread: float = FuturesParams.spread
    """Noise of demand an hour ahead until there is a record of errors."""
    forecaster: str = DEFAULT
    """Who forecasts demand, by the name of one of `fogfold.forecast.registry`."""
    follow_every: int = RehearsalParams.follow_every
    """Decisions between two orders of the base rule in a rehearsal; 0 orders nothing after the first step."""
    beyond_s: float = ScoreParams.beyond_s
    """How long the cost of the last steps goes on after the horizon, in s."""
    margin: float = ScoreParams.margin
    """Least saving against holding, as a share of what holding costs over the horizon."""
    noise: float = ScoreParams.noise
    """Standard errors by which a proposal must beat holding and the base rule."""
    risk: float = ScoreParams.risk
    """Weight of the worst tenth beside the mean."""
    piece_hours: float = ShapingParams.hours
    """How long a single move or sleep is expected to last where pieces are weighed, in h."""
    folds: int = ShapingParams.folds
    """How many single nodes are proposed to fold; 0 proposes no pieces at all."""
    late_weight: float = 1.0
    """Factor on the price of a late request where proposals are compared: above 1 is more careful than J asks for."""
    tolerance: float = 0.15
    """Share by which the demand that was rehearsed may differ from what came, over an hour, before it is corrected."""
    bias: Bias = field(default_factory=Bias)
    """How far the world that is played is off the true one: for measuring what a wrong model costs."""

    def __post_init__(self) -> None:
        check_number("draws", self.draws)
        for name in ("late_weight", "tolerance"):
            check_number(name, getattr(self, name))
        if self.forecaster not in FORECASTERS:
            raise UnknownNameError(
                f'forecaster "{self.forecaster}" is unknown; {did_you_mean(self.forecaster, FORECASTERS)}'
            )
        # The parts check their own figures.
        self.parts()

    def parts(self) -> tuple[FuturesParams, RehearsalParams, ScoreParams, ShapingParams]:
        """The figures of each part."""
        return (
            FuturesParams(steps=self.steps, step_s=self.step_s, count=self.futures, spread=self.spread),
            RehearsalParams(follow_every=self.follow_every, tail_steps=max(1, self.steps // 4)),
            ScoreParams(beyond_s=self.beyond_s, margin=self.margin, noise=self.noise, risk=self.risk),
            ShapingParams(hours=self.piece_hours, folds=self.folds),
        )


@dataclass(frozen=True)
class Record:
    """One decision with all that led to it."""

    view: ClusterView
    in_state_s: Float[Array, " nodes"]
    names: tuple[str, ...]
    proposals: tuple[Proposal, ...]
    hold: int
    base: int
    """Which proposals hold, and are the base rule's; the same where that rule proposes nothing."""
    futures: Futures
    script: tuple[Orders, ...]
    """What was ordered in each step of the rehearsal."""
    rehearsal: Rehearsal
    scores: tuple[Score, ...]
    cost_wh: Float[Array, "proposals futures"]
    """Cost of each proposal in each future, in Wh-equivalents, as compared."""
    choice: Choice
    world: WorldParams
    rates: ExchangeRates
    rehearsal_params: RehearsalParams
    score_params: ScoreParams

    @property
    def chosen(self) -> Proposal:
        """The proposal that was chosen."""
        return self.proposals[self.choice.index]


def replay(record: Record) -> Choice:
    """The choice made again from the record alone: the same futures are played, as many as were played then."""
    played = record.rehearsal.futures
    futures = replace(
        record.futures,
        level=record.futures.level[:played],
        faults=record.futures.faults[:played],
        keys=record.futures.keys[:played],
    )
    again = rehearse(
        record.view,
        record.script,
        futures,
        world=record.world,
        rates=record.rates,
        params=record.rehearsal_params,
        in_state_s=record.in_state_s,
    )
    return choose(again, record.names, record.score_params, hold=record.hold, base=record.base)


class Rehearsed:
    """The policy that rehearses what others propose.

    Args:
        name: what it is called.
        params: its figures.
        world: constants of the world that is played; their defaults where None.
        rates: exchange rates of J; their defaults where None.
        threads: a pool of threads to share a rehearsal among.
        cut_off: asked while rehearsing; true ends it with what has been played.
    """

    def __init__(
        self,
        name: str,
        params: RehearsedParams,
        *,
        world: WorldParams | None = None,
        rates: ExchangeRates | None = None,
        threads: Executor | None = None,
        cut_off: Callable[[], bool] | None = None,
    ) -> None:
        self.name = name
        self.params = params
        self.last: Record | None = None
        """How the last proposal came about; None before the first and where nobody proposed anything."""
        rates = rates or ExchangeRates()
        self._rates = replace(rates, late_request_wh=rates.late_request_wh * params.late_weight)
        self._world = params.bias.world(world or WorldParams())
        self._threads, self._cut_off = threads, cut_off
        self._futures, self._rehearsal, self._score, self._shaping = params.parts()
        self._lineup = lineup(params.rule, params.checkpoint, params.draws)
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Forget everything; draws that follow come from this seed."""
        self._seed, self._occasion = seed, 0
        self._rules: list[Policy] = [proposer.make() for proposer in self._lineup]
        for rule in self._rules:
            rule.reset(seed)
        self._experience: Experience | None = None
        self._state = np.zeros(0, np.int32)
        self._since_s = np.zeros(0)
        self._believed: FleetArrays | None = None
        self._check = LoadCheck(self.params.tolerance, self.params.step_s)
        self.last = None

    def see(self, view: ClusterView) -> None:
        """Take in a view at which nothing is decided: what is foreseen later comes from all that was seen."""
        self._see(view)

    def propose(self, view: ClusterView) -> Proposal:
        """What to do with the cluster as it stands. Never changes the view."""
        names = [proposer.name for proposer in self._lineup]
        asked = [rule.propose(view) for rule in self._rules]
        self.last = None
        if view.fleet.containers == 0:
            # Nobody is served, so there is nothing to rehearse.
            return replace(asked[1], policy=self.name)
        experience, in_state_s = self._see(view)
        self._occasion += 1
        futures = futures_of(experience, view, seed=self._seed, occasion=self._occasion)
        # From here on the world is what it is believed to be.
        futures = self.params.bias.futures(futures)
        self._check.say(view, futures)
        futures = Bias(load=self._check.factor).futures(futures)
        assert self._believed is not None  # noqa: S101 - _see has just made it
        view = replace(view, fleet=self._believed)
        if self._shaping.folds > 0:
            pieces = Shaping(view, Scales(view, futures, self._world, self._rates), self._shaping).proposals()
            names += [piece.policy for piece in pieces]
            asked += pieces
        names, proposals, where = distinct(names, asked)
        hold, base = where[HOLD], where[self._lineup[1].name]
        if len(proposals) == 1:
            # The rule knows best why every node stays as it is.
            return replace(asked[1], policy=self.name)
        script = script_of(
            view,
            proposals,
            futures,
            world=self._world,
            params=self._rehearsal,
            follow=self._rules[1],
            in_state_s=in_state_s,
        )
        rehearsal = rehearse(
            view,
            script,
            futures,
            world=self._world,
            rates=self._rates,
            params=self._rehearsal,
            in_state_s=in_state_s,
            threads=self._threads,
            cut_off=self._cut_off,
        )
        self.last = Record(
            view=view,
            in_state_s=in_state_s,
            names=tuple(names),
            proposals=tuple(proposals),
            hold=hold,
            base=base,
            futures=futures,
            script=script,
            rehearsal=rehearsal,
            scores=scores_of(rehearsal, hold, self._score),
            cost_wh=cost_wh(rehearsal, self._score),
            choice=choose(rehearsal, names, self._score, hold=hold, base=base),
            world=self._world,
            rates=self._rates,
            rehearsal_params=self._rehearsal,
            score_params=self._score,
        )
        chosen = self.last.chosen
        # Pieces know nothing of the nodes that they leave; the base rule has looked at all of them.
        touched = {*chosen.sleep, *chosen.wake}
        stays = {n: reason for n, reason in asked[1].stays.items() if n not in touched}
        return replace(chosen, policy=self.name, stays={**stays, **chosen.stays})

    def _see(self, view: ClusterView) -> tuple[Experience, Float[Array, " nodes"]]:
        """Take in a view: demand, and how long each node has been in its state."""
        if self._experience is None or self._is_another(self._experience.fleet, view):
            self._experience = Experience(view.fleet, self._futures, view.time_s, self.params.forecaster)
            self._believed = self.params.bias.fleet(view.fleet)
            self._check = LoadCheck(self.params.tolerance, self.params.step_s)
            self._state, self._since_s = view.state.copy(), np.full(view.fleet.nodes, np.nan)
        self._experience.see(view)
        self._check.see(view)
        # A change was somewhere between this view and the one before: half a step ago.
        self._since_s[view.state != self._state] = view.time_s - self.params.step_s / 2
        self._state = view.state.copy()
        return self._experience, view.time_s - self._since_s

    @staticmethod
    def _is_another(fleet: FleetArrays, view: ClusterView) -> bool:
        return fleet is not view.fleet


def _make(name: str, params: RehearsedParams) -> Rehearsed:
    if params.rule.startswith(LEARNED_MARK):
        params = replace(params, rule=RehearsedParams.rule, checkpoint=params.rule.removeprefix(LEARNED_MARK))
    if params.rule != "tuned":
        base = params.rule.partition(":")[0]
        if base in ("rehearsed", HOLD):
            raise ModelError(f'rule is "{params.rule}"; the base rule is one that proposes by itself, as drain-relief')
        recipe_named(base)
    return Rehearsed(name, params)


REHEARSED = Recipe(
    name="rehearsed",
    summary="Plays what rules and pieces propose over the same futures in the simulator; takes the best if it pays.",
    params=RehearsedParams(),
    space=Space(
        {
            "steps": (6, 12, 24),
            "beyond_s": (0.0, 3600.0, 7200.0),
            "noise": (0.0, 1.0, 2.0),
            "piece_hours": (1.0, 2.0, 4.0),
        }
    ),
    maker=_make,
)
