"""A decision as a chain of choices: how hard, which node next, and where each of its containers goes.

The chain is the policy's whole freedom. Every option on the way is legal by the plan so far, and doing nothing (hold,
stop, stay) is always among them, so no choice is ever without one. A node is folded as a whole or not at all: where
one of its containers stays, those before it stay too. Nodes that are overloaded by the marks of the chain itself when
it has ended are relieved as a rule does it: on load that no training knew, a network may hold beside a burning node.

A good rule goes with it. Its own decision on the same view marks the options that it would take (`lead`); a policy may
follow it, and starts its training from there. In training a teacher may go with it too, slower and better; the options
that it would take are marked as well (`taught`), for the network to learn and never to see.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView, FleetArrays
from fogfold.policy.base import Intensity, Policy, Proposal, Remembering
from fogfold.policy.emptying import finish_draining, fixed_by
from fogfold.policy.learned.following import Marks
from fogfold.policy.learned.nodes import NodeFigures, global_row, node_figures, token_rows
from fogfold.policy.learned.options import NodeOptions, node_options, target_options
from fogfold.policy.learned.rows import NodeRow, Stage, StageRow
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.registry import policy as policy_named
from fogfold.policy.relief import relieve_by_few_moves
from fogfold.policy.rule import explain
from fogfold.policy.sleeping import Evidence, SleepingParams
from fogfold.policy.targets import BARRED, Ceiling, Fit, trip_to_users_ms

__all__ = ["Asking", "Choice", "Chooser", "Context", "Decider", "DeciderParams", "Decision", "Question"]


_LEAST_RATE_BIT_S = 1e6
"""What moves over an uplink must be left of it: that a move is slow is for the policy to see, not to be ruled out."""


_SLEEPING = SleepingParams(wake_load=0.5)


@dataclass(frozen=True)
class DeciderParams:
    """Limits of a decision, none of which is learned."""

    rule: str = "drain-relief"
    """The rule that goes with it."""
    most_nodes: int = 12
    """Nodes that one decision may choose."""
    most_containers: int = 12
    """Containers of a node that is relieved that are asked for."""
    ceiling: float = 0.8
    """CPU load up to which a target may be filled, and beyond which a node is relieved whatever the policy says.
    Requests there take five service times; whether that is late is for the policy to see, container by container."""
    space_ceiling: float = 0.85
    """The same for memory, network and disk."""
    fill_mark: float = RuleParams().fill_mark
    """CPU load up to which the rule would fill its targets; its high mark is not below it."""
    low_mark: float = RuleParams().low_mark
    """CPU load up to which the rule would empty a node."""
    move_share: float = 0.1
    """Most containers on the move at once, as a share of all (but at least `least_moves`). The rule keeps to it too."""
    least_moves: int = 8
    """Containers that may be on the move at once however few there are."""
    most_failures: int = 12
    """Nodes in a row that the rule could not empty after which it looks at no more: it is asked for its mark alone."""
    sleeping: SleepingParams = _SLEEPING
    """When nodes may sleep, and when they are woken whatever the policy says: above a mean load of 0.5."""


@dataclass(frozen=True)
class Context:
    """What all choices of a decision share."""

    tokens: Float[Array, "nodes token_rows"]
    whole: Float[Array, " global_rows"]


@dataclass(frozen=True)
class Question:
    """A choice to be made."""

    context: Context
    stage: Stage
    rows: Float[Array, "options rows"]
    lead: Float[Array, " options"]
    """1 for options that the rule would take."""
    taught: Float[Array, " options"] | None = None
    """1 for options that the teacher would take; None where there is none."""


@dataclass(frozen=True)
class Choice:
    """One choice, with all that it was made from."""

    stage: Stage
    rows: Float[Array, "options rows"]
    lead: Float[Array, " options"]
    """1 for options that the rule would take."""
    chosen: int
    log_prob: float
    taught: Float[Array, " options"] | None = None
    """1 for options that the teacher would take; None where there is none."""


@dataclass
class Decision:
    """What came of a decision: the proposal, and how it came about."""

    context: Context
    proposal: Proposal
    choices: list[Choice] = field(default_factory=list)
    dead_ends: int = 0
    """Containers that had no option but to stay. Counted, never paid for."""
    abandoned: int = 0
    """Nodes whose folding was given up on the way."""


@runtime_checkable
class Chooser(Protocol):
    """Whoever makes the choices: a network, a random draw, a person."""

    def begin(self, context: Context) -> None:
        """A new decision."""
        ...

    def choose(
        self, stage: Stage, rows: Float[Array, "options rows"], lead: Float[Array, " options"]
    ) -> tuple[int, float]:
        """Which option, and the log-probability with which it was drawn."""
        ...


Asking = Generator[Question, tuple[int, float], "Decision"]
"""A decision that asks: it yields questions, is sent option and log-probability, and returns what came of it."""


class Decider:
    """Makes decisions with a chooser; remembers between them what the power rule must know.

    Args:
        params: its limits.
        teacher: a policy whose choices are marked beside the rule's, for whoever learns from it.
    """

    def __init__(self, params: DeciderParams | None = None, *, teacher: Policy | None = None) -> None:
        self.params = params or DeciderParams()
        self._teacher = teacher
        when = asdict(self.params.sleeping)
        shared = {name: when[name] for name in ("calm_decisions", "cooldown_s")}
        shared |= {"move_share": self.params.move_share, "least_moves": self.params.least_moves}
        shared |= {"most_failures": self.params.most_failures, "most_emptied": self.params.most_nodes}
        shared |= {"fill_mark": self.params.fill_mark, "low_mark": self.params.low_mark}
        shared |= {"high_mark": max(RuleParams().high_mark, self.params.fill_mark)}
        self._rule = policy_named(self.params.rule, **shared)
        self._lax = RuleParams(
            **when,
            move_share=self.params.move_share,
            least_moves=self.params.least_moves,
            high_mark=self.params.ceiling,
            fill_mark=self.params.ceiling,
            space_high_mark=self.params.space_ceiling,
            space_fill_mark=self.params.space_ceiling,
            late_limit=1.0,
            least_rate_bit_s=_LEAST_RATE_BIT_S,
        )
        self._ceiling = Ceiling(self.params.ceiling, self.params.space_ceiling)
        self._evidence = Evidence()
        self._fleet: FleetArrays | None = None
        self._trip_ms: Float[Array, "containers sites"] = np.zeros((0, 0))

    def reset(self, seed: int) -> None:
        """Forget everything."""
        self._rule.reset(seed)
        if self._teacher is not None:
            self._teacher.reset(seed)
        self._evidence = Evidence()

    def memory(self) -> dict[str, Any]:
        """What it remembers, and what its rule does, as plain values."""
        rule = self._rule.memory() if isinstance(self._rule, Remembering) else None
        return {"rule": rule, "evidence": self._evidence.memory()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Remember that.

        Raises:
            ModelError, KeyError: if it is no such memory.
        """
        self._evidence = Evidence.of(memory["evidence"])
        if isinstance(self._rule, Remembering):
            self._rule.recall(memory["rule"])

    def twin(self) -> Decider:
        """Another that has seen the same and goes its own way from here."""
        # What never changes is shared: a cluster is hundreds of frozen values.
        cluster = self._fleet.cluster if self._fleet is not None else None
        keep = (self._fleet, cluster, self._trip_ms, self.params, self._lax, self._teacher)
        return copy.deepcopy(self, {id(thing): thing for thing in keep})

    def decide(self, view: ClusterView, chooser: Chooser, *, name: str = "learned") -> Decision:
        """One decision. Never changes the view."""
        asking = self.ask(view, name=name)
        question = next(asking)  # how hard: the first question is always asked
        chooser.begin(question.context)
        while True:
            try:
                question = asking.send(chooser.choose(question.stage, question.rows, question.lead))
            except StopIteration as end:
                decision: Decision = end.value
                return decision

    def ask(self, view: ClusterView, *, name: str = "learned") -> Asking:
        """The same decision as questions, for whoever cannot be called: it goes on when it is sent an answer."""
        if view.fleet is not self._fleet:
            self._fleet, self._trip_ms = view.fleet, trip_to_users_ms(view.fleet)
        ruled = self._rule.propose(view)
        taught = self._teacher.propose(view) if self._teacher is not None else None
        self._evidence.see(view)
        plan = Plan(view, self._lax, self._evidence, self._trip_ms, fit=Fit.FULLEST)
        plan.power.wake_where_short(plan.decreasing(np.arange(view.fleet.containers)))
        finish_draining(plan)
        figures = node_figures(plan, self._evidence.since_woken_s(), self._trip_ms)
        context = Context(token_rows(plan, figures), global_row(plan, figures, self._evidence.calm))
        decision = Decision(context, Proposal(name))
        yield from _Chain(self, plan, figures, ruled, taught, decision).run()
        relieve_by_few_moves(plan)
        self._evidence.conclude(short=plan.power.woken > 0)
        explain(plan)
        decision.proposal = plan.proposal(name)
        return decision

    @property
    def ceiling(self) -> Ceiling:
        """How far targets may be filled."""
        return self._ceiling

    @property
    def trip_ms(self) -> Float[Array, "containers sites"]:
        """Mean round trips of the fleet last seen, as `targets.trip_to_users_ms` gives them."""
        return self._trip_ms


T = TypeVar("T")
_Step = Generator[Question, tuple[int, float], T]
"""A part of the chain: it asks, and gives what it found."""


class _Chain:
    """The choices of one decision."""

    def __init__(
        self,
        decider: Decider,
        plan: Plan,
        figures: NodeFigures,
        ruled: Proposal,
        taught: Proposal | None,
        decision: Decision,
    ) -> None:
        self._decider, self._plan, self._figures = decider, plan, figures
        self._decision = decision
        self._fixed = fixed_by(plan)
        self._rule = Marks(plan.view, ruled)
        self._teacher = Marks(plan.view, taught) if taught is not None else None
        # What either would take has to be on offer, or the lesson would be to give up.
        self._marks = (self._rule,) if self._teacher is None else (self._rule, self._teacher)

    def run(self) -> _Step[None]:
        rows = np.eye(len(StageRow), dtype=np.float32)
        taught = self._teacher.of_intensity() if self._teacher else None
        intensity = yield from self._choose(Stage.INTENSITY, rows, self._rule.of_intensity(), taught)
        if intensity == Intensity.HOLD:
            return
        tried: set[int] = set()
        for before in range(self._decider.params.most_nodes):
            options = self._options(tried, before, fold=intensity == Intensity.DEEP)
            if len(options.node) == 1:
                return
            taught = self._teacher.of_nodes(options) if self._teacher else None
            i = yield from self._choose(Stage.NODE, options.rows, self._rule.of_nodes(options), taught)
            if i == 0:
                return
            n = int(options.node[i])
            tried.add(n)
            yield from self._act(int(options.kind[i]), n)

    def _options(self, tried: set[int], before: int, *, fold: bool) -> NodeOptions:
        keep = set[int]().union(*(marks.nodes for marks in self._marks)) - tried
        return node_options(
            self._plan, self._figures, fold=fold, tried=tried, fixed=self._fixed, keep=keep, before=before
        )

    def _act(self, kind: int, node: int) -> _Step[None]:
        plan = self._plan
        if kind == NodeRow.WAKE:
            plan.power.wake(node)
        elif kind == NodeRow.FOLD:
            yield from self._fold(node)
        else:
            yield from self._relieve(node)

    def _fold(self, node: int) -> _Step[None]:
        plan, draft = self._plan, self._plan.draft
        before, state = draft.moves, draft.state[node]
        draft.close(node)
        order, wanted = plan.decreasing(draft.stayers(node)), self._wanted(node)
        for k, c in enumerate(order.tolist()):
            if (yield from self._place(c, wanted, folding=True, left=len(order) - 1 - k)) < 0:
                draft.take_back(before)
                draft.state[node] = state
                self._decision.abandoned += 1
                return
        plan.power.let_go(node)

    def _relieve(self, node: int) -> _Step[None]:
        plan = self._plan
        here = plan.draft.stayers(node)
        led = np.array([c in self._rule.target for c in here.tolist()], bool)
        order = here[np.lexsort((-plan.view.usage[0, here], ~led))][: self._decider.params.most_containers]
        wanted = self._wanted(node)
        for k, c in enumerate(order.tolist()):
            if plan.draft.full:
                return
            yield from self._place(c, wanted, folding=False, left=len(order) - 1 - k)

    def _place(self, container: int, wanted: Int[Array, " nodes"], *, folding: bool, left: int) -> _Step[int]:
        """Choose a target and draft the move; -1 where the container stays."""
        plan = self._plan
        options = target_options(
            plan,
            self._figures,
            container,
            wanted=wanted,
            ceiling=self._decider.ceiling,
            trip_ms=self._decider.trip_ms,
            keep=tuple(marks.target[container] for marks in self._marks if container in marks.target),
            folding=folding,
            left=left,
        )
        if len(options.node) == 1:
            self._decision.dead_ends += 1
            return -1
        taught = self._teacher.of_targets(container, options.node) if self._teacher else None
        lead = self._rule.of_targets(container, options.node)
        i = yield from self._choose(Stage.TARGET, options.rows, lead, taught)
        n = int(options.node[i])
        if n >= 0:
            plan.draft.move(container, n)
        return n

    def _wanted(self, source: int) -> Int[Array, " nodes"]:
        wanted = self._plan.targets.open()
        wanted[source] = BARRED
        return wanted

    def _choose(
        self,
        stage: Stage,
        rows: Float[Array, "options rows"],
        lead: Float[Array, " options"],
        taught: Float[Array, " options"] | None,
    ) -> _Step[int]:
        chosen, log_prob = yield Question(self._decision.context, stage, rows, lead, taught)
        self._decision.choices.append(Choice(stage, rows, lead, chosen, log_prob, taught))
        return chosen
