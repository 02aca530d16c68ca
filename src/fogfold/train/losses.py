"""PPO's losses (Schulman et al., arXiv 1707.06347), a ratio for each choice.

A decision is a chain of up to some eighty choices. One ratio over the whole chain would leave the clip at the first
few; each choice is therefore clipped by itself, with the advantage of its decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["ChoiceTerms", "choice_terms", "masked_log_softmax", "value_loss"]

_BARRED = -1e9


def masked_log_softmax(logits: Tensor, legal: Tensor) -> Tensor:
    """Logarithms of the chances of legal options; those that are not legal get -1e9, a chance of exactly 0.

    Raises:
        ValueError: if a choice has no legal option.
    """
    if not bool(legal.any(dim=-1).all()):
        raise ValueError("a choice has no legal option; staying must always be one")
    return torch.log_softmax(logits.masked_fill(~legal, _BARRED), dim=-1).masked_fill(~legal, _BARRED)


@dataclass(frozen=True)
class ChoiceTerms:
    """Sums over choices of what an update needs; divide by `count`."""

    policy: Tensor
    entropy: Tensor
    divergence: Tensor
    """Estimate of KL(old || new): (ratio - 1) - log ratio (Schulman, approximating KL divergence, 2020)."""
    clipped: Tensor
    """Choices whose ratio is beyond the clip."""
    count: int


def choice_terms(
    logits: Tensor, legal: Tensor, chosen: Tensor, log_prob_before: Tensor, advantage: Tensor, *, clip: float
) -> ChoiceTerms:
    """The clipped objective and what is watched beside it.

    Args:
        logits: (choices, options).
        legal: (choices, options).
        chosen: (choices,).
        log_prob_before: with which each was drawn, (choices,).
        advantage: of each choice's decision, (choices,).
        clip: how far the ratio may go from 1.
    """
    log_prob = masked_log_softmax(logits, legal)
    taken = log_prob.gather(-1, chosen.unsqueeze(-1)).squeeze(-1)
    log_ratio = taken - log_prob_before
    ratio = log_ratio.exp()
    gain = torch.minimum(ratio * advantage, ratio.clamp(1.0 - clip, 1.0 + clip) * advantage)
    entropy = -(log_prob.exp() * log_prob.masked_fill(~legal, 0.0)).sum(dim=-1)
    return ChoiceTerms(
        policy=-gain.sum(),
        entropy=entropy.sum(),
        divergence=((ratio - 1.0) - log_ratio).detach().sum(),
        clipped=((ratio - 1.0).abs() > clip).float().detach().sum(),
        count=len(chosen),
    )


def value_loss(value: Tensor, wanted: Tensor) -> Tensor:
    """Half the mean squared error."""
    return 0.5 * (value - wanted).square().mean()
