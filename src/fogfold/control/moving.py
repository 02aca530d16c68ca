"""One container's move carried through: written down, begun, watched, and either seen to run or made good.

Each state is written before the act it stands for. A move ends in one of three ways: it was observed to run somewhere,
it was undone and observed at its source, or nobody can say yet, and then it stays open for recovery to look at. How
long to wait is a matter of progress, never of a fixed deadline: a large container takes as long as it takes.

When a move may begin, and which, is the executor's affair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from fogfold.control.asking import Asking, Patience
from fogfold.control.failure import PortError, PortTimeoutError
from fogfold.control.mandate import Mandate
from fogfold.control.migration_states import FINAL
from fogfold.control.orders import Hold
from fogfold.control.outcome import Fault, StepEnd, StepOutcome
from fogfold.control.ports import Clock, MigrationRow, MoveSight, MoveStatus, Orchestrator, Store
from fogfold.errors import ModelError
from fogfold.model.identity import NodeId
from fogfold.model.migration import MigrationState
from fogfold.model.resources import check_number
from fogfold.units import BITS_PER_BYTE, MBIT, MINUTE_S

__all__ = ["MoveSettings", "Mover", "Tried", "outcome_of"]

_ON_ITS_WAY = frozenset({MoveStatus.RESERVED, MoveStatus.MOVING})


@dataclass(frozen=True, slots=True)
class MoveSettings:
    """How moves are carried out."""

    look_s: float = 5.0
    """Time between two looks at a move."""
    stall_s: float = 2 * MINUTE_S
    """How long a move may stand still before it counts as stuck."""
    slowest_bit_s: float = 10 * MBIT
    """Where progress is not measured, the move is given the time that its bytes take at this rate beside."""
    undo_s: float = 2 * MINUTE_S
    """How long after it was given up a container may take to be seen at its source."""
    tries: int = 3
    """Attempts of one move; between them it runs at its source."""
    rate_limit_bit_s: float | None = 200 * MBIT
    """Most that one move may send: users share the link; None for no cap."""
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        for name in ("look_s", "stall_s", "slowest_bit_s", "undo_s"):
            check_number(name, float(getattr(self, name)), above=True)
        if self.tries < 1:
            raise ModelError(f"tries is {self.tries}; give at least 1")
        if self.rate_limit_bit_s is not None:
            check_number("rate_limit_bit_s", self.rate_limit_bit_s, above=True)


@dataclass(frozen=True, slots=True)
class Tried:
    """How a move stands after an attempt."""

    row: MigrationRow
    fault: Fault | None = None
    """Why it did not arrive; None where it did, or is still on its way."""
    detail: str = ""
    at_source: bool = False
    """Whether it was undone and seen to run at its source."""
    is_freed: bool = False
    """Whether the orchestrator took the order to give it up: no room elsewhere is held for it."""
    runs_on: NodeId | None = None
    """Where it was observed to run."""

    @property
    def may_help_to_repeat(self) -> bool:
        """Whether another attempt has a chance."""
        return self.at_source and self.fault in {Fault.BROKE, Fault.STALLED, Fault.UNANSWERED}


class Mover:
    """Carries single moves through.

    Args:
        orchestrator: who moves.
        store: where each state is written first.
        clock: time.
        mandate: the right to act.
        asking: how to ask somebody who may not answer.
        settings: how long to wait for what.
    """

    def __init__(
        self,
        orchestrator: Orchestrator,
        store: Store,
        clock: Clock,
        mandate: Mandate,
        asking: Asking,
        settings: MoveSettings,
    ) -> None:
        self.rows: dict[str, MigrationRow] = {}
        """How each migration stands in the store that was touched here, by key."""
        self._orchestrator = orchestrator
        self._store = store
        self._clock = clock
        self._mandate = mandate
        self._asking = asking
        self._settings = settings

    async def attempt(self, row: MigrationRow, *, live: bool, size_bytes: float) -> Tried:
        """One attempt at a move that is planned, or failed and is back at its source.

        Args:
            row: the migration.
            live: whether it is to be copied while it runs.
            size_bytes: how much there is to send, for moves that do not tell their progress.
        """
        if row.state is MigrationState.FAILED:
            # The orchestrator does nothing more under a key that it has seen: each attempt bears its own.
            number = row.facts["attempts"] + 1
            row = await self._say(row, MigrationState.RESERVED, asked=f"{row.key}~{number}", attempts=number)
        else:
            began_s = self._clock.now_s()
            row = await self._say(row, MigrationState.RESERVED, asked=row.key, attempts=1, began_s=began_s)
        asked, limit_bit_s = _asked(row), self._settings.rate_limit_bit_s
        try:
            met = await self._asking.ask(
                lambda: self._orchestrator.start(asked, row.move, live=live, rate_limit_bit_s=limit_bit_s)
            )
        except PortError as error:
            return await self._fail(row, Fault.REFUSED, str(error))
        return await self.follow(row, size_bytes=size_bytes, is_taken=not met)

    async def follow(self, row: MigrationRow, *, size_bytes: float, is_taken: bool, until_s: float = math.inf) -> Tried:
        """Watch a move to its end, and make it good where it failed.

        Args:
            row: a migration that is reserved or moving.
            size_bytes: as above.
            is_taken: whether the orchestrator is known to have taken the order; if not, one that it does not know was
                never begun.
            until_s: monotonic time at which to leave it on its way.
        """
        # Counted from when the state was written: a crash in between is no progress, or each would begin the wait anew.
        lasted_s = max(0.0, self._clock.now_s() - row.changed_s)
        pace = _Pace(self._clock.monotonic_s() - lasted_s, row.state, self._settings, size_bytes)
        while True:
            sight = await self._look(row)
            if sight is not None:
                if row.state is MigrationState.RESERVED and sight.status in {MoveStatus.MOVING, MoveStatus.ARRIVED}:
                    row = await self._say(row, MigrationState.MOVING)
                if sight.status is MoveStatus.FAILED:
                    return await self._fail(row, Fault.BROKE, sight.detail)
                if sight.status is MoveStatus.ARRIVED and sight.runs_on == row.move.source:
                    return await self._fail(row, Fault.CAME_BACK, f"it runs on {sight.runs_on} again")
                if sight.status is MoveStatus.ARRIVED and sight.runs_on is not None:
                    return await self._verified(row, sight.runs_on)
                if sight.status is MoveStatus.UNKNOWN and not is_taken:
                    return await self._fail(row, Fault.UNANSWERED, "nobody took the order")
                pace.note(sight, self._clock.monotonic_s())
            now_s = self._clock.monotonic_s()
            if pace.is_stuck(now_s):
                return await self._fail(row, Fault.STALLED, pace.describe(now_s))
            if now_s >= until_s:
                return Tried(row)
            await self._clock.sleep(self._settings.look_s)

    async def make_good(self, row: MigrationRow, fault: Fault, detail: str = "") -> Tried:
        """See to it that a container whose move failed runs at its source, or find out where else it runs.

        Room elsewhere is free only once the order to give the move up was taken: until then it is not called undone.
        """
        asked, end_s = _asked(row), self._clock.monotonic_s() + self._settings.undo_s
        while True:
            try:
                met = await self._asking.ask(lambda: self._orchestrator.undo(asked, row.move))
            except PortError as error:
                met = str(error)
            sight = await self._look(row)
            is_over = self._clock.monotonic_s() >= end_s
            where = sight.runs_on if sight is not None and sight.status not in _ON_ITS_WAY else None
            if sight is not None and where is not None and not met:
                if where == row.move.source:
                    return Tried(row, fault, detail, at_source=True, is_freed=True, runs_on=where)
                if sight.status is MoveStatus.ARRIVED or is_over:
                    return await self._arrived_after_all(row, where)
            if is_over:
                unsettled = f"{detail}; {met or 'it is not seen to run at its source'}".lstrip("; ")
                return Tried(row, fault, unsettled, is_freed=not met, runs_on=where)
            await self._clock.sleep(self._settings.look_s)

    async def call_off(
        self, row: MigrationRow, hold: Hold | None = None, *, tried: Tried | None = None
    ) -> MigrationRow:
        """End a move that was not begun, or is back at its source."""
        facts: dict[str, str | None] = {} if hold is None else {"code": hold.code.value, "why": hold.detail}
        if tried is not None:
            facts |= {"runs_on": tried.runs_on}
        return await self._say(row, MigrationState.UNDONE, **facts)

    async def _fail(self, row: MigrationRow, fault: Fault, detail: str) -> Tried:
        row = await self._say(row, MigrationState.FAILED, code=fault.value, why=detail)
        return await self.make_good(row, fault, detail)

    async def _verified(self, row: MigrationRow, where: NodeId) -> Tried:
        row = await self._say(row, MigrationState.VERIFIED, runs_on=where, elsewhere=where != row.move.target)
        return Tried(row, runs_on=where)

    async def _arrived_after_all(self, row: MigrationRow, where: NodeId) -> Tried:
        # A failed move cannot be called verified: it goes the whole way again, on paper.
        row = await self._say(row, MigrationState.RESERVED)
        row = await self._say(row, MigrationState.MOVING)
        return await self._verified(row, where)

    async def _look(self, row: MigrationRow) -> MoveSight | None:
        try:
            return await self._orchestrator.watch(_asked(row), row.move.container)
        except PortTimeoutError:
            return None

    async def _say(self, row: MigrationRow, after: MigrationState, **facts: str | float | bool | None) -> MigrationRow:
        self.rows[row.key] = await self._store.transition(
            row.key, row.state, after, at_s=self._clock.now_s(), facts=facts, fence=self._mandate.fence
        )
        return self.rows[row.key]


def outcome_of(row: MigrationRow, tried: Tried | None = None, hold: Hold | None = None) -> StepOutcome:
    """What to report of a migration, from how it stands in the store and what was last seen of it."""
    facts = row.facts
    began_s = facts.get("began_s")
    fault = tried.fault if tried is not None else None
    code = hold.code if hold is not None else fault
    detail = hold.detail if hold is not None else (tried.detail if tried is not None else "")
    runs_on = tried.runs_on if tried is not None else None
    if row.state is MigrationState.VERIFIED:
        runs_on, code, detail = NodeId(facts["runs_on"]), None, ""
        end = StepEnd.ELSEWHERE if facts["elsewhere"] else StepEnd.ARRIVED
    elif row.state is MigrationState.UNDONE:
        end = StepEnd.NOT_BEGUN if began_s is None else StepEnd.UNDONE
    else:
        end = StepEnd.LEFT
    return StepOutcome(
        row.key,
        row.move,
        end,
        row.state,
        attempts=facts.get("attempts", 0),
        runs_on=runs_on,
        code=code,
        detail=detail,
        began_s=began_s,
        ended_s=row.changed_s if row.state in FINAL else None,
    )


def _asked(row: MigrationRow) -> str:
    """The key under which the orchestrator knows the latest attempt."""
    return str(row.facts.get("asked", row.key))


class _Pace:
    """Whether a move goes on."""

    def __init__(self, since_s: float, state: MigrationState, settings: MoveSettings, size_bytes: float) -> None:
        self._last_s = since_s
        self._status = MoveStatus.MOVING if state is MigrationState.MOVING else MoveStatus.RESERVED
        self._progress: float | None = None
        self._stall_s = settings.stall_s
        self._blind_s = settings.stall_s + BITS_PER_BYTE * size_bytes / settings.slowest_bit_s

    def note(self, sight: MoveSight, now_s: float) -> None:
        """A look: a new status or more bytes sent is progress."""
        further = sight.progress is not None and (self._progress is None or sight.progress > self._progress)
        if further:
            self._progress = sight.progress
        if further or sight.status is not self._status:
            self._last_s, self._status = now_s, sight.status

    def is_stuck(self, now_s: float) -> bool:
        """Whether nothing has gone on for too long."""
        return now_s - self._last_s >= (self._blind_s if self._progress is None else self._stall_s)

    def describe(self, now_s: float) -> str:
        """How it is stuck."""
        sent = "" if self._progress is None else f" at {self._progress:.0%}"
        return f"nothing went on for {now_s - self._last_s:.0f} s{sent}"
