"""`fogfold journal`: what the service wrote down, listed, shown, taken out for other tools, told and decided again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from rich.markup import escape
from rich.table import Table

from fogfold import __version__
from fogfold.cli.client import Client
from fogfold.cli.output import print_json, screen
from fogfold.errors import MissingExtraError, ModelError, UnknownNameError
from fogfold.policy.registry import policy as policy_named
from fogfold.units import MINUTE_S

__all__ = ["journal"]

journal = App(name="journal", help="What the service wrote down.")

Url = Annotated[str | None, Parameter(name="--url")]
Bearer = Annotated[str | None, Parameter(name="--token")]

_DIFFERS = 8
"""Exit code for a decision that came out otherwise when it was made again."""


@journal.command(name="list")
def list_entries(
    *,
    kind: str | None = None,
    limit: int = 20,
    before: int | None = None,
    url: Url = None,
    token: Bearer = None,
    json: bool = False,
) -> int:
    """Entries, newest first.

    Parameters
    ----------
    kind
        Only entries of this kind: decision, execution, outcome, approval, stop, recovery, wake_all.
    limit
        At most so many, up to 200.
    before
        Only entries of a smaller number.
    url
        Address of the service.
    token
        Token of the caller.
    json
        Print one JSON object.
    """
    found = Client(url, token).get("/journal", kind=kind, limit=limit, before=before)
    if json:
        print_json(found)
        return 0
    table = Table("number", "time", "kind", "what", box=None)
    for entry in found["items"]:
        table.add_row(str(entry["number"]), _time(entry["at_s"]), entry["kind"], _line(entry["kind"], entry["value"]))
    screen().print(table)
    return 0


@journal.command
def show(number: int, *, url: Url = None, token: Bearer = None, json: bool = False) -> int:
    """One entry in full.

    Parameters
    ----------
    number
        Its number.
    url
        Address of the service.
    token
        Token of the caller.
    json
        Print one JSON object.
    """
    found = Client(url, token).get(f"/journal/{number}")
    if json:
        print_json(found)
    else:
        screen().print(f"{found['kind']} {found['number']} at {_time(found['at_s'])}", markup=False)
        screen().print_json(data=found["value"])
    return 0


@journal.command
def export(
    to: Path,
    *,
    store: str,
    kind: str | None = None,
    since: str | None = None,
    until: str | None = None,
    json: bool = False,
) -> int:
    """Write entries to a file, straight from the store: CSV, or Parquet where the name ends so.

    Parameters
    ----------
    to
        The file; an existing one is replaced.
    store
        Where the journal is: sqlite:///path or postgresql://user@host/name.
    kind
        Only entries of this kind.
    since
        Only entries from this time on, as in 2026-01-05T00:00 (UTC).
    until
        Only entries before this time.
    json
        Print one JSON object.
    """
    count = asyncio.run(_export(to, store, kind, since, until))
    if json:
        print_json({"file": str(to), "entries": count})
    else:
        screen().print(f"{count} entries in {to}", markup=False)
    return 0


@journal.command
def dataset(
    *,
    to: Path,
    store: str,
    rows: Literal["node", "move"] = "node",
    since: str | None = None,
    until: str | None = None,
    json: bool = False,
) -> int:
    """Write a table of decisions, what was known at each and what came of it: CSV, or Parquet where the name ends so.

    Parameters
    ----------
    to
        The file; an existing one is replaced.
    store
        Where the journal is: sqlite:///path or postgresql://user@host/name.
    rows
        A row for each decision and node, or for each decision and move.
    since
        Only decisions from this time on, as in 2026-01-05T00:00 (UTC).
    until
        Only decisions before this time.
    json
        Print one JSON object.
    """
    count = asyncio.run(_dataset(to, store, rows, since, until))
    if json:
        print_json({"file": str(to), "rows": count})
    else:
        screen().print(f"{count} rows in {to}", markup=False)
    return 0


@journal.command
def replay(
    number: int | None = None, *, store: str, since: str | None = None, until: str | None = None, json: bool = False
) -> int:
    """Make a decision again from what was stored; without a number tell what happened, in order, and what it came to.

    A decision that comes out otherwise ends with code 8.

    Parameters
    ----------
    number
        Number of the decision in the journal.
    store
        Where the journal is: sqlite:///path or postgresql://user@host/name.
    since
        Without a number: only entries from this time on, as in 2026-01-05T00:00 (UTC).
    until
        Without a number: only entries before this time.
    json
        Print one JSON object; without a number the sums alone.
    """
    if number is not None:
        return _decide_again(number, store, json=json)
    sums = asyncio.run(_replay(store, since, until, quiet=json))
    if json:
        print_json(sums)
    else:
        for name, value in sums.items():
            told = ", ".join(f"{n} {k}" for k, n in value.items()) if isinstance(value, dict) else str(value)
            screen().print(f"{name:<11} {told or 'none'}", markup=False)
    return 0


def _decide_again(number: int, url: str, *, json: bool) -> int:
    again = asyncio.run(_replayed(number, url))
    if json:
        print_json(
            {
                "number": again.number,
                "same": again.is_same,
                "policy": again.policy,
                "fogfold": again.fogfold,
                "decisions": again.decisions,
                "parted": again.parted or None,
                "differences": [{"field": d.field, "then": d.then, "now": d.now} for d in again.differences],
            }
        )
        return 0 if again.is_same else _DIFFERS
    out = screen()
    if again.fogfold != __version__:
        out.print(f"decided by fogfold {again.fogfold}, made again by {__version__}", markup=False)
    if again.is_same:
        out.print(f"same decision: {number}, by {again.policy}", markup=False)
        if again.decisions > 1:
            out.print(f"and so were all {again.decisions} since the policy was fresh", markup=False)
        return 0
    out.print(f"another decision: {number}, by {again.policy}", markup=False)
    if again.parted:
        out.print(f"first to come out otherwise: {again.parted}", markup=False)
    table = Table("field", "then", "now", box=None)
    for one in again.differences:
        table.add_row(escape(one.field), escape(str(one.then)), escape(str(one.now)))
    out.print(table)
    return _DIFFERS


async def _replayed(number: int, url: str) -> Any:
    found = _stored()
    async with await _opened(found, url) as store:
        entry = await store.entry(number)
        if entry is None:
            raise UnknownNameError(f"there is no entry {number} in the journal; see `fogfold journal list`")
        if entry.kind != "decision":
            raise ModelError(f"entry {number} is of kind {entry.kind}; only a decision can be made again")
        return await found["replay"](number, entry.value, store, policy_named)


async def _export(to: Path, url: str, kind: str | None, since: str | None, until: str | None) -> int:
    found = _stored()
    write = found["write_parquet"] if to.suffix == ".parquet" else found["write_csv"]
    async with await _opened(found, url) as store:
        entries = store.entries(
            kinds=None if kind is None else (kind,), since_s=_seconds(since, "since"), until_s=_seconds(until, "until")
        )
        written: int = await write(entries, to)
        return written


async def _dataset(to: Path, url: str, rows: str, since: str | None, until: str | None) -> int:
    found = _stored()
    made = found["dataset"]
    columns, make = (made.NODE_COLUMNS, made.node_rows) if rows == "node" else (made.MOVE_COLUMNS, made.move_rows)
    async with await _opened(found, url) as store:
        table = make(store, _seconds(since, "since"), _seconds(until, "until"))
        written: int = await found["write_rows"](columns, table, to, parquet=to.suffix == ".parquet")
        return written


async def _replay(url: str, since: str | None, until: str | None, *, quiet: bool) -> dict[str, Any]:
    found = _stored()
    count, plans, moves, codes, alerts = 0, Counter[str](), Counter[str](), Counter[str](), 0
    switched: Counter[str] = Counter()
    async with await _opened(found, url) as store:
        entries: AsyncIterator[Any] = store.entries(since_s=_seconds(since, "since"), until_s=_seconds(until, "until"))
        async for entry in entries:
            count += 1
            if not quiet:
                screen().print(
                    f"{_time(entry.at_s)}  {entry.number:>6} {entry.kind:<10} {_line(entry.kind, entry.value)}",
                    markup=False,
                )
            if entry.kind == "decision":
                plans[entry.value["plan"]] += 1
                codes.update(refusal["code"] for refusal in entry.value["refused"])
                alerts += len(entry.value["alerts"])
            elif entry.kind == "execution":
                moves.update(step["end"] for step in entry.value["steps"])
                switched.update(asleep=len(entry.value["asleep"]), woken=len(entry.value["woken"]))
    return {
        "entries": count,
        "plans": dict(plans),
        "moves": dict(moves),
        "nodes": dict(switched),
        "refused": dict(codes.most_common()),
        "alerts": alerts,
    }


def _stored() -> dict[str, Any]:
    try:
        from fogfold.adapters.storage import dataset as tables  # noqa: PLC0415 - an extra
        from fogfold.adapters.storage import schema  # noqa: PLC0415
        from fogfold.adapters.storage.export import write_csv, write_parquet, write_rows  # noqa: PLC0415
        from fogfold.adapters.storage.sql_store import SqlStore  # noqa: PLC0415
        from fogfold.control.replaying import replay as made_again  # noqa: PLC0415 - heavy
    except ImportError as error:
        raise MissingExtraError(f"the store needs the package {error.name!r}; pip install 'fogfold[serve]'") from error
    return {
        "schema": schema,
        "dataset": tables,
        "write_rows": write_rows,
        "write_csv": write_csv,
        "write_parquet": write_parquet,
        "SqlStore": SqlStore,
        "replay": made_again,
    }


async def _opened(found: dict[str, Any], url: str) -> Any:
    """The store, which must be there: looking back makes no database."""
    scheme, _, path = url.partition(":///")
    if scheme.startswith("sqlite") and not Path(path).is_file():
        raise ModelError(f"there is no store {url}; give the one that stands in the settings of the service")
    at, needed = await found["schema"].current(url), found["schema"].newest()
    if at != needed:
        raise ModelError(
            f"{url} is at revision {at}, and {needed} is needed; start the service once, which brings it there"
        )
    return found["SqlStore"](url)


def _seconds(text: str | None, name: str) -> float | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ModelError(f"--{name} is {text!r}; give a time as in 2026-01-05T00:00") from error
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def _line(kind: str, value: Any) -> str:
    if kind == "decision":
        counts = [
            f"{len(value[key])} {word}"
            for key, word in (("moves", "moves"), ("sleep", "to sleep"), ("wake", "to wake"))
        ]
        return f"{value['rhythm']}, {', '.join(counts)}, {len(value['refused'])} refused; plan: {value['plan']}"
    if kind == "execution":
        ends = Counter(step["end"] for step in value["steps"])
        told = ", ".join(f"{count} {end}" for end, count in ends.items()) or "no moves"
        nodes = f"{len(value['asleep'])} asleep, {len(value['woken'])} woken"
        return f"plan {value['plan']} {value['verdict']}: {told}; {nodes}"
    if kind == "approval":
        return (
            f"plan {value['decision']} {'approved' if value['approved'] else 'denied ' + value.get('why', '')}".strip()
        )
    if kind == "outcome":
        real = "unknown" if value["real_w"] is None else f"{value['real_w']:.1f} W ({value['how']})"
        over = f"over {value['window_s'] / MINUTE_S:.0f} min, {value['ended_by']}"
        return f"plan {value['decision']} was to save {value['predicted_w']:.1f} W, saves {real} {over}"
    if kind == "stop":
        return f"stopped: {value['why']}" if value["why"] else "resumed"
    return ", ".join(f"{key}: {len(part) if isinstance(part, list | dict) else part}" for key, part in value.items())


def _time(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
