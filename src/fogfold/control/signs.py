"""What readings say has happened: nodes that are lost, containers that restart again and again, requests that surge.

Each sign needs k of n samples. Thresholds are those of `SignSettings`; what is not measured is no sign of anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from fogfold.control.collect import Collected
from fogfold.control.readings import Readings
from fogfold.control.schedule import Event, EventKind, Recurrence
from fogfold.model.identity import ContainerId
from fogfold.model.node import NodeState
from fogfold.model.resources import check_number

__all__ = ["SignSettings", "Signs"]


@dataclass(frozen=True, slots=True)
class SignSettings:
    """What counts as a bad sample, and how many make an event."""

    lost: tuple[int, int] = (3, 5)
    """Samples in which a node that should be up does not answer: at 30 s each, a minute and a half."""
    restart_loop: tuple[int, int] = (3, 5)
    """Samples between which a container was restarted."""
    surge: tuple[int, int] = (3, 5)
    """Samples in which requests are above `surge_factor` times their usual rate."""
    surge_factor: float = 2.0
    usual_weight: float = 0.02
    """Weight of a sample in the usual rate: at 30 s each, it follows in some 25 minutes. Samples of a surge do not
    count, so that a surge does not become usual."""
    least_requests_s: float = 1.0
    """Rates below this are too small to surge."""

    def __post_init__(self) -> None:
        check_number("surge_factor", self.surge_factor, low=1.0)
        check_number("usual_weight", self.usual_weight, high=1.0, above=True)
        check_number("least_requests_s", self.least_requests_s)


class Signs:
    """Remembers samples, and says which events they amount to.

    Args:
        settings: thresholds; defaults where None.
    """

    def __init__(self, settings: SignSettings | None = None) -> None:
        self._settings = settings or SignSettings()
        self._lost = Recurrence(*self._settings.lost)
        self._looping = Recurrence(*self._settings.restart_loop)
        self._surging = Recurrence(*self._settings.surge)
        self._restarts: dict[ContainerId, int] = {}
        self._usual: dict[ContainerId, float] = {}

    def see(self, readings: Readings, collected: Collected) -> tuple[Event, ...]:
        """Events that these readings make certain, sorted."""
        events: list[Event] = []
        for node, state in collected.snapshot.states.items():
            up = state in (NodeState.ON, NodeState.DRAINING, NodeState.FAILED)
            if self._lost.see(node, is_bad=node in collected.unreachable if up else None):
                events.append(Event(EventKind.NODE_LOST, node))
        for container, reading in readings.containers.items():
            restarts = reading.restarts
            if restarts is not None and self._looping.see(container, is_bad=self._was_restarted(container, restarts)):
                events.append(Event(EventKind.RESTART_LOOP, container))
            if self._surging.see(container, is_bad=self._is_surging(container, reading.requests_s)):
                events.append(Event(EventKind.REQUEST_SURGE, container))
        self._forget(readings)
        return tuple(sorted(events))

    def _forget(self, readings: Readings) -> None:
        """Let go of what is no longer in the cluster, so that memory does not grow."""
        cluster = readings.cluster
        self._lost.keep(cluster.node_index)
        self._looping.keep(cluster.container_index)
        self._surging.keep(cluster.container_index)
        for seen in (self._restarts, self._usual):
            for container in [name for name in seen if name not in cluster.container_index]:
                del seen[container]

    def _was_restarted(self, container: ContainerId, restarts: int) -> bool | None:
        before = self._restarts.get(container)
        self._restarts[container] = restarts
        # A count that fell is a new container under the old name.
        return None if before is None or restarts < before else restarts > before

    def _is_surging(self, container: ContainerId, requests_s: float | None) -> bool | None:
        if requests_s is None:
            return None
        usual = self._usual.get(container)
        if usual is None:
            self._usual[container] = requests_s
            return None
        settings = self._settings
        surging = requests_s > settings.surge_factor * max(usual, settings.least_requests_s)
        if not surging:
            self._usual[container] = usual + settings.usual_weight * (requests_s - usual)
        return surging
