"""What a proposal would take of the options of a chain: the marks of a rule, and those of a teacher."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.model.node import NodeState
from fogfold.policy.base import Intensity, Proposal
from fogfold.policy.learned.options import NodeOptions
from fogfold.policy.learned.rows import NodeRow, StageRow

__all__ = ["Marks"]

_NOWHERE = -2
"""A target that no option has: -1 is to stay."""


class Marks:
    """What a proposal would take.

    Args:
        view: the cluster that it was made for.
        proposal: by whomever.
    """

    def __init__(self, view: ClusterView, proposal: Proposal) -> None:
        self.target = {move.container: move.target for move in proposal.moves}
        self.folds = {n for n in proposal.sleep if view.state[n] == NodeState.ON}
        self.wakes = {n for n in proposal.wake if view.state[n] == NodeState.ASLEEP}
        sources = {int(view.placement[c]) for c in self.target}
        self.reliefs = {n for n in sources - self.folds if view.state[n] == NodeState.ON}
        self.intensity = Intensity.HOLD
        if self.folds:
            self.intensity = Intensity.DEEP
        elif self.reliefs or self.wakes:
            self.intensity = Intensity.LIGHT

    @property
    def nodes(self) -> set[int]:
        """All nodes that it does something with."""
        return self.folds | self.reliefs | self.wakes

    def of_intensity(self) -> Float[Array, " options"]:
        """Marks on the options of the first stage."""
        marks = np.zeros(len(StageRow), np.float32)
        marks[self.intensity] = 1.0
        return marks

    def of_nodes(self, options: NodeOptions) -> Float[Array, " options"]:
        """Marks on options of the second stage; on the first of them where it would take none of the others."""
        wanted = {NodeRow.RELIEVE: self.reliefs, NodeRow.FOLD: self.folds, NodeRow.WAKE: self.wakes}
        marks = np.array(
            [k > 0 and n in wanted[NodeRow(k)] for k, n in zip(options.kind.tolist(), options.node.tolist())],
            np.float32,
        )
        if not marks.any():
            marks[0] = 1.0
        return marks

    def of_targets(self, container: int, nodes: Int[Array, " options"]) -> Float[Array, " options"]:
        """Marks on where a container may go; on staying where it would move it nowhere."""
        marks = (nodes == self.target.get(container, _NOWHERE)).astype(np.float32)
        if not marks.any():
            marks[0] = 1.0
        return marks
