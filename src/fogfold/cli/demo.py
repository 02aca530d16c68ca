"""`fogfold demo`: the whole service on an embedded simulated cluster in fast time, beside doing nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from fogfold.cli.options import Overrides, scenario_of
from fogfold.cli.reporting import check_report_path
from fogfold.errors import MissingExtraError, ModelError
from fogfold.model.resources import check_number
from fogfold.policy.registry import policy as policy_named

__all__ = ["demo"]


def demo(
    *,
    scenario: str = "city-20",
    policy: str = "drain-relief",
    seed: int = 0,
    hours: float = 24.0,
    exit: bool = False,  # noqa: A002 - the word that one would type
    speed: float = 600.0,
    port: int = 8460,
    bare: bool = False,
    store: str = "memory",
    overrides: Annotated[Overrides, Parameter(name="--set")] = (),
    report: Path | None = None,
    json: bool = False,
) -> int:
    """Play a day of a small city through the whole service, and show what sleeping saves beside `hold`.

    It serves meanwhile: the API of `fogfold serve` answers, and simulated time runs fast. Ctrl-C ends it with the table
    of what was done so far. With `--exit` it plays as fast as it can, and ends by itself.

    Parameters
    ----------
    scenario
        A scenario's name or file.
    policy
        Who decides, beside hold.
    seed
        Root of all randomness.
    hours
        How long to play, in hours of the cluster.
    exit
        Play as fast as can be computed, answer nobody, and end with the table.
    speed
        Seconds of the cluster in one second, at most; for people, not for `--exit`.
    port
        Where it listens on this machine; 0 takes a free port.
    bare
        Switch guards, rests and rules of power off: the policy alone, every five minutes.
    store
        Where the journal is kept: `memory` (a file that is gone afterwards) or sqlite:///path.
    overrides
        Value of the scenario to change, as path=value; may be repeated.
    report
        Write a report to this HTML file.
    json
        Print one JSON object.
    """
    parts = _parts()
    check_report_path(report)
    policy_named(policy)
    if not 0 <= port <= 65535:
        raise ModelError(f"--port is {port}; give 1 to 65535, or 0 for a free one")
    check_number("--speed", speed, above=True)
    settings = parts["DemoSettings"](
        scenario_of(scenario, overrides),
        policy,
        seed,
        hours,
        store=store,
        is_bare=bare,
        speed=None if exit else speed,
    )
    code: int = parts["run_demo"](settings, port=None if exit else port, report=report, json=json)
    return code


def _parts() -> dict[str, Any]:
    """What runs and shows a demonstration, imported now.

    Raises:
        MissingExtraError: if the packages of the extra `serve` are not installed.
    """
    try:
        from fogfold.cli.demo_running import DemoSettings, run_demo  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            f"the demonstration is the whole service and needs the package {error.name!r}; pip install 'fogfold[serve]'"
        ) from error
    return {"DemoSettings": DemoSettings, "run_demo": run_demo}
