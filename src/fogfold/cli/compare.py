"""`fogfold compare`: several policies over the same seeds, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from fogfold.cli.options import Overrides, jobs_of, policies_of, scenario_of, seeds_of
from fogfold.cli.output import print_json, progress, screen
from fogfold.cli.reporting import check_report_path, save_report
from fogfold.errors import UnknownNameError, did_you_mean
from fogfold.evaluate.episodes import Episode
from fogfold.evaluate.runs import Task, run_tasks, tasks_of
from fogfold.evaluate.statistics import compare as paired_differences
from fogfold.evaluate.statistics import summarise
from fogfold.evaluate.tables import ComparisonView, comparison
from fogfold.policy.registry import policy as policy_named
from fogfold.world.scenario.schema import Scenario

__all__ = ["compare", "comparison_json", "gather"]


def compare(
    scenario: str,
    *,
    policies: str = "hold,drain-relief",
    against: str = "hold",
    seeds: int | None = None,
    first_seed: int | None = None,
    seed: int | None = None,
    hours: float | None = None,
    day: str | None = None,
    days: int | None = None,
    overrides: Annotated[Overrides, Parameter(name="--set")] = (),
    report: Path | None = None,
    jobs: int | None = None,
    timing: bool = False,
    json: bool = False,
) -> int:
    """Play a scenario under several policies, each on the same seeds, and compare them with intervals.

    Parameters
    ----------
    scenario
        A scenario's name (see `fogfold scenarios`) or the path of a scenario file.
    policies
        Names with commas between; `rules` for all classic rules, `all` for everything that can run.
    against
        The policy that differences are taken against; it is run even where `policies` does not name it.
    seeds
        How many seeds (5 where no seed is named).
    first_seed
        The first of them.
    seed
        One seed alone.
    hours
        How long to run, where not as long as the scenario says.
    day
        Day of the `planetlab` scenario, as in 20110303.
    days
        Days of the `bitbrains` scenario.
    overrides
        Value of the scenario to change, as path=value; may be repeated.
    report
        Write a report to this HTML file.
    jobs
        Processes to run on; all processors where not given.
    timing
        Fill in decision times and CPU times, which differ from run to run (they are null otherwise).
    json
        Print one JSON object.
    """
    check_report_path(report)
    names = policies_of(policies)
    for name in [*names, against]:
        policy_named(name)
    if not names:
        raise UnknownNameError(f"--policies names none; {did_you_mean('', ['rules', 'all'])}")
    if against not in names:
        names = [against, *names]
    chosen = scenario_of(scenario, overrides, day=day, days=days)
    which = seeds_of(seed, 5 if seed is None and seeds is None else seeds, first_seed)
    tasks = tasks_of(chosen, names, which, hours=hours, timing=timing)
    episodes, whole = gather(chosen, tasks, jobs_of(jobs))
    runs = [episode.result for episode in episodes]
    ran = {result.policy for result in runs}
    if json:
        print_json(comparison_json(episodes, against))
    elif runs:
        summaries = summarise(runs)
        paired = paired_differences(runs, against) if against in ran else []
        screen().print(ComparisonView(comparison(summaries, paired)))
    if report is not None and runs:
        save_report(report, chosen, episodes, baseline=against if against in ran else None, quiet=json)
    if not whole:
        Console(stderr=True).print(f"fogfold: interrupted after {len(runs)} of {len(tasks)} runs, which are kept")
        return 130
    return 0


def gather(scenario: Scenario, tasks: Sequence[Task], jobs: int) -> tuple[list[Episode], bool]:
    """Run the tasks behind a progress bar; gives those that finished, in order, and whether that is all of them."""
    done: dict[int, Episode] = {}
    try:
        with progress(scenario.name, len(tasks), "runs") as track:
            for index, episode in run_tasks(tasks, jobs=jobs):
                done[index] = episode
                track.by()
                track.name(f"{scenario.name} ({episode.result.policy})")
    except KeyboardInterrupt:
        return [done[i] for i in sorted(done)], False
    return [done[i] for i in sorted(done)], True


def comparison_json(episodes: Sequence[Episode], against: str) -> dict[str, Any]:
    """Runs, summary and paired differences as plain values, keys as documented."""
    runs = [episode.result for episode in episodes]
    if not runs:
        return {"runs": [], "summary": [], "paired": []}
    ran = {result.policy for result in runs}
    return {
        "runs": [result.as_json() for result in runs],
        "summary": [summary.as_json() for summary in summarise(runs)],
        "paired": [pair.as_json() for pair in paired_differences(runs, against)] if against in ran else [],
    }
