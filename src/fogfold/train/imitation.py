"""The warm-up: a network learns to take what a teacher would take, before it tries anything itself.

The loss of a choice is -log of the chance of all options that the teacher marks together: of several nodes that it
would fold, any may come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fogfold.train.batch import StageBatch, contexts_of, stage_batches
from fogfold.train.lessons import Lesson
from fogfold.train.losses import masked_log_softmax
from fogfold.train.network import PolicyNetwork

__all__ = ["ImitationFigures", "Imitator", "imitation_loss"]

_ABSENT = -1e9


@dataclass(frozen=True)
class ImitationFigures:
    """What is watched in a pass over lessons."""

    loss: float
    """Mean of a choice, in nats."""
    agreement: float
    """Share of choices in which the likeliest option is one that the teacher would take."""
    choices: int


def imitation_loss(logits: Tensor, legal: Tensor, taught: Tensor) -> Tensor:
    """-log of the chance of the marked options together, of each choice.

    Args:
        logits: (choices, options).
        legal: (choices, options).
        taught: (choices, options), True where the teacher would take it; at least one in each row.
    """
    log_prob = masked_log_softmax(logits, legal)
    return -torch.logsumexp(log_prob.masked_fill(~taught, _ABSENT), dim=-1)


class Imitator:
    """Teaches a network.

    Args:
        network: who learns.
        lessons: from what.
        rate: learning rate at the start; it falls to a twentieth in a straight line.
        part: decisions of one step.
    """

    def __init__(
        self, network: PolicyNetwork, lessons: Sequence[Lesson], *, rate: float, part: int, device: torch.device
    ) -> None:
        self._network, self._lessons, self._rate, self._part, self._device = network, lessons, rate, part, device
        self.optimiser = torch.optim.Adam(network.parameters(), lr=rate)

    def learn(self, *, done: float, rng: np.random.Generator) -> ImitationFigures:
        """One pass over all lessons; `done` is the share of the warm-up that is behind, in [0, 1]."""
        for group in self.optimiser.param_groups:
            group["lr"] = self._rate * (1.0 - 0.95 * done)
        order = rng.permutation(len(self._lessons))
        loss = agreement = 0.0
        choices = 0
        for start in range(0, len(order), self._part):
            part = [self._lessons[i] for i in order[start : start + self._part]]
            summed, right, count = self._of(part)
            self.optimiser.zero_grad()
            # A sum over the choices of a decision, a mean over decisions, as the main phase weighs them.
            (summed / len(part)).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
            self.optimiser.step()
            loss, agreement, choices = loss + float(summed.detach()), agreement + right, choices + count
        return ImitationFigures(loss / max(choices, 1), agreement / max(choices, 1), choices)

    def judge(self, lessons: Sequence[Lesson]) -> ImitationFigures:
        """How well it does on lessons that it has not learned from."""
        with torch.no_grad():
            summed, right, count = self._of(lessons)
        return ImitationFigures(float(summed) / max(count, 1), right / max(count, 1), count)

    def _of(self, lessons: Sequence[Lesson]) -> tuple[Tensor, float, int]:
        contexts = contexts_of([lesson.context for lesson in lessons], self._device)
        summary = self._network.summary(*contexts.fields)
        total, right, count = torch.zeros((), device=self._device), 0.0, 0
        for batch in stage_batches([lesson.choices for lesson in lessons], self._device):
            taught = _marks(batch)
            logits = self._network.logits(batch.stage, batch.rows, batch.lead, summary[batch.decision])
            total = total + imitation_loss(logits, batch.legal, taught).sum()
            likeliest = logits.masked_fill(~batch.legal, _ABSENT).argmax(dim=-1, keepdim=True)
            right += float(taught.gather(-1, likeliest).sum())
            count += len(batch.chosen)
        return total, right, count


def _marks(batch: StageBatch) -> Tensor:
    if batch.taught is None:
        raise ValueError("these choices bear no teacher's marks")
    return batch.taught
