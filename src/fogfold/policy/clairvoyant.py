"""Clairvoyant: `mpc` with the true future in place of a forecast, as the yardstick for what foresight is worth.

Whoever plays an episode tells it the workload of the world (`foresight`); of faults it is told nothing. What it wins
over `mpc` is what a better forecast could win with this planner, no more: the best that can be had with hindsight
needs a planner that knows sequences, and worlds small enough for it (`fogfold bench rolling`).

It is a yardstick, so it refuses worlds in which a comparison over many seeds would take hours.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.policy.base import Proposal
from fogfold.policy.mpc import MPC, Mpc, MpcParams
from fogfold.policy.outlook import Told
from fogfold.policy.program import require_solver
from fogfold.policy.recipe import Recipe
from fogfold.world.workload.base import Workload

__all__ = ["CLAIRVOYANT", "Clairvoyant", "ClairvoyantParams"]


@dataclass(frozen=True)
class ClairvoyantParams(MpcParams):
    """Figures of the policy: those of `mpc`, but for `forecaster`, which is idle here, and how large a world may be."""

    most_nodes: int = 100
    """Most nodes of a world: beyond, a day of decisions takes minutes, and a comparison hours."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("most_nodes", self.most_nodes, low=1)


class _Untold:
    """Nothing is known: nobody has said what comes."""

    def path(self, view: ClusterView) -> Float[Array, "steps containers"]:
        raise ModelError(
            f"the policy clairvoyant is asked about {view.fleet.nodes} nodes and was told no future; it decides in "
            "simulated worlds alone (fogfold run, fogfold compare), elsewhere use mpc"
        )


class Clairvoyant(Mpc):
    """The policy; it is told the future after each reset."""

    params: ClairvoyantParams

    def foresee(self, workload: Workload) -> None:
        """What every container will be wanted for until the end."""
        self._outlook = Told(workload, self.params.step_s, self.params.steps)

    def propose(self, view: ClusterView) -> Proposal:
        """What to do with the cluster as it will be.

        Raises:
            ModelError: if no future was told, it is that of another world, or the world has too many nodes.
        """
        if view.fleet.nodes > self.params.most_nodes:
            raise ModelError(
                f"the policy clairvoyant is asked about {view.fleet.nodes} nodes, its limit is "
                f"{self.params.most_nodes:g}; use a smaller scenario, the policy mpc, or raise most_nodes and wait"
            )
        return super().propose(view)


def _make(name: str, params: ClairvoyantParams) -> Clairvoyant:
    require_solver()
    return Clairvoyant(name, params, _Untold)


CLAIRVOYANT = Recipe(
    name="clairvoyant",
    summary="Plans as mpc does, on the true future of a simulated world: what a better forecast could win.",
    params=ClairvoyantParams(),
    space=MPC.space,
    maker=_make,
)
