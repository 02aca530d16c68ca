"""A report is one file that needs nothing else, holds every policy and figure, and is the same for the same input."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fogfold.errors import MissingExtraError, ModelError, UnknownNameError
from fogfold.evaluate.figures.curves import curve, span_minutes, span_text
from fogfold.evaluate.figures.drawing import COLOURS
from fogfold.evaluate.figures.labels import Box, place, short_name, spread
from fogfold.evaluate.figures.lineup import MOST_SHOWN, lineup
from fogfold.evaluate.figures.site_map import kilometres, round_length
from fogfold.evaluate.figures.trade_off import front
from fogfold.evaluate.findings import Findings, findings
from fogfold.evaluate.report import render_report, write_report
from fogfold.evaluate.report_figures import time_figures
from fogfold.evaluate.result import FIGURES, RunResult, RunSeries, SiteMap, Terms
from fogfold.evaluate.statistics import compare, summarise
from fogfold.seeding import stream

VOID = {"meta", "br", "hr", "img", "input", "link"}


def run_of(policy: str, seed: int, saving: float = 0.0, **figures: Any) -> RunResult:
    energy = 10.0 * stream(seed, "day").normal(1.0, 0.05) * (1.0 - saving)
    terms = Terms(1000.0 * energy, 300.0 * saving, 40.0 + 100.0 * saving, 20.0)
    plain = RunResult(
        scenario="city-20",
        policy=policy,
        seed=seed,
        hours=6.0,
        energy_kwh=energy,
        nodes_asleep_share=saving,
        sla_violation_rate=0.001 * (1.0 + saving),
        migration_cost=9.0 * saving,
        mean_latency_ms=20.0 + 5.0 * saving,
        moves=int(90 * saving),
        failed_moves=int(5 * saving),
        refused=0,
        total_cost=terms.energy + terms.migration + terms.sla + terms.latency,
        terms=terms,
        work_core_h=100.0,
        waiting_container_h=0.5,
        first_placements=80,
        decision_ms_p50=1.0,
        decision_ms_p99=2.0,
        cpu_s=3.0,
    )
    return replace(plain, **figures)


def series_of(policy: str, seed: int, saving: float = 0.0, steps: int = 24) -> RunSeries:
    rng = stream(seed, "series", len(policy))
    moves = rng.poisson(3.0 if saving else 0.0, steps)
    return RunSeries(
        hour=(np.arange(steps) + 1.0) / 4.0,
        power_w=400.0 * (1.0 - saving) + rng.normal(0.0, 5.0, steps),
        load_share=np.full(steps, 0.3),
        nodes_asleep=np.full(steps, int(20 * saving)),
        nodes_failed=np.zeros(steps, int),
        moves_started=moves,
        moves_failed=moves // 4,
        sla_violation_rate=np.full(steps, 0.001),
        latency_ms=20.0 + rng.random(steps),
    )


def sites() -> SiteMap:
    where = (np.array([52.5, 52.6, 52.4]), np.array([13.3, 13.4, 13.6]))
    return SiteMap(("Mill", "Port", "Hill"), *where, np.array([2, 8, 5]), np.array([0.1, 0.5, 0.95]))


SAVINGS = {"hold": 0.0, "drain": 0.2, "first-fit": 0.3}


def report_of(savings: dict[str, float] = SAVINGS, seeds: int = 2, **changes: Any) -> str:
    runs = [run_of(policy, seed, saving) for policy, saving in savings.items() for seed in range(seeds)]
    series = {(p, seed): series_of(p, seed, saving) for p, saving in savings.items() for seed in range(seeds)}
    given: dict[str, Any] = {
        "title": "Three policies",
        "runs": runs,
        "series": series,
        "site_map": sites(),
        "baseline": "hold",
        "command": "fogfold compare city-20 --seeds 2",
        "versions": {"fogfold": "0.1.0", "numpy": "2.3"},
        "start_hour_of_week": 20.0,
    }
    return render_report(**(given | changes))


@pytest.fixture(scope="module")
def page() -> str:
    return report_of()


class Reader(HTMLParser):
    """Reads a page, refusing tags that do not match and ids that occur twice."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.targets: list[str] = []
        self.words: list[str] = []
        self.alts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith("on"), "no script in attributes"
            if name == "id" and value is not None:
                assert value not in self.ids, f"id {value} occurs twice"
                self.ids.add(value)
            if name == "href" and value is not None:
                self.targets.append(value)
            if name == "aria-label" and value is not None:
                self.alts.append(value)


def test_page_is_well_formed_and_asks_no_network(page: str) -> None:
    reader = Reader(page)
    assert not re.search(r"(https?:)?//[a-z]", page)
    assert "@import" not in page
    assert not reader.tags & {"script", "link", "iframe", "img", "object", "image", "foreignobject"}
    assert all(target.startswith("#") and target[1:] in reader.ids for target in reader.targets)
    for reference in re.findall(r"url\(([^)]*)\)", page):
        assert reference.removeprefix("#") in reader.ids


def test_page_holds_every_policy_figure_and_section(page: str) -> None:
    reader = Reader(page)
    text = " ".join(reader.words)
    for name in ("hold", "drain", "first-fit", *(figure.label for figure in FIGURES), "Mill", "Port", "Hill"):
        assert name in text
    for figure in FIGURES:
        assert figure.meaning[1:] in text
    drawn = {
        "differences",
        "trade-off-figure",
        "cost-figure",
        "power",
        "asleep",
        "moves",
        "violations",
        "latency",
        "map",
    }
    assert drawn <= reader.ids
    assert {"policies", "trade-off", "over-time", "sites", "definitions", "made"} <= reader.ids
    assert "fogfold compare city-20 --seeds 2" in text
    assert page.count("<figure ") == page.count("<figcaption>") == 9
    assert page.count('role="img" aria-label="best"') > 0


def test_every_drawing_has_words_for_those_who_do_not_see_it(page: str) -> None:
    labels = re.findall(r'<div class="plot \w+" role="img" aria-label="([^"]+)">', page)
    assert len(labels) == 18
    assert all(len(label) > 40 for label in labels)
    assert any("drain" in label and "20.0 %" in label for label in labels)


def test_same_input_gives_the_same_bytes_whatever_the_user_configured(page: str) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 31.0, "svg.fonttype": "path", "xtick.major.width": 9.0}):
        assert report_of() == page


def test_every_colour_that_is_drawn_has_a_value_on_the_page(page: str) -> None:
    style = page[page.index("<style>") : page.index("</style>")]
    assert set(re.findall(r"var\(--([\w-]+)\)", page)) <= set(re.findall(r"--([\w-]+):", style))
    assert all(style.count(f"--{name}:") == 2 for name in COLOURS), "one value for light, one for dark"
    assert not re.search(r"#0a0b[0-9a-f]{2}", page)


def test_headline_says_what_was_saved_at_which_price_and_how_sure_that_is(page: str) -> None:
    match = re.search(r'<p class="headline">(.*?)</p>', page)
    assert match is not None
    headline = match.group(1).replace("\u00a0", " ")
    assert headline.startswith("first-fit used 30.0 % less energy than hold (95 % interval 30.0 to 30.0 %; 2 seeds).")
    assert "The price: SLA violations up 0.030 percentage points (0.030 to 0.030) to 0.130 %" in headline
    assert "27 moves in 6 h" in headline


def test_hostile_names_are_escaped_everywhere() -> None:
    evil = "<script>alert('x')</script>\"&$a_b$\x00\ud800\n漢"
    page = report_of(
        {"hold": 0.0, evil: 0.2, "漢$a_b$&": 0.1},
        title=evil,
        command=evil,
        versions={evil: evil},
        site_map=replace(sites(), name=(evil, "Port", "]]>")),
    )
    reader = Reader(page)
    assert "script" not in reader.tags
    assert "<script>alert('x')</script>\"&$a_b$ 漢" in "".join(reader.words)
    assert re.search(r"<text [^>]*>漢\$a_b\$&amp;</text>", page), "no formula is made of a name in a figure"
    page.encode("utf-8")


def test_many_policies_stay_readable_and_all_are_named() -> None:
    savings = {"hold": 0.0} | {f"policy-name-{number:02d}": 0.02 * number for number in range(1, 16)}
    page = report_of(savings, seeds=1)
    text = " ".join(Reader(page).words)
    assert all(name in text for name in savings)
    curves = page[page.index('<figure id="asleep">') : page.index('<figure id="moves">')]
    assert len(set(re.findall(r"policy-name-\d+", curves))) == MOST_SHOWN
    assert "The other 11 policies are in the tables" in text
    assert "One seed shows one possible day" in text


def test_one_policy_alone_makes_a_report_without_differences() -> None:
    runs = [run_of("drain", 0, 0.2, decision_ms_p50=None, decision_ms_p99=None, cpu_s=None)]
    bare = replace(sites(), nodes=np.zeros(3, int))
    page = report_of(runs=runs, baseline=None, site_map=bare, series={}, start_hour_of_week=None)
    ids = Reader(page).ids
    assert not ids & {"differences", "trade-off-figure", "over-time", "sites"}
    assert "cost-figure" in ids
    assert "drain used" in page
    assert "decision p50<small>" not in page, "times that were not taken have no column"


def test_gaps_and_single_steps_are_drawn() -> None:
    gaps = series_of("hold", 0)
    gaps.latency_ms[3:6] = np.nan
    gaps.sla_violation_rate[:] = np.nan
    summaries = summarise([run_of(policy, 0, saving) for policy, saving in SAVINGS.items()])
    who = lineup(summaries, "hold")
    figures = time_figures({"hold": [gaps], "drain": [series_of("drain", 0, steps=1)]}, summaries, who, None)
    assert Reader(figures).ids >= {"power", "asleep", "violations", "latency"}
    for path in re.findall(r' d="([^"]*)"', figures):
        assert "nan" not in path.lower()


def test_map_is_of_the_highlighted_policy_where_there_are_several() -> None:
    bare: dict[str, Any] = {"series": {}, "baseline": None, "seeds": 1}
    assert "slept under first-fit" in report_of(site_map={"drain": sites(), "first-fit": sites()}, **bare)
    assert "slept under drain" in report_of(site_map={"drain": sites()}, **bare)


def test_report_is_written_as_one_file(tmp_path: Path, page: str) -> None:
    runs = [run_of("hold", 0)]
    write_report(tmp_path / "out.html", title="t", runs=runs, series={}, site_map=None, baseline=None, command="c")
    assert [path.name for path in tmp_path.iterdir()] == ["out.html"]
    assert (tmp_path / "out.html").read_bytes().startswith(b"<!doctype html>\n")
    assert len(page.encode()) < 1_000_000


def test_missing_matplotlib_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fogfold\[report\]'"):
        write_report(
            tmp_path / "out.html",
            title="t",
            runs=[run_of("hold", 0)],
            series={},
            site_map=None,
            baseline=None,
            command="c",
        )
    assert not list(tmp_path.iterdir())


def test_wrong_input_is_refused_with_a_sentence() -> None:
    with pytest.raises(UnknownNameError, match='did you mean "drain"'):
        report_of(highlight="drian")
    with pytest.raises(UnknownNameError, match="did not run"):
        report_of(series={"other": series_of("other", 0)})
    with pytest.raises(UnknownNameError, match="a map is of"):
        report_of(site_map={"other": sites()})
    with pytest.raises(ModelError, match="below 168"):
        report_of(start_hour_of_week=168.0)
    with pytest.raises(ModelError, match="same hours"):
        report_of(series={("hold", 0): series_of("hold", 0), ("hold", 1): series_of("hold", 1, steps=8)})
    with pytest.raises(ModelError, match="0 runs"):
        report_of(runs=[], series={})


def said(*runs: RunResult, policy: str = "drain") -> Findings:
    summaries = summarise(runs)
    pair = next(one for one in compare(runs, "hold") if one.policy == policy)
    return findings(next(one for one in summaries if one.policy == policy), pair, summaries, 6.0)


def test_saving_from_work_not_done_and_from_users_let_down_is_called_out() -> None:
    lazy = {"work_core_h": 90.0, "sla_violation_rate": 0.005, "moves": 8, "failed_moves": 2, "total_cost": 1e9}
    found = said(run_of("hold", 0), run_of("hold", 1), run_of("drain", 0, 0.2, **lazy), run_of("drain", 1, 0.2, **lazy))
    cautions = " ".join(found.cautions)
    assert "10.0 % less CPU work" in cautions
    assert "5.0 times the SLA violations" in cautions
    assert "20 % of the moves that drain tried failed" in cautions
    assert "does not beat hold" in cautions
    assert "Student's t" in cautions


def test_change_within_the_noise_is_not_called_a_saving() -> None:
    energies = {"hold": (9.0, 10.0, 11.0, 10.0, 9.5), "drain": (9.5, 9.5, 11.2, 9.6, 9.7)}
    runs = [run_of(name, seed, energy_kwh=value) for name, row in energies.items() for seed, value in enumerate(row)]
    found = said(*runs)
    assert found.headline.startswith("drain used about as much energy as hold (≈ 0.0 %, 95 % interval −")
    assert "SLA violations did not measurably change" in found.headline


def test_highlighted_policy_comes_first_and_colours_follow_rank() -> None:
    runs = [run_of(policy, 0, saving) for policy, saving in {**SAVINGS, "guided": 0.25}.items()]
    who = lineup(summarise(runs), "hold", "drain")
    assert who.order == ("first-fit", "guided", "drain", "hold")
    assert who.shown == ("drain", "first-fit", "guided")
    assert [who.colour(name) for name in who.order] == ["policy-2", "policy-3", "policy-1", "baseline"]


def test_curve_thins_by_means_or_sums_over_round_spans() -> None:
    hour = np.arange(1, 9) / 4.0
    plain = replace(series_of("hold", 0, steps=8), hour=hour, moves_started=np.arange(8))
    two = [replace(plain, power_w=np.arange(8.0) + offset) for offset in (0.0, 2.0)]
    assert span_minutes(hour, 4) == 30.0
    assert span_text(30.0) == "30 min"
    line = curve(two, "power_w", most=4)
    assert line.mean.tolist() == [1.5, 3.5, 5.5, 7.5]
    assert line.low.tolist() == [0.5, 2.5, 4.5, 6.5]
    assert line.high.tolist() == [2.5, 4.5, 6.5, 8.5]
    assert line.middle_hour.tolist() == [0.25, 0.75, 1.25, 1.75]
    gap = replace(plain, power_w=np.array([math.nan, 1.0, math.nan, math.nan, 4.0, 5.0, 6.0, 7.0]))
    assert str(curve([gap], "power_w", most=4).mean.tolist()) == "[1.0, nan, 4.5, 6.5]"
    assert curve(two, "moves_started", most=4, total=True).mean.tolist() == [1.0, 5.0, 9.0, 13.0]


def test_labels_keep_their_distance_and_their_order() -> None:
    assert spread([10.0, 11.0, 40.0], 6.0, 0.0, 50.0) == [7.5, 13.5, 40.0]
    assert spread([48.0, 49.0, 50.0], 10.0, 0.0, 50.0) == [30.0, 40.0, 50.0]
    points = [(50.0, 50.0), (52.0, 50.0), (54.0, 52.0)]
    placed = place(points, ["alpha", "beta", "gamma"], [4.0] * 3, frame=Box(0.0, 0.0, 200.0, 100.0), font_px=10.0)
    assert not any(label.crowded for label in placed)
    assert len({(label.x, label.y) for label in placed}) == 3
    assert short_name("x" * 40, 10) == "xxxxxxxxx…"


def test_map_is_to_scale_and_crosses_the_date_line() -> None:
    two = SiteMap(("a", "b"), np.array([0.0, 0.0]), np.array([179.5, -179.5]), np.array([1, 1]), np.array([0.0, 1.0]))
    east, north = kilometres(two)
    # One degree on the equator is 2 pi 6371 / 360 = 111.19 km.
    assert east[1] - east[0] == pytest.approx(111.19, abs=0.01)
    assert north.tolist() == [0.0, 0.0]
    assert (round_length(37.0), round_length(0.9), round_length(5.0)) == (20.0, 0.5, 5.0)


def test_front_holds_what_no_other_beats_in_both() -> None:
    assert front([(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (2.5, 2.5), (2.0, 2.0)]) == [1, 2, 0]


def test_results_go_into_json_without_loss() -> None:
    run = run_of("hold", 0)
    assert json.loads(json.dumps(run.as_json()))["terms"]["latency"] == 20.0
