"""The frame of every classic rule: wake where somebody is short of room, relieve hot nodes, then empty cold ones.

A rule is this frame with two acts of its own, so that two rules differ where their descriptions differ and nowhere
else. Most of the compared systems know only one of the two acts; what they lack is lent by the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView, FleetArrays
from fogfold.encoding.rows import NodeInt
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.base import Proposal
from fogfold.policy.emptying import finish_draining
from fogfold.policy.overload import NO_DETECTION, Detection
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.sleeping import Evidence
from fogfold.policy.targets import Fit, trip_to_users_ms

__all__ = ["Act", "Rule", "explain", "leave_hot"]

Act = Callable[[Plan], None]
"""Something that a rule does to a plan: relieve hot nodes, or empty cold ones."""


def leave_hot(plan: Plan) -> None:
    """No relief at all."""


class Rule:
    """A classic rule.

    Args:
        name: what it is called.
        params: its figures.
        fit: what it looks for in a target.
        relieve: what it does about hot nodes.
        empty: what it does about cold nodes.
        detection: how it detects overloaded processors, where a mark is not enough.
    """

    def __init__(
        self,
        name: str,
        params: RuleParams,
        *,
        fit: Fit,
        relieve: Act,
        empty: Act,
        detection: Detection = NO_DETECTION,
    ) -> None:
        self.name = name
        self.params = params
        self._fit = fit
        self._relieve = relieve
        self._empty = empty
        self._detection = detection
        self._evidence = Evidence()
        self._fleet: FleetArrays | None = None
        self._trip_ms: Float[Array, "containers sites"] = np.zeros((0, 0))

    def reset(self, seed: int) -> None:
        """Forget everything; nothing is drawn, so the seed changes nothing."""
        del seed
        self._evidence = Evidence()

    def memory(self) -> dict[str, Any]:
        """All that it remembers: what its power rule saw. As `Remembering`."""
        return self._evidence.memory()

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Remember that. As `Remembering`."""
        self._evidence = Evidence()
        self._evidence = Evidence.of(memory)

    def propose(self, view: ClusterView) -> Proposal:
        """What to do with the cluster as it stands. Never changes the view."""
        if view.fleet is not self._fleet:
            self._fleet, self._trip_ms = view.fleet, trip_to_users_ms(view.fleet)
        self._evidence.see(view)
        plan = Plan(view, self.params, self._evidence, self._trip_ms, fit=self._fit, detection=self._detection)
        plan.power.wake_where_short(plan.decreasing(np.arange(view.fleet.containers)))
        self._relieve(plan)
        finish_draining(plan)
        if plan.power.calm:
            plan.power.let_empty_sleep()
            self._empty(plan)
        self._evidence.conclude(short=plan.power.woken > 0)
        explain(plan)
        return plan.proposal(self.name)


def explain(plan: Plan) -> None:
    """Give each node that stays on, and of which nothing has been said yet, its reason."""
    draft = plan.draft
    never = plan.view.fleet.node_int[NodeInt.NEVER_SLEEP]
    for n in np.flatnonzero(draft.state == NodeState.ON).tolist():
        if n in draft.stays:
            continue
        if never[n]:
            draft.stays[n] = Reason.NEVER_SLEEPS
        elif draft.arriving[n] > 0:
            draft.stays[n] = Reason.IN_FLIGHT
        else:
            draft.stays[n] = Reason.COOLDOWN
