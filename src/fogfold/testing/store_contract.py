"""What every store must keep, as one list of cases: run each against your own, and it may take the real one's place.

A case gets two views of one empty store: the same thing opened twice, as two instances of the control plane do. It
raises `AssertionError` where a promise is broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import product
from typing import Any, Protocol, runtime_checkable

from fogfold.adapters.storage.journal import Journal
from fogfold.control.failure import IllegalTransitionError, LeaseLostError, PortError
from fogfold.control.migration_states import FINAL, MIGRATION_TRANSITIONS
from fogfold.control.orders import MoveOrder
from fogfold.control.ports import InputsRow, Lease, MigrationRow, Store
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState

__all__ = ["CASES", "Case", "FullStore", "a_migration", "leased"]

PLANNED, RESERVED, MOVING, VERIFIED, FAILED, UNDONE = MigrationState

_WAY = {
    PLANNED: (),
    RESERVED: (RESERVED,),
    MOVING: (RESERVED, MOVING),
    VERIFIED: (RESERVED, MOVING, VERIFIED),
    FAILED: (RESERVED, FAILED),
    UNDONE: (UNDONE,),
}
"""How a migration gets into each state."""


@runtime_checkable
class FullStore(Store, Journal, Protocol):
    """A store that can also be read back."""


Case = Callable[[FullStore, FullStore], Awaitable[None]]


def a_migration(key: str, *, plan: str = "plan-1", state: MigrationState = PLANNED, at_s: float = 0.0) -> MigrationRow:
    """A migration of container `c-<key>` from node `n1` to `n2`."""
    move = MoveOrder(ContainerId(f"c-{key}"), NodeId("n1"), NodeId("n2"))
    return MigrationRow(key, plan, move, state, changed_s=at_s)


async def leased(store: Store, holder: str = "a", *, now_s: float = 0.0) -> Lease:
    """The lease for an hour."""
    lease = await store.acquire(holder, for_s=3600.0, now_s=now_s)
    if lease is None:
        raise AssertionError(f"{holder} was to get the lease, and another holds it")
    return lease


async def lease_is_held_by_one_at_a_time(first: FullStore, second: FullStore) -> None:
    """The other gets it in the very second in which it runs out, under a greater fence."""
    lease = await first.acquire("a", for_s=10.0, now_s=100.0)
    _expect(Lease("a", 1, 110.0), lease)
    _expect(None, await second.acquire("b", for_s=10.0, now_s=109.9))
    _expect(Lease("b", 2, 120.0), await second.acquire("b", for_s=10.0, now_s=110.0))
    _expect(None, await first.acquire("a", for_s=10.0, now_s=110.0))


async def lease_is_renewed_under_the_same_fence(first: FullStore, second: FullStore) -> None:
    """Also late, if nobody took it meanwhile."""
    await first.acquire("a", for_s=10.0, now_s=100.0)
    _expect(Lease("a", 1, 115.0), await first.acquire("a", for_s=10.0, now_s=105.0))
    _expect(Lease("a", 1, 210.0), await second.acquire("a", for_s=10.0, now_s=200.0))


async def of_many_who_ask_for_the_lease_one_gets_it(first: FullStore, second: FullStore) -> None:
    """However close together they ask."""
    stores = (first, second)
    got = await asyncio.gather(*(stores[i % 2].acquire(f"h{i}", for_s=10.0, now_s=0.0) for i in range(12)))
    _expect(1, sum(lease is not None for lease in got))


async def released_lease_is_free_at_once(first: FullStore, second: FullStore) -> None:
    """And its fence is worth nothing any more, not even before the next takes it."""
    lease = await leased(first)
    await first.release(lease)
    await _refused(LeaseLostError, first.keep("stop", "all", {}, fence=lease.fence))
    _expect(2, (await leased(second, "b")).fence)


async def nobody_releases_the_lease_of_another(first: FullStore, second: FullStore) -> None:
    """An old holder that wakes late changes nothing."""
    old = await leased(first)
    new = await leased(second, "b", now_s=3600.0)
    await first.release(old)
    await second.keep("stop", "all", {"on": True}, fence=new.fence)
    _expect({"all": {"on": True}}, await first.kept("stop"))


async def lease_that_cannot_be_is_refused(first: FullStore, _second: FullStore) -> None:
    """Without a name, or without a length."""
    await _refused(ModelError, first.acquire("", for_s=1.0, now_s=0.0))
    await _refused(ModelError, first.acquire("a", for_s=0.0, now_s=0.0))
    await _refused(ModelError, first.acquire("a", for_s=1.0, now_s=float("nan")))


async def outdated_fence_writes_nothing(first: FullStore, second: FullStore) -> None:
    """Nor does one that was never given out."""
    old = await leased(first)
    await first.add_migrations([a_migration("1")], fence=old.fence)
    new = await leased(second, "b", now_s=3600.0)
    for fence in (old.fence, new.fence + 1, 0):
        await _refused(LeaseLostError, first.add_migrations([a_migration("2")], fence=fence))
        await _refused(LeaseLostError, first.transition("1", PLANNED, RESERVED, at_s=1.0, facts={}, fence=fence))
        await _refused(LeaseLostError, first.keep("node", "n1", {"state": "OFF"}, fence=fence))
    _expect([("1", PLANNED)], [(row.key, row.state) for row in await second.open_migrations()])
    _expect({}, await second.kept("node"))


async def migrations_are_written_all_or_none(first: FullStore, second: FullStore) -> None:
    """One key that stands for another migration already, and nothing of the lot is written."""
    fence = (await leased(first)).fence
    await first.add_migrations([a_migration("1")], fence=fence)
    other = a_migration("1", plan="plan-2")
    await _refused(PortError, first.add_migrations([a_migration("2"), other, a_migration("3")], fence=fence))
    await _refused(
        IllegalTransitionError, first.add_migrations([a_migration("4"), a_migration("5", state=MOVING)], fence=fence)
    )
    _expect(["1"], [row.key for row in await second.open_migrations()])
    await first.add_migrations([], fence=fence)


async def migrations_added_twice_are_there_once(first: FullStore, second: FullStore) -> None:
    """Whoever had no answer asks again; what has gone on meanwhile stays as it is."""
    fence = (await leased(first)).fence
    rows = [a_migration("1"), a_migration("2")]
    await first.add_migrations(rows, fence=fence)
    await first.transition("1", PLANNED, RESERVED, at_s=1.0, facts={}, fence=fence)
    await second.add_migrations([*rows, *rows], fence=fence)
    _expect([("1", RESERVED), ("2", PLANNED)], [(row.key, row.state) for row in await first.open_migrations()])


async def migration_keeps_what_is_known_of_it(first: FullStore, second: FullStore) -> None:
    """Facts add up, and a new attempt counts."""
    fence = (await leased(first)).fence
    row = a_migration("1", at_s=1.5)
    await first.add_migrations([row], fence=fence)
    steps: list[tuple[MigrationState, dict[str, Any]]] = [
        (RESERVED, {"image": "cold"}),
        (FAILED, {"why": "Zeitüberschreitung ✓"}),
        (RESERVED, {}),
        (MOVING, {"image": "warm", "bytes": 2**40}),
    ]
    before = PLANNED
    for index, (after, facts) in enumerate(steps):
        got = await first.transition("1", before, after, at_s=10.1 + index, facts=facts, fence=fence)
        before = after
    facts = {"image": "warm", "why": "Zeitüberschreitung ✓", "bytes": 2**40}
    expected = MigrationRow("1", "plan-1", row.move, MOVING, attempt=2, changed_s=13.1, facts=facts)
    _expect(expected, got)
    _expect([expected], list(await second.open_migrations()))
    _expect((expected,), await second.migrations())
    _expect(
        [(0, None, PLANNED, 1.5, {}), (1, PLANNED, RESERVED, 10.1, {"image": "cold"})],
        [(s.number, s.before, s.after, s.at_s, dict(s.facts)) for s in (await second.steps("1"))[:2]],
    )
    _expect([(4, 1)], [(s.number, s.fence) for s in (await second.steps("1"))[4:]])
    _expect((), await second.steps("nobody"))


async def only_legal_transitions_are_taken(first: FullStore, _second: FullStore) -> None:
    """All 36 pairs: nine are legal, and the others change nothing."""
    fence = (await leased(first)).fence
    for before, after in product(MigrationState, MigrationState):
        key = f"{before.name}-{after.name}"
        await _bring(first, key, before, fence)
        taken = first.transition(key, before, after, at_s=9.0, facts={}, fence=fence)
        if after in MIGRATION_TRANSITIONS[before]:
            _expect(after, (await taken).state)
        else:
            await _refused(IllegalTransitionError, taken)
            _expect(before, (await first.steps(key))[-1].after)


async def transition_from_another_state_is_refused(first: FullStore, second: FullStore) -> None:
    """It compares before it changes; asking twice is refused the second time."""
    fence = (await leased(first)).fence
    await first.add_migrations([a_migration("1")], fence=fence)
    await _refused(IllegalTransitionError, first.transition("1", RESERVED, MOVING, at_s=1.0, facts={}, fence=fence))
    await first.transition("1", PLANNED, RESERVED, at_s=1.0, facts={}, fence=fence)
    await _refused(IllegalTransitionError, second.transition("1", PLANNED, RESERVED, at_s=1.0, facts={}, fence=fence))
    await _refused(PortError, first.transition("2", PLANNED, RESERVED, at_s=1.0, facts={}, fence=fence))
    await _refused(ModelError, first.transition("1", RESERVED, MOVING, at_s=float("inf"), facts={}, fence=fence))
    _expect(2, len(await second.steps("1")))


async def of_many_who_take_one_step_one_does(first: FullStore, second: FullStore) -> None:
    """However close together they ask."""
    fence = (await leased(first)).fence
    await first.add_migrations([a_migration("1")], fence=fence)
    calls = (
        (first, second)[i % 2].transition("1", PLANNED, RESERVED, at_s=float(i), facts={"by": i}, fence=fence)
        for i in range(12)
    )
    got = await asyncio.gather(*calls, return_exceptions=True)
    _expect(1, sum(isinstance(one, MigrationRow) for one in got))
    _expect(11, sum(isinstance(one, IllegalTransitionError) for one in got))
    _expect(2, len(await first.steps("1")))


async def open_migrations_come_oldest_first(first: FullStore, second: FullStore) -> None:
    """In the order in which they were written; ended ones are not among them."""
    fence = (await leased(first)).fence
    for number, state in enumerate((PLANNED, RESERVED, MOVING, VERIFIED, FAILED, UNDONE)):
        await _bring(first, f"{9 - number}", state, fence)
    _expect(
        [("9", PLANNED), ("8", RESERVED), ("7", MOVING), ("5", FAILED)],
        [(row.key, row.state) for row in await second.open_migrations()],
    )
    _expect(["4", "5"], [row.key for row in await second.migrations(limit=2)])
    _expect((), await second.migrations(plan="another"))
    await _refused(ModelError, second.migrations(limit=-1))


async def kept_record_replaces_the_one_of_its_name(first: FullStore, second: FullStore) -> None:
    """Kinds do not mix; of an unknown kind there are none."""
    fence = (await leased(first)).fence
    await first.keep("node", "n2", {"state": "OFF"}, fence=fence)
    await first.keep("node", "n1", {"state": "ON", "since_s": 0.1}, fence=fence)
    await first.keep("node", "n2", {"state": "READY"}, fence=fence)
    await first.keep("stop", "n2", {}, fence=fence)
    _expect({"n1": {"state": "ON", "since_s": 0.1}, "n2": {"state": "READY"}}, await second.kept("node"))
    _expect({"n2": {}}, await second.kept("stop"))
    _expect({}, await second.kept("nothing"))


async def values_are_plain_copies(first: FullStore, second: FullStore) -> None:
    """Tuples come back as lists; what is no JSON is refused; whoever changes the original changes nothing here."""
    fence = (await leased(first)).fence
    value: dict[str, Any] = {"pair": (1, None), "deep": {"list": []}}
    await first.keep("x", "1", value, fence=fence)
    number = await first.append("x", value, at_s=1.0)
    value["deep"]["list"].append("changed")
    (await second.kept("x"))["1"]["deep"]["list"].append("changed")
    plain = {"pair": [1, None], "deep": {"list": []}}
    _expect({"1": plain}, await second.kept("x"))
    entry = await second.entry(number)
    _expect(plain, None if entry is None else entry.value)
    for wrong in ({"a": float("nan")}, {"a": {1, 2}}):
        await _refused(ModelError, first.keep("x", "2", wrong, fence=fence))
        await _refused(ModelError, first.append("x", wrong, at_s=1.0))
    await _refused(ModelError, first.append("x", {}, at_s=float("nan")))
    _expect(["1"], list(await first.kept("x")))


async def journal_numbers_grow(first: FullStore, second: FullStore) -> None:
    """Each is given once, in the order in which entries appear; no lease is needed."""
    numbers = await asyncio.gather(*((first, second)[i % 2].append("x", {"i": i}, at_s=float(-i)) for i in range(12)))
    _expect(12, len(set(numbers)))
    _expect(sorted(numbers), [entry.number async for entry in first.entries()])
    _expect(None, await first.entry(max(numbers) + 1))


async def journal_is_read_by_kind_time_and_number(first: FullStore, second: FullStore) -> None:
    """A span holds its start and not its end."""
    numbers = [await first.append(kind, {}, at_s=at_s) for kind, at_s in zip("abcab", (10.0, 20.0, 30.0, 40.0, 20.0))]

    async def places(**which: Any) -> list[int]:
        return [numbers.index(entry.number) for entry in [one async for one in second.entries(**which)]]

    _expect([0, 1, 2, 3, 4], await places())
    _expect([0, 2, 3], await places(kinds={"a", "c"}))
    _expect([], await places(kinds=()))
    _expect([1, 2, 4], await places(since_s=20.0, until_s=40.0))
    _expect([2, 3], await places(after=numbers[1], before=numbers[4]))
    _expect([4, 3], await places(newest_first=True, limit=2))
    _expect([0, 1], await places(limit=2))
    _expect([], await places(limit=0))
    await _refused(ModelError, places(limit=-1))


async def long_journal_is_read_whole(first: FullStore, second: FullStore) -> None:
    """More than one page, either way."""
    numbers = [await first.append("x", {}, at_s=0.0) for _ in range(205)]
    _expect(numbers[:-1], [entry.number async for entry in second.entries(limit=204)])
    _expect(numbers[::-1], [entry.number async for entry in second.entries(newest_first=True)])
    _expect(numbers[2:], [entry.number async for entry in second.entries(after=numbers[1])])


async def pruned_numbers_are_not_given_again(first: FullStore, second: FullStore) -> None:
    """Entries go by their time and kind; who follows the journal by number is not led astray."""
    numbers = [await first.append(kind, {}, at_s=at_s) for kind, at_s in (("a", 1.0), ("b", 1.0), ("a", 2.0))]
    _expect(0, await second.prune(5.0, ()))
    _expect(1, await second.prune(2.0, {"a"}))
    _expect(numbers[1:], [entry.number async for entry in first.entries()])
    _expect(2, await second.prune(5.0))
    _expect(0, await second.prune(5.0))
    if await first.append("a", {}, at_s=0.0) <= numbers[-1]:
        raise AssertionError("a number was given a second time")


async def open_migrations_are_never_pruned(first: FullStore, second: FullStore) -> None:
    """However old they are."""
    fence = (await leased(first)).fence
    for state in MigrationState:
        await _bring(first, state.name, state, fence)
    _expect(0, await second.prune_migrations(2.0))
    _expect(2, await second.prune_migrations(2.1))
    left = {row.key for row in await first.migrations()}
    _expect({state.name for state in MigrationState if state not in FINAL}, left)
    _expect((), await first.steps("VERIFIED"))
    _expect(3, len(await first.steps("MOVING")))


def some_inputs(number: int, *, life: str = "life-1", size: int = 10, parts: tuple[str, ...] = ("a",)) -> InputsRow:
    """Inputs of a decision at second `number`; the even ones stand in the journal, under a tenfold number."""
    journal = None if number % 2 else 10 * number
    return InputsRow(life, number, journal, float(number), False, bytes([number % 256]) * size, parts)


async def inputs_are_read_as_they_were_written(first: FullStore, second: FullStore) -> None:
    """By the number of the journal's entry, and one after the other within a life."""
    rows = [some_inputs(number) for number in range(1, 121)]
    other = some_inputs(1, life="life-2", parts=("a", "b"))
    await first.remember_inputs(rows[:2], {"a": b"\x00one", "never needed": b"x"})
    await second.remember_inputs([*rows[2:], other], {"b": b"two"})
    _expect(rows[3], await second.inputs_of(40))
    _expect(None, await first.inputs_of(10))
    _expect(rows[:99], [row async for row in first.inputs_until("life-1", 99)])
    _expect([other], [row async for row in second.inputs_until("life-2", 99)])
    _expect([], [row async for row in first.inputs_until("life-3", 99)])
    parts = [await second.inputs_part(digest) for digest in ("a", "b", "never needed")]
    _expect([b"\x00one", b"two", None], parts)


async def inputs_written_twice_are_there_once(first: FullStore, second: FullStore) -> None:
    """Whoever had no answer asks again; a number of the journal stands for one decision."""
    await first.remember_inputs([some_inputs(2)], {"a": b"one"})
    await second.remember_inputs([some_inputs(2, size=99), some_inputs(3)], {"a": b"one"})
    await first.remember_inputs([some_inputs(2, life="life-2")], {})
    await first.remember_inputs([], {})
    _expect(some_inputs(2), await second.inputs_of(20))
    _expect([2, 3], [row.number async for row in first.inputs_until("life-1", 9)])
    _expect([], [row.number async for row in first.inputs_until("life-2", 9)])
    await _refused(ModelError, first.remember_inputs([InputsRow("l", 1, None, float("nan"), True, b"")], {}))


async def old_inputs_go_with_the_parts_that_nobody_needs(first: FullStore, second: FullStore) -> None:
    """A part that one of the rest needs stays, also where an older one brought it."""
    rows = [some_inputs(1, parts=("a", "b")), some_inputs(2, parts=("b", "c")), some_inputs(3, parts=("b", "d"))]
    await first.remember_inputs(rows, {digest: digest.encode() for digest in "abcd"})
    _expect(0, await first.prune_inputs(1.0, 10**9))
    _expect(2, await second.prune_inputs(3.0, 10**9))
    _expect([None, b"b", None, b"d"], [await first.inputs_part(digest) for digest in "abcd"])
    _expect([rows[2]], [row async for row in second.inputs_until("life-1", 9)])
    _expect(1, await first.prune_inputs(10.0, 10**9))
    _expect([None] * 4, [await second.inputs_part(digest) for digest in "abcd"])
    # A part that a later one needs stays, though only the earlier one brought it.
    await first.remember_inputs([some_inputs(21)], {"a": b"a"})
    await second.remember_inputs([some_inputs(23)], {})
    _expect(1, await first.prune_inputs(22.0, 10**9))
    _expect(b"a", await second.inputs_part("a"))


async def inputs_beyond_the_size_go_from_the_oldest(first: FullStore, second: FullStore) -> None:
    """What parts take is taken off first: 1000 less 100 holds nine of 100 bytes."""
    rows = [some_inputs(number, size=100) for number in range(1, 13)]
    await first.remember_inputs(rows, {"a": b"x" * 100})
    _expect(3, await second.prune_inputs(0.0, 1000))
    _expect(list(range(4, 13)), [row.number async for row in first.inputs_until("life-1", 99)])
    _expect(0, await second.prune_inputs(0.0, 1000))
    _expect(9, await second.prune_inputs(0.0, 50))


CASES: tuple[Case, ...] = (
    lease_is_held_by_one_at_a_time,
    lease_is_renewed_under_the_same_fence,
    of_many_who_ask_for_the_lease_one_gets_it,
    released_lease_is_free_at_once,
    nobody_releases_the_lease_of_another,
    lease_that_cannot_be_is_refused,
    outdated_fence_writes_nothing,
    migrations_are_written_all_or_none,
    migrations_added_twice_are_there_once,
    migration_keeps_what_is_known_of_it,
    only_legal_transitions_are_taken,
    transition_from_another_state_is_refused,
    of_many_who_take_one_step_one_does,
    open_migrations_come_oldest_first,
    kept_record_replaces_the_one_of_its_name,
    values_are_plain_copies,
    journal_numbers_grow,
    journal_is_read_by_kind_time_and_number,
    long_journal_is_read_whole,
    pruned_numbers_are_not_given_again,
    open_migrations_are_never_pruned,
    inputs_are_read_as_they_were_written,
    inputs_written_twice_are_there_once,
    old_inputs_go_with_the_parts_that_nobody_needs,
    inputs_beyond_the_size_go_from_the_oldest,
)
"""All cases; each needs an empty store."""


async def _bring(store: FullStore, key: str, state: MigrationState, fence: int) -> None:
    """A new migration in that state, since second 2."""
    await store.add_migrations([a_migration(key)], fence=fence)
    before = PLANNED
    for after in _WAY[state]:
        await store.transition(key, before, after, at_s=2.0, facts={}, fence=fence)
        before = after


def _expect(expected: object, actual: object) -> None:
    if expected != actual:
        raise AssertionError(f"expected {expected!r}, got {actual!r}")


async def _refused(error: type[Exception], call: Awaitable[object]) -> None:
    try:
        got = await call
    except error:
        return
    raise AssertionError(f"expected {error.__name__}, got {got!r}")
