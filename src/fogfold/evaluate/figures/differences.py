"""What each policy changes against the baseline: a dot and its 95 % interval for the figures that matter most.

Differences are paired by seed, so that a whisker which does not touch the zero line is a difference that the seeds
agree on. A narrow sheet sets the figures in pairs below each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Sheet
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fogfold.evaluate.figures.drawing import Look, axes, colour, sheet
from fogfold.evaluate.figures.labels import short_name, text_width
from fogfold.evaluate.figures.lineup import Lineup
from fogfold.evaluate.statistics import Difference, Interval, Paired

__all__ = ["PANELS", "differences"]

PANELS = (
    ("total_cost", "total cost J, %"),
    ("energy_kwh", "energy, %"),
    ("sla_violation_rate", "SLA violations, pp"),
    ("mean_latency_ms", "latency, %"),
)
"""The figures drawn, and how their difference is given: in % of the baseline's mean, shares in percentage points."""


def differences(paired: Sequence[Paired], who: Lineup, look: Look) -> Sheet:
    """A row a policy, least total cost first; a panel a figure."""
    by_policy = {pair.policy: pair for pair in paired}
    rows = [name for name in who.order if name in by_policy]
    names = [short_name(name, 24 if look.is_wide else 18) for name in rows]
    margin = max(text_width(name, look.font_px) for name in names) + 12.0
    across = 4 if look.is_wide else 2
    row_px = 22.0 if look.is_wide else 19.0
    height, top, gap = row_px * len(rows), 30.0, 62.0
    bands = len(PANELS) // across
    page = sheet(look, top + bands * height + (bands - 1) * gap + 28)
    width = (look.width_px - margin - 10) / across
    for number, (key, title) in enumerate(PANELS):
        band, column = divmod(number, across)
        above = top + band * (height + gap)
        left = margin + column * width
        area = axes(page, left=left + 8, right=left + width - 8, top=above, bottom=above + height)
        _panel(area, title, [_shown(key, by_policy[name].figures[key]) for name in rows], rows, who)
        area.set_yticks(range(len(rows)), names if column == 0 else [""] * len(rows))
        area.tick_params(axis="y", labelcolor=colour("ink"), labelsize=look.font_px)
    return page


def _shown(key: str, difference: Difference | None) -> Interval | None:
    """The interval in the panel's unit, x 100: percentage points for shares, per cent for the rest."""
    if difference is None:
        return None
    return difference.absolute if key == "sla_violation_rate" else difference.relative


def _panel(area: Axes, title: str, intervals: Sequence[Interval | None], rows: Sequence[str], who: Lineup) -> None:
    area.grid(visible=False, axis="y")
    area.grid(visible=True, axis="x")
    area.axvline(0.0, color=colour("baseline"), linewidth=1.2, linestyle=(0, (4, 2)))
    for row, (name, interval) in enumerate(zip(rows, intervals)):
        if interval is None:
            continue
        hue = colour(who.colour(name))
        if interval.low is not None and interval.high is not None:
            area.plot([interval.low * 100, interval.high * 100], [row, row], color=hue, linewidth=2.2)
        area.plot([interval.mean * 100], [row], color=hue, marker="o", markersize=6.5, linewidth=0)
    area.margins(x=0.08)
    area.set_ylim(len(rows) - 0.5, -0.5)
    area.xaxis.set_major_locator(MaxNLocator(4))
    area.xaxis.set_major_formatter(FuncFormatter(_signed))
    area.set_title(title, loc="left", fontsize=area.xaxis.label.get_fontsize(), color=colour("muted"), pad=8)


def _signed(value: float, _position: int | None) -> str:
    return "0" if abs(value) < 1e-12 else f"{value:+g}".replace("-", "−")
