"""Where each figure of a running world stands: one row a figure, one column a node, container or site.

A world's state is a handful of packed arrays with a leading axis of worlds. `encoding.rows` names the figures that do
not change; these change every tick. Inside compiled code the rows are taken out once a step under their own names
(`world.live`), so that the rules read as formulae.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "CI",
    "NI",
    "C",
    "K",
    "N",
    "P",
    "S",
    "Total",
]


class N(IntEnum):
    """Float figures of a node that change."""

    REQUESTED_CPU = 0
    """Room taken by requests of those here and those on their way: cores, then bytes, bit/s and IOPS."""
    REQUESTED_MEMORY = 1
    REQUESTED_NETWORK = 2
    REQUESTED_DISK = 3
    FORESEEN_CPU = 4
    """Mean usage of those here and those on their way here, as of the last reckoning; the next three likewise."""
    FORESEEN_MEMORY = 5
    FORESEEN_NETWORK = 6
    FORESEEN_DISK = 7
    SLACK = 8
    """1 - CPU load of the last tick, at least 1 - load_bound."""
    SERVED = 9
    """Share of demand served in the last tick: the scarcest resource decides."""
    POWER_W = 10
    TIMER_S = 11
    """Time left of shutting down, booting or being repaired."""


class NI(IntEnum):
    """Whole-number figures of a node that change."""

    STATE = 0
    RUNNING = 1
    """Containers that run here."""
    ARRIVING = 2
    """Containers on their way here."""
    LEAVING = 3
    """Containers here that are on their way elsewhere."""
    ACCELERATORS = 4
    """Accelerators taken or promised."""
    SENDING = 5
    """Moves that take this node's uplink in this tick (scratch)."""
    RECEIVING = 6
    """Moves and image pulls that take this node's downlink in this tick (scratch)."""


class C(IntEnum):
    """Float figures of a container that change."""

    USAGE_CPU = 0
    """Mean CPU demand over the last step in cores; the next three rows are readings of its last tick."""
    USAGE_MEMORY = 1
    USAGE_NETWORK = 2
    USAGE_DISK = 3
    DOWN_S = 4
    """Time until it answers again (frozen, or starting)."""
    WAIT_S = 5
    """Where it runs nowhere: time until it may be started elsewhere."""
    ROUND_TRIP_MS = 6
    """Mean over its users of the round trip to where it runs."""
    SERVICE_MS = 7
    """Service time on the node where it runs."""
    PATIENCE = 8
    """(objective - round trip) / service time."""
    ASKED = 9
    """Requests of the last tick, without those lost because it was down."""
    LEFT_BYTES = 10
    """Bytes of the present phase of its move still to send."""
    SENT_BYTES = 11
    """Bytes that this attempt has sent."""
    MOVE_AGE_S = 12
    """Time since its move was accepted."""
    TIMER_S = 13
    """Time left of a pause before another attempt, or of being frozen."""
    FAILS_AT = 14
    """Share of the attempt's bytes after which it fails; above 1 where it does not."""
    REQUESTS = 15
    """Requests since the start."""
    VIOLATED = 16
    """Of these, late, failed or unserved."""
    LEVEL = 17
    """Demand of the last tick over the request, for the part of it in which the container answered."""
    SERVED = 18
    """Requests served in the last tick."""
    LATE = 19
    """Of these, late."""
    SPENT_MS = 20
    """Time of these at the node, summed."""
    SLACK = 21
    """Slack of the node where it runs."""
    MEAN_LEVEL = 22
    """Mean level over the step so far."""


class CI(IntEnum):
    """Whole-number figures of a container that change."""

    PLACEMENT = 0
    TARGET = 1
    PHASE = 2
    ATTEMPT = 3
    MOVES = 4
    """Moves accepted so far: part of the key of its next draw."""
    LOOP_TICKS = 5
    """Ticks left of a restart loop."""
    TROUBLE = 6
    """1 where it may be down, looping or unplaced, and has to be looked at in every tick."""
    ACTIVE = 7
    """List of the containers on the move; its length is in the clock."""


class S(IntEnum):
    """Figures of a site that change."""

    FACTOR = 0
    """How many times slower its uplink is than in calm; 1 when calm."""
    TICKS_LEFT = 1
    CROSSING = 2
    """Moves that take its uplink in this tick (scratch)."""


class K(IntEnum):
    """Counters of a world."""

    TICK = 0
    NEXT_FAULT = 1
    ACTIVE = 2
    """Containers on the move."""
    UNPLACED = 3
    """Containers that run nowhere."""
    TROUBLED = 4
    """Containers that may be down, looping or unplaced."""
    KEY = 5
    """Key of the draws that depend on what is done (failures of moves and wake-ups)."""


class P(IntEnum):
    """Constants of a world, in the order of the vector that compiled code reads."""

    CEILING = 0
    LOAD_BOUND = 1
    LINK_SHARE = 2
    LINK_FLOOR = 3
    RATE_CAP_BYTE_S = 4
    STOP_BYTES = 5
    TRAFFIC_LIMIT = 6
    RESTORE_S = 7
    OVERHEAD = 8
    FAILURE_BASE = 9
    FAILURE_PER_JITTER = 10
    FAILURE_PER_LOSS = 11
    ATTEMPTS = 12
    RETRY_S = 13
    TIMEOUT_S = 14
    RESCHEDULE_S = 15
    IDLE_MEMORY = 16
    KEEP_IMAGES = 17
    SAMPLE_TICKS = 18


class Total(IntEnum):
    """Sums since the start of a world; the outcome of a step is the difference of two."""

    ENERGY_J = 0
    """Of all nodes in all states."""
    ENERGY_ASLEEP_J = 1
    ENERGY_SWITCHING_J = 2
    """Shutting down and booting."""
    ASLEEP_NODE_S = 3
    FAILED_NODE_S = 4
    REQUESTS = 5
    LATE = 6
    UNSERVED = 7
    """For want of capacity, because the container was down, or because it ran nowhere."""
    LATENCY_MS = 8
    """Sum over served requests of queue and round trip."""
    ROUND_TRIP_MS = 9
    """Sum over served requests of the round trip."""
    WORK_CORE_S = 10
    """CPU work that was served."""
    DEMAND_CORE_S = 11
    """CPU work that was asked for."""
    WAITING_S = 12
    """Container-seconds placed nowhere or not answering."""
    MOVES_STARTED = 13
    MOVES_DONE = 14
    ATTEMPTS_FAILED = 15
    MOVES_UNDONE = 16
    MOVED_BYTES = 17
    """Sent by moves, failed attempts included."""
    MOVE_MEMORY_BYTE_S = 18
    """Memory x duration, summed over moves that ended (done or undone)."""
    MOVE_DOWNTIME_S = 19
    REFUSED = 20
    """Orders that were not legal when they were given."""
    RESTARTS = 21
    """Containers started again after their node was lost."""
    SLEEPS = 22
    WAKES = 23
    WAKE_FAILURES = 24
    NODE_LOSSES = 25
