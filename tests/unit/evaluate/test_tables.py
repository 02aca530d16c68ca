"""One table, three forms: the same text on a terminal, in Markdown and in a report, and never a clipped number."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping

import pytest
from rich.console import Console, RenderableType

from fogfold.errors import ModelError, UnknownNameError
from fogfold.evaluate.result import FIGURES, RunResult, Terms
from fogfold.evaluate.statistics import Difference, Interval, Paired, Summary
from fogfold.evaluate.tables import (
    MAIN_FIGURES,
    ComparisonView,
    ResultView,
    comparison,
    difference_text,
    markdown,
    number_text,
    plain_line,
    value_text,
)

FIGURE = {figure.key: figure for figure in FIGURES}


def summary_of(policy: str, seeds: int = 5, **means: float) -> Summary:
    figures: dict[str, Interval | None] = {}
    for figure in FIGURES:
        mean = means.get(figure.key, 1.0)
        if math.isnan(mean):
            figures[figure.key] = None
        elif seeds > 1:
            figures[figure.key] = Interval(mean, mean - 0.25, mean + 0.25)
        else:
            figures[figure.key] = Interval(mean, None, None)
    return Summary(policy, tuple(range(seeds)), figures)


def paired_of(policy: str, against: str, relative: Mapping[str, Interval | None]) -> Paired:
    zero = Difference(Interval(0.0, 0.0, 0.0), Interval(0.0, 0.0, 0.0))
    figures: dict[str, Difference | None] = {figure.key: zero for figure in FIGURES}
    for key, interval in relative.items():
        figures[key] = Difference(Interval(-2.0, -3.0, -1.0), interval)
    return Paired(policy, against, (0, 1, 2, 3, 4), figures)


def shown(view: RenderableType, width: int, *, no_color: bool = True) -> str:
    console = Console(file=io.StringIO(), width=width, no_color=no_color, force_terminal=True, legacy_windows=False)
    with console.capture() as capture:
        console.print(view)
    return capture.get()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_shares_are_shown_in_percent_and_counts_without_digits() -> None:
    assert number_text(FIGURE["nodes_asleep_share"], 0.4567) == "45.7"
    assert number_text(FIGURE["moves"], 1234.4) == "1,234"
    assert number_text(FIGURE["energy_kwh"], -2.0) == "−2.000"
    assert number_text(FIGURE["energy_kwh"], -0.0001, signed=True) == "0.000"


def test_value_carries_half_of_its_interval_and_one_seed_carries_none() -> None:
    assert value_text(FIGURE["energy_kwh"], Interval(12.0, 11.5, 12.7)) == "12.000 ± 0.600"
    assert value_text(FIGURE["energy_kwh"], Interval(12.0, None, None)) == "12.000"
    assert value_text(FIGURE["energy_kwh"], None) == "n/a"


def test_small_interval_is_never_shown_as_no_interval() -> None:
    assert value_text(FIGURE["energy_kwh"], Interval(12.0, 11.9999, 12.0001)) == "12.000 ± <0.001"
    assert value_text(FIGURE["moves"], Interval(0.0, 0.0, 0.0)) == "0"


def test_difference_is_in_percent_in_points_for_shares_and_in_units_of_nothing() -> None:
    relative = Difference(Interval(-2.0, -3.0, -1.0), Interval(-0.16, -0.18, -0.14))
    assert difference_text(FIGURE["energy_kwh"], relative) == "−16.0 %"
    assert difference_text(FIGURE["nodes_asleep_share"], Difference(Interval(0.25, 0.2, 0.3), None)) == "+25.0 pp"
    assert difference_text(FIGURE["moves"], Difference(Interval(9.0, 8.0, 10.0), None)) == "+9"
    assert difference_text(FIGURE["energy_kwh"], None) == ""


def test_difference_whose_sign_is_open_says_so() -> None:
    open_sign = Difference(Interval(-0.1, -1.0, 0.8), Interval(-0.01, -0.1, 0.08))
    assert difference_text(FIGURE["energy_kwh"], open_sign) == "≈ −1.0 %"
    one_seed = Difference(Interval(-0.1, None, None), Interval(-0.01, None, None))
    assert difference_text(FIGURE["energy_kwh"], one_seed) == "−1.0 %"


def test_best_is_marked_by_direction_and_by_what_is_shown() -> None:
    table = comparison(
        [
            summary_of("hold", energy_kwh=10.0, nodes_asleep_share=0.0, total_cost=5.0),
            summary_of("drain", energy_kwh=8.0001, nodes_asleep_share=0.3, total_cost=4.0),
            summary_of("guided", energy_kwh=8.0, nodes_asleep_share=0.2, total_cost=3.0),
        ],
        figures=("energy_kwh", "nodes_asleep_share", "moves"),
    )
    best = {row.policy: [cell.best for cell in row.cells] for row in table.rows}
    # 8.0001 and 8.0 read alike, so both win; equal moves have no winner.
    assert best == {"guided": [True, False, False], "drain": [True, True, False], "hold": [False, False, False]}
    assert [row.policy for row in table.rows] == ["guided", "drain", "hold"]


def test_best_is_marked_without_colour() -> None:
    table = comparison([summary_of("hold", energy_kwh=10.0), summary_of("drain", energy_kwh=8.0)])
    assert "* 8.000 ± 0.250" in plain(shown(ComparisonView(table), 120))
    assert "**8.000 ± 0.250**" in markdown(table)


def test_no_color_leaves_no_colour_code() -> None:
    table = comparison([summary_of("hold"), summary_of("drain", energy_kwh=8.0)])
    codes = set(re.findall(r"\x1b\[([0-9;]*)m", shown(ComparisonView(table), 120)))
    assert not [code for code in codes if re.search(r"(^|;)(3[0-7]|4[0-7]|9[0-7]|38|48)(;|$)", code)]


@pytest.mark.parametrize("width", [200, 120, 80, 50, 34])
def test_narrow_terminal_cuts_the_table_into_blocks_and_keeps_every_number(width: int) -> None:
    summaries = [summary_of("hold", total_cost=123456.0), summary_of("high-node-use", energy_kwh=8.125)]
    pair = paired_of("high-node-use", "hold", {"energy_kwh": Interval(-0.2, -0.25, -0.15)})
    table = comparison(summaries, [pair])
    text = plain(shown(ComparisonView(table), width))
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    for row in table.rows:
        for cell in row.cells:
            assert cell.value in text
    blocks = text.count("policy  ")
    assert text.count("hold (baseline)") == blocks
    assert blocks == 1 if width == 200 else blocks >= 1
    assert blocks > 1 or width > 80


def test_differences_stand_below_their_value_and_the_note_names_the_baseline() -> None:
    pair = paired_of("drain", "hold", {"energy_kwh": Interval(-0.2, -0.25, -0.15)})
    table = comparison([summary_of("hold"), summary_of("drain")], [pair])
    assert "−20.0 %" in plain(shown(ComparisonView(table), 120))
    assert "against hold, paired by seed" in table.note
    assert "over 5 seeds" in table.note
    assert "One seed: no intervals." in comparison([summary_of("hold", seeds=1)]).note
    assert "3 to 5 seeds" in comparison([summary_of("hold", seeds=3), summary_of("drain")]).note


def test_markdown_has_one_line_a_policy_and_escapes_names() -> None:
    pair = paired_of("a|b*\n", "hold", {"energy_kwh": Interval(-0.2, -0.25, -0.15)})
    lines = markdown(
        comparison([summary_of("hold", total_cost=2.0), summary_of("a|b*\n")], [pair], figures=("energy_kwh",))
    ).splitlines()
    assert lines[0] == "| policy | energy, kWh |"
    assert lines[1] == "|---|---:|"
    assert lines[2] == r"| a\|b\* | 1.000 ± 0.250 (−20.0 %) |"
    assert lines[3] == "| hold (baseline) | 1.000 ± 0.250 |"
    assert lines[4] == ""
    assert len(lines) == 6


def test_names_cannot_break_a_line_or_the_terminal() -> None:
    assert plain_line("a\x1b[31m\tb\u2028c\ud800d") == "a [31m b c d"
    table = comparison([summary_of("[red]x[/red]\x1b[2J"), summary_of("hold")])
    text = shown(ComparisonView(table), 200)
    assert "[red]x[/red]" in text
    assert "\x1b[2J" not in text


def test_figure_that_is_not_known_is_shown_as_absent() -> None:
    table = comparison([summary_of("hold"), summary_of("drain", total_cost=math.nan, mean_latency_ms=math.nan)])
    drain = table.rows[-1]
    assert drain.policy == "drain"
    assert [cell.value for cell in drain.cells].count("n/a") == 2
    alone = comparison([summary_of("drain", mean_latency_ms=math.nan)])
    assert "mean_latency_ms" not in [figure.key for figure in alone.columns]


def test_run_is_shown_with_its_parts_and_without_meanings_where_narrow() -> None:
    terms = Terms(8.0, 1.0, 1.5, 0.5)
    service = (0.25, 0.001, 3.0, math.nan)
    result = RunResult(
        "city-20", "drain", 3, 24.0, 10.5, *service, 12, 1, 0, 11.0, terms, 100.0, 0.5, 80, None, None, None
    )
    wide, narrow = (plain(shown(ResultView(result), width)) for width in (110, 50))
    assert wide.splitlines()[0].rstrip() == "drain on city-20, seed 3, 24 h"
    for text in (wide, narrow):
        for figure in FIGURES:
            assert figure.label in text
        assert re.search(r"of it SLA +1\.5", text)
        assert re.search(r"latency +n/a", text)
        assert re.search(r"decision p50 +n/a", text)
    assert FIGURE["moves"].meaning in wide
    assert FIGURE["moves"].meaning not in narrow
    assert max(len(line.rstrip()) for line in narrow.splitlines()) <= 50


def test_wrong_tables_are_refused_with_a_sentence() -> None:
    with pytest.raises(ModelError, match="0 policies"):
        comparison([])
    with pytest.raises(ModelError, match="against one baseline"):
        comparison([summary_of("a")], [paired_of("a", "b", {}), paired_of("a", "c", {})])
    with pytest.raises(UnknownNameError, match='did you mean "energy_kwh"'):
        comparison([summary_of("a")], figures=("energy_kw",))
    assert set(MAIN_FIGURES) <= set(FIGURE)
