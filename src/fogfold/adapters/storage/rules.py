"""The rules that every store keeps: who gets the lease, what a step makes of a migration, which values are plain.

Pure functions, so that the store in a database and the one in memory cannot differ in them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fogfold.control.failure import IllegalTransitionError, LeaseLostError, PortError
from fogfold.control.migration_states import check_migration_transition
from fogfold.control.ports import MigrationRow
from fogfold.errors import ModelError
from fogfold.model.migration import MigrationState

__all__ = [
    "NOBODY",
    "Held",
    "check_fence",
    "check_limit",
    "check_time",
    "cut",
    "grant",
    "only_new",
    "plain",
    "plain_json",
    "step",
]


@dataclass(frozen=True, slots=True)
class Held:
    """How the lease stands."""

    holder: str | None
    """None where it was given back, or never taken."""
    fence: int
    until_s: float


NOBODY = Held(None, 0, 0.0)
"""The lease of a new store."""


def grant(held: Held, holder: str, *, for_s: float, now_s: float) -> Held | None:
    """The lease as it stands once `holder` has asked for it; None where another holds it still.

    Who holds it renews it under the same fence, also after it ran out if nobody took it meanwhile.

    Raises:
        ModelError: if the holder has no name, or the lease would be over at once.
    """
    if not holder:
        raise ModelError("the holder of a lease needs a name; give one that no other process ever bears")
    if not (math.isfinite(for_s) and for_s > 0.0):
        raise ModelError(f"a lease for {for_s:g} s is over before it begins; ask for more than 0 s")
    check_time("the time of a lease", now_s)
    if held.holder not in {None, holder} and held.until_s > now_s:
        return None
    fence = held.fence if held.holder == holder else held.fence + 1
    return Held(holder, fence, now_s + for_s)


def cut(held: Held, *, for_s: float, now_s: float) -> Held:
    """The lease of another as it stands once somebody who did not get it has asked: never longer than its own would be.

    One that is longer was given out before the clock was set back, and would outlive its holder by as much. A holder
    that lives renews it long before it ends; so all instances ask for leases of the same length.
    """
    return replace(held, until_s=min(held.until_s, now_s + for_s))


def check_fence(held: Held, fence: int) -> None:
    """Nothing, where the fence is that of the present holder.

    Raises:
        LeaseLostError: if it is outdated, was given back, or was never given out.
    """
    if held.holder is None or fence != held.fence:
        by = "nobody holds the lease" if held.holder is None else f"{held.holder!r} holds the lease"
        raise LeaseLostError(
            f"fence {fence} is not valid: {by}, at fence {held.fence}; stop acting, and acquire the lease again"
        )


def only_new(rows: Sequence[MigrationRow], known: Mapping[str, MigrationRow]) -> tuple[MigrationRow, ...]:
    """Those that are not written down yet, with plain facts: what is asked for twice is done once.

    Args:
        rows: what is to be written.
        known: what is stored already under the same keys.

    Raises:
        IllegalTransitionError: if one does not begin as planned.
        PortError: if a key stands for another migration already.
    """
    new: dict[str, MigrationRow] = {}
    for row in rows:
        if row.state is not MigrationState.PLANNED:
            raise IllegalTransitionError(
                f"the migration of {row.move.container!r} cannot begin as {row.state.name}; "
                "it is written down as PLANNED, and goes on by transitions"
            )
        check_time("the time of a migration", row.changed_s)
        earlier = known.get(row.key) or new.get(row.key)
        if earlier is None:
            new[row.key] = replace(row, facts=plain(row.facts))
        elif (earlier.plan, earlier.move) != (row.plan, row.move):
            raise PortError(
                f"key {row.key!r} stands for the move of {earlier.move.container!r} in plan {earlier.plan!r} already; "
                "each migration needs a key of its own"
            )
    return tuple(new.values())


def step(
    row: MigrationRow, before: MigrationState, after: MigrationState, *, at_s: float, facts: Mapping[str, Any]
) -> MigrationRow:
    """The migration after a step; what is known beside is added to what was known.

    From failed to reserved is a new attempt, and counts as one.

    Raises:
        IllegalTransitionError: if the step may not be, or the migration is in another state than `before`.
    """
    if row.state is not before:
        raise IllegalTransitionError(
            f"the migration of {row.move.container!r} is {row.state.name}, not {before.name}: "
            f"it cannot be taken to {after.name}; look at it again, another writer was first"
        )
    check_migration_transition(row.move.container, before, after)
    check_time("the time of a step", at_s)
    again = before is MigrationState.FAILED and after is MigrationState.RESERVED
    return replace(row, state=after, attempt=row.attempt + again, changed_s=at_s, facts={**row.facts, **plain(facts)})


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A copy as it will be read back: tuples are lists by then, and nothing is shared with the original.

    Raises:
        ModelError: if it holds what JSON has no word for.
    """
    copy: dict[str, Any] = json.loads(plain_json(value))
    return copy


def plain_json(value: Mapping[str, Any]) -> str:
    """The value as JSON text. Numbers that are none (nan, inf) are refused: what is not known is None or absent.

    Raises:
        ModelError: if it holds what JSON has no word for.
    """
    try:
        return json.dumps(dict(value), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"a value to be stored is no plain JSON: {error}; use strings, finite numbers, booleans, None, lists and "
            "mappings with names as keys"
        ) from error


def check_time(what: str, at_s: float) -> None:
    """Nothing, where it is a time.

    Raises:
        ModelError: if it is not finite.
    """
    if not math.isfinite(at_s):
        raise ModelError(f"{what} is {at_s}; give seconds since the epoch")


def check_limit(limit: int | None) -> None:
    """Nothing, where it can be a limit.

    Raises:
        ModelError: if it is negative.
    """
    if limit is not None and limit < 0:
        raise ModelError(f"a limit of {limit} entries cannot be; give 0 or more, or none for all")
