"""A question as arrays of fixed shape: what an agent that knows only boxes of numbers is shown.

Options and nodes are padded with zeros; masks say which rows are real. Figures are cut off at `LIMIT`, so that the
bounds that the space promises hold for any cluster. None of them gets there in those that come with fogfold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.policy.learned.deciding import Question
from fogfold.policy.learned.rows import GlobalRow, Stage, TokenRow
from fogfold.policy.learned.weights import STAGE_ROWS

__all__ = ["LIMIT", "MOST_OPTIONS", "Observation", "action_mask", "observation_of", "observation_space", "offered"]

MOST_OPTIONS = 40
"""Options of a choice that can be shown. The short lists hold at most 33 with stay, and beyond these only what the
rule would do as well."""

LIMIT = 16.0
"""Largest figure that is shown, with either sign. Figures are relative to a mean node or to the cluster, so that most
lie below 2; those of a server that stands among two dozen small machines come near the limit."""

Observation = dict[str, Float[Array, "..."]]
"""Arrays by the names of `observation_space`."""

_WIDEST = max(STAGE_ROWS.values())


def observation_space(places: int) -> spaces.Space[Any]:
    """The space of observations: a dictionary of boxes, all float32.

    Args:
        places: rows for nodes, at least as many as there are.
    """

    def box(low: float, *shape: int, high: float = LIMIT) -> spaces.Box:
        return spaces.Box(low, high, shape, np.float32)

    return spaces.Dict(
        {
            "action_mask": box(0.0, MOST_OPTIONS, high=1.0),
            "lead": box(0.0, MOST_OPTIONS, high=1.0),
            "options": box(-LIMIT, MOST_OPTIONS, _WIDEST),
            "present": box(0.0, places, high=1.0),
            "stage": box(0.0, len(Stage), high=1.0),
            "tokens": box(-LIMIT, places, len(TokenRow)),
            "whole": box(-LIMIT, len(GlobalRow)),
        }
    )


def offered(question: Question) -> Int[Array, " shown"]:
    """Rows of a question's options that are shown, in their order; action `i` means the `i`-th of them.

    All of them, or where there are too many the first option, as many as fit of those that the rule would take, and
    then the first of the rest.
    """
    options = len(question.rows)
    if options <= MOST_OPTIONS:
        return np.arange(options)
    wanted = question.lead > 0.0
    wanted[0] = True
    order = np.argsort(~wanted, kind="stable")
    return np.sort(order[:MOST_OPTIONS])


def action_mask(question: Question) -> Bool[Array, " actions"]:
    """Which actions are legal; the first always is, and means to hold, to stop, or to stay."""
    return np.arange(MOST_OPTIONS) < len(question.rows)


def observation_of(question: Question, places: int) -> Observation:
    """What an agent is shown: new arrays of the shapes of `observation_space`.

    Raises:
        ModelError: if there are more nodes than places.
    """
    tokens = question.context.tokens
    if len(tokens) > places:
        raise ModelError(f"the cluster has {len(tokens)} nodes and the observation room for {places}; raise most_nodes")
    shown = offered(question)
    rows = question.rows[shown]
    out: dict[str, Any] = {
        "action_mask": action_mask(question).astype(np.float32),
        "lead": np.zeros(MOST_OPTIONS, np.float32),
        "options": np.zeros((MOST_OPTIONS, _WIDEST), np.float32),
        "present": (np.arange(places) < len(tokens)).astype(np.float32),
        "stage": np.zeros(len(Stage), np.float32),
        "tokens": np.zeros((places, len(TokenRow)), np.float32),
        "whole": np.clip(question.context.whole, -LIMIT, LIMIT).astype(np.float32),
    }
    out["lead"][: len(shown)] = question.lead[shown]
    out["options"][: len(shown), : rows.shape[1]] = np.clip(rows, -LIMIT, LIMIT)
    out["stage"][question.stage] = 1.0
    out["tokens"][: len(tokens)] = np.clip(tokens, -LIMIT, LIMIT)
    return out
