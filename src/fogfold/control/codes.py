"""Why something was not done, in the words of the control plane: a closed list, counted, shown, with what to do.

`model.reason.Reason` says why a container may not go to a node, as masks and rules see it. An operator asks more: why
not now, why not by us, why does this node stay. `code_of` maps the former into the latter; several reasons share a
code where the operator's remedy is the same. Codes are names in metrics and in the journal: they are added, never
renamed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fogfold.errors import ModelError
from fogfold.model.reason import Reason

__all__ = ["CODES", "CODE_OF_REASON", "Code", "Explanation", "code_of"]


class Code(StrEnum):
    """The closed list. `CODES` says what each means."""

    DATA_STALE = "DATA_STALE"
    NODE_HOT = "NODE_HOT"
    NO_ROOM = "NO_ROOM"
    NO_IMPROVING_TARGET = "NO_IMPROVING_TARGET"
    SPREAD = "SPREAD"
    ANTI_AFFINITY = "ANTI_AFFINITY"
    TAINT = "TAINT"
    PV_LOCAL = "PV_LOCAL"
    PV_ZONE = "PV_ZONE"
    PDB_ZERO = "PDB_ZERO"
    PDB_MULTIPLE = "PDB_MULTIPLE"
    SINGLETON = "SINGLETON"
    OPT_OUT = "OPT_OUT"
    OWNER_UNKNOWN = "OWNER_UNKNOWN"
    BACKOFF = "BACKOFF"
    BUDGET_SITE = "BUDGET_SITE"
    RATE_LIMIT = "RATE_LIMIT"
    SCORE_LOW = "SCORE_LOW"
    COOLDOWN = "COOLDOWN"
    FORECAST_RISE = "FORECAST_RISE"
    WAKE_UNPROVEN = "WAKE_UNPROVEN"
    STORAGE_LAST_REPLICA = "STORAGE_LAST_REPLICA"
    CONTROL_PLANE = "CONTROL_PLANE"
    OTHER_CONTROLLER = "OTHER_CONTROLLER"
    UPLINK_LOST = "UPLINK_LOST"
    HALTED = "HALTED"
    ARCHITECTURE = "ARCHITECTURE"
    ACCELERATOR = "ACCELERATOR"
    NOT_RUNNING = "NOT_RUNNING"
    IN_FLIGHT = "IN_FLIGHT"
    NODE_NOT_READY = "NODE_NOT_READY"
    WINDOW_CLOSED = "WINDOW_CLOSED"
    DRAIN_BROKEN = "DRAIN_BROKEN"
    ROOM_NOT_FREED = "ROOM_NOT_FREED"
    CYCLE = "CYCLE"
    PLAN_LIMIT = "PLAN_LIMIT"
    SPARE = "SPARE"
    LAST_OF_KIND = "LAST_OF_KIND"
    POWER_BUSY = "POWER_BUSY"
    NOT_PROPOSED = "NOT_PROPOSED"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a code means to an operator."""

    meaning: str
    """Why it was not done, in a sentence."""
    remedy: str
    """What to do about it, in a sentence; also where there is nothing to do."""


CODES: dict[Code, Explanation] = {
    Code.DATA_STALE: Explanation(
        "A reading is missing, too old or cannot be true, so nobody knows how full the node is.",
        "Check the collector on that node; nothing moves from or to it until it reports again.",
    ),
    Code.NODE_HOT: Explanation(
        "Usage on the nodes that stay on would pass the mark.",
        "Nothing to do while load is high; raise the ceiling only where you accept slower answers.",
    ),
    Code.NO_ROOM: Explanation(
        "Requests would exceed a capacity on the nodes that could take it.",
        "Lower requests that are far above usage, or leave the node on.",
    ),
    Code.NO_IMPROVING_TARGET: Explanation(
        "No place is better than where it runs.", "Nothing to do: staying is the best that is known."
    ),
    Code.SPREAD: Explanation(
        "Its group would be spread less evenly than it asks for; nodes that are off count as empty domains.",
        "Widen the group's max_skew, or let nodes that are off not count.",
    ),
    Code.ANTI_AFFINITY: Explanation(
        "A member of its group already runs, or will run, in the same place.",
        "Drop the rule where it is no longer needed; otherwise nothing to do.",
    ),
    Code.TAINT: Explanation(
        "The node carries a mark that keeps containers away.", "Remove the mark once its owner is done with the node."
    ),
    Code.PV_LOCAL: Explanation(
        "It is bound to its node by a local volume or device.",
        "Move its data to shared storage if the node is to be emptied.",
    ),
    Code.PV_ZONE: Explanation(
        "Its data or volume binds it to another zone, or too near to its data.",
        "Replicate the data where it may go, or leave it.",
    ),
    Code.PDB_ZERO: Explanation(
        "As many members of its group are missing or on the move as may be at once.",
        "Wait until the group is whole; raise its budget if that never happens.",
    ),
    Code.PDB_MULTIPLE: Explanation(
        "Two disruption budgets match it, which orchestrators refuse to evict.", "Leave one budget for each container."
    ),
    Code.SINGLETON: Explanation(
        "It is the only one of its kind, and this orchestrator could only stop it before another runs.",
        "Add a replica, or opt in to the interruption.",
    ),
    Code.OPT_OUT: Explanation(
        "Its owner, or the operator's list, says that it must not be touched.", "Take it off the list to allow moves."
    ),
    Code.OWNER_UNKNOWN: Explanation(
        "Nothing would start it again once it is stopped.", "Run it under something that restarts it."
    ),
    Code.BACKOFF: Explanation(
        "It bounced or failed lately, so it is left alone for longer each time.",
        "Find out what moved it back; the wait ends by itself.",
    ),
    Code.BUDGET_SITE: Explanation(
        "Its site has had as many moves in the last hour as it may.", "Wait, or raise the site's rate."
    ),
    Code.RATE_LIMIT: Explanation(
        "The cluster, node or group has had as many moves in the last hour as it may.", "Wait, or raise that rate."
    ),
    Code.SCORE_LOW: Explanation(
        "Its share of the saving is less than half its share of the disruption.",
        "Nothing to do: it is not worth disturbing anybody.",
    ),
    Code.COOLDOWN: Explanation(
        "Too soon: it has just moved or woken, or evidence for sleep is still being gathered.", "Wait."
    ),
    Code.FORECAST_RISE: Explanation(
        "Load is forecast to rise before the node could sleep and be back.", "Nothing to do: it is needed soon."
    ),
    Code.WAKE_UNPROVEN: Explanation(
        "Nobody has seen this node go off and come back.", "Run a supervised power cycle on it once."
    ),
    Code.STORAGE_LAST_REPLICA: Explanation(
        "It holds the last healthy replica of a volume.", "Let the storage system rebuild a replica elsewhere first."
    ),
    Code.CONTROL_PLANE: Explanation(
        "The node must stay on: control plane, storage, gateway, relay or our own leader.", "Nothing to do."
    ),
    Code.OTHER_CONTROLLER: Explanation(
        "Another controller owns it or undoes our moves.",
        "Switch one of the two off for this workload, then clear the veto.",
    ),
    Code.UPLINK_LOST: Explanation(
        "The site's uplink is lost, so nobody there can be told from a dead node.", "Mend the link; it resumes alone."
    ),
    Code.HALTED: Explanation(
        "Everything is halted: by the stop button, or since too many nodes are unreachable.",
        "Find out why the nodes are away, or resume.",
    ),
    Code.ARCHITECTURE: Explanation(
        "No image for the target's instruction set.", "Build the image for it to widen the choice."
    ),
    Code.ACCELERATOR: Explanation(
        "The target lacks the accelerators, or they are taken.", "Nothing to do while they are in use."
    ),
    Code.NOT_RUNNING: Explanation(
        "It does not run, or not where the proposal says: it can be started, not moved.",
        "Nothing to do: the next decision sees it where it is.",
    ),
    Code.IN_FLIGHT: Explanation("It is already on its way, or waits for those that are.", "Wait."),
    Code.NODE_NOT_READY: Explanation(
        "The target is neither on nor waking, or is itself to be emptied.", "Nothing to do."
    ),
    Code.WINDOW_CLOSED: Explanation(
        "Outside the maintenance windows.", "Wait for the next window, or widen the windows."
    ),
    Code.DRAIN_BROKEN: Explanation(
        "Another container of the same node cannot leave, so emptying it would be for nothing.",
        "See the code of that other container.",
    ),
    Code.ROOM_NOT_FREED: Explanation(
        "It was to go into room that another move would have freed, and that move was refused.",
        "See the code of that other move.",
    ),
    Code.CYCLE: Explanation(
        "Moves wait for each other's room in a ring, and no spare node can take one meanwhile.",
        "Keep a spare node, or accept that these stay.",
    ),
    Code.PLAN_LIMIT: Explanation(
        "The plan is full, or was cut off in time; the best came first.", "Nothing to do: the next decision goes on."
    ),
    Code.SPARE: Explanation(
        "The node is kept as a spare for failures and surges.", "Lower the spare share of the site."
    ),
    Code.LAST_OF_KIND: Explanation(
        "It is the last node of its site, instruction set or accelerator that is on.", "Nothing to do."
    ),
    Code.POWER_BUSY: Explanation(
        "Another node of the site is just being switched; one at a time.", "Wait until that one is done."
    ),
    Code.NOT_PROPOSED: Explanation(
        "No proposal asks for it to be emptied.", "Nothing to do: the proposer saw nothing better."
    ),
}
"""What each code means, and what to do."""

CODE_OF_REASON: dict[Reason, Code] = {
    Reason.UNPLACED: Code.NOT_RUNNING,
    Reason.IN_FLIGHT: Code.IN_FLIGHT,
    Reason.NEVER_MOVES: Code.OPT_OUT,
    Reason.SAME_NODE: Code.NO_IMPROVING_TARGET,
    Reason.NODE_NOT_READY: Code.NODE_NOT_READY,
    Reason.ARCHITECTURE: Code.ARCHITECTURE,
    Reason.ACCELERATOR: Code.ACCELERATOR,
    Reason.PINNED: Code.PV_LOCAL,
    Reason.DATA_DISTANCE: Code.PV_ZONE,
    Reason.NO_ROOM: Code.NO_ROOM,
    Reason.NODE_HOT: Code.NODE_HOT,
    Reason.ANTI_AFFINITY: Code.ANTI_AFFINITY,
    Reason.SPREAD: Code.SPREAD,
    Reason.NO_IMPROVING_TARGET: Code.NO_IMPROVING_TARGET,
    Reason.NEVER_SLEEPS: Code.CONTROL_PLANE,
    Reason.GROUP_BUDGET: Code.PDB_ZERO,
    Reason.SCORE_LOW: Code.SCORE_LOW,
    Reason.MOVE_LIMIT: Code.PLAN_LIMIT,
    Reason.COOLDOWN: Code.COOLDOWN,
}
"""The code of each reason; `Reason.NONE` has none, since nothing stands against it."""


def code_of(reason: Reason) -> Code:
    """The operator's code of a reason.

    Raises:
        ModelError: for `Reason.NONE`, which refuses nothing, and for a reason that has no code yet.
    """
    if reason not in CODE_OF_REASON:
        raise ModelError(f"reason {reason.name} has no code; refuse for a reason, and list it in CODE_OF_REASON")
    return CODE_OF_REASON[reason]
