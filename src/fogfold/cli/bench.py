"""`fogfold bench`: named benchmarks, each a table or `{bench, machine, rows}` as JSON."""

from __future__ import annotations

from cyclopts import App

from fogfold.cli.bench_chaos import chaos
from fogfold.cli.bench_control import control
from fogfold.cli.bench_decide import decide_bench
from fogfold.cli.bench_foresight import foresight
from fogfold.cli.bench_rehearse import rehearse_bench
from fogfold.cli.bench_rolling import rolling
from fogfold.cli.bench_rows import show, words
from fogfold.cli.bench_snapshot import snapshot
from fogfold.cli.bench_tradeoff import tradeoff
from fogfold.cli.bench_train import train_bench
from fogfold.cli.output import progress
from fogfold.evaluate.planetlab.bench import run as run_planetlab
from fogfold.evaluate.planetlab.trace import known_days
from fogfold.evaluate.speed import measure_world

__all__ = ["bench"]

bench = App(name="bench", help="Run a named benchmark.")
bench.command(snapshot)
bench.command(rolling)
bench.command(decide_bench, name="decide")
bench.command(rehearse_bench, name="rehearse")
bench.command(chaos)
bench.command(control)
bench.command(train_bench, name="train")
bench.command(foresight)
bench.command(tradeoff)


@bench.command
def world(
    *,
    nodes: tuple[int, ...] = (20, 50, 200, 1000),
    worlds: tuple[int, ...] = (1, 64),
    seed: int = 0,
    budget_s: float = 1.0,
    json: bool = False,
) -> int:
    """Speed of the world on one core, every effect switched on, eight containers a node.

    Parameters
    ----------
    nodes
        Sizes of the cluster.
    worlds
        Sizes of the batch of worlds that run in one call.
    seed
        Root of all randomness.
    budget_s
        About how much CPU time each stretch takes; the fastest of five counts.
    json
        Print one JSON object.
    """
    with progress("world", len(nodes) * len(worlds), "rows") as track:
        rows = measure_world(nodes, worlds, seed=seed, budget_s=budget_s, on_row=lambda _: track.by())
    show("world", [row.as_json() for row in rows], json)
    return 0


@bench.command
def planetlab(
    *,
    days: str = "20110303",
    policies: str = "npa,dvfs,thr,iqr,mad,lr,lrr",
    corrected: str = "",
    opening: str = "",
    jobs: int | None = None,
    json: bool = False,
) -> int:
    """The classic benchmark of the field (CloudSim's PlanetLab, 800 hosts, one day), digit for digit.

    Parameters
    ----------
    days
        Days with commas between, or `all` for those on this machine.
    policies
        Names with commas between: the benchmark's own rules, each with minimum-migration-time selection, and policies
        of fogfold, such as `drain-relief` or `learned:FILE`.
    corrected
        Corrections to switch on, with commas between, or `all`.
    opening
        A policy of fogfold that decides for the first half hour in place of fogfold's others, while VMs are still
        spread over all hosts; none where not given.
    jobs
        Processes to run on; all processors where not given.
    json
        Print one JSON object.
    """
    which = list(known_days(None)) if days == "all" else words(days)
    names, switches = words(policies), words(corrected)
    with progress("planetlab", len(which) * len(names), "days") as track:
        rows = run_planetlab(which, names, switches, lambda *_: track.by(), workers=jobs, opening=opening)
    show("planetlab", [row.as_json() for row in rows], json)
    return 0
