"""What a rule works with in one decision: the draft, the nodes as targets, the power switch, sizes and costs.

Nothing is decided here; the building blocks beside it (`hot`, `relief`, `emptying`) do that, each on a plan.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.policy.base import Intensity, Proposal
from fogfold.policy.draft import Draft
from fogfold.policy.overload import NO_DETECTION, OFF, Detection
from fogfold.policy.params import RuleParams
from fogfold.policy.sleeping import Evidence, PowerSwitch
from fogfold.policy.targets import Fit, Targets, Taste
from fogfold.policy.worth import MoveEstimate, estimate_moves, move_cost_wh, sleep_saving_wh

__all__ = ["Plan"]

_SHARING = 2
"""Moves that share their links on average: those of a node start together, but the small ones are soon over."""


class Plan:
    """One decision in the making.

    Args:
        view: the cluster as it stands.
        params: the rule's figures.
        evidence: what the power rule remembers; it has seen this view.
        trip_ms: as `targets.trip_to_users_ms` gives it for the view's fleet.
        fit: what the rule looks for in a target.
        detection: how it detects overloaded processors, where a mark is not enough.
    """

    def __init__(
        self,
        view: ClusterView,
        params: RuleParams,
        evidence: Evidence,
        trip_ms: Float[Array, "containers sites"],
        *,
        fit: Fit,
        detection: Detection = NO_DETECTION,
    ) -> None:
        fleet = view.fleet
        self.view = view
        self.params = params
        self.detection = detection
        at_once = max(int(params.least_moves), math.ceil(params.move_share * fleet.containers))
        limit = at_once - int((view.target >= 0).sum())
        self.draft = Draft(
            view, ceiling=max(params.relief_ceiling), move_limit=max(0, limit), with_history=detection.rule != OFF
        )
        span_w = fleet.power_curve[:, -1] - fleet.power_curve[:, 0]
        taste = Taste(
            fit=int(fit),
            trip_per_ms=float(params.trip_per_ms),
            image_per_gib=float(params.image_per_gib),
            late_limit=float(params.late_limit),
            span_w=max(float(span_w.mean()), 1e-9),
            least_rate_bit_s=float(params.least_rate_bit_s),
            detection=detection,
        )
        self.targets = Targets(self.draft, taste, trip_ms)
        self.saving_wh: Float[Array, " nodes"] = sleep_saving_wh(view, params.sleep_s)
        """What each node saves by a sleep of the expected length."""
        self.moves: MoveEstimate = estimate_moves(view, at_once=np.clip(self.draft.staying, 1, _SHARING))
        """What moving each container takes."""
        self.cost_wh: Float[Array, " containers"] = move_cost_wh(view, self.moves)
        """What that costs."""
        self.size: Float[Array, " containers"] = (
            np.maximum(fleet.request, view.usage) / fleet.capacity.mean(axis=1)[:, None]
        ).max(axis=0)
        """How large each container is: its largest share, by request or usage, of a mean node."""
        self.power = PowerSwitch(self.draft, params, evidence, self.targets, self.saving_wh)

    def decreasing(self, containers: Int[Array, " some"]) -> Int[Array, " some"]:
        """The containers by size, the largest first; of equals in the cluster's order."""
        return containers[np.argsort(-self.size[containers], kind="stable")]

    def proposal(self, policy: str) -> Proposal:
        """The plan as a proposal."""
        relieved = Intensity.LIGHT if self.draft.moves else Intensity.HOLD
        intensity = Intensity.DEEP if self.power.sleep else relieved
        return self.draft.proposal(policy, intensity, sleep=self.power.sleep)
