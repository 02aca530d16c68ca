"""`fogfold run`: one policy over a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fogfold.cli.options import Overrides, scenario_of, seeds_of
from fogfold.cli.output import print_json, progress, screen
from fogfold.cli.reporting import check_report_path, save_report
from fogfold.evaluate.runs import run_tasks, tasks_of
from fogfold.evaluate.tables import ResultView
from fogfold.policy.registry import policy as policy_named

__all__ = ["run"]


def run(
    scenario: str,
    *,
    policy: str = "drain-relief",
    seed: int = 0,
    hours: float | None = None,
    day: str | None = None,
    days: int | None = None,
    overrides: Annotated[Overrides, Parameter(name="--set")] = (),
    report: Path | None = None,
    timing: bool = False,
    json: bool = False,
) -> int:
    """Play a scenario under one policy and print what it cost and saved.

    Parameters
    ----------
    scenario
        A scenario's name (see `fogfold scenarios`) or the path of a scenario file.
    policy
        Who decides: a rule's name, or `hold` to leave everything where it is.
    seed
        Root of all randomness; the same seed gives the same bytes.
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
    timing
        Fill in decision times and CPU time, which differ from run to run (they are null otherwise).
    json
        Print one JSON object.
    """
    check_report_path(report)
    policy_named(policy)
    chosen = scenario_of(scenario, overrides, day=day, days=days)
    tasks = tasks_of(chosen, [policy], seeds_of(seed, None, None), hours=hours, timing=timing)
    with progress(f"{chosen.name} under {policy}", 1, "steps") as track:
        ((_, episode),) = run_tasks(tasks, on_step=lambda done, total: track.to(done, total=total))
    if json:
        print_json(episode.result.as_json())
    else:
        screen().print(ResultView(episode.result))
    if report is not None:
        save_report(report, chosen, [episode], baseline=None, quiet=json)
    return 0
