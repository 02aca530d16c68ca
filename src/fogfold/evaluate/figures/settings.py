"""Every setting of every policy, energy against SLA violations: a colour a policy, a dot a setting.

A dot's area grows with the moves. Full dots are on the front of all three figures, hollow ones are not. The dotted
line joins the settings that no other beats in the two figures that are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import PurePath

from matplotlib.figure import Figure as Sheet
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fogfold.evaluate.figures.drawing import Look, axes, colour, sheet
from fogfold.evaluate.figures.labels import Box, place, short_name, text_width
from fogfold.evaluate.figures.trade_off import front
from fogfold.evaluate.trade_offs import TradeOff

__all__ = ["settings_figure"]

_LOG_FROM = 15.0
"""Ratio of greatest to least SLA violation rate from which the axis is logarithmic."""
_LEAST_PX, _MOST_PX = 5.5, 17.0
"""Diameters of the dots of fewest and of most moves."""
_LINE_STEP_PX = 6.0
_COLOURS = ("policy-1", "policy-2", "policy-3", "policy-4", "baseline")


def settings_figure(rows: Sequence[TradeOff], look: Look, paint: Callable[[str], str] = colour) -> Sheet:
    """The scatter.

    Args:
        rows: all settings, those of a policy together and in the order of its dial.
        look: how large.
        paint: the colour of each name; stand-ins for a page where not given.
    """
    height = 520.0 if look.is_wide else 420.0
    page = sheet(look, height)
    area = axes(page, left=64.0, right=look.width_px - 24.0, top=62.0, bottom=height - 46.0)
    points = [(row.figures["energy_kwh"].mean, 100.0 * row.figures["sla_violation_rate"].mean) for row in rows]
    sizes = _diameters([row.figures["moves"].mean for row in rows])
    rates = [rate for _, rate in points]
    logarithmic = min(rates) > 0.0 and max(rates) / min(rates) >= _LOG_FROM
    area.grid(visible=True, axis="both")
    area.margins(0.08, 0.1)
    if logarithmic:
        area.set_yscale("log")
        area.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        area.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
        area.yaxis.set_minor_formatter(NullFormatter())
    on_front = [points[index] for index in front(points)]
    area.plot(*zip(*on_front), color=paint("muted"), linewidth=1.2, linestyle=(0, (1, 2.5)), zorder=2)
    policies = list(dict.fromkeys(row.setting.policy for row in rows))
    shades = {name: paint(_COLOURS[i] if i < len(_COLOURS) else "other") for i, name in enumerate(policies)}
    for row, (energy_kwh, rate), size in zip(rows, points, sizes):
        shade = shades[row.setting.policy]
        area.plot([energy_kwh], [rate], linewidth=0, zorder=4, marker="o", markersize=size, markeredgewidth=1.4,
                  markeredgecolor=shade, markerfacecolor=shade if row.is_on_front else paint("paper"))  # fmt: skip
    area.set_xlabel("energy, kWh", color=paint("muted"))
    area.annotate(f"SLA violations, %{' (logarithmic)' if logarithmic else ''}", (0.0, 1.0), xycoords="axes fraction",
                  xytext=(-56, 12), textcoords="offset points", color=paint("muted"))  # fmt: skip
    area.annotate("↙ better", (0.0, 0.0), xycoords="axes fraction", xytext=(6, 6), textcoords="offset points",
                  color=paint("muted"))  # fmt: skip
    area.tick_params(axis="y", which="minor", length=0)
    area.autoscale_view()
    _key(page, policies, shades, rows, look, height, paint)
    spots = [(float(x), float(y)) for x, y in area.transData.transform(points).tolist()]
    frame = [float(edge) for edge in area.bbox.extents]
    line = [(float(x), float(y)) for x, y in area.transData.transform(on_front).tolist()]
    _names(page, rows, spots, sizes, _along(line), frame, look, paint)
    return page


def _diameters(moves: Sequence[float]) -> list[float]:
    """Diameters whose squares grow with the moves."""
    most = max(moves)
    share = [many / most if most else 0.0 for many in moves]
    return [(_LEAST_PX**2 + (_MOST_PX**2 - _LEAST_PX**2) * part) ** 0.5 for part in share]


def _key(
    page: Sheet,
    policies: Sequence[str],
    shades: dict[str, str],
    rows: Sequence[TradeOff],
    look: Look,
    height: float,
    paint: Callable[[str], str],
) -> None:
    """Which colour is whose, and what the dots say, above the axes."""
    x = 8.0
    for name in policies:
        text = _called(name)
        page.text(x / look.width_px, 1.0 - 16.0 / height, "●", color=shades[name], va="center")
        page.text((x + 14.0) / look.width_px, 1.0 - 16.0 / height, text, va="center", color=paint("ink"))
        x += 34.0 + text_width(text, look.font_px)
    if look.is_wide:
        most = max(row.figures["moves"].mean for row in rows)
        note = f"area: moves, at most {most:,.0f}; full: on the front of energy, violations and moves"
        page.text(1.0 - 24.0 / look.width_px, 1.0 - 40.0 / height, note, ha="right", va="center", color=paint("muted"))


def _names(
    page: Sheet,
    rows: Sequence[TradeOff],
    spots: Sequence[tuple[float, float]],
    sizes: Sequence[float],
    line: Sequence[tuple[float, float]],
    frame: Sequence[float],
    look: Look,
    paint: Callable[[str], str],
) -> None:
    """Settings beside their dots, those on the front first; what would cover something is left unnamed."""
    width, height = page.get_figwidth() * 72.0, page.get_figheight() * 72.0
    order = sorted(range(len(rows)), key=lambda i: (not rows[i].is_on_front, i))
    if not look.is_wide:
        order = [i for i in order if rows[i].is_on_front]
    others = [(*spots[i], sizes[i] / 2.0) for i in range(len(rows)) if i not in order]
    others += [(x, y, 0.5) for x, y in line]
    inner = Box(frame[0], frame[1], min(frame[2] + 20, width), frame[3] + 8)
    font_px = look.font_px - 2.0
    placed = place(
        [spots[i] for i in order],
        [_name(rows[i]) for i in order],
        [sizes[i] / 2.0 for i in order],
        frame=inner,
        font_px=font_px,
        others=others,
    )
    for i, label in zip(order, placed):
        if label.crowded or label.far:
            continue
        page.text(label.x / width, label.y / height, _name(rows[i]), ha=label.align, va="center_baseline",
                  fontsize=font_px, color=paint("ink" if rows[i].is_on_front else "muted"))  # fmt: skip


def _along(corners: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points along a line, about one every `_LINE_STEP_PX`: what labels should not cover either."""
    found = []
    for (x0, y0), (x1, y1) in pairwise(corners):
        count = int(math.hypot(x1 - x0, y1 - y0) // _LINE_STEP_PX)
        found += [(x0 + (x1 - x0) * k / count, y0 + (y1 - y0) * k / count) for k in range(1, count)]
    return found


def _name(row: TradeOff) -> str:
    """What a dot is called: its setting, or its policy where that plays as it comes."""
    return row.setting.name if row.setting.parameters else _called(row.setting.policy)


def _called(policy: str) -> str:
    """A policy's name; of a file that it takes the stem alone."""
    base, colon, file = policy.partition(":")
    return short_name(f"{base}:{PurePath(file).stem}" if colon else policy)
