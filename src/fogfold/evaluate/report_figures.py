"""The figures of a report with what is written about them: a caption, and a text for those who do not see them.

This module needs matplotlib; `report` imports it only once it knows that matplotlib is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Sheet

from fogfold.evaluate.figures import over_time
from fogfold.evaluate.figures.cost_terms import cost_terms, mean_terms
from fogfold.evaluate.figures.curves import SeriesByPolicy, span_minutes, span_text
from fogfold.evaluate.figures.differences import PANELS, differences
from fogfold.evaluate.figures.drawing import NARROW, WIDE, Look, drawing, svg
from fogfold.evaluate.figures.labels import short_name
from fogfold.evaluate.figures.lineup import Lineup
from fogfold.evaluate.figures.site_map import site_map
from fogfold.evaluate.figures.trade_off import trade_off
from fogfold.evaluate.report_page import figure, key, paragraph
from fogfold.evaluate.result import FIGURES, RunResult, RunSeries, SiteMap
from fogfold.evaluate.statistics import Paired, Summary
from fogfold.evaluate.tables import difference_text, number_text, value_text

__all__ = ["cost_figure", "difference_figure", "map_figure", "time_figures", "trade_off_figure"]

_FIGURE = {one.key: one for one in FIGURES}


@dataclass(frozen=True, slots=True)
class _OverTime:
    """One figure over time: how it is drawn and what is said of it."""

    anchor: str
    draw: Callable[[SeriesByPolicy, Lineup, Look, float | None], Sheet]
    caption: str
    mean: Callable[[Summary, Sequence[RunSeries]], str]
    """A policy's mean over its runs, in words."""


def _run_figure(key: str) -> Callable[[Summary, Sequence[RunSeries]], str]:
    """The run's own figure, which weighs steps by their requests; a mean over steps would not."""

    def mean(summary: Summary, _series: Sequence[RunSeries]) -> str:
        value = value_text(_FIGURE[key], summary.figures[key])
        return value if summary.figures[key] is None else f"{value} {_FIGURE[key].unit}"

    return mean


def _step_mean(key: str, digits: int, unit: str) -> Callable[[Summary, Sequence[RunSeries]], str]:
    """The mean over all steps of all seeds."""
    return lambda _summary, series: (
        f"{float(np.concatenate([getattr(run, key) for run in series]).mean()):,.{digits}f} {unit}"
    )


_OVER_TIME = (
    _OverTime(
        "power", over_time.power_and_load, "Power of all nodes and the load they carry", _step_mean("power_w", 0, "W")
    ),
    _OverTime("asleep", over_time.nodes_asleep, "Nodes asleep", _step_mean("nodes_asleep", 1, "nodes")),
    _OverTime("violations", over_time.sla_violations, "SLA violations", _run_figure("sla_violation_rate")),
    _OverTime("latency", over_time.latency, "Latency of served requests", _run_figure("mean_latency_ms")),
)


def difference_figure(paired: Sequence[Paired], who: Lineup) -> str:
    """What every policy changes against the baseline, with intervals."""
    against = short_name(paired[0].against)
    several = any(len(pair.seeds) > 1 for pair in paired)
    whiskers = (
        "Bars are 95 % intervals; one that does not touch the dashed line is a difference on which the seeds agree."
        if several
        else "One seed: there are no intervals."
    )
    caption = f"Change against {against}, paired by seed; left of the dashed line is less. {whiskers}"
    rows = []
    for pair in paired:
        changes = [
            f"{_FIGURE[key].label} {difference_text(_FIGURE[key], pair.figures[key]) or 'n/a'}" for key, _ in PANELS
        ]
        rows.append(f"{short_name(pair.policy)}: {', '.join(changes)}")
    alt = f"Dots with intervals, the change of each policy against {against}. {'; '.join(rows)}."
    return _figure("differences", lambda look: differences(paired, who, look), caption, alt)


def trade_off_figure(summaries: Sequence[Summary], who: Lineup) -> str:
    """Energy against SLA violations, a dot a policy."""
    rows = []
    for one in sorted(summaries, key=lambda summary: who.order.index(summary.policy)):
        energy, sla = one.figures["energy_kwh"], one.figures["sla_violation_rate"]
        if energy is not None and sla is not None:
            pair = (
                number_text(_FIGURE["energy_kwh"], energy.mean),
                number_text(_FIGURE["sla_violation_rate"], sla.mean),
            )
            rows.append(f"{short_name(one.policy)} {pair[0]} kWh and {pair[1]} %")
    return _figure(
        "trade-off-figure",
        lambda look: trade_off(summaries, who, look),
        "Energy and SLA violations of every policy, means over seeds. Down and left is better; no policy beats those "
        "on the dotted line in both.",
        f"Scatter of energy against SLA violations: {'; '.join(rows)}.",
    )


def cost_figure(runs: Sequence[RunResult], who: Lineup) -> str:
    """What the total cost is made of, a bar a policy."""
    terms = mean_terms(runs)
    parts = [
        f"{short_name(name)}: energy {terms[name].energy:,.0f}, migration {terms[name].migration:,.0f}, "
        f"SLA violations {terms[name].sla:,.0f}, latency {terms[name].latency:,.0f}"
        for name in who.order
    ]
    return _figure(
        "cost-figure",
        lambda look: cost_terms(terms, who, look),
        "What the total cost J is made of, means over seeds, least first. The second panel leaves energy out, on a "
        "scale of its own.",
        f"Stacked bars of the total cost in Wh-equivalents. {'; '.join(parts)}.",
    )


def time_figures(
    series: SeriesByPolicy, summaries: Sequence[Summary], who: Lineup, start_hour_of_week: float | None
) -> str:
    """All figures over time, in the order in which a shift would read them, after a word on how they are drawn.

    Raises:
        ModelError: if the seeds of a policy have different steps.
    """
    drawn = [name for name in who.drawn if name in series]
    sample = series[drawn[0]][0]
    seeds = max(len(series[name]) for name in drawn)
    span = span_text(span_minutes(sample.hour, over_time.MOST_POINTS))
    note = [
        f"Curves are means over {span} (SLA violations: {_bars(sample)})"
        + (f" and {seeds} seeds." if seeds > 1 else ".")
    ]
    if seeds > 1:
        banded = [short_name(name) for name in (who.baseline, *who.shown[:1]) if name in drawn]
        note.append(f"Bands span the seeds of {' and '.join(banded)}.")
    if start_hour_of_week is not None:
        note.append("Nights (22:00 to 06:00) are shaded.")
    if len(drawn) < len(who.order):
        rest = len(who.order) - len(drawn)
        others = f"{rest} policies are" if rest > 1 else "policy is"
        note.append(f"The other {others} in the tables and charts above.")
    figures = [_one_over_time(one, series, summaries, who, start_hour_of_week) for one in _OVER_TIME]
    moves = _moves(series, who, start_hour_of_week, _bars(sample))
    if moves:
        figures.insert(2, moves)
    return "\n".join([paragraph(" ".join(note)), key([(name, who.colour(name)) for name in drawn]), *figures])


def _bars(sample: RunSeries) -> str:
    return span_text(span_minutes(sample.hour, over_time.MOST_BARS))


def _moves(series: SeriesByPolicy, who: Lineup, start: float | None, span: str) -> str:
    """The bars of moves, or nothing where no policy that is drawn moved anything."""
    totals = {
        name: (_mean_total(series, name, "moves_started"), _mean_total(series, name, "moves_failed"))
        for name in who.drawn
        if name in series
    }
    still = [short_name(name) for name, (started, _) in totals.items() if not started]
    if len(still) == len(totals):
        return ""
    counts = [
        f"{short_name(name)} {started:,.0f} started, {failed:,.0f} failed" for name, (started, failed) in totals.items()
    ]
    caption = f"Moves in each {'hour' if span == '1 h' else span}: upwards those started, downwards those that failed"
    caption += "; means over seeds" if any(len(series[name]) > 1 for name in totals) else ""
    caption += f". {', '.join(still)} moved nothing." if still else "."
    alt = f"Bars of moves, a row a policy. {'; '.join(counts)}."
    return _figure("moves", lambda look: over_time.moves(series, who, look, start), caption, alt)


def map_figure(sites: SiteMap, policy: str | None) -> str:
    """The map of the sites that have nodes."""
    inhabited = np.flatnonzero(sites.nodes > 0)
    sites = SiteMap(
        tuple(sites.name[site] for site in inhabited),
        sites.latitude_deg[inhabited],
        sites.longitude_deg[inhabited],
        sites.nodes[inhabited],
        sites.asleep_share[inhabited],
    )
    whose = "" if policy is None else f" under {short_name(policy)}"
    order = np.argsort(-sites.asleep_share, kind="stable")[:5]
    most = [f"{short_name(sites.name[site])} {float(sites.asleep_share[site]) * 100:.0f} %" for site in order]
    return _figure(
        "map",
        lambda look: site_map(sites, look),
        f"The {len(sites.name)} sites: a dot's area is the number of nodes, its colour the mean share of time they "
        f"slept{whose}. North is up.",
        f"Map of {len(sites.name)} sites with {int(sites.nodes.sum())} nodes. Most asleep: {', '.join(most)}.",
    )


def _one_over_time(
    one: _OverTime, series: SeriesByPolicy, summaries: Sequence[Summary], who: Lineup, start: float | None
) -> str:
    by_policy = {summary.policy: summary for summary in summaries}
    means = [f"{short_name(name)} {one.mean(by_policy[name], series[name])}" for name in who.drawn if name in series]
    caption = f"{one.caption}. Mean over the run: {', '.join(means)}."
    alt = f"A line a policy over time: {caption}"
    return _figure(one.anchor, lambda look: one.draw(series, who, look, start), caption, alt)


def _mean_total(series: SeriesByPolicy, name: str, key: str) -> float:
    return sum(float(getattr(run, key).sum()) for run in series[name]) / len(series[name])


def _figure(anchor: str, draw: Callable[[Look], Sheet], caption: str, alt: str) -> str:
    drawings = {}
    for look in (WIDE, NARROW):
        with drawing(look):
            drawings[look.name] = svg(draw(look), f"{anchor}-{look.name}")
    return figure(anchor, drawings, caption, alt)
