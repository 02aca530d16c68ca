"""The states of a node's power as the control plane sees them: the one table, and how each looks to a policy.

`model.node.NodeState` is what a policy and the simulator need. A real machine needs more: an order to switch off is not
yet off, off is only what somebody has read back, and a node that has booted is not yet fit to receive.
"""

from __future__ import annotations

from enum import IntEnum

from fogfold.control.failure import IllegalTransitionError
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState

__all__ = [
    "COUNTS_AS_OFF",
    "IN_TRANSIT",
    "NODE_STATE",
    "POWER_TRANSITIONS",
    "PowerState",
    "check_power_transition",
    "pairs_of_power_states",
]


class PowerState(IntEnum):
    """The states of a node's power; `POWER_TRANSITIONS` says which may follow which."""

    ON = 0
    """Runs containers and may receive more."""
    CANDIDATE = 1
    """Evidence for its sleep is complete; nothing has been done to it yet."""
    DRAINING = 2
    """Receives none; its containers leave."""
    DRAINED = 3
    """Empty, no volume attached; still on."""
    OFF_REQUESTED = 4
    """The order to switch off is written down, and is being given."""
    OFF_CONFIRMED = 5
    """Somebody outside has read that it is off, or its draw fell: from here on energy is saved."""
    OFF = 6
    """Off, settled; it may be woken."""
    WAKE_REQUESTED = 7
    """The order to switch on is written down, and is being given."""
    BOOTING = 8
    """The order was taken; not up yet."""
    READY = 9
    """Up and answering; system containers may be missing."""
    SETTLING = 10
    """System containers run and the time is right; it waits a little before it receives."""
    OFF_UNCONFIRMED = 11
    """Ordered off, and nobody can say that it is: counts as on, receives nothing."""
    WAKE_FAILED = 12
    """Ordered on and did not come up, on all tries: an alert, and another node is woken instead."""
    LOST = 13
    """Was to be up, and does not answer. Nobody has switched it off as far as is known."""


POWER_TRANSITIONS: dict[PowerState, frozenset[PowerState]] = {
    PowerState.ON: frozenset({PowerState.CANDIDATE, PowerState.LOST}),
    PowerState.CANDIDATE: frozenset({PowerState.ON, PowerState.DRAINING, PowerState.LOST}),
    PowerState.DRAINING: frozenset({PowerState.ON, PowerState.DRAINED, PowerState.LOST}),
    PowerState.DRAINED: frozenset({PowerState.ON, PowerState.DRAINING, PowerState.OFF_REQUESTED, PowerState.LOST}),
    PowerState.OFF_REQUESTED: frozenset({PowerState.OFF_CONFIRMED, PowerState.OFF_UNCONFIRMED}),
    PowerState.OFF_CONFIRMED: frozenset({PowerState.OFF}),
    PowerState.OFF: frozenset({PowerState.WAKE_REQUESTED, PowerState.READY}),
    PowerState.WAKE_REQUESTED: frozenset({PowerState.BOOTING, PowerState.READY, PowerState.WAKE_FAILED}),
    PowerState.BOOTING: frozenset({PowerState.READY, PowerState.WAKE_REQUESTED, PowerState.WAKE_FAILED}),
    PowerState.READY: frozenset({PowerState.SETTLING, PowerState.LOST}),
    PowerState.SETTLING: frozenset({PowerState.ON, PowerState.READY, PowerState.LOST}),
    PowerState.OFF_UNCONFIRMED: frozenset(
        {PowerState.OFF_REQUESTED, PowerState.OFF_CONFIRMED, PowerState.WAKE_REQUESTED, PowerState.READY}
    ),
    PowerState.WAKE_FAILED: frozenset({PowerState.WAKE_REQUESTED, PowerState.READY}),
    PowerState.LOST: frozenset({PowerState.READY, PowerState.WAKE_REQUESTED}),
}
"""Which state may follow which: the one table. Whatever is off or gone may come up by itself (somebody pressed the
button), and is then `READY`: it is looked at before it receives."""

COUNTS_AS_OFF: frozenset[PowerState] = frozenset({PowerState.OFF_CONFIRMED, PowerState.OFF})
"""States in which energy is saved; `OFF_UNCONFIRMED` is not one."""

IN_TRANSIT: frozenset[PowerState] = frozenset(
    {
        PowerState.OFF_REQUESTED,
        PowerState.WAKE_REQUESTED,
        PowerState.BOOTING,
        PowerState.READY,
        PowerState.SETTLING,
    }
)
"""States in which a node is just being switched: one at a time for each site."""

NODE_STATE: dict[PowerState, NodeState] = {
    PowerState.ON: NodeState.ON,
    PowerState.CANDIDATE: NodeState.ON,
    PowerState.DRAINING: NodeState.DRAINING,
    PowerState.DRAINED: NodeState.DRAINING,
    PowerState.OFF_REQUESTED: NodeState.GOING_TO_SLEEP,
    PowerState.OFF_CONFIRMED: NodeState.ASLEEP,
    PowerState.OFF: NodeState.ASLEEP,
    PowerState.WAKE_REQUESTED: NodeState.WAKING,
    PowerState.BOOTING: NodeState.WAKING,
    PowerState.READY: NodeState.WAKING,
    PowerState.SETTLING: NodeState.WAKING,
    PowerState.OFF_UNCONFIRMED: NodeState.GOING_TO_SLEEP,
    PowerState.WAKE_FAILED: NodeState.FAILED,
    PowerState.LOST: NodeState.FAILED,
}
"""How each state looks to a policy."""


def check_power_transition(node: NodeId, before: PowerState, after: PowerState) -> None:
    """Nothing, where the one state may follow the other.

    Raises:
        IllegalTransitionError: naming the node, both states and what may follow.
    """
    allowed = POWER_TRANSITIONS[before]
    if after not in allowed:
        follow = ", ".join(state.name for state in sorted(allowed))
        raise IllegalTransitionError(
            f"node {node!r} cannot go from {before.name} to {after.name}; after {before.name} may come: {follow}"
        )


def pairs_of_power_states() -> tuple[tuple[PowerState, PowerState], ...]:
    """All legal pairs (before, after), in order: what a constraint in a database is written from."""
    return tuple((before, after) for before in PowerState for after in sorted(POWER_TRANSITIONS[before]))
