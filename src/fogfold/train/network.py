"""The network in torch, for training: the same arrays, by the same names, as `policy.learned.weights` serves.

A value network of the same kind stands beside it; it is needed to train and is not shipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fogfold.policy.learned.rows import GlobalRow, Stage, TokenRow
from fogfold.policy.learned.weights import SQUARE_FLOOR, STAGE_ROWS, Shape, Weights

__all__ = ["PolicyNetwork", "ValueNetwork"]


class _Summary(nn.Module):
    """Encoder of nodes, pooled over those that are there."""

    def __init__(self, encoder: int, summary: int) -> None:
        super().__init__()
        self.encoder = nn.ModuleList([nn.Linear(len(TokenRow), encoder), nn.Linear(encoder, encoder)])
        self.summary = nn.Linear(2 * encoder + len(GlobalRow), summary)

    def forward(self, tokens: Tensor, present: Tensor, whole: Tensor) -> Tensor:
        """Tokens (decisions, nodes, rows), which of them are there (decisions, nodes), whole (decisions, rows)."""
        h = tokens
        for layer in self.encoder:
            h = torch.relu(layer(h))
        there = present.unsqueeze(-1)
        mean = (h * there).sum(dim=1) / there.sum(dim=1)
        square = (h * h * there).sum(dim=1) / there.sum(dim=1)
        root = torch.sqrt(square + SQUARE_FLOOR)
        result: Tensor = torch.relu(self.summary(torch.cat([mean, root, whole], dim=-1)))
        return result


class _Stage(nn.Module):
    """Scores of the options of one stage."""

    def __init__(self, rows: int, shape: Shape, follow: float) -> None:
        super().__init__()
        self.row = nn.Linear(rows, shape.hidden)
        self.summary = nn.Linear(shape.summary, shape.hidden, bias=False)
        self.last = nn.Linear(shape.hidden, shape.last)
        self.score = nn.Linear(shape.last, 1, bias=False)
        self.follow = nn.Parameter(torch.tensor([follow]))
        nn.init.zeros_(self.score.weight)  # at the start the rule alone speaks

    def forward(self, rows: Tensor, lead: Tensor, summary: Tensor) -> Tensor:
        """Rows (choices, options, figures), lead (choices, options), summary (choices, width)."""
        h = torch.relu(self.row(rows) + self.summary(summary).unsqueeze(1))
        h = torch.relu(self.last(h))
        result: Tensor = self.score(h).squeeze(-1) + self.follow * lead
        return result


class PolicyNetwork(nn.Module):
    """Scores of all options of all stages.

    Args:
        shape: its widths.
        follow: how strongly the rule's choice counts at the start, as a difference of logits.
    """

    def __init__(self, shape: Shape, *, follow: float) -> None:
        super().__init__()
        self.shape = shape
        self.whole = _Summary(shape.encoder, shape.summary)
        self.stages = nn.ModuleDict(
            {stage.name.lower(): _Stage(rows, shape, follow) for stage, rows in STAGE_ROWS.items()}
        )

    def summary(self, tokens: Tensor, present: Tensor, whole: Tensor) -> Tensor:
        """What each cluster looks like, (decisions, width)."""
        result: Tensor = self.whole(tokens, present, whole)
        return result

    def logits(self, stage: Stage, rows: Tensor, lead: Tensor, summary: Tensor) -> Tensor:
        """Scores of the options of one stage, (choices, options); those that are not there are the caller's to mask."""
        result: Tensor = self.stages[stage.name.lower()](rows, lead, summary)
        return result

    def weights(self, notes: Mapping[str, Any]) -> Weights:
        """The same network for serving."""
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for name, value in self.state_dict().items():
            plain = name.removeprefix("whole.").removeprefix("stages.")
            arrays[plain] = value.detach().cpu().numpy().astype(np.float32)
        return Weights(self.shape, arrays, notes)

    def take(self, weights: Weights) -> None:
        """Take over weights that were saved."""
        state = {}
        for name in self.state_dict():
            plain = name.removeprefix("whole.").removeprefix("stages.")
            state[name] = torch.tensor(weights.arrays[plain])
        self.load_state_dict(state)


class ValueNetwork(nn.Module):
    """What is to be gained from here on, for each decision."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.whole = _Summary(width, width)
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, tokens: Tensor, present: Tensor, whole: Tensor) -> Tensor:
        """Value of each decision's state, (decisions,)."""
        h = torch.relu(self.hidden(self.whole(tokens, present, whole)))
        result: Tensor = self.out(h).squeeze(-1)
        return result
