"""fogfold as a Gymnasium environment: one step is one choice, and every chain of choices lets five minutes pass.

An agent decides as fogfold's own learned policy does, and is shown the same figures: first how hard (hold, relieve,
fold as well), then which node next, then where each of its containers goes. Within a chain the reward is 0; at its
end the world goes on and the reward is what the step saved against the same future with nothing done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from jaxtyping import Bool

from fogfold.compiled import Array
from fogfold.cost.total import ExchangeRates, TermsWh
from fogfold.encoding.arrays import ClusterView
from fogfold.env.observation import (
    MOST_OPTIONS,
    Observation,
    action_mask,
    observation_of,
    observation_space,
    offered,
)
from fogfold.env.picture import image_of, table_of
from fogfold.env.play import Outcome, Play
from fogfold.env.reward import RewardWeights
from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.model.node import NodeState
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.scenario.schema import Scenario

__all__ = ["ConsolidationEnv"]

_NOTHING = TermsWh(0.0, 0.0, 0.0, 0.0)
_SEEDS = 2**31


class ConsolidationEnv(gymnasium.Env[Observation, np.int64]):
    """A cluster to be folded, one choice a step.

    The observation is a dictionary of boxes (`env.observation`): the options of the open choice with their figures,
    the rule's choice among them (`lead`), the figures of every node and of the whole cluster. Action `i` takes option
    `i`; 0 holds, stops or stays and is always legal. What else is legal is in the observation, in `action_masks()` and
    in `info["action_mask"]`. An illegal action is taken as 0 and counted, and the decision that it belongs to earns
    nothing: where it saved something, its reward is 0.

    An episode ends when the scenario's time is up, which is a cut and no end: `truncated`, never `terminated`. Its
    last observation is what the next decision would have seen.

    `info` holds, after every step: `action_mask`; `decided`, whether this step ended a decision; `reward_terms`, the
    parts of the reward; `time_s` since Monday 00:00 UTC; `decision`, how many were made; and since the reset
    `dead_ends` (containers that had no option but to stay), `abandoned` (nodes whose folding was given up on the way)
    and `illegal`. `seed` is the world's.

    Args:
        scenario: name or path of a scenario, or one that is loaded already.
        hours: how long an episode lasts instead of the scenario's hours.
        overrides: values of the scenario to set, as `load_scenario` takes them; only for a name or a path.
        rates: exchange rates of J, in which savings are counted.
        weights: how much each part of the saving counts.
        most_nodes: rows for nodes in the observation; by default as many as the scenario has. With more, one agent
            can play clusters of several sizes.
        check: whether the referee of `world.invariants` looks at every step; slow, for tests.
        render_mode: "ansi" for a table of text, "rgb_array" for a small image.

    Raises:
        UnknownNameError: if the scenario is neither a name nor a file, or the render mode is unknown.
        ScenarioError: if the scenario does not validate.
        ModelError: if overrides come with a loaded scenario, or there are more nodes than `most_nodes`.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 12}  # type: ignore[misc]

    def __init__(
        self,
        scenario: str | Path | Scenario = "city-20",
        *,
        hours: float | None = None,
        overrides: Mapping[str, Any] | None = None,
        rates: ExchangeRates | None = None,
        weights: RewardWeights | None = None,
        most_nodes: int | None = None,
        check: bool = False,
        render_mode: str | None = None,
    ) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise UnknownNameError(f'render mode "{render_mode}" is unknown; {did_you_mean(render_mode, modes)}')
        if isinstance(scenario, Scenario):
            if overrides:
                raise ModelError("overrides are for a scenario's name or path; set them when you load the scenario")
            self._scenario = scenario
        else:
            self._scenario = load_scenario(scenario, overrides)
        self._hours = hours
        self._rates, self._weights = rates or ExchangeRates(), weights or RewardWeights()
        self._check = check
        # The number of nodes is the scenario's, whatever the seed: one small build tells it before the first reset.
        nodes = len(build(self._scenario, 0, hours=hours).cluster.nodes)
        self._places = nodes if most_nodes is None else most_nodes
        if self._places < nodes:
            raise ModelError(f"most_nodes is {most_nodes}; scenario {self._scenario.name} has {nodes} nodes")
        self.render_mode = render_mode
        self.observation_space = observation_space(self._places)
        self.action_space = spaces.Discrete(MOST_OPTIONS)
        self._seed = 0
        self._play: Play | None = None
        self._illegal = self._dead_ends = self._abandoned = 0
        self._is_tainted = False
        self._earned = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a world: of that seed, or of one drawn from the environment's own stream.

        Raises:
            UnknownNameError: if there are options; this environment has none.
        """
        if options:
            raise UnknownNameError(f'reset option "{next(iter(options))}" is unknown; this environment has none')
        super().reset(seed=seed)
        self._seed = int(self.np_random.integers(_SEEDS)) if seed is None else seed
        built = build(self._scenario, self._seed, hours=self._hours)
        self._play = Play(built, rates=self._rates, weights=self._weights, check=self._check)
        self._illegal = self._dead_ends = self._abandoned = 0
        self._is_tainted = False
        self._earned = 0.0
        return self._observation(), self._about(None, _NOTHING)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Choose an option; where that ends a decision, let the world go on and be paid.

        Args:
            action: a whole number, as a Python or numpy scalar or as an array of no dimensions.

        Raises:
            ResetNeeded: if no world was begun, or its time is up.
            InvariantError: if the world is checked and breaks a rule of its own.
        """
        play = self._begun()
        if play.is_over:
            raise ResetNeeded("the scenario's time is up; call reset() to begin another world")
        shown = offered(play.question)
        option = 0
        if 0 <= action < len(shown):
            option = int(shown[int(action)])
        else:
            self._illegal += 1
            self._is_tainted = True
        outcome = play.answer(option)
        terms = _NOTHING
        if outcome is not None:
            terms = _NOTHING if self._is_tainted and outcome.terms.total > 0.0 else outcome.terms
            self._is_tainted = False
            self._dead_ends += outcome.dead_ends
            self._abandoned += outcome.abandoned
            self._earned += terms.total
        return self._observation(), terms.total, False, play.is_over, self._about(outcome, terms)

    def action_masks(self) -> Bool[Array, " actions"]:
        """Which actions are legal now, by the convention of sb3-contrib."""
        return action_mask(self._begun().question)

    @property
    def view(self) -> ClusterView:
        """The cluster as the open question finds it: what rules read, for whoever compares with one."""
        return self._begun().view

    def render(self) -> Any:
        """The cluster as text or as an image, by the render mode; nothing where none was asked for."""
        if self.render_mode is None:
            return None
        play = self._begun()
        if self.render_mode == "rgb_array":
            return image_of(play.view)
        on, asleep = int(play.view.on.sum()), int((play.view.state == NodeState.ASLEEP).sum())
        return table_of(
            play.view,
            f"decision {play.step} of {play.steps}  on {on}  asleep {asleep}  earned {self._earned:+.3f}",
        )

    def _begun(self) -> Play:
        if self._play is None:
            raise ResetNeeded("no world was begun; call reset() first")
        return self._play

    def _observation(self) -> Observation:
        return observation_of(self._begun().question, self._places)

    def _about(self, outcome: Outcome | None, terms: TermsWh) -> dict[str, Any]:
        play = self._begun()
        return {
            "action_mask": self.action_masks(),
            "decided": outcome is not None,
            "reward_terms": asdict(terms),
            "dead_ends": self._dead_ends,
            "abandoned": self._abandoned,
            "illegal": self._illegal,
            "decision": play.step,
            "time_s": float(play.view.time_s),
            "seed": self._seed,
        }
