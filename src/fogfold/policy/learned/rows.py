"""What a learned policy is shown: the figures of every option it may choose, of every node, and of the cluster.

Each figure is relative to the node or the cluster that it belongs to, so that one set of weights serves any size. The
metric that each comes from stands beside it; all are read or reckoned from a `ClusterView`, in the simulator and on a
real cluster alike.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ENCODING_VERSION", "GlobalRow", "NodeRow", "Stage", "StageRow", "TargetRow", "TokenRow"]

ENCODING_VERSION = 3
"""Raised with every change to the rows of this file: weights are for one version only."""


class Stage(IntEnum):
    """The choices that a decision is made of."""

    INTENSITY = 0
    """Hold, relieve, or fold as well: three options."""
    NODE = 1
    """Which node next: relieve one, fold one, wake one, or stop."""
    TARGET = 2
    """Where one container goes: it stays, or a node of the short list."""


class StageRow(IntEnum):
    """Figures of an option of the first stage."""

    HOLD = 0
    LIGHT = 1
    DEEP = 2


class NodeRow(IntEnum):
    """Figures of an option of the second stage."""

    STOP = 0
    RELIEVE = 1
    FOLD = 2
    WAKE = 3
    CPU_LOAD = 4
    """CPU usage over cores, by the plan so far."""
    PEAK_LOAD = 5
    """The largest CPU load that its present containers made together in the decisions remembered."""
    TREND = 6
    """Change of their CPU load over the last half hour."""
    SPACE_LOAD = 7
    """Largest share of memory, network or disk in use."""
    PROMISED = 8
    """Largest share of a resource that is promised."""
    RESIDENTS = 9
    """Containers that stay there, in tens."""
    IDLE_POWER = 10
    """Idle power in units of the fleet's mean span from idle to peak."""
    SAVING = 11
    """Wh saved by an hour's sleep, in the same unit."""
    MOVE_COST = 12
    """Wh-equivalents that moving all of them costs, in the same unit."""
    LATE_COST = 13
    """Wh-equivalents an hour of requests that come late there by load and way, in the same unit."""
    LOAD_AFTER = 14
    """CPU load of all nodes that are on, once this node's cores are gone (folded) or there (woken)."""
    PROMISED_AFTER = 15
    """The same for the scarcest promised resource."""
    SINCE_WOKEN = 16
    """Hours since it was woken, at most 4, over 4."""
    CORES = 17
    """Cores over the fleet's mean."""
    CHOSEN_BEFORE = 18
    """Nodes chosen before in this decision, over an eighth of all nodes."""
    SHARE_LEFT = 19
    """Moves that the plan may still hold, over those of the node's containers, at most 1."""
    SAVING_A_MOVE = 20
    """`SAVING` over its containers (half a one where it is empty): what counts where moves are scarce."""
    PEAK_SOON = 21
    """CPU load that it will stay under, nine times in ten, until a node that is woken now is on."""
    PEAK_HOUR = 22
    """The same for the next hour."""
    TURN = 23
    """Where its expected load will cross 0.6 within the hour: 1 up in five minutes, -1 down, half that in half an hour,
    0 where it will not."""


class TargetRow(IntEnum):
    """Figures of an option of the third stage."""

    STAY = 0
    FOLDING = 1
    """1 where the container's node is being folded: if it stays, nobody leaves."""
    CPU_LOAD = 2
    CPU_AFTER = 3
    PEAK_AFTER = 4
    """Largest CPU load that the node's containers and this one made together in the decisions remembered."""
    TREND_AFTER = 5
    SPACE_AFTER = 6
    PROMISED_AFTER = 7
    POWER = 8
    """Power added by the move, in units of the fleet's mean span; with idle power where the node is empty."""
    LATE_HERE = 9
    """Share of its requests that come late where it is (after those before it have left)."""
    LATE_THERE = 10
    NEIGHBOURS_COST = 11
    """Rise of the Wh-equivalents an hour of late requests of those already there, in units of the mean span."""
    OWN_COST = 12
    """Rise of its own, in the same unit."""
    TRIP = 13
    """Change of the mean round trip, over its objective (over 1 s where nobody waits)."""
    IMAGE = 14
    """1 where the image must be pulled."""
    SAME_SITE = 15
    CROSSING = 16
    """Moves over the narrower of both uplinks, over those that it bears."""
    SIZE = 17
    """Its largest share, by request or usage, of a mean node."""
    MEMORY = 18
    """Its memory over a mean node's."""
    IDLE_PER_CORE = 19
    """Idle power of the node for each core, over the fleet's mean."""
    WAKING = 20
    """1 where the node is still waking."""
    LEFT = 21
    """Containers of the same node that are still to be placed after it, in tens."""
    PEAK_HOUR_AFTER = 22
    """CPU load that the node will stay under in the next hour, nine in ten, with the container's expected share."""


class TokenRow(IntEnum):
    """Figures of a node among all nodes, from which the state of the cluster is summed up."""

    ON = 0
    ASLEEP = 1
    ABSENT = 2
    """Failed, or on its way to sleep or from it."""
    CPU_LOAD = 3
    PEAK_LOAD = 4
    TREND = 5
    SPACE_LOAD = 6
    PROMISED = 7
    IDLE_POWER = 8
    SAVING = 9
    MOVE_COST = 10
    LATE_COST = 11
    CORES = 12
    NEVER_SLEEPS = 13
    PEAK_HOUR = 14
    TURN = 15


class GlobalRow(IntEnum):
    """Figures of the whole cluster."""

    LOAD = 0
    """CPU usage over the cores that are on."""
    PROMISED = 1
    """The scarcest promised resource over what is on."""
    ASLEEP = 2
    """Share of nodes asleep."""
    ABSENT = 3
    HOUR_SIN = 4
    HOUR_COS = 5
    WEEKEND = 6
    TREND_SHORT = 7
    """Change of all CPU usage over the last half hour, over all cores."""
    TREND_LONG = 8
    """The same over the time remembered, two hours and a half."""
    LATE_COST = 9
    """Wh-equivalents an hour of late requests, over a mean node's span and the number of nodes."""
    IN_FLIGHT = 10
    """Share of containers on the move."""
    CALM = 11
    """Decisions since nodes were last woken for want of room, at most 8, over 8."""
    HOT = 12
    """Share of nodes above a CPU load of 0.6."""
    PEAK_HOUR = 13
    """CPU usage that all together will stay under in the next hour, nine times in ten, over the cores that are on."""
    BUDGET = 14
    """Moves that the plan may hold, over a tenth of all containers, at most 2."""
