"""Model predictive control: every decision is the first step of a plan over the hours to come, made anew each time.

A rule sees the load of the last minutes, fills nodes by it, and meets the morning with too few of them. Here each
container's CPU is forecast (`outlook`), and the cluster is looked at twice. As it will be within the next minutes: what
will be hot by then is relieved, and nodes are woken in time to have booted. As it will be within the horizon: a node is
emptied only where the others can bear the peak until its end, and what that saves and costs is reckoned over the
horizon. Which nodes to empty and who goes where is found as `guided` finds it, with a bound on how far from the best it
is.

One placement is planned for the whole horizon, not a sequence of them: within it nothing moves twice. It needs the
solver HiGHS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.model.reason import Reason
from fogfold.model.resources import check_number
from fogfold.policy.base import Proposal
from fogfold.policy.draft import Draft
from fogfold.policy.guided import Emptying, GuidedParams
from fogfold.policy.outlook import Outlook, Watched, room_cores
from fogfold.policy.program import require_solver
from fogfold.policy.recipe import Recipe
from fogfold.policy.relief import relieve_by_few_moves
from fogfold.policy.rule import Rule
from fogfold.policy.space import Space
from fogfold.policy.targets import Fit
from fogfold.units import HOUR_S, MINUTE_S

__all__ = ["MPC", "Mpc", "MpcParams", "legal_part"]


@dataclass(frozen=True)
class MpcParams(GuidedParams):
    """Figures of the policy: those of `guided`, and how far it looks ahead."""

    sleep_s: float = 2 * HOUR_S
    """How far a plan looks ahead, in s. A node is emptied only where it is not needed until then, so it is also how
    long that node is expected to sleep."""
    lead_s: float = 15 * MINUTE_S
    """How far ahead hot nodes are relieved and sleeping ones woken, in s: a boot and the moves to it."""
    step_s: float = 5 * MINUTE_S
    """Time between two points of a forecast, in s; a day must be a whole number of steps."""
    forecaster: str = "combined"
    """Who makes the forecast, by the name of one of `fogfold.forecast.registry`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("lead_s", "step_s"):
            check_number(name, getattr(self, name), above=True)

    @property
    def steps(self) -> int:
        """How many steps ahead a plan looks."""
        return max(1, math.ceil(max(self.sleep_s, self.lead_s) / self.step_s - 1e-9))


class Mpc:
    """The policy.

    Args:
        name: what it is called.
        params: its figures.
        outlook: makes what it looks ahead with, anew at each reset.
    """

    def __init__(self, name: str, params: MpcParams, outlook: Callable[[], Outlook]) -> None:
        self.params = params
        self._new_outlook = outlook
        self._outlook = outlook()
        self._rule = Rule(
            name, params, fit=Fit.FULLEST, relieve=relieve_by_few_moves, empty=Emptying(params, self._by_the_horizon)
        )
        self._path: Float[Array, "steps containers"] = np.zeros((0, 0))

    @property
    def name(self) -> str:
        """What it is called."""
        return self._rule.name

    @name.setter
    def name(self, name: str) -> None:
        self._rule.name = name

    def reset(self, seed: int) -> None:
        """Forget everything, what was seen of the load included; nothing is drawn, so the seed changes nothing."""
        self._rule.reset(seed)
        self._outlook = self._new_outlook()

    def propose(self, view: ClusterView) -> Proposal:
        """What to do with the cluster as it will be. Never changes the view."""
        self._path = self._outlook.path(view)
        lead = min(self.params.steps, math.ceil(self.params.lead_s / self.params.step_s - 1e-9))
        soon = _with_cores(view, _room(view, self._path[: 1 + lead]))
        return legal_part(view, self._rule.propose(soon), ceiling=max(self.params.relief_ceiling))

    def _by_the_horizon(self, view: ClusterView) -> ClusterView:
        """The cluster at its fullest within the horizon, each node drawing at that load what it draws on average.

        The part of its power that goes with the load is scaled by mean over peak of the whole cluster: capacity is
        needed at the peak, energy is paid over the horizon.
        """
        peak = _room(view, self._path)
        share = float(self._path.mean(axis=0).sum()) / max(float(peak.sum()), 1e-9)
        idle_w = view.fleet.power_curve[:, :1]
        curve = idle_w + min(1.0, share) * (view.fleet.power_curve - idle_w)
        return replace(_with_cores(view, peak), fleet=replace(view.fleet, power_curve=curve))


def legal_part(view: ClusterView, proposal: Proposal, *, ceiling: float) -> Proposal:
    """A proposal without the moves that the cluster as it stands does not allow; their nodes then stay on.

    A plan for another load than the present one may ask for what the present one forbids.

    Args:
        view: the cluster as it stands.
        proposal: made for the same cluster under another load.
        ceiling: share of each capacity that usage on a target may reach through a move, in ]0, 1].
    """
    draft = Draft(view, ceiling=ceiling)
    for n in proposal.wake:
        draft.wake(n)
    for n in proposal.sleep:
        draft.close(n)
    refused: dict[int, Reason] = {}
    kept = []
    for move in proposal.moves:
        reason = Reason(int(draft.reasons(move.container)[move.target]))
        if reason is Reason.NONE:
            draft.move(move.container, move.target)
            kept.append(move)
        else:
            refused.setdefault(int(view.placement[move.container]), reason)
    if not refused:
        return proposal
    return replace(
        proposal,
        moves=tuple(kept),
        sleep=tuple(n for n in proposal.sleep if n not in refused),
        stays={**proposal.stays, **refused},
    )


def _room(view: ClusterView, path: Float[Array, "steps containers"]) -> Float[Array, " containers"]:
    """What each container takes of its node over a path, by where it is or is going."""
    return room_cores(path, np.where(view.target >= 0, view.target, view.placement), view.fleet.nodes)


def _with_cores(view: ClusterView, cores: Float[Array, " containers"]) -> ClusterView:
    """The view with other CPU usage."""
    return replace(view, usage=np.concatenate([cores[None], view.usage[1:]]))


def _make(name: str, params: MpcParams) -> Mpc:
    require_solver()
    return Mpc(name, params, lambda: Watched(params.forecaster, params.step_s, params.steps))


MPC = Recipe(
    name="mpc",
    summary="Plans on a forecast: wakes and relieves ahead of time, and empties what the others can spare for hours.",
    params=MpcParams(),
    space=Space(
        {
            "sleep_s": (0.5 * HOUR_S, HOUR_S, 2 * HOUR_S, 3 * HOUR_S),
            "lead_s": (5 * MINUTE_S, 15 * MINUTE_S, 30 * MINUTE_S),
            "high_mark": (0.5, 0.6, 0.7, 0.8),
            "fill_mark": (0.4, 0.45, 0.5, 0.55, 0.6),
            "minimum_saving": (1.0, 2.0, 3.0, 10.0),
            "late_limit": (0.0003, 0.001, 0.003, 0.01),
            "wake_load": (0.5, 0.6, 0.7),
            "sleep_load": (0.3, 0.4, 0.45, 0.5),
            "calm_decisions": (1, 2, 4),
        }
    ),
    maker=_make,
)
