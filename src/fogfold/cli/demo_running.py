"""A demonstration while it runs and when it is over: a bar or a live line, then the table of what came of it.

All that moves goes to the error stream, and where that is no terminal, a line an hour of the cluster stands there.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fogfold.api.server import listen
from fogfold.bootstrap.demo import DemoSettings, Standing, open_demo
from fogfold.bootstrap.demo_sums import DemoSums, LoopSums, sums_of
from fogfold.cli.compare import comparison_json
from fogfold.cli.output import print_json, progress, screen
from fogfold.cli.reporting import save_report
from fogfold.errors import ModelError
from fogfold.evaluate.statistics import compare as paired_differences
from fogfold.evaluate.statistics import summarise
from fogfold.evaluate.tables import ComparisonView, comparison

__all__ = ["DemoSettings", "play", "run_demo", "standing_line"]

_HOST = "127.0.0.1"
_SHOWN_CODES = 4
"""Reasons of refusals that are named; the others are counted together."""


@dataclass(frozen=True)
class Shown:
    """How the outcome is shown."""

    settings: DemoSettings
    report: Path | None
    json: bool

    def outcome(self, sums: DemoSums | None) -> None:
        """The table, or one JSON object; and the report where one is asked for."""
        if sums is None:
            _errors().print("fogfold: not one step of the cluster was over, so there is nothing to show")
            return
        episodes = [sums.hold, sums.played]
        runs = [episode.result for episode in episodes]
        if self.json:
            print_json({**comparison_json(episodes, "hold"), "loop": sums.loop.as_json()})
        else:
            out = screen()
            out.print()
            out.print(ComparisonView(comparison(summarise(runs), paired_differences(runs, "hold"))))
            out.print()
            out.print(loop_view(sums.loop))
        if self.report is not None:
            save_report(self.report, self.settings.scenario, episodes, baseline="hold", quiet=self.json)


def run_demo(settings: DemoSettings, *, port: int | None, report: Path | None, json: bool) -> int:
    """Run a demonstration and show what came of it; gives the exit code.

    Args:
        settings: what is shown.
        port: where it serves meanwhile; None for not at all.
        report: where a report is written.
        json: whether one JSON object is printed.
    """
    shown = Shown(settings, report, json)
    if port is None:
        return asyncio.run(_exit(settings, shown))
    with _listening(port) as listening:
        return asyncio.run(_serve(settings, shown, listening))


async def play(settings: DemoSettings, stop: asyncio.Event, watch: Callable[[Standing], None]) -> DemoSums | None:
    """Play a demonstration to its end, or until it is told to stop; None where not one step was over by then."""
    async with open_demo(settings) as demo:
        await demo.play(stop, watch)
        return await sums_of(demo)


async def _exit(settings: DemoSettings, shown: Shown) -> int:
    stop = _stop_at_signals()
    what = f"{settings.scenario.name} under {settings.policy}"
    with progress(what, settings.hours, "h") as track:

        def watch(standing: Standing) -> None:
            track.to(standing.hours)
            track.name(f"{what}: {standing.asleep} of {standing.nodes} asleep")

        sums = await play(settings, stop, watch)
    shown.outcome(sums)
    if stop.is_set():
        hours = 0.0 if sums is None else sums.played.result.hours
        _errors().print(f"fogfold: interrupted after {hours:g} of {settings.hours:g} h, which are kept")
        return 130
    return 0


async def _serve(settings: DemoSettings, shown: Shown, listening: socket.socket) -> int:
    stop = _stop_at_signals()
    if not shown.json:
        screen().print(f"fogfold plays {settings.scenario.name} under {settings.policy}.", markup=False)
    async with open_demo(settings) as demo:
        host, port = listening.getsockname()[:2]
        url = f"http://{host}:{port}"
        out = _errors() if shown.json else screen()
        asks = "" if port == 8460 else f" --url {url}"
        out.print(f"It answers on {url}; ask it from another terminal: fogfold status{asks}", markup=False)
        out.print("Ctrl-C ends it.", markup=False)
        sys.stdout.flush()
        with _line() as watch:
            await demo.serve(listening, stop, watch, lambda: None)
        shown.outcome(await sums_of(demo))
    return 0


def _stop_at_signals() -> asyncio.Event:
    """An event that Ctrl-C and SIGTERM set."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    try:
        listening = listen(_HOST, port)
    except ModelError as error:
        raise ModelError(f"nobody can listen on port {port} of this machine; give another --port, or 0") from error
    with listening:
        yield listening


@contextmanager
def _line() -> Iterator[Callable[[Standing], None]]:
    """A line that changes where it stands; where there is no terminal, a line an hour of the cluster."""
    console = _errors()
    if not console.is_terminal:
        told = -1

        def tell(standing: Standing) -> None:
            nonlocal told
            if int(standing.hours) > told:
                told = int(standing.hours)
                console.print(standing_line(standing), markup=False)

        yield tell
        return
    with Live(console=console, transient=True, refresh_per_second=5) as live:
        yield lambda standing: live.update(standing_line(standing))


def standing_line(standing: Standing) -> Text:
    """How it stands, on one line."""
    parts = [
        _clock(standing.now_s, "%a %H:%M"),
        f"{standing.asleep:2} of {standing.nodes} nodes asleep",
        f"{_energy(standing.saved_kwh)} saved ({_whole(100.0 * standing.saved_share)} %)",
        f"{standing.moves} moves",
    ]
    if standing.is_over:
        parts.append("the day is over: look around, then Ctrl-C")
    elif standing.next_s is not None:
        parts.append(f"next decision {_clock(standing.next_s, '%H:%M')}")
    return Text("  ·  ").join([Text(part, style="bold" if k == 0 else "") for k, part in enumerate(parts)])


def _clock(at_s: float, form: str) -> str:
    return dt.datetime.fromtimestamp(at_s, tz=dt.UTC).strftime(form)


def _energy(kwh: float) -> str:
    return f"{kwh:.2f} kWh" if abs(kwh) >= 1.0 else f"{_whole(1000.0 * kwh)} Wh"


def _whole(number: float) -> str:
    """Rounded, without a sign where that is zero."""
    return f"{round(number):,}"


def loop_view(sums: LoopSums) -> Table:
    """What the loop did, a line each."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    table.add_row("decisions", f"{sums.decisions:,}", f"{sum(sums.plans.values()):,} of them written down")
    table.add_row("carried out", f"{sum(sums.verdicts.values()):,}", _counted(sums.verdicts, len(sums.verdicts)))
    table.add_row("moves", f"{sum(sums.moves.values()):,}", _counted(sums.moves, len(sums.moves)))
    table.add_row(
        "held back",
        f"{sum(sums.refused.values()):,}",
        f"orders in {sums.interventions:,} decisions: {_counted(sums.refused, _SHOWN_CODES)}" if sums.refused else "",
    )
    table.add_row("journal", f"{sums.journal_entries:,}", "entries")
    return table


def _counted(counts: dict[str, int], most: int) -> str:
    """The largest counts with their names, the others together."""
    named = [f"{name} {count:,}" for name, count in list(counts.items())[:most]]
    others = sum(list(counts.values())[most:])
    return ", ".join([*named, *([f"others {others:,}"] if others else [])])


def _errors() -> Console:
    return Console(stderr=True, highlight=False)
