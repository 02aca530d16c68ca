"""A policy that is asked often and decides only when it is time: whole decisions now and then, nothing between them.

What is compared is the time between whole decisions, so nothing else is done in between: no light decision, no answer
to an event. A policy that learns from what it sees is shown the cluster at every whole step all the same, as a service
shows it every reading.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.model.resources import check_number
from fogfold.policy.base import Policy, Proposal

__all__ = ["Every", "Pace", "Paced", "Watchful"]

_SAMPLES = 30
"""Earlier readings that a policy is shown, one a step: as many as where it is asked at every step."""
_HAIR = 1e-9


@runtime_checkable
class Pace(Protocol):
    """Something that says when it is time to decide."""

    def due(self, view: ClusterView) -> bool:
        """Whether to decide at this look; called at every look, in order, from the first one of a day."""
        ...

    def decided(self, proposal: Proposal) -> None:
        """Take in what was decided at this look; called after each decision."""
        ...


@runtime_checkable
class Watchful(Protocol):
    """A policy that wants to be shown the cluster where it does not decide."""

    def see(self, view: ClusterView) -> None:
        """Take in a view."""
        ...


class Every:
    """The same time between all decisions.

    Args:
        interval_s: that time.

    Raises:
        ModelError: if it is not above 0.
    """

    def __init__(self, interval_s: float) -> None:
        check_number("interval_s", interval_s, above=True)
        self._interval_s = interval_s
        self._next_s: float | None = None

    def due(self, view: ClusterView) -> bool:
        """Whether that much time has passed since the last."""
        if self._next_s is not None and view.time_s < self._next_s - _HAIR:
            return False
        self._next_s = (view.time_s if self._next_s is None else self._next_s) + self._interval_s
        return True

    def decided(self, proposal: Proposal) -> None:
        """Whatever it was, the next comes as late."""


class Paced:
    """The policy.

    Args:
        inner: who decides when it is time.
        pace: when that is.
        step_s: time between two readings that the policy is shown.
    """

    def __init__(self, inner: Policy, pace: Pace, *, step_s: float) -> None:
        self.name = inner.name
        self.decisions = 0
        """How many were taken."""
        self._inner, self._pace, self._step_s = inner, pace, step_s
        self._shown: deque[Float[Array, " containers"]] = deque(maxlen=_SAMPLES)
        self._start_s: float | None = None

    def reset(self, seed: int) -> None:
        """Forget everything but the pace, which begins where it is made."""
        self._inner.reset(seed)
        self.decisions = 0
        self._shown.clear()
        self._start_s = None

    def propose(self, view: ClusterView) -> Proposal:
        """What the policy proposes where it is time; nothing where it is not. Never changes the view."""
        self._start_s = view.time_s if self._start_s is None else self._start_s
        since = (view.time_s - self._start_s) / self._step_s
        is_whole = abs(since - round(since)) < _HAIR
        if is_whole and since > 0:
            self._shown.append(view.usage[0])
        if not self._pace.due(view):
            if is_whole and isinstance(self._inner, Watchful):
                self._inner.see(view)
            return Proposal(self.name)
        self.decisions += 1
        history = np.stack(self._shown) if self._shown else np.zeros((0, view.fleet.containers))
        proposal = self._inner.propose(replace(view, cpu_history=history))
        self._pace.decided(proposal)
        return proposal
