"""The table of a comparison, made once and shown on a terminal, in Markdown and in the report.

`comparison` turns summaries into rows of finished text; each form only lays them out, so that no two can disagree.
The best value of a column carries a star or bold type, never colour alone. A table that is wider than the
terminal is cut into blocks of whole columns, each with the policies' names: no number is ever wrapped or clipped.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.evaluate.result import FIGURES, Figure, RunResult
from fogfold.evaluate.statistics import Difference, Interval, Paired, Summary, figure_value

__all__ = [
    "MAIN_FIGURES",
    "Cell",
    "Comparison",
    "ComparisonView",
    "ResultView",
    "Row",
    "comparison",
    "difference_text",
    "markdown",
    "number_text",
    "plain_line",
    "value_text",
]

MAIN_FIGURES = (
    "total_cost",
    "energy_kwh",
    "nodes_asleep_share",
    "sla_violation_rate",
    "mean_latency_ms",
    "migration_cost",
)
"""The figures that policies are judged by; the others of `FIGURES` explain them."""

ABSENT = "n/a"
_NOT_ON_A_LINE = frozenset({"Cc", "Cn", "Cs", "Zl", "Zp"})
"""Unicode categories that a line may not hold: controls, what is not assigned, halves of pairs, ends of lines."""
_GAP = 2
"""Columns of blanks between two columns of the terminal's table."""
_WIDTH_OF_MEANINGS = 80
"""Least width of a terminal on which a run's table explains its figures."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of one policy, as text."""

    value: str
    """The mean, and the half-width of its interval where there is one."""
    difference: str
    """Against the baseline, or nothing."""
    best: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One policy's cells, one a column."""

    policy: str
    is_baseline: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Policies by figures, as text, with a note that says how to read it."""

    columns: tuple[Figure, ...]
    rows: tuple[Row, ...]
    note: str


def plain_line(text: str) -> str:
    r"""The text on one line, without control characters, lone surrogates and other signs that no page may hold.

    >>> plain_line("a\tb\x00\nc")
    'a b c'
    """
    kept = "".join(sign if unicodedata.category(sign) not in _NOT_ON_A_LINE else " " for sign in text)
    return " ".join(part for part in kept.split(" ") if part)


def number_text(figure: Figure, value: float, *, signed: bool = False) -> str:
    """A number with the figure's digits, without its unit; shares are given in %, what is not finite as `n/a`.

    >>> number_text(FIGURES[1], 0.4567)
    '45.7'
    """
    if not math.isfinite(value):
        return ABSENT
    scale = 100.0 if figure.unit == "%" else 1.0
    text = _signed(value * scale, figure.digits)
    return text if signed else text.removeprefix("+")


def _signed(value: float, digits: int) -> str:
    """A number with its sign; what rounds to zero has none."""
    text = f"{value:+,.{digits}f}"
    return text[1:] if float(text.replace(",", "")) == 0.0 else text.replace("-", "−")


def value_text(figure: Figure, interval: Interval | None) -> str:
    """The mean with `±` the half-width of its interval; a half-width that rounds to zero is shown as less than a digit.

    >>> value_text(FIGURES[0], Interval(12.0, 11.5, 12.5))
    '12.000 ± 0.500'
    """
    if interval is None:
        return ABSENT
    mean = number_text(figure, interval.mean)
    half = interval.half_width
    if half is None or interval.low == interval.high:
        return mean
    width = number_text(figure, half)
    if float(width.replace(",", "")) == 0.0:
        width = f"<{10.0**-figure.digits:.{figure.digits}f}"
    return f"{mean} ± {width}"


def difference_text(figure: Figure, difference: Difference | None) -> str:
    """The difference in %, in percentage points for a share, in the figure's unit where the other's mean is zero.

    A leading `≈` says that the 95 % interval holds zero, so that the sign is open.
    """
    if difference is None:
        return ""
    shown: Interval = difference.absolute
    if figure.unit == "%":
        text = f"{number_text(figure, shown.mean, signed=True)} pp"
    elif difference.relative is not None:
        shown = difference.relative
        text = f"{_signed(shown.mean * 100.0, 0 if abs(shown.mean) >= 1.0 else 1)} %"
    else:
        text = number_text(figure, shown.mean, signed=True)
    return f"≈ {text}" if shown.holds_zero and shown.low != shown.high else text


def comparison(
    summaries: Sequence[Summary], paired: Sequence[Paired] = (), *, figures: Sequence[str] = MAIN_FIGURES
) -> Comparison:
    """The table of some figures, policies in the order of their total cost J, least first.

    Args:
        summaries: one a policy.
        paired: differences of policies against one baseline; may be empty.
        figures: keys of `FIGURES`, in the order of the columns; one that no policy knows gets no column.

    Raises:
        ModelError: if there is no summary, or the differences are against several baselines.
        UnknownNameError: if a figure is not one of `FIGURES`.
    """
    if not summaries:
        raise ModelError("there are 0 policies to show; give at least one summary")
    baselines = sorted({pair.against for pair in paired})
    if len(baselines) > 1:
        raise ModelError(f"differences are against {', '.join(baselines)}; compare against one baseline")
    known = {figure.key: figure for figure in FIGURES}
    for key in figures:
        if key not in known:
            raise UnknownNameError(f'"{key}" is not a figure of a run; {did_you_mean(key, known)}')
    columns = tuple(known[key] for key in figures if any(one.figures[key] is not None for one in summaries))
    differences = {pair.policy: pair for pair in paired}
    best = [_best(figure, summaries) for figure in columns]
    rows = []
    for summary in sorted(summaries, key=_total_cost):
        pair = differences.get(summary.policy)
        cells = tuple(
            Cell(
                value_text(figure, summary.figures[figure.key]),
                "" if pair is None else difference_text(figure, pair.figures[figure.key]),
                summary.policy in winners,
            )
            for figure, winners in zip(columns, best)
        )
        rows.append(Row(summary.policy, summary.policy in baselines, cells))
    return Comparison(columns, tuple(rows), _note(summaries, baselines))


def _total_cost(summary: Summary) -> float:
    cost = summary.figures["total_cost"]
    return float("inf") if cost is None else cost.mean


def _best(figure: Figure, summaries: Sequence[Summary]) -> frozenset[str]:
    """The policies whose mean is best to the digits shown; none where all are alike or neither way is better."""
    means = {s.policy: interval.mean for s in summaries if (interval := s.figures[figure.key]) is not None}
    if not figure.better or len(means) < 2:
        return frozenset()
    winner = min(means.values()) if figure.better == "lower" else max(means.values())
    shown = number_text(figure, winner)
    winners = frozenset(policy for policy, mean in means.items() if number_text(figure, mean) == shown)
    return frozenset() if len(winners) == len(means) else winners


def _note(summaries: Sequence[Summary], baselines: Sequence[str]) -> str:
    counts = sorted({len(summary.seeds) for summary in summaries})
    if counts == [1]:
        parts = ["One seed: no intervals."]
    else:
        seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        parts = [f"Mean ± half of the 95 % interval of the mean, over {seeds} seeds."]
    if baselines:
        parts.append(
            f"Differences are against {baselines[0]}, paired by seed: in % of its mean, in percentage points (pp) for "
            "shares, in the column's unit where its mean is zero."
        )
        if counts != [1]:
            parts.append("≈: the interval of the difference holds zero.")
    if len(summaries) > 1:
        parts.append("*: best mean of its column. Least total cost J first.")
    return " ".join(parts)


def _heading(figure: Figure) -> tuple[str, str]:
    return figure.label, figure.unit


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The table on a terminal, as a rich renderable that fits any width."""

    table: Comparison

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table in as few blocks of columns as the width allows, then the note."""
        for block in self._blocks(options.max_width):
            yield self._block(block)
            yield Text("")
        yield Text(self.table.note, style="dim")

    def _blocks(self, width: int) -> list[list[int]]:
        """The columns of each block; a block holds at least one column."""
        names = max(cell_len(_name(row)) for row in self.table.rows)
        blocks: list[list[int]] = [[]]
        room = width - names
        for column, figure in enumerate(self.table.columns):
            texts = [line for row in self.table.rows for line in _lines(row.cells[column])]
            need = max(cell_len(text) for text in (*_heading(figure), *texts)) + _GAP
            if blocks[-1] and need > room:
                blocks.append([])
                room = width - names
            blocks[-1].append(column)
            room -= need
        return blocks

    def _block(self, columns: Iterable[int]) -> Table:
        picked = tuple(columns)
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
        table.add_column("policy\n", overflow="fold")
        for column in picked:
            label, unit = _heading(self.table.columns[column])
            table.add_column(f"{label}\n[not bold dim]{unit}[/]", justify="right", overflow="fold")
        for row in self.table.rows:
            table.add_row(Text(_name(row)), *(_cell(row.cells[column]) for column in picked))
        table.add_section()
        return table


def _name(row: Row) -> str:
    name = plain_line(row.policy)
    return f"{name} (baseline)" if row.is_baseline else name


def _lines(cell: Cell) -> tuple[str, str]:
    return f"* {cell.value}" if cell.best else cell.value, cell.difference


def _cell(cell: Cell) -> Text:
    value, difference = _lines(cell)
    text = Text(value, style="bold" if cell.best else "")
    if difference:
        text.append(f"\n{difference}", style="not bold dim")
    return text


def markdown(table: Comparison) -> str:
    """The table in Markdown: best means bold, differences in brackets, the note below."""
    heads = [f"{figure.label}, {figure.unit}" if figure.unit else figure.label for figure in table.columns]
    lines = [
        "| policy | " + " | ".join(heads) + " |",
        "|---|" + "---:|" * len(heads),
    ]
    for row in table.rows:
        cells = []
        for cell in row.cells:
            value = f"**{cell.value}**" if cell.best else cell.value
            cells.append(f"{value} ({cell.difference})" if cell.difference else value)
        lines.append(f"| {_markdown_name(_name(row))} | " + " | ".join(cells) + " |")
    note = table.note.replace("*:", "Bold:")
    return "\n".join([*lines, "", note, ""])


def _markdown_name(name: str) -> str:
    """The name with Markdown's own signs escaped."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>|" else sign for sign in name)


@dataclass(frozen=True, slots=True)
class ResultView:
    """One run's figures on a terminal, as a rich renderable: a line each, the parts of the total cost below it."""

    result: RunResult

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """A title line and the table; the figures' meanings are left out where they would not fit on two lines."""
        result = self.result
        title = f"{result.policy} on {result.scenario}, seed {result.seed}, {result.hours:g} h"
        yield Text(plain_line(title), style="bold")
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
        with_meaning = options.max_width >= _WIDTH_OF_MEANINGS
        table.add_column("figure", no_wrap=True)
        table.add_column("value", justify="right", no_wrap=True)
        table.add_column("unit", no_wrap=True)
        if with_meaning:
            table.add_column("meaning", style="dim", overflow="fold")
        for figure, label, value in _result_lines(result):
            text = number_text(figure, value)
            table.add_row(
                label, text, figure.unit, *([figure.meaning] if with_meaning and label == figure.label else [])
            )
        yield table


def _result_lines(result: RunResult) -> Iterator[tuple[Figure, str, float]]:
    for figure in FIGURES:
        yield figure, figure.label, figure_value(result, figure.key)
        if figure.key == "total_cost":
            for part in fields(result.terms):
                yield figure, f"  of it {part.name.replace('sla', 'SLA')}", getattr(result.terms, part.name)
