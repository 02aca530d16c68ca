"""Curves and bars over the hours of a run: power and load, nodes asleep, moves, SLA violations, latency.

The baseline is a dashed grey line, the other policies are solid and named at their right end; a narrow sheet has no
room for names, and the page shows a key above it. A band behind a line spans the seeds. Nights are shaded where the
hour of the week at the start is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure as Sheet
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fogfold.compiled import Array
from fogfold.evaluate.figures.curves import Curve, SeriesByPolicy, curve
from fogfold.evaluate.figures.drawing import Look, axes, colour, sheet
from fogfold.evaluate.figures.labels import short_name, spread
from fogfold.evaluate.figures.lineup import Lineup

__all__ = ["MOST_BARS", "MOST_POINTS", "latency", "moves", "nodes_asleep", "power_and_load", "sla_violations"]

MOST_POINTS = 200
"""Most points of a curve: more than one each few pixels only adds noise."""
MOST_BARS = 60
"""Most bars of a row."""
NIGHT_HOURS = (22.0, 6.0)
"""Hours of the day between which the background is shaded."""

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_TICK_HOURS = (0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0, 48.0, 168.0, 336.0)
_KILO_FROM_W = 2000.0
_ALIKE = 0.01


def power_and_load(series: SeriesByPolicy, who: Lineup, look: Look, start: float | None) -> Sheet:
    """Mean power of all nodes above, CPU demand over capacity below, on one axis of hours."""
    page = sheet(look, 390.0)
    upper = _area(page, look, 26.0, 240.0)
    kilo = max(float(one.power_w.max()) for name in who.drawn for one in series.get(name, ())) >= _KILO_FROM_W
    scale = 1e-3 if kilo else 1.0
    _lines(upper, _curves(series, who, "power_w"), who, look, scale)
    _title(upper, f"power of all nodes, {'kW' if kilo else 'W'}")
    _hours(upper, series, who, look, start, labelled=False)
    lower = _area(page, look, 280.0, 346.0)
    load = _curves(series, who, "load_share")
    if _alike(load):
        line = next(iter(load.values()))
        lower.fill_between(line.middle_hour, 0.0, line.mean * 100.0, color=colour("other"), alpha=0.35, linewidth=0)
        lower.plot(line.middle_hour, line.mean * 100.0, color=colour("baseline"), linewidth=1.2)
        lower.set_ylim(bottom=0.0)
    else:
        _lines(lower, load, who, look, 100.0)
    _title(lower, "load: CPU demand over capacity, %")
    lower.yaxis.set_major_locator(MaxNLocator(2))
    _hours(lower, series, who, look, start)
    return page


def nodes_asleep(series: SeriesByPolicy, who: Lineup, look: Look, start: float | None) -> Sheet:
    """How many nodes sleep."""
    page, area = _single(look)
    _lines(area, _curves(series, who, "nodes_asleep"), who, look)
    area.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    _title(area, "nodes asleep")
    _hours(area, series, who, look, start)
    return page


def sla_violations(series: SeriesByPolicy, who: Lineup, look: Look, start: float | None) -> Sheet:
    """Share of requests late, failed or unserved, in %; over longer spans, since it leaps from step to step."""
    page, area = _single(look)
    _lines(area, _curves(series, who, "sla_violation_rate", MOST_BARS), who, look, 100.0)
    _title(area, "requests late, failed or unserved, %")
    _hours(area, series, who, look, start)
    return page


def latency(series: SeriesByPolicy, who: Lineup, look: Look, start: float | None) -> Sheet:
    """Mean latency of served requests; the axis does not begin at zero."""
    page, area = _single(look)
    _lines(area, _curves(series, who, "latency_ms"), who, look, from_zero=False)
    _title(area, "mean latency, ms (axis does not begin at 0)")
    _hours(area, series, who, look, start)
    return page


def moves(series: SeriesByPolicy, who: Lineup, look: Look, start: float | None) -> Sheet:
    """Bars of migrations, a row a policy on one scale: started upwards, failed downwards; means over seeds."""
    rows = [name for name in who.drawn if name in series and any(one.moves_started.any() for one in series[name])]
    height, gap, top = 64.0, 30.0, 26.0
    page = sheet(look, top + max(len(rows), 1) * (height + gap) + 10)
    started = [curve(series[name], "moves_started", most=MOST_BARS, total=True) for name in rows]
    failed = [curve(series[name], "moves_failed", most=MOST_BARS, total=True) for name in rows]
    highest = max((float(np.nanmax(bars.mean)) for bars in started), default=1.0)
    deepest = max((float(np.nanmax(bars.mean)) for bars in failed), default=0.0)
    for row, (name, up, down) in enumerate(zip(rows, started, failed)):
        area = _area(page, look, top + row * (height + gap), top + row * (height + gap) + height)
        area.add_collection(_bars(up, up.mean, colour(who.colour(name))))
        area.add_collection(_bars(down, -down.mean, colour("ink")))
        area.spines["bottom"].set_visible(False)
        area.axhline(0.0, color=colour("muted"), linewidth=0.8)
        area.set_ylim(-max(deepest * 1.15, highest * 0.12), highest * 1.05)
        area.yaxis.set_major_locator(MaxNLocator(3, integer=True))
        area.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{abs(value):g}"))
        _title(area, short_name(name), bold=True)
        total_up = sum(int(one.moves_started.sum()) for one in series[name]) / up.seeds
        total_down = sum(int(one.moves_failed.sum()) for one in series[name]) / up.seeds
        counts = f"{total_up:,.0f} started ↑ · {total_down:,.0f} failed ↓"
        area.annotate(counts, (1.0, 1.0), xycoords="axes fraction", xytext=(0, 8), textcoords="offset points",
                      ha="right", va="bottom", color=colour("muted"), fontsize=look.font_px - 1)  # fmt: skip
        _hours(area, series, who, look, start, labelled=row == len(rows) - 1)
    return page


def _bars(spans: Curve, heights: Float[Array, " spans"], hue: str) -> PolyCollection:
    """Bars over the spans, as one drawing: a patch each would take most of a report's time."""
    half = (spans.end_hour - spans.start_hour) * 0.41
    left, right = spans.middle_hour - half, spans.middle_hour + half
    corners = [[(x0, 0.0), (x0, y), (x1, y), (x1, 0.0)] for x0, x1, y in zip(left, right, heights) if y != 0.0]
    return PolyCollection(corners, facecolor=hue, linewidth=0)


def _single(look: Look) -> tuple[Sheet, Axes]:
    height = 280.0 if look.is_wide else 240.0
    page = sheet(look, height)
    return page, _area(page, look, 26.0, height - 44.0)


def _area(page: Sheet, look: Look, top: float, bottom: float) -> Axes:
    """Axes that begin and end at the same pixels in every figure of a look, so that hours stand below hours."""
    return axes(page, left=44.0, right=look.width_px - (150.0 if look.is_wide else 10.0), top=top, bottom=bottom)


def _title(area: Axes, text: str, *, bold: bool = False) -> None:
    """What the axis measures, above it: easier to read than turned text, and it takes no width."""
    area.annotate(text, (0.0, 1.0), xycoords="axes fraction", xytext=(-40, 8), textcoords="offset points",
                  ha="left", va="bottom", color=colour("ink" if bold else "muted"),
                  fontweight="bold" if bold else "normal")  # fmt: skip


def _curves(series: SeriesByPolicy, who: Lineup, key: str, most: int = MOST_POINTS) -> dict[str, Curve]:
    return {name: curve(series[name], key, most=most) for name in who.drawn if name in series}


def _alike(curves: Mapping[str, Curve]) -> bool:
    """Whether the curves lie within 1 % of their peak of each other, so that they would only hide one another."""
    means = [line.mean for line in curves.values()]
    if any(mean.shape != means[0].shape for mean in means):
        return False
    highest = max(float(np.nanmax(mean)) for mean in means)
    return all(bool(np.nanmax(np.abs(mean - means[0])) <= _ALIKE * highest) for mean in means)


def _lines(
    area: Axes, curves: Mapping[str, Curve], who: Lineup, look: Look, scale: float = 1.0, *, from_zero: bool = True
) -> None:
    """The curves with their names; bands for the baseline and the first policy only, since more make a fog."""
    for name, line in curves.items():
        hue = colour(who.colour(name))
        is_baseline = name == who.baseline
        if line.seeds > 1 and (is_baseline or name in who.shown[:1]):
            area.fill_between(line.middle_hour, line.low * scale, line.high * scale, color=hue, alpha=0.13, linewidth=0)
        area.plot(line.middle_hour, line.mean * scale, color=hue, linewidth=2.0 if name in who.shown[:1] else 1.5,
                  linestyle=(0, (4, 2)) if is_baseline else "-",
                  marker="o" if len(line.mean) == 1 else "", zorder=3 if is_baseline else 4)  # fmt: skip
    if from_zero:
        highest = area.get_ylim()[1]
        area.set_ylim(0.0, highest if any(np.nan_to_num(line.high).max() > 0.0 for line in curves.values()) else 1.0)
    if look.is_wide:
        _name_ends(area, curves, who, look, scale)


def _name_ends(area: Axes, curves: Mapping[str, Curve], who: Lineup, look: Look, scale: float) -> None:
    """Each line's name right of its end, moved apart where ends are near, with a short leader."""
    ends = []
    for name, line in curves.items():
        known = line.mean[np.isfinite(line.mean)]
        if len(known):
            ends.append((name, float(known[-1]) * scale))
    low, high = area.get_ylim()
    height = float(area.bbox.height)
    wanted = [(value - low) / (high - low) * height for _, value in ends]
    for (name, _), from_px, to_px in zip(ends, wanted, spread(wanted, look.font_px * 1.3, 0.0, height)):
        hue = colour(who.colour(name))
        area.plot([1.0, 1.012, 1.024], [from_px / height, to_px / height, to_px / height], transform=area.transAxes,
                  color=hue, linewidth=1.2, clip_on=False, solid_capstyle="butt")  # fmt: skip
        area.annotate(short_name(name, 17), (1.0, to_px / height), xycoords="axes fraction", xytext=(24, 0),
                      textcoords="offset points", va="center_baseline", annotation_clip=False,
                      fontweight="bold" if name in who.shown[:1] else "normal")  # fmt: skip


def _hours(
    area: Axes, series: SeriesByPolicy, who: Lineup, look: Look, start: float | None, *, labelled: bool = True
) -> None:
    """The axis of hours: clock times with nights shaded where the start is known, else hours since the start."""
    hours = max(float(one.hour[-1]) for name in who.drawn for one in series.get(name, ()))
    offset = 0.0 if start is None else start
    most = 13 if look.is_wide else 5
    step = next((step for step in _TICK_HOURS if hours / step <= most), hours)
    first = math.ceil(offset / step - 1e-9)
    ticks = [number * step for number in range(first, math.floor((offset + hours) / step + 1e-9) + 1)]
    area.set_xlim(0.0, hours)
    area.set_xticks([tick - offset for tick in ticks])
    area.tick_params(axis="x", length=3 if labelled else 0)
    if not labelled:
        area.set_xticklabels([])
    elif start is None:
        area.set_xticklabels([f"{tick:g}" for tick in ticks])
        area.set_xlabel("hours since the start", labelpad=2)
    else:
        area.set_xticklabels([_clock(tick, step, index == 0) for index, tick in enumerate(ticks)])
    if start is not None:
        for day in range(math.floor(offset / 24.0) - 1, math.ceil((offset + hours) / 24.0) + 1):
            dusk = day * 24.0 + NIGHT_HOURS[0] - offset
            dawn = (day + 1) * 24.0 + NIGHT_HOURS[1] - offset
            if dawn > 0.0 and dusk < hours:
                area.axvspan(max(dusk, 0.0), min(dawn, hours), color=colour("night"), linewidth=0, zorder=0)


def _clock(hour_of_week: float, step: float, is_first: bool) -> str:
    day = _DAYS[int(hour_of_week // 24) % 7]
    if step >= 24:
        return day
    minutes = round(hour_of_week * 60)
    text = f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"
    return f"{text}\n{day}" if is_first or minutes % 1440 == 0 else text
