"""Raises its hand when the reward rises while a real figure gets worse: a reward alone misleads.

What is watched are the judge's worlds, which no training sees, with the policy asked as it plays in training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fogfold.train.judge import Judgement

__all__ = ["Watch"]

_SLACK = (
    ("SLA violation rate", "sla_violation_rate", 1.1),
    ("energy", "energy_wh", 1.01),
    ("moves", "moves", 1.25),
    ("total cost", "total_cost_wh", 1.005),
)
"""What is watched, and by which factor it may grow from one judgement to the next: what a few worlds tell apart."""


class Watch:
    """Rewards between judgements, and the judgement before."""

    def __init__(self) -> None:
        self._rewards: list[float] = []
        self._before: tuple[float, Judgement] | None = None

    def see(self, reward: float) -> None:
        """The mean reward of an update."""
        self._rewards.append(reward)

    def judge(self, judged: Judgement) -> str | None:
        """A warning where the judgement contradicts the rewards since the one before."""
        if not self._rewards:
            return None  # the first judgement is of weights that no reward led to
        mean = float(np.mean(self._rewards))
        before, self._before, self._rewards = self._before, (mean, judged), []
        if before is None or mean <= before[0]:
            return None
        worse = [
            name
            for name, figure, slack in _SLACK
            if getattr(judged.drawn, figure) > slack * getattr(before[1].drawn, figure)
        ]
        if not worse:
            return None
        return (
            f"reward rose from {before[0]:.4f} to {mean:.4f} while {', '.join(worse)} got worse in the judge's worlds"
        )

    def recall(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """See a log again, up to where a run goes on."""
        for line in lines:
            if "reward" in line:
                self.see(line["reward"])
            elif "judged" in line:
                self.judge(Judgement.of_json(line["judged"]))
