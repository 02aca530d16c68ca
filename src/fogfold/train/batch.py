"""Experience as tensors: decisions padded to the largest cluster, choices to the longest list, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fogfold.policy.learned.deciding import Choice, Context
from fogfold.policy.learned.rows import GlobalRow, Stage, TokenRow
from fogfold.policy.learned.weights import STAGE_ROWS

__all__ = ["Contexts", "StageBatch", "contexts_of", "stage_batches"]


@dataclass(frozen=True)
class Contexts:
    """What decisions saw of their clusters."""

    tokens: Tensor
    """(decisions, nodes, rows)"""
    present: Tensor
    """(decisions, nodes), 1 where there is a node."""
    whole: Tensor
    """(decisions, rows)"""

    @property
    def fields(self) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens, present, whole: what networks take."""
        return self.tokens, self.present, self.whole

    def pick(self, which: Tensor) -> Contexts:
        """Some of the decisions."""
        return Contexts(self.tokens[which], self.present[which], self.whole[which])


def contexts_of(contexts: Sequence[Context], device: torch.device) -> Contexts:
    """Contexts as tensors."""
    most = max(len(c.tokens) for c in contexts)
    tokens = np.zeros((len(contexts), most, len(TokenRow)), np.float32)
    present = np.zeros((len(contexts), most), np.float32)
    whole = np.zeros((len(contexts), len(GlobalRow)), np.float32)
    for i, c in enumerate(contexts):
        tokens[i, : len(c.tokens)] = c.tokens
        present[i, : len(c.tokens)] = 1.0
        whole[i] = c.whole
    return Contexts(*(torch.from_numpy(a).to(device) for a in (tokens, present, whole)))


@dataclass(frozen=True)
class StageBatch:
    """All choices of one stage."""

    stage: Stage
    decision: Tensor
    """Decision that each belongs to, (choices,)."""
    rows: Tensor
    """(choices, options, figures)"""
    lead: Tensor
    """(choices, options)"""
    legal: Tensor
    """(choices, options), False where the list is shorter."""
    chosen: Tensor
    log_prob: Tensor
    """With which it was drawn."""
    taught: Tensor | None = None
    """(choices, options), True where the teacher would take it; None where there was none."""

    def of(self, place: Tensor) -> StageBatch:
        """The choices of some of the decisions.

        Args:
            place: where each decision stands among them, -1 where it is not one of them.
        """
        which = (place[self.decision] >= 0).nonzero().squeeze(-1)
        taught = None if self.taught is None else self.taught[which]
        some = (self.rows[which], self.lead[which], self.legal[which], self.chosen[which], self.log_prob[which], taught)
        return StageBatch(self.stage, place[self.decision[which]], *some)


def stage_batches(
    choices: Sequence[Sequence[Choice]], device: torch.device, stages: Sequence[Stage] = tuple(Stage)
) -> list[StageBatch]:
    """The choices of all decisions, stage by stage; stages without one are left out."""
    out: list[StageBatch] = []
    for stage in stages:
        found = [(d, c) for d, many in enumerate(choices) for c in many if c.stage == stage]
        if not found:
            continue
        most = max(len(c.lead) for _, c in found)
        rows = np.zeros((len(found), most, STAGE_ROWS[stage]), np.float32)
        lead = np.zeros((len(found), most), np.float32)
        legal = np.zeros((len(found), most), bool)
        taught = np.zeros((len(found), most), bool)
        for i, (_, c) in enumerate(found):
            rows[i, : len(c.lead)] = c.rows
            lead[i, : len(c.lead)] = c.lead
            legal[i, : len(c.lead)] = True
            if c.taught is not None:
                taught[i, : len(c.lead)] = c.taught > 0.0
        out.append(
            StageBatch(
                stage,
                torch.tensor([d for d, _ in found], device=device),
                torch.from_numpy(rows).to(device),
                torch.from_numpy(lead).to(device),
                torch.from_numpy(legal).to(device),
                torch.tensor([c.chosen for _, c in found], device=device),
                torch.tensor([c.log_prob for _, c in found], dtype=torch.float32, device=device),
                torch.from_numpy(taught).to(device) if found[0][1].taught is not None else None,
            )
        )
    return out
