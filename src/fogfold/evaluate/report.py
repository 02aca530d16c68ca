"""The report of a comparison: one HTML file that opens anywhere, asks no network for anything and can be printed.

It says first what was found, then shows the evidence (tables, differences with intervals, what happened over time,
where), then defines every figure and tells how to make the report again. The same input gives the same bytes.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fogfold import __version__
from fogfold.errors import MissingExtraError, ModelError, UnknownNameError, did_you_mean
from fogfold.evaluate import report_page as html
from fogfold.evaluate.figures.lineup import Lineup, lineup
from fogfold.evaluate.findings import findings
from fogfold.evaluate.result import FIGURES, RunResult, RunSeries, SiteMap
from fogfold.evaluate.statistics import LEAST_BOOTSTRAP_SEEDS, Paired, Summary, compare, figure_value, summarise
from fogfold.evaluate.tables import MAIN_FIGURES, comparison, number_text

__all__ = ["Series", "check_report_extra", "render_report", "write_report"]

Series = Mapping[str | tuple[str, int], RunSeries]
"""Step-by-step series by (policy, seed), or by policy where one seed is kept."""

_OTHER_FIGURES = tuple(figure.key for figure in FIGURES if figure.key not in MAIN_FIGURES)


def check_report_extra() -> None:
    """Nothing, where reports can be drawn; ask before a long comparison rather than after it.

    Raises:
        MissingExtraError: if matplotlib is not installed.
    """
    try:
        importlib.import_module("matplotlib")
    except ImportError as cause:
        raise MissingExtraError(
            "matplotlib is not installed, and a report draws its figures with it; install it with "
            "`pip install 'fogfold[report]'`"
        ) from cause


def write_report(
    path: Path,
    *,
    title: str,
    runs: Sequence[RunResult],
    series: Series,
    site_map: SiteMap | Mapping[str, SiteMap] | None,
    baseline: str | None,
    command: str,
    versions: Mapping[str, str] | None = None,
    highlight: str | None = None,
    start_hour_of_week: float | None = None,
) -> None:
    """Writes the report to a file; see `render_report` for its parts.

    Raises:
        OSError: if the file cannot be written.
    """
    page = render_report(
        title=title,
        runs=runs,
        series=series,
        site_map=site_map,
        baseline=baseline,
        command=command,
        versions=versions,
        highlight=highlight,
        start_hour_of_week=start_hour_of_week,
    )
    path.write_text(page, encoding="utf-8", newline="\n")


def render_report(
    *,
    title: str,
    runs: Sequence[RunResult],
    series: Series,
    site_map: SiteMap | Mapping[str, SiteMap] | None,
    baseline: str | None,
    command: str,
    versions: Mapping[str, str] | None = None,
    highlight: str | None = None,
    start_hour_of_week: float | None = None,
) -> str:
    """The report as HTML.

    Args:
        title: heading of the page.
        runs: results of one scenario; several seeds a policy give intervals.
        series: what happened step by step; policies without any are left out of the figures over time.
        site_map: the sites under one policy, or the maps of several by policy; of those the highlighted one is shown.
        baseline: the policy that others are compared with; nothing for a report without differences.
        command: the command line that made the runs.
        versions: names and versions of what made the runs; fogfold's own where none are given.
        highlight: the policy that the headline is about; the one of least total cost, the baseline apart, where none.
        start_hour_of_week: hour of the week at which runs begin, in [0, 168[, 0 = Monday 00:00; shades the nights.

    Raises:
        MissingExtraError: if matplotlib is not installed.
        ModelError: if the runs cannot be compared, or the start is outside the week.
        UnknownNameError: if the baseline, the highlighted policy or the policy of a series or map did not run.
    """
    check_report_extra()
    if start_hour_of_week is not None and not 0.0 <= start_hour_of_week < 168.0:
        raise ModelError(f"start_hour_of_week is {start_hour_of_week:g}; give hours since Monday 00:00, below 168")
    summaries = summarise(runs)
    who = lineup(summaries, baseline, highlight)
    paired = [] if baseline is None else compare(runs, baseline)
    subject = highlight or (who.shown[0] if who.shown else who.order[0])
    summary = next(one for one in summaries if one.policy == subject)
    pair = next((one for one in paired if one.policy == subject), None)
    found = findings(summary, pair, summaries, runs[0].hours)
    by_policy = _series_by_policy(series, who)
    sites = _sites(site_map, subject, who)
    several = len(who.order) > 1
    # Here, since importing these needs the extra, which is checked by now.
    from fogfold.evaluate import report_figures as drawn  # noqa: PLC0415

    body = [
        (
            "policies",
            "The policies" if several else "The figures",
            _tables(summaries, paired, who) + (drawn.difference_figure(paired, who) if paired else ""),
        ),
        (
            "trade-off",
            "Energy against service" if several else "What it costs",
            (drawn.trade_off_figure(summaries, who) if several else "") + drawn.cost_figure(runs, who),
        ),
        (
            "over-time",
            "Over time",
            drawn.time_figures(by_policy, summaries, who, start_hour_of_week)
            if any(map(by_policy.get, who.drawn))
            else "",
        ),
        ("sites", "The sites", drawn.map_figure(*sites) if sites else ""),
        ("definitions", "What the figures mean", html.definitions(FIGURES)),
        ("made", "How it was made", _made(runs, summaries, paired, command, versions)),
    ]
    lead = html.paragraph(found.headline, "headline") + html.key_figures(found.key_figures)
    return html.page(title, _subtitle(runs, summaries), lead, found.cautions, [part for part in body if part[2]])


def _subtitle(runs: Sequence[RunResult], summaries: Sequence[Summary]) -> str:
    seeds = sorted({run.seed for run in runs})
    policies = f"{len(summaries)} policies" if len(summaries) > 1 else summaries[0].policy
    return (
        f"{runs[0].scenario} · {runs[0].hours:g} h · {policies} · {len(seeds)} {'seeds' if len(seeds) > 1 else 'seed'}"
    )


def _tables(summaries: Sequence[Summary], paired: Sequence[Paired], who: Lineup) -> str:
    """The main figures with their note, the others on demand."""
    colours = {name: who.colour(name) for name in who.order}
    main = comparison(summaries, paired)
    other = comparison(summaries, paired, figures=_OTHER_FIGURES)
    shown = html.comparison_table(main, colours, "The main figures of every policy")
    more = html.comparison_table(other, colours, "Other figures of every policy")
    return f"{shown}\n{html.paragraph(main.note.replace('*:', '★:'))}\n{html.folded('Other figures', more)}\n"


def _sites(
    maps: SiteMap | Mapping[str, SiteMap] | None, subject: str, who: Lineup
) -> tuple[SiteMap, str | None] | None:
    """The map to draw and whose it is, where there is one with any site."""
    if maps is None or isinstance(maps, SiteMap):
        return (maps, None) if maps is not None and maps.nodes.any() else None
    for name in maps:
        if name not in who.order:
            raise UnknownNameError(f'a map is of "{name}", which did not run; {did_you_mean(name, who.order)}')
    policy = subject if subject in maps else next(iter(maps), None)
    return (maps[policy], policy) if policy is not None and maps[policy].nodes.any() else None


def _series_by_policy(series: Series, who: Lineup) -> dict[str, list[RunSeries]]:
    """The series of each policy in the order of their seeds; checked here, before time goes into drawing."""
    keyed: dict[str, list[tuple[int, RunSeries]]] = {}
    for key, one in series.items():
        policy, seed = (key, 0) if isinstance(key, str) else key
        if policy not in who.order:
            raise UnknownNameError(f'a series is of "{policy}", which did not run; {did_you_mean(policy, who.order)}')
        others = keyed.setdefault(policy, [])
        if others and not np.array_equal(others[0][1].hour, one.hour):
            raise ModelError(f'the seeds of "{policy}" have series with different steps; run all for the same hours')
        others.append((seed, one))
    return {policy: [one for _, one in sorted(pairs, key=lambda pair: pair[0])] for policy, pairs in keyed.items()}


def _made(
    runs: Sequence[RunResult],
    summaries: Sequence[Summary],
    paired: Sequence[Paired],
    command: str,
    versions: Mapping[str, str] | None,
) -> str:
    seeds = sorted({run.seed for run in runs})
    listed = ", ".join(str(seed) for seed in seeds)
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        listed = f"{seeds[0]} to {seeds[-1]}"
    rows = [
        ("scenario", f"{runs[0].scenario}, {runs[0].hours:g} h"),
        ("policies", ", ".join(summary.policy for summary in summaries)),
        ("seeds", listed),
    ]
    if paired:
        rows.append(("baseline", paired[0].against))
    rows += [(name, version) for name, version in (versions or {"fogfold": __version__}).items()]
    rows.append(("intervals", _intervals(summaries)))
    timed = any(run.decision_ms_p50 is not None for run in runs)
    clocks = ", but for the times of decisions, which are the machine's" if timed else ""
    rows.append(("repeats", f"The same command gives the same figures{clocks}."))
    heads = ["policy, seed", *(f"{figure.label}, {figure.unit}".removesuffix(", ") for figure in FIGURES)]
    lines = [
        [f"{run.policy}, {run.seed}", *(number_text(figure, figure_value(run, figure.key)) for figure in FIGURES)]
        for run in runs
    ]
    every = html.folded(f"Every run ({len(runs)})", html.plain_table(heads, lines, "Every run"))
    return f"{html.code(command)}\n{html.facts(rows)}\n{every}"


def _intervals(summaries: Sequence[Summary]) -> str:
    count = max(len(summary.seeds) for summary in summaries)
    if count == 1:
        return "None: one seed."
    if count < LEAST_BOOTSTRAP_SEEDS:
        return "95 % of the mean over seeds, Student's t; differences are paired by seed."
    return (
        "95 % of the mean over seeds: percentile bootstrap (Efron and Tibshirani 1993), percentiles moved outwards for "
        "small samples (Hesterberg 2015); differences are paired by seed; not corrected for comparing many policies."
    )
