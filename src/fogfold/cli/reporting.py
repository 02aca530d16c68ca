"""Reports from the command line: checked before the work, written after it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from fogfold.cli.output import screen
from fogfold.errors import FogfoldError
from fogfold.evaluate.episodes import Episode
from fogfold.evaluate.report import check_report_extra, write_report
from fogfold.units import HOUR_S, WEEK_S
from fogfold.world.scenario.schema import Scenario

__all__ = ["check_report_path", "command_line", "save_report"]


def check_report_path(path: Path | None) -> None:
    """Nothing, where a report can be written there (or none is asked for): found out before the work, not after.

    Raises:
        MissingExtraError: if the figures' library is missing.
        FogfoldError: if the folder does not exist or the path is one.
    """
    if path is None:
        return
    check_report_extra()
    if not path.parent.is_dir():
        raise FogfoldError(f"the folder of the report {str(path)!r} does not exist; make it first")
    if path.is_dir():
        raise FogfoldError(f"the report {str(path)!r} is a folder; name a file")


def command_line() -> str:
    """The command that is running, as one would type it."""
    return shlex.join(["fogfold", *sys.argv[1:]])


def save_report(
    path: Path,
    scenario: Scenario,
    episodes: Sequence[Episode],
    *,
    baseline: str | None,
    start_s: float = 0.0,
    quiet: bool,
) -> None:
    """Write the report of some episodes of one scenario, and say where it is."""
    first_of = {episode.result.policy: episode for episode in reversed(episodes)}
    write_report(
        path,
        title=f"{scenario.name}: {', '.join(first_of)}"
        if len(first_of) < 4
        else f"{scenario.name}: {len(first_of)} policies",
        runs=[episode.result for episode in episodes],
        series={(episode.result.policy, episode.result.seed): episode.series for episode in episodes},
        site_map={policy: episode.sites for policy, episode in first_of.items()},
        baseline=baseline,
        command=command_line(),
        start_hour_of_week=(start_s % WEEK_S) / HOUR_S,
    )
    if not quiet:
        screen().print(f"Report: {path}", markup=False)
