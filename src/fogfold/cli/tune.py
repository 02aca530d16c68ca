"""`fogfold tune`: a search over a rule's parameters."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from fogfold.cli.options import Overrides, jobs_of, policies_of, scenario_of
from fogfold.cli.output import print_json, progress, screen
from fogfold.evaluate.tune import Tuning
from fogfold.evaluate.tune import tune as search

__all__ = ["tune"]


def tune(
    *scenarios: str,
    policy: str = "drain-relief",
    trials: int = 48,
    seeds: int = 8,
    check_seeds: int = 8,
    hours: float | None = None,
    seed: int = 0,
    overrides: Annotated[Overrides, Parameter(name="--set")] = (),
    jobs: int | None = None,
    json: bool = False,
) -> int:
    """Search a rule's parameters for the least total cost, and check what was found on other seeds.

    Parameters
    ----------
    scenarios
        Scenarios to tune for; several count alike.
    policy
        Whose parameters; several with commas between, or `rules`.
    trials
        Combinations to start with; half of them go on to twice as many seeds, until one is left.
    seeds
        Seeds that the last ones are tried on.
    check_seeds
        Other seeds, on which the best is held against the defaults.
    hours
        Length of each run, where not the scenario's.
    seed
        Root of the search's own draws.
    overrides
        Value of the scenarios to change, as path=value; may be repeated.
    jobs
        Processes to run on; all processors where not given.
    json
        Print one JSON object.
    """
    chosen = [scenario_of(name, overrides) for name in scenarios or ("city-50",)]
    found: list[Tuning] = []
    for name in policies_of(policy):
        if name == "hold":
            continue
        with progress(f"tune {name}", 1, "runs") as track:
            found.append(
                search(
                    chosen,
                    name,
                    trials=trials,
                    seeds=seeds,
                    check_seeds=check_seeds,
                    hours=hours,
                    root=seed,
                    jobs=jobs_of(jobs),
                    on_runs=lambda done, total: track.to(done, total=total),
                )
            )
    if json:
        print_json({"tunings": [tuning.as_json() for tuning in found]})
        return 0
    table = Table(box=None, pad_edge=False)
    for column in ("policy", "best parameters", "J against defaults", "95 % interval"):
        table.add_column(column)
    for tuning in found:
        check = tuning.check
        interval = "-" if check.low is None or check.high is None else f"{check.low:+.1%} to {check.high:+.1%}"
        parameters = ", ".join(f"{key}={value:g}" for key, value in tuning.best.parameters.items()) or "the defaults"
        table.add_row(tuning.policy, parameters, f"{check.mean:+.1%}", interval)
    screen().print(table)
    screen().print(f"\nJ on {check_seeds} seeds that the search did not see, relative to the defaults.", markup=False)
    return 0
