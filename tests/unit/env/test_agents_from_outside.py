"""Agents of other libraries: Stable-Baselines3 finds no fault, and MaskablePPO trains by the lines of the how-to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation

checker = pytest.importorskip(
    "stable_baselines3.common.env_checker", reason="stable-baselines3 is not installed (dependency group `agents`)"
)
contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed (dependency group `agents`)")

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "train-your-own-agent.md"


def blocks():
    return re.findall(r"```python\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)


def test_stable_baselines3_finds_no_fault(make_env):
    checker.check_env(FlattenObservation(make_env()))


def test_masks_reach_the_agent_through_wrappers(make_env):
    from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

    env = FlattenObservation(make_env())
    env.reset(seed=1)
    assert is_masking_supported(env)
    assert get_action_masks(env).tolist() == [True] * 3 + [False] * 37


@pytest.mark.slow
def test_the_lines_of_the_how_to_train_an_agent_and_judge_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    training, judging = blocks()
    assert len([line for line in training.splitlines() if line.strip()]) == 8
    assert "total_timesteps=100_000" in training
    assert "n_steps=1024" in training
    small = training.replace("100_000", "256").replace("n_steps=1024", "n_steps=128").replace('"city-20"', '"tiny-4"')
    names: dict[str, Any] = {}
    exec(compile(small, str(HOW_TO), "exec"), names)  # noqa: S102 - our own page
    agent, env = names["agent"], names["env"]
    assert isinstance(agent, contrib.MaskablePPO)
    assert agent.num_timesteps >= 256
    assert Path("agent.zip").is_file()
    assert env.unwrapped.reset(seed=1)[1]["illegal"] == 0
    exec(compile(judging, str(HOW_TO), "exec"), names)  # noqa: S102 - our own page
    assert names["told"]["decision"] == 24 * 12
    assert names["told"]["illegal"] == 0
    assert np.isfinite(names["earned"])
