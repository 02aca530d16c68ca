"""A decision as a chain of choices: always legal, never without an option, a node folded as a whole or not at all."""

from dataclasses import replace

import numpy as np
import pytest

from fogfold.encoding.arrays import fleet_arrays
from fogfold.encoding.rows import NodeInt
from fogfold.evaluate.episodes import run_episode
from fogfold.model.node import NodeState
from fogfold.policy.base import Intensity, Move, Proposal
from fogfold.policy.learned.choosers import Follower
from fogfold.policy.learned.deciding import Decider, DeciderParams
from fogfold.policy.learned.options import MOST_TARGETS
from fogfold.policy.learned.rows import GlobalRow, NodeRow, Stage, TargetRow, TokenRow
from fogfold.policy.orders import orders_of
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.registry import policy
from fogfold.policy.sleeping import Evidence
from fogfold.policy.targets import Fit, trip_to_users_ms
from fogfold.seeding import stream
from fogfold.train.rollout import training_world
from fogfold.train.settings import TrainSettings
from fogfold.world.invariants import check_step
from fogfold.world.world import World

WIDTH = {Stage.INTENSITY: 3, Stage.NODE: len(NodeRow), Stage.TARGET: len(TargetRow)}


class AtRandom:
    """Any option with equal chance; looks at all that it is shown."""

    def __init__(self, seed):
        self.rng = stream(seed, "any")
        self.seen: dict[Stage, list[np.ndarray]] = {stage: [] for stage in Stage}

    def begin(self, context):
        assert context.tokens.shape[1] == len(TokenRow)
        assert context.whole.shape == (len(GlobalRow),)
        assert np.isfinite(context.tokens).all()
        assert np.isfinite(context.whole).all()

    def choose(self, stage, rows, lead):
        assert rows.shape == (len(lead), WIDTH[stage])
        assert len(rows) > 1
        assert np.isfinite(rows).all()
        assert lead.any()
        self.seen[stage].append(rows)
        if stage == Stage.INTENSITY:
            return 2, 0.0
        return int(self.rng.integers(len(rows))), 0.0


class Always:
    """One answer for every stage."""

    def __init__(self, **answer):
        self.answer = answer

    def begin(self, context):
        pass

    def choose(self, stage, rows, lead):
        return min(self.answer[stage.name.lower()], len(rows) - 1), 0.0


@pytest.fixture(scope="module")
def built():
    return training_world(TrainSettings(nodes=(8,), hours=6.0), 3)


def played(built, chooser, *, steps=72, check=True):
    """Every decision with the view that it saw and what happened."""
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
    decider = Decider()
    for _ in range(steps):
        view = world.view()
        decision = decider.decide(view, chooser)
        before = world.state.copy()
        happened = world.step(orders_of(decision.proposal, fleet.nodes))[0]
        if check:
            check_step(world.frame, before, world.state)
        yield view, decision, happened


def test_whatever_is_chosen_is_legal(built):
    from fogfold.world.rows import Total

    chooser = AtRandom(1)
    refused = sum(happened[Total.REFUSED] for _, _, happened in played(built, chooser))
    assert refused == 0
    assert all(chooser.seen[stage] for stage in Stage)


def test_node_is_folded_as_a_whole_or_not_at_all(built):
    folded = abandoned = 0
    for view, decision, _ in played(built, AtRandom(2), check=False):
        moved = {move.container for move in decision.proposal.moves}
        for node in decision.proposal.sleep:
            if view.state[node] == NodeState.ON:
                here = np.flatnonzero((view.placement == node) & (view.target < 0))
                assert set(here.tolist()) <= moved
                folded += 1
        abandoned += decision.abandoned
    assert folded > 0
    assert abandoned > 0


def test_holding_orders_nothing(built):
    for _, decision, _ in played(built, Always(intensity=0), steps=20):
        assert decision.proposal.moves == ()
        assert [choice.stage for choice in decision.choices] == [Stage.INTENSITY]


def test_stopping_at_once_orders_nothing(built):
    for _, decision, _ in played(built, Always(intensity=2, node=0), steps=20):
        assert decision.proposal.moves == ()


def test_a_burning_node_is_relieved_whatever_the_policy_says(built):
    # On a load that no training knew a network was seen to hold for six hours beside a node at 128 %.
    fleet = fleet_arrays(built.cluster)
    view = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed).view()
    node = int(np.argmax(np.bincount(view.placement, view.usage[0], fleet.nodes) / fleet.capacity[0]))
    usage = view.usage.copy()
    here = np.flatnonzero(view.placement == node)
    usage[0, here] *= 0.95 * fleet.capacity[0, node] / usage[0, here].sum()
    burning = replace(view, usage=usage)
    decision = Decider().decide(burning, Always(intensity=0))
    moved = {move.container for move in decision.proposal.moves}
    assert moved
    assert moved <= set(here.tolist())
    left = usage[0, [c for c in here.tolist() if c not in moved]].sum() / fleet.capacity[0, node]
    assert left <= Decider().params.ceiling + 1e-9
    assert [choice.stage for choice in decision.choices] == [Stage.INTENSITY]


def test_a_budget_is_kept_and_told(built):
    fleet = fleet_arrays(built.cluster)
    view = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed).view()
    for most in (2, 5):
        limits = DeciderParams(move_share=(most - 0.5) / fleet.containers, least_moves=0, most_nodes=100)
        decision = Decider(limits).decide(view, AtRandom(4))
        assert len(decision.proposal.moves) <= most
        assert decision.context.whole[GlobalRow.BUDGET] == pytest.approx(10.0 * most / fleet.containers)


def test_who_follows_costs_what_the_rule_costs(built):
    class Following:
        name = "following"

        def __init__(self):
            self.decider = Decider()

        def reset(self, seed):
            self.decider.reset(seed)

        def propose(self, view):
            return self.decider.decide(view, Follower()).proposal

    rule = run_episode(built, policy("drain-relief")).result
    mine = run_episode(built, Following()).result
    assert mine.total_cost == pytest.approx(rule.total_cost, rel=0.02)
    assert mine.moves > 0


def test_node_that_never_sleeps_is_not_offered_for_folding(built):
    fleet = fleet_arrays(built.cluster)
    never = set(np.flatnonzero(fleet.node_int[NodeInt.NEVER_SLEEP]).tolist())
    assert never
    for _, decision, _ in played(built, AtRandom(3), steps=30, check=False):
        assert not never & set(decision.proposal.sleep)


def test_short_lists_put_doing_nothing_first(built):
    chooser = AtRandom(4)
    for _ in played(built, chooser, steps=20, check=False):
        pass
    assert all(rows[0, NodeRow.STOP] == 1.0 for rows in chooser.seen[Stage.NODE])
    assert all((rows[1:, NodeRow.STOP] == 0.0).all() for rows in chooser.seen[Stage.NODE])
    assert all(rows[0, TargetRow.STAY] == 1.0 for rows in chooser.seen[Stage.TARGET])
    assert max(len(rows) for rows in chooser.seen[Stage.TARGET]) <= MOST_TARGETS + 2


def test_a_decision_never_changes_the_view(built):
    for view, _, _ in played(built, AtRandom(5), steps=3, check=False):
        before = [view.state.copy(), view.placement.copy(), view.target.copy(), view.usage.copy()]
        Decider().decide(view, AtRandom(6))
        for was, now in zip(before, (view.state, view.placement, view.target, view.usage), strict=True):
            np.testing.assert_array_equal(was, now)


class Scattered:
    """A teacher that empties one node onto the emptiest legal targets, which stand on no short list by themselves."""

    name = "scattered"

    def reset(self, seed):
        pass

    def propose(self, view):
        plan = Plan(view, RuleParams(), Evidence(), trip_to_users_ms(view.fleet), fit=Fit.FULLEST)
        load = view.usage[0] @ (view.placement[:, None] == np.arange(view.fleet.nodes)[None, :])
        for n in np.argsort(load).tolist():
            here = np.flatnonzero(view.placement == n)
            if len(here) == 0 or view.state[n] != NodeState.ON:
                continue
            before, moves = plan.draft.moves, []
            plan.draft.close(n)
            for c in plan.decreasing(here).tolist():
                legal = np.flatnonzero(plan.draft.reasons(c) == 0)
                if len(legal) == 0:
                    break
                target = int(legal[np.argmin(load[legal] / view.fleet.capacity[0, legal])])
                plan.draft.move(c, target)
                moves.append(Move(c, target))
            if len(moves) == len(here):
                return Proposal(self.name, Intensity.DEEP, tuple(moves), sleep=(n,))
            plan.draft.take_back(before)
        return Proposal(self.name)


def test_what_the_teacher_would_take_is_on_offer():
    # Else the lesson would be to stay: to give up the fold that the teacher makes.
    built = training_world(TrainSettings(nodes=(50,), hours=1.0), 3)
    fleet = fleet_arrays(built.cluster)
    view = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed).view()
    proposal = Scattered().propose(view)
    assert len(proposal.moves) > 3
    asking = Decider(teacher=Scattered()).ask(view)
    question, targets, planned = next(asking), 0, None
    while planned is None:
        assert question.taught is not None
        taught = int(np.argmax(question.taught))
        if question.stage == Stage.TARGET:
            assert taught > 0
            targets += 1
        try:
            question = asking.send((taught, 0.0))
        except StopIteration as end:
            planned = end.value.proposal
    assert targets == len(proposal.moves)
    assert set(proposal.moves) <= set(planned.moves)
