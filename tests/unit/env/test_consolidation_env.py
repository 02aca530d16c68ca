"""The environment: what it shows, what it pays, when it ends."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FlattenObservation

from fogfold.cost.total import ExchangeRates
from fogfold.encoding.arrays import fleet_arrays
from fogfold.env.consolidation import ConsolidationEnv
from fogfold.env.picture import CELL_PX
from fogfold.env.reward import RewardWeights
from fogfold.errors import ModelError, ScenarioError, UnknownNameError
from fogfold.evaluate.episodes import run_episode
from fogfold.policy.learned.choosers import Follower
from fogfold.policy.learned.deciding import Decider
from fogfold.policy.learned.rows import Stage
from fogfold.policy.registry import policy
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.world.faults import FaultSchedule
from fogfold.world.params import WorldParams
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.twin import HoldTwin
from fogfold.world.workload.base import Workload
from fogfold.world.world import World

HOLD = 0
DEEP = 2


def follow(observation, info):
    """The rule's choice."""
    del info
    return int(np.argmax(observation["lead"]))


def drawn(rng):
    """Any legal choice."""
    return lambda _, info: int(rng.choice(np.flatnonzero(info["action_mask"])))


def play(env, seed, choose):
    """An episode: all its steps, the reset first."""
    observation, info = env.reset(seed=seed)
    steps = [(observation, 0.0, False, False, info)]
    while not steps[-1][3]:
        steps.append(env.step(choose(observation, info)))
        observation, info = steps[-1][0], steps[-1][4]
    return steps


def bytes_of(steps):
    return [b"".join(observation[key].tobytes() for key in sorted(observation)) for observation, *_ in steps]


def test_importing_fogfold_imports_no_gymnasium():
    code = "import sys, fogfold, fogfold.policy.learned.deciding; assert 'gymnasium' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - this very interpreter


@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
def test_gymnasium_finds_no_fault(make_env, render_mode):
    check_env(make_env(render_mode=render_mode).unwrapped)


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_gymnasium_finds_no_fault_in_the_flat_form(make_env):
    env = FlattenObservation(make_env())
    assert env.observation_space.shape == (40 + 40 + 40 * 24 + 4 + 3 + 4 * 16 + 15,)
    check_env(env, skip_render_check=True)


def test_same_seed_gives_the_same_bytes_and_another_seed_others(make_env):
    first, again, other = (play(make_env(hours=2), seed, drawn(np.random.default_rng(5))) for seed in (7, 7, 8))
    assert bytes_of(first) == bytes_of(again)
    assert [step[1] for step in first] == [step[1] for step in again]
    assert bytes_of(first)[0] != bytes_of(other)[0]


def test_a_seed_names_the_world_and_none_draws_one_from_the_environment(make_env):
    env = make_env()
    assert env.reset(seed=7)[1]["seed"] == 7
    drawn_after = env.reset()[1]["seed"]
    assert drawn_after != 7
    env.reset(seed=7)
    assert env.reset()[1]["seed"] == drawn_after


def test_observations_stay_within_their_bounds_and_masks_are_never_empty(make_env):
    env = make_env(hours=4)
    for step in play(env, 3, drawn(np.random.default_rng(1))):
        observation, info = step[0], step[4]
        assert env.observation_space.contains(observation)
        assert info["action_mask"][HOLD]
        assert info["action_mask"].sum() >= 2
        assert observation["action_mask"].tolist() == info["action_mask"].tolist()
        assert (observation["options"][~info["action_mask"]] == 0.0).all()
        assert observation["lead"].sum() >= 1.0
        assert observation["stage"].sum() == 1.0


def test_full_nodes_are_dead_ends_that_are_counted_and_earn_nothing(make_env, full_nodes):
    env = make_env(hours=2, overrides=full_nodes)

    def try_all(observation, _):
        return DEEP if observation["stage"][Stage.INTENSITY] else int(observation["action_mask"].sum()) - 1

    steps = play(env, 1, try_all)
    assert {step[1] for step in steps} == {0.0}
    # Nowhere to go: no container is ever asked for, and each of 24 decisions tries all four nodes once.
    assert not any(step[0]["stage"][Stage.TARGET] for step in steps)
    assert all(step[4]["action_mask"].any() for step in steps)
    assert steps[-1][4]["dead_ends"] == 24 * 4
    assert 0 < steps[-1][4]["abandoned"] <= 24 * 4


def test_doing_nothing_earns_exactly_nothing(make_env):
    steps = play(make_env(hours=3), 2, lambda *_: HOLD)
    assert len(steps) == 1 + 36
    assert {step[1] for step in steps} == {0.0}
    assert {part for step in steps for part in step[4]["reward_terms"].values()} == {0.0}


def test_following_the_rule_all_day_earns_its_saving():
    scenario = load_scenario("city-20")
    env = ConsolidationEnv(scenario)
    steps = play(env, 3, follow)
    decided = [step for step in steps if step[4]["decided"]]
    assert len(decided) == 24 * 12
    mean = sum(step[1] for step in steps) / len(decided)
    assert mean > 0.05
    # The mean reward is the share of J that the chain saves against holding, measured by the referee of comparisons.
    built = build(scenario, 3)
    held = run_episode(built, policy("hold")).result.total_cost
    assert mean == pytest.approx(1.0 - run_episode(built, FollowingPolicy()).result.total_cost / held, abs=1e-9)


class FollowingPolicy:
    """The chain of choices as a policy of its own, without the environment."""

    name = "following"

    def reset(self, seed):
        self._decider = Decider()
        self._decider.reset(seed)

    def propose(self, view):
        return self._decider.decide(view, Follower()).proposal


def test_within_a_chain_nothing_is_paid_and_no_time_passes(make_env):
    steps = play(make_env(hours=4), 3, follow)
    for before, after in pairwise(steps):
        if after[4]["decided"]:
            assert after[4]["time_s"] == before[4]["time_s"] + 300.0
        else:
            assert after[4]["time_s"] == before[4]["time_s"]
            assert after[1] == 0.0
    assert not all(step[4]["decided"] for step in steps[1:])


def test_terms_sum_to_the_reward_and_weights_scale_them(make_env):
    def terms(**weights):
        steps = play(make_env(hours=4, weights=RewardWeights(**weights)), 3, follow)
        for step in steps:
            assert sum(step[4]["reward_terms"].values()) == pytest.approx(step[1], abs=1e-12)
        return np.array([list(step[4]["reward_terms"].values()) for step in steps])

    plain, weighed = terms(), terms(energy=2.0, migration=0.5, sla=3.0, latency=0.0)
    assert (plain != 0.0).any(axis=0).all()
    np.testing.assert_allclose(weighed, plain * [2.0, 0.5, 3.0, 0.0], rtol=1e-12)


def test_exchange_rates_price_the_terms(make_env):
    dear = ExchangeRates(migrated_gib_wh=60.0, downtime_s_wh=20.0)
    assert sum(step[1] for step in play(make_env(hours=2, rates=dear), 3, follow)) < 0.0


def test_time_that_is_up_is_a_cut_and_no_end(make_env):
    env = make_env(hours=1)
    steps = play(env, 1, lambda *_: HOLD)
    assert len(steps) == 1 + 12
    assert [step[2] for step in steps] == [False] * 13
    assert [step[3] for step in steps] == [False] * 12 + [True]
    assert all(type(step[2]) is bool and type(step[3]) is bool for step in steps)
    assert env.observation_space.contains(steps[-1][0])
    with pytest.raises(ResetNeeded, match="time is up"):
        env.step(HOLD)
    assert env.reset(seed=1)[1]["decision"] == 0


def test_no_step_before_a_reset():
    env = ConsolidationEnv("tiny-4", hours=1)
    for act in (lambda: env.step(HOLD), env.action_masks, lambda: env.view):
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            act()


@pytest.mark.parametrize("action", [3, 31])
def test_an_illegal_action_is_the_first_one_and_is_counted(make_env, action):
    env, held = make_env(), make_env()
    env.reset(seed=1)
    held.reset(seed=1)
    for _ in range(3):
        observation, reward, *_, info = env.step(np.int64(action))
        expected, *_ = held.step(HOLD)
        assert bytes_of([(observation,)]) == bytes_of([(expected,)])
        assert reward == 0.0
    assert info["illegal"] == 3


def test_a_decision_with_an_illegal_action_never_earns(make_env):
    # Nodes are asleep by then: holding goes on to earn what they save, an illegal action in its place does not.
    def paid(last):
        env = make_env(hours=4)
        observation, info = env.reset(seed=3)
        while info["decision"] < 40:
            observation, _, _, _, info = env.step(follow(observation, info))
        return env.step(last)[1], info["illegal"]

    legal, _ = paid(HOLD)
    illegal, before = paid(31)
    assert before == 0
    assert legal > 0.0
    assert illegal == 0.0


def test_more_places_than_nodes_are_padded_and_marked(make_env):
    wide, narrow = (make_env(most_nodes=places).reset(seed=1)[0] for places in (10, 4))
    assert wide["present"].tolist() == [1.0] * 4 + [0.0] * 6
    assert wide["tokens"][:4].tobytes() == narrow["tokens"].tobytes()
    assert (wide["tokens"][4:] == 0.0).all()


def test_wrong_arguments_are_refused():
    with pytest.raises(ModelError, match="most_nodes is 3; scenario tiny-4 has 4 nodes"):
        ConsolidationEnv("tiny-4", most_nodes=3)
    with pytest.raises(ModelError, match="overrides are for"):
        ConsolidationEnv(load_scenario("tiny-4"), overrides={"hours": 2})
    with pytest.raises(UnknownNameError, match='did you mean "ansi"'):
        ConsolidationEnv("tiny-4", render_mode="ansy")
    with pytest.raises(UnknownNameError, match='did you mean "tiny-4"'):
        ConsolidationEnv("tiny4")
    with pytest.raises(ScenarioError, match="workload"):
        ConsolidationEnv("tiny-4", overrides={"workload.mean_level": -1})
    with pytest.raises(ModelError, match="sla"):
        RewardWeights(sla=-1.0)
    env = ConsolidationEnv("tiny-4", hours=1)
    with pytest.raises(UnknownNameError, match='"level"'):
        env.reset(options={"level": 1})


def test_a_world_that_costs_nothing_has_no_saving():
    node = a_node(idle_w=0.0, peak_w=0.0, sleep_w=0.0, shutdown_energy_j=0.0, wake_energy_j=0.0)
    fleet = fleet_arrays(a_cluster([node], [a_container()]))
    demand = Workload(np.zeros((13, 1), np.float32), 300.0, 0.0, np.ones((120, 1), np.float32))
    world = World(fleet, WorldParams(), [(demand, FaultSchedule.none())], seed=1)
    with pytest.raises(ModelError, match="doing nothing costs 0 Wh-equivalents"):
        HoldTwin(world, 12, ExchangeRates())


def test_the_table_has_a_line_for_each_node(make_env):
    env = make_env(render_mode="ansi")
    env.reset(seed=1)
    lines = env.render().splitlines()
    assert lines[0] == "Mon 00:00  decision 0 of 12  on 4  asleep 0  earned +0.000"
    assert [line.split()[0] for line in lines[1:]] == ["edge-00", "edge-01", "edge-02", "edge-03"]
    assert all(line.count("#") + line.count("-") == 20 + 1 for line in lines[1:])
    assert sum(int(line.split()[-1]) for line in lines[1:]) == 12


def test_the_image_has_a_cell_for_each_node(make_env):
    env = make_env(render_mode="rgb_array", scenario="city-20")
    env.reset(seed=1)
    image = env.render()
    # Twenty nodes: five across and four down.
    assert image.shape == (4 * CELL_PX, 5 * CELL_PX, 3)
    assert image.dtype == np.uint8
    assert gymnasium.make("fogfold.env:fogfold/Consolidation-v0").unwrapped.render() is None
