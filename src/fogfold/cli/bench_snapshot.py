"""`fogfold bench snapshot`: how much of the possible saving policies find in one decision, against a proven bound."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from fogfold.cli.bench_rows import show, words
from fogfold.cli.options import policies_of, seeds_of
from fogfold.cli.output import progress, screen
from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.evaluate.snapshots.suite import SnapshotRow, containers_for, moves_within, run_snapshots
from fogfold.evaluate.snapshots.summary import summarise_snapshots
from fogfold.evaluate.snapshots.variant import variant as variant_named
from fogfold.evaluate.statistics import Interval
from fogfold.policy.registry import policy as policy_named

__all__ = ["snapshot"]

_NO_LIMIT = "none"


def snapshot(
    *,
    nodes: tuple[str, ...] = ("20", "50", "200"),
    budget: tuple[str, ...] = (_NO_LIMIT,),
    policies: str = "best-fit,drain-relief,guided",
    variant: str = "base",
    seeds: int | None = None,
    first_seed: int | None = None,
    seed: int | None = None,
    json: bool = False,
) -> int:
    """One decision on drawn clusters: what share of the possible saving each policy finds, by a bound none can beat.

    Parameters
    ----------
    nodes
        Sizes of the cluster, with commas between or the option several times. There are eight containers for each node
        (150 on twenty).
    budget
        Most containers that a decision may move, as a share of all in ]0, 1]; several with commas between, `none` for
        no limit.
    policies
        Names with commas between; `rules` for all classic rules, `all` for everything that can run.
    variant
        How hard the clusters are: `base`, `tight`, `util25`, `util55`, `util70` or `fog`.
    seeds
        How many snapshots of each size (3 where no seed is named).
    first_seed
        The first of them.
    seed
        One of them alone.
    json
        Print one JSON object.
    """
    sizes, budgets, names = _sizes(nodes), _budgets(budget), policies_of(policies)
    for size in sizes:
        moves_within(budgets, containers_for(size), variant_named(variant))
    for name in names:
        policy_named(name)
    if not names:
        raise UnknownNameError(f"--policies names none; {did_you_mean('', ['rules', 'all'])}")
    which = seeds_of(seed, 3 if seed is None and seeds is None else seeds, first_seed)
    rows: list[SnapshotRow] = []
    total = len(sizes) * len(which) * len(budgets) * len(names)
    whole = True
    try:
        with progress("snapshots", total, "decisions") as track:

            def keep(row: SnapshotRow) -> None:
                rows.append(row)
                track.by()
                track.name(f"{row.nodes} nodes ({row.policy})")

            for size in sizes:
                run_snapshots(size, budgets, names, which, variant, on_row=keep)
    except KeyboardInterrupt:
        whole = False
    if json:
        show("snapshot", [row.as_json() for row in rows], json)
    elif rows:
        screen().print(_table(rows))
    if not whole:
        Console(stderr=True).print(f"fogfold: interrupted after {len(rows)} of {total} decisions, which are kept")
        return 130
    return 0


def _sizes(texts: Sequence[str]) -> list[int]:
    """Numbers of nodes from a list.

    Raises:
        ModelError: if one is no whole number from 1, or there is none.
    """
    sizes = []
    for word in words(",".join(texts)):
        if not word.isdecimal() or int(word) < 1:
            raise ModelError(f"--nodes has {word!r}; give whole numbers from 1 with commas between, as in 20,200")
        sizes.append(int(word))
    if not sizes:
        raise ModelError("--nodes names no size; give whole numbers from 1 with commas between, as in 20,200")
    return sizes


def _budgets(texts: Sequence[str]) -> list[float | None]:
    """Shares of containers from a list.

    Raises:
        ModelError: if one is neither a number nor `none`, or there is none.
    """
    budgets: list[float | None] = []
    for word in words(",".join(texts)):
        try:
            budgets.append(None if word == _NO_LIMIT else float(word))
        except ValueError as error:
            raise ModelError(
                f"--budget has {word!r}; give shares of containers with commas between, as in 0.05,0.1, or `none`"
            ) from error
    if not budgets:
        raise ModelError("--budget names no share; give some with commas between, as in 0.05,0.1, or leave it out")
    return budgets


def _table(rows: Sequence[SnapshotRow]) -> Table:
    """Means over seeds, for people."""
    table = Table(box=None, pad_edge=False)
    for key, numeric in (
        ("nodes", True),
        ("containers", True),
        ("budget", True),
        ("policy", False),
        ("seeds", True),
        ("share of possible saving", True),
        ("above the bound", True),
        ("longest, CPU s", True),
    ):
        table.add_column(key, justify="right" if numeric else "left")
    for line in summarise_snapshots(rows):
        table.add_row(
            f"{line.nodes:,}",
            f"{line.containers:,}",
            "-" if line.budget is None else f"{line.budget:.1%}",
            line.policy,
            str(line.seeds),
            _text(line.saving_share, 1),
            _text(line.gap, 2),
            f"{line.worst_cpu_s:.3g}",
        )
    return table


def _text(share: Interval, digits: int) -> str:
    """A share in per cent, with its interval where there is one."""
    if share.low is None or share.high is None:
        return f"{share.mean:.{digits}%}"
    return f"{share.mean:.{digits}%} ({100 * share.low:.{digits}f} to {100 * share.high:.{digits}f})"
