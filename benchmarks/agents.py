"""Agents of other libraries on the flat variant: DQN and MaskablePPO after so many steps, beside fogfold's policies.

`python benchmarks/agents.py --steps 20000 --seed 1 --seeds 5 --json` trains both on `tiny-4` by the interface that
anyone has (`gymnasium.make`, one box of numbers), and then lets each decide over days that it has not seen, through the
same chain of choices and judged by the same results as every policy. DQN (Mnih et al., Nature 518, 2015) knows no
masks: in training an illegal action is taken as 0, and where it is judged the legal action of largest value is taken.

Nothing here is tuned, and few steps are few: what is shown is what an off-the-shelf agent has learned by then, not what
it could learn.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
import numpy as np
import torch
from gymnasium.spaces.utils import flatten
from gymnasium.wrappers import FlattenObservation
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.env.observation import action_mask, observation_of, observation_space, offered
from fogfold.evaluate.episodes import run_episode
from fogfold.evaluate.statistics import compare, summarise
from fogfold.policy.base import Policy, Proposal
from fogfold.policy.learned.deciding import Context, Decider, Question
from fogfold.policy.learned.rows import Stage
from fogfold.policy.registry import policy
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario

ID = "fogfold.env:fogfold/Consolidation-v0"
SHOWN = ("energy_kwh", "sla_violation_rate", "moves", "total_cost")


class Agent(Protocol):
    """Values of all actions for what is shown."""

    def __call__(self, shown: Array, mask: Array) -> int:
        """The legal action that it takes."""
        ...


class Deciding:
    """An agent as a policy of fogfold."""

    def __init__(self, name: str, agent: Agent, places: int) -> None:
        self.name = name
        self._agent, self._places, self._space = agent, places, observation_space(places)
        self._decider = Decider()
        self._context: Context

    def reset(self, seed: int) -> None:
        """Forget everything."""
        self._decider.reset(seed)

    def propose(self, view: ClusterView) -> Proposal:
        """What to do with the cluster as it stands."""
        return self._decider.decide(view, self, name=self.name).proposal

    def begin(self, context: Context) -> None:
        """A new decision."""
        self._context = context

    def choose(self, stage: Stage, rows: Array, lead: Array) -> tuple[int, float]:
        """The agent's option."""
        question = Question(self._context, stage, rows, lead)
        shown = flatten(self._space, observation_of(question, self._places))
        return int(offered(question)[self._agent(shown, action_mask(question))]), 0.0


def trained(kind: str, make: Callable[[], Any], steps: int, seed: int) -> Agent:
    """An agent of that kind after so many steps, as its library makes it by default but for what is named here."""
    env = make()
    if kind == "dqn":
        dqn = DQN(
            "MlpPolicy", env, gamma=0.999, learning_starts=min(1000, steps // 4), exploration_fraction=0.5, seed=seed
        )
        dqn.learn(total_timesteps=steps)

        def by_value(shown: Array, mask: Array) -> int:
            with torch.no_grad():
                values = dqn.q_net(torch.as_tensor(shown[None], device=dqn.device))[0].cpu().numpy()
            return int(np.argmax(np.where(mask, values, -np.inf)))

        return by_value
    ppo = MaskablePPO("MlpPolicy", env, n_steps=1024, gamma=0.999, seed=seed)
    ppo.learn(total_timesteps=steps)

    def by_chance(shown: Array, mask: Array) -> int:
        return int(ppo.predict(shown, action_masks=mask, deterministic=True)[0])

    return by_chance


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--scenario", default="tiny-4")
    parser.add_argument("--hours", type=float, default=24.0, help="length of an episode, in training and after it")
    parser.add_argument("--steps", type=int, default=20_000, help="steps (choices) that each agent is trained for")
    parser.add_argument("--seed", type=int, default=1, help="root of the training's draws")
    parser.add_argument("--seeds", type=int, default=5, help="days that are judged")
    parser.add_argument("--first-seed", type=int, default=20, help="the first of them; training draws its own worlds")
    parser.add_argument("--agents", default="dqn,ppo")
    parser.add_argument("--policies", default="hold,drain-relief", help="beside them; learned:FILE is possible")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    scenario = load_scenario(asked.scenario)
    places = len(build(scenario, 0, hours=asked.hours).cluster.nodes)

    def make() -> Any:
        return FlattenObservation(gymnasium.make(ID, scenario=asked.scenario, hours=asked.hours))

    trained_s: dict[str, float] = {}
    players: list[Policy] = [policy(name) for name in asked.policies.split(",") if name]
    for kind in (word for word in asked.agents.split(",") if word):
        started = time.process_time()
        agent = trained(kind, make, asked.steps, asked.seed)
        trained_s[kind] = time.process_time() - started
        players.append(Deciding(kind, agent, places))
    days = [
        build(scenario, seed, hours=asked.hours) for seed in range(asked.first_seed, asked.first_seed + asked.seeds)
    ]
    runs = [run_episode(day, player).result for player in players for day in days]
    against = players[0].name
    paired = {pair.policy: pair.figures for pair in compare(runs, against)}
    rows = []
    for summary in summarise(runs):
        found = {key: summary.figures[key] for key in SHOWN}
        cost = paired[summary.policy]["total_cost"] if summary.policy in paired else None
        rows.append(
            {
                "policy": summary.policy,
                "seeds": asked.seeds,
                **{key: None if value is None else value.as_json() for key, value in found.items()},
                "total_cost_against": None if cost is None or cost.relative is None else cost.relative.as_json(),
                "training_steps": asked.steps if summary.policy in trained_s else 0,
                "training_cpu_s": round(trained_s.get(summary.policy, 0.0), 1),
            }
        )
    if asked.json:
        print(json.dumps({"bench": "agents", "scenario": asked.scenario, "against": against, "rows": rows}))
        return
    for row in rows:
        relative = row["total_cost_against"]
        told = "-" if relative is None else f"{relative['mean']:+.1%} [{relative['low']:+.1%}, {relative['high']:+.1%}]"
        print(
            f"{row['policy']:30s} J {row['total_cost']['mean']:8.1f}  against {against} {told:28s} "
            f"energy {row['energy_kwh']['mean']:.3f} kWh  SLA {row['sla_violation_rate']['mean']:.3%}  "
            f"moves {row['moves']['mean']:.0f}  trained {row['training_steps']:,} steps, {row['training_cpu_s']:.0f} s"
        )


if __name__ == "__main__":
    main()
