"""The vector form against single environments, step by step."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from fogfold.env.batch import ConsolidationVector
from fogfold.env.consolidation import ConsolidationEnv
from fogfold.errors import ModelError

OPTIONS: dict[str, Any] = {"scenario": "tiny-4", "hours": 1}


def test_a_batch_is_as_many_single_worlds(make_env):
    batch: Any = gymnasium.make_vec("fogfold.env:fogfold/Consolidation-v0", num_envs=3, **OPTIONS)
    assert isinstance(batch.unwrapped, ConsolidationVector)
    assert batch.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    single = [ConsolidationEnv(**OPTIONS) for _ in range(3)]
    rng = np.random.default_rng(2)
    observation, info = batch.reset(seed=[4, 5, 9])
    states = [env.reset(seed=seed) for env, seed in zip(single, (4, 5, 9))]
    rewards, truncated = np.zeros(3), np.zeros(3, bool)
    cuts = 0
    for _ in range(120):
        for i, (alone, told) in enumerate(states):
            assert alone.keys() == observation.keys()
            for key in alone:
                assert alone[key].tobytes() == observation[key][i].tobytes(), key
            for key in ("action_mask", "decided", "dead_ends", "abandoned", "illegal", "decision", "time_s", "seed"):
                assert np.array_equal(info[key][i], told[key]), key
        masks = batch.unwrapped.action_masks()
        assert (masks == info["action_mask"]).all()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        cut_before = truncated
        observation, paid, terminated, truncated, info = batch.step(actions)
        assert not terminated.any()
        for i, env in enumerate(single):
            if cut_before[i]:  # the step after a cut begins anew, from the environment's own stream
                states[i] = env.reset()
                rewards[i], cut = 0.0, False
            else:
                *_, cut, _ = step = env.step(actions[i])
                states[i], rewards[i] = (step[0], step[4]), step[1]
            assert truncated[i] == cut
        assert (paid == rewards).all()
        cuts += int(truncated.sum())
    assert cuts >= 3


def test_a_batch_of_none_is_refused():
    with pytest.raises(ModelError, match="num_envs is 0"):
        ConsolidationVector(0)
