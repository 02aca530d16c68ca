"""What the API answers: its words, units and forms. They are kept; new keys may be added.

Times are seconds since the epoch, UTC, by the cluster's clock; what is not known is null.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Answer",
    "Blind",
    "Container",
    "ContainerList",
    "Decision",
    "DecisionList",
    "DecisionSummary",
    "Entry",
    "EntryList",
    "Hold",
    "MigrationView",
    "Move",
    "Node",
    "NodeList",
    "Pending",
    "Plan",
    "Proposed",
    "Refusal",
    "Resources",
    "Status",
    "StopRequest",
    "StopState",
    "WakeAll",
    "Why",
]


class View(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Hold(View):
    """Why something is left alone."""

    code: str
    """The code, from a closed list."""
    detail: str
    """What stands against it here."""
    meaning: str
    """What the code means."""
    remedy: str
    """What to do about it."""


class Resources(View):
    """Amounts of each resource."""

    cpu_cores: float
    """Reference cores."""
    memory_bytes: float
    """Bytes."""
    network_bit_s: float
    """Bits a second, sent."""
    disk_iops: float
    """Operations a second."""


class Status(View):
    """How the service stands."""

    version: str
    """Of fogfold."""
    mode: str
    """recommend, approve or automatic."""
    policy: str
    """Who proposes."""
    stopped: str
    """Why everything is stopped by hand; empty where it is not."""
    holds_lease: bool
    """Whether this instance may act."""
    now_s: float
    """The time, in seconds since the epoch."""
    next_in_s: float | None
    """Seconds until something is due."""
    interval_s: float
    """Time between whole decisions."""
    decisions: int
    """Decisions since the start."""
    acting: int | None
    """Number of the decision that is being carried out."""
    pending: int | None
    """Number of the decision that waits to be approved."""
    trouble: str
    """What kept the last cycle from being whole; empty where nothing did."""
    nodes: dict[str, int]
    """How many nodes are in each state; empty before the first look."""
    containers: int | None
    """How many containers there are."""
    placed: int | None
    """How many of them run."""
    power_w: float | None
    """Draw of all nodes that were read."""
    metered: int
    """How many nodes that is."""
    blind: int
    """Nodes that should be up and of which nothing is known."""
    age_s: float | None
    """Age of what is known."""


class Blind(View):
    """Why nothing is known of a node that should be up."""

    why: str
    """The kind of blindness."""
    detail: str
    """In a sentence."""


class Node(View):
    """A node as it was last seen."""

    id: str
    """Its name."""
    site: str
    """Where it stands."""
    tier: str
    """edge, fog or cloud."""
    architecture: str
    """Instruction set."""
    latitude_deg: float
    """Of its site."""
    longitude_deg: float
    """Of its site."""
    state: str
    """on, draining, going_to_sleep, asleep, waking or failed."""
    power_state: str | None
    """How its power stands in the records of the service; null where it was never switched."""
    power_since_s: float | None
    """Since when."""
    containers: list[str]
    """What runs on it."""
    arriving: list[str]
    """What is on its way to it."""
    capacity: Resources
    """What it has."""
    requested: Resources
    """What the containers on it were promised."""
    used: Resources | None
    """What is in use, system included; null where nobody measures that."""
    power_w: float | None
    """Its draw; null where nobody measures that."""
    idle_w: float
    """Its draw at no load, by its description."""
    sleep_w: float
    """Its draw asleep, by its description."""
    pressure: float | None
    """How near to trouble it is; 1 is at a mark. Null where it is down, or nothing is known of it."""
    pressed_by: str | None
    """The resource that presses most."""
    blind: Blind | None
    """Why nothing is known of it."""
    planned: str | None
    """sleep or wake, where the last decision plans that."""
    stays: Hold | None
    """Why it stays on, by the last whole decision; null where it does not, or nothing was decided yet."""


class NodeList(View):
    """All nodes."""

    at_s: float
    """When the cluster was looked at."""
    age_s: float
    """Age of the oldest thing in it."""
    decision: int | None
    """Number of the decision that `stays` is from."""
    items: list[Node]
    """In the order of their description."""


class Container(View):
    """A container as it was last seen."""

    id: str
    """Its name."""
    group: str | None
    """The group that it does its job with."""
    service_class: str
    """critical, standard or batch."""
    movability: str
    """live, restart or never."""
    node: str | None
    """Where it runs; null where it runs nowhere."""
    target: str | None
    """Where it is going; null where it stays."""
    requested: Resources
    """What it was promised."""
    used: Resources | None
    """What it uses; null where that was not read."""
    requests_s: float | None
    """Requests a second that reach it."""
    restarts: int | None
    """How often it was restarted."""
    planned: str | None
    """Where the last decision wants it."""
    held: Hold | None
    """Why the orchestrator's own rules protect it."""
    refused: Hold | None
    """Why the last whole decision did not move it though a proposal asked for it."""


class ContainerList(View):
    """All containers."""

    at_s: float
    """When the cluster was looked at."""
    age_s: float
    """Age of the oldest thing in it."""
    items: list[Container]
    """In the order of their description."""


class Proposed(View):
    """How much was proposed."""

    moves: int
    """Containers to move."""
    sleep: int
    """Nodes to put to sleep."""
    wake: int
    """Nodes to wake."""


class Move(View):
    """One move of a plan."""

    number: int
    """Position in the plan."""
    wave: int
    """It begins when earlier waves are over."""
    container: str
    """What moves."""
    source: str
    """From where."""
    target: str
    """To where."""


class Refusal(Hold):
    """An order that was taken out."""

    act: str
    """move, sleep or wake."""
    subject: str
    """The container or the node."""


class MigrationView(View):
    """A move that was begun, as it is stored."""

    key: str
    """Its name."""
    container: str
    """What moves."""
    source: str
    """From where."""
    target: str
    """To where."""
    state: str
    """How it stands."""
    attempt: int
    """How often it was tried."""
    changed_s: float
    """When that last changed."""
    facts: dict[str, Any]
    """What else is known."""


class DecisionSummary(View):
    """A decision in a line."""

    number: int
    """Its number in the journal."""
    at_s: float
    """When it was made."""
    rhythm: str
    """macro (whole), micro (light) or event."""
    policy: str
    """Who proposed."""
    plan: str
    """What became of its plan: none, show, wait, act or busy."""
    proposed: Proposed
    """What was proposed."""
    moves: int
    """Moves of the plan."""
    sleep: int
    """Nodes that it puts to sleep."""
    wake: int
    """Nodes that it wakes."""
    refused: int
    """Orders that were taken out."""
    saving_w: float
    """Idle power less sleep power of the nodes that it puts to sleep, less that of those it wakes."""


class Decision(View):
    """A decision with its reasons."""

    number: int
    """Its number in the journal."""
    at_s: float
    """When it was made."""
    rhythm: str
    """macro (whole), micro (light) or event."""
    events: list[tuple[str, str]]
    """What it answers: kind and subject."""
    policy: str
    """Who proposed."""
    mode: str
    """The mode at that time."""
    plan: str
    """What became of its plan: none, show, wait, act or busy."""
    age_s: float
    """Age of what it was made from."""
    proposed: Proposed
    """What was proposed."""
    wake: list[str]
    """Nodes that are woken first."""
    moves: list[Move]
    """Moves, in order."""
    sleep: list[str]
    """Nodes that sleep once they are empty."""
    saving_w: float
    """Idle power less sleep power of the nodes that it puts to sleep, less that of those it wakes."""
    refused: list[Refusal]
    """What was taken out, and why."""
    stays: dict[str, Hold]
    """Why each node that stays on does so."""
    blind: dict[str, str]
    """Nodes of which nothing was known, and why."""
    pressure: dict[str, float]
    """How near to trouble each node was."""
    alerts: list[str]
    """What an operator should know."""
    migrations: list[MigrationView] = Field(default_factory=list)
    """Moves that were begun for it, where it is asked for by its number."""


class DecisionList(View):
    """A page of decisions, newest first."""

    items: list[DecisionSummary]
    """The page."""
    next_before: int | None
    """Ask with `before` set to this for the next page; null at the end."""


class Entry(View):
    """An entry of the journal."""

    number: int
    """Grows with every entry."""
    kind: str
    """decision, execution, approval, stop, recovery or wake_all; more may come."""
    at_s: float
    """When it was written."""
    value: dict[str, Any]
    """What it says."""


class EntryList(View):
    """A page of the journal, newest first."""

    items: list[Entry]
    """The page."""
    next_before: int | None
    """Ask with `before` set to this for the next page; null at the end."""


class Pending(View):
    """A plan that waits to be approved."""

    number: int
    """What to approve or deny."""
    until_s: float
    """When it is too old."""
    left_s: float
    """How long that is from now."""
    decision: Decision
    """What it would do, and why."""


class Plan(View):
    """What was decided last, and what waits."""

    last: Decision | None
    """The last decision that was written down; null before the first."""
    pending: Pending | None
    """The plan that waits to be approved; null where none does."""
    acting: int | None
    """Number of the decision that is being carried out."""


_Words = Annotated[str, Field(max_length=500)]


class Why(BaseModel):
    """A reason, for the journal."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")

    why: _Words = ""
    """In a few words."""


class StopRequest(BaseModel):
    """Why everything is stopped."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")

    why: Annotated[str, Field(min_length=1, max_length=500)]
    """In a few words: those who find the service stopped will read it."""


class StopState(View):
    """How the stop button stands."""

    stopped: str
    """Why everything is stopped; empty where it is not."""


class Answer(View):
    """What was done."""

    number: int | None = None
    """The decision it is about."""
    done: str
    """In a few words."""


class WakeAll(View):
    """What became of the order to wake all nodes."""

    ordered: list[str]
    """Nodes that were ordered on."""
    not_ordered: dict[str, str]
    """Nodes whose driver did not take the order, and why."""
    stopped: str
    """Everything is stopped, so that none is put to sleep again."""
    trouble: str
    """What could not be written down; empty where all was."""
