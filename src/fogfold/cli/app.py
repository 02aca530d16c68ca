"""The command `fogfold`: its commands put together, and errors turned into a sentence and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from rich.console import Console

from fogfold import __version__
from fogfold.cli.audit import audit
from fogfold.cli.bench import bench
from fogfold.cli.calibrate import calibrate_app
from fogfold.cli.compare import compare
from fogfold.cli.demo import demo
from fogfold.cli.forecast import forecast
from fogfold.cli.import_trace import import_trace
from fogfold.cli.journal import journal
from fogfold.cli.operate import approve, deny, plan, resume, status, stop, wake_all, why
from fogfold.cli.run import run
from fogfold.cli.scenarios import scenarios
from fogfold.cli.serve import serve
from fogfold.cli.train import train
from fogfold.cli.tune import tune
from fogfold.errors import FogfoldError

__all__ = ["app", "main"]

app = App(
    name="fogfold",
    help="Fold the containers of a fog or edge cluster onto fewer nodes, so that the rest can sleep.",
    version=__version__,
    help_format="markdown",
    default_parameter=None,
)
app.command(demo)
app.command(run)
app.command(compare)
app.command(tune)
app.command(train)
app.command(audit)
app.command(scenarios)
app.command(import_trace, name="import")
app.command(bench)
app.command(forecast)
app.command(calibrate_app)
app.command(serve)
for command in (status, plan, approve, deny, stop, resume, why):
    app.command(command)
app.command(wake_all, name="wake-all")
app.command(journal)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; gives its exit code (`fogfold.errors.EXIT_CODES`)."""
    problems = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        problems.print(f"fogfold: {error}", markup=False)
        problems.print("fogfold: see `fogfold --help`", markup=False)
        return 2
    except FogfoldError as error:
        for line in str(error).splitlines():
            problems.print(f"fogfold: {line}", markup=False)
        return error.exit_code
    except KeyboardInterrupt:
        problems.print("fogfold: interrupted", markup=False)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return code if isinstance(code, int) else 0
