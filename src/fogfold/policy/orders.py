"""A proposal as the orders that the world carries out."""

from __future__ import annotations

import numpy as np

from fogfold.policy.base import Proposal
from fogfold.world.dynamics import SLEEP, WAKE, Orders

__all__ = ["orders_of"]


def orders_of(proposal: Proposal, nodes: int) -> Orders:
    """A proposal as orders to a batch of one world."""
    moves = np.array([[(move.container, move.target) for move in proposal.moves]], np.int32)
    power = np.zeros((1, nodes), np.int8)
    power[0, list(proposal.wake)] = WAKE
    power[0, list(proposal.sleep)] = SLEEP
    return Orders(moves.reshape(1, len(proposal.moves), 2), power)
