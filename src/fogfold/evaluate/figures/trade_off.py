"""Energy against SLA violations, a dot a policy, each named where it stands: the trade that consolidation makes.

The thin line joins the policies that no other beats in both figures at once (the Pareto front).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.figure import Figure as Sheet
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fogfold.evaluate.figures.drawing import Look, axes, colour, sheet
from fogfold.evaluate.figures.labels import Box, place, short_name
from fogfold.evaluate.figures.lineup import Lineup
from fogfold.evaluate.statistics import Summary

__all__ = ["front", "trade_off"]

_LOG_FROM = 15.0
"""Ratio of greatest to least SLA violation rate from which the axis is logarithmic."""


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points that no other is as good as in both and better in one, by rising first coordinate.

    >>> front([(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (2.5, 2.5)])
    [1, 2, 0]
    """
    best = math.inf
    kept = []
    for index in sorted(range(len(points)), key=lambda index: (*points[index], index)):
        if points[index][1] < best:
            best = points[index][1]
            kept.append(index)
    return kept


def trade_off(summaries: Sequence[Summary], who: Lineup, look: Look) -> Sheet:
    """The scatter; policies that do not know one of the two figures are left out."""
    height = 430.0 if look.is_wide else 380.0
    page = sheet(look, height)
    area = axes(page, left=64.0, right=look.width_px - 24.0, top=34.0, bottom=height - 46.0)
    found = {}
    for summary in summaries:
        energy, sla = summary.figures["energy_kwh"], summary.figures["sla_violation_rate"]
        if energy is not None and sla is not None:
            found[summary.policy] = (energy.mean, sla.mean * 100.0)
    # Those with a colour of their own choose their label's place first.
    names = sorted(found, key=lambda name: (name not in who.drawn, who.order.index(name)))
    points = [found[name] for name in names]
    rates = [rate for _, rate in points]
    logarithmic = bool(rates) and min(rates) > 0.0 and max(rates) / min(rates) >= _LOG_FROM
    area.grid(visible=True, axis="both")
    area.margins(0.09, 0.1)
    if logarithmic:
        area.set_yscale("log")
        area.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        area.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
        area.yaxis.set_minor_formatter(NullFormatter())
    on_front = [points[index] for index in front(points)]
    area.plot(*zip(*on_front), color=colour("muted"), linewidth=1.0, linestyle=(0, (1, 2.5)), zorder=2)
    for name, (energy_kwh, rate) in zip(names, points):
        is_baseline = name == who.baseline
        area.plot([energy_kwh], [rate], linewidth=0, zorder=4 if name in who.drawn else 3,
                  marker="D" if is_baseline else "o", markersize=7.5 if name in who.drawn else 6.0,
                  color=colour(who.colour(name)))  # fmt: skip
    area.set_xlabel("energy, kWh")
    area.annotate(f"SLA violations, %{' (logarithmic)' if logarithmic else ''}", (0.0, 1.0), xycoords="axes fraction",
                  xytext=(-56, 12), textcoords="offset points", color=colour("muted"))  # fmt: skip
    area.annotate("↙ better", (0.0, 0.0), xycoords="axes fraction", xytext=(6, 6), textcoords="offset points",
                  color=colour("muted"))  # fmt: skip
    area.tick_params(axis="y", which="minor", length=0)
    # Limits are settled lazily; the labels' places hang on them.
    area.autoscale_view()
    _label(page, [float(edge) for edge in area.bbox.extents], area.transData.transform(points).tolist(), names, look)
    return page


def _label(
    page: Sheet, frame: Sequence[float], pixels: Sequence[Sequence[float]], names: Sequence[str], look: Look
) -> None:
    """Names beside their dots, on the sheet itself, so that no axis cuts them."""
    width, height = page.get_figwidth() * 72.0, page.get_figheight() * 72.0
    texts = [short_name(name) for name in names]
    spots = [(float(pixel[0]), float(pixel[1])) for pixel in pixels]
    inner = Box(frame[0], frame[1], min(frame[2] + 20, width), frame[3] + 8)
    placed = place(spots, texts, [4.0] * len(spots), frame=inner, font_px=look.font_px)
    for (x, y), text, label in zip(spots, texts, placed):
        if label.far:
            ends = ([x / width, label.x / width], [y / height, label.y / height])
            page.add_artist(Line2D(*ends, color=colour("rule"), linewidth=0.8, zorder=1))
        page.text(label.x / width, label.y / height, text, ha=label.align, va="center_baseline")
