"""`fogfold demo`: a day of a city under the best classic rule, beside leaving everything where it is."""

from __future__ import annotations

from pathlib import Path

from fogfold.cli.compare import comparison_json, gather
from fogfold.cli.options import jobs_of, scenario_of
from fogfold.cli.output import print_json, screen
from fogfold.cli.reporting import check_report_path, save_report
from fogfold.evaluate.runs import tasks_of
from fogfold.evaluate.statistics import compare as paired_differences
from fogfold.evaluate.statistics import summarise
from fogfold.evaluate.tables import ComparisonView, comparison

__all__ = ["demo"]


def demo(
    *,
    scenario: str = "city-50",
    policy: str = "drain-relief",
    seed: int = 0,
    hours: float = 24.0,
    report: Path | None = None,
    json: bool = False,
) -> int:
    """Play a day of a small city twice, under `hold` and under the best classic rule, and show what sleeping saves.

    Parameters
    ----------
    scenario
        A scenario's name or file.
    policy
        Who decides, beside hold.
    seed
        Root of all randomness.
    hours
        How long to run.
    report
        Write a report to this HTML file.
    json
        Print one JSON object.
    """
    check_report_path(report)
    chosen = scenario_of(scenario, ())
    episodes, whole = gather(chosen, tasks_of(chosen, ["hold", policy], [seed], hours=hours), jobs_of(1))
    if not whole:
        return 130
    runs = [episode.result for episode in episodes]
    if json:
        print_json(comparison_json(episodes, "hold"))
    else:
        screen().print(ComparisonView(comparison(summarise(runs), paired_differences(runs, "hold"))))
    if report is not None:
        save_report(report, chosen, episodes, baseline="hold", quiet=json)
    return 0
