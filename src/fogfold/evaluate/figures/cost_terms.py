"""What the total cost J of each policy is made of: stacked bars in Wh-equivalents.

Energy is most of the cost in nearly every run, so that the other parts vanish beside it. A second panel shows them
alone, on a scale of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Sheet
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from fogfold.evaluate.figures.drawing import Look, axes, colour, sheet
from fogfold.evaluate.figures.labels import short_name, text_width
from fogfold.evaluate.figures.lineup import Lineup
from fogfold.evaluate.result import RunResult, Terms

__all__ = ["cost_terms", "mean_terms"]

_LABELS = {"energy": "energy", "migration": "migration", "sla": "SLA violations", "latency": "latency"}


def mean_terms(runs: Sequence[RunResult]) -> dict[str, Terms]:
    """Each policy's parts of the cost, as means over its seeds."""
    by_policy: dict[str, list[Terms]] = {}
    for run in runs:
        by_policy.setdefault(run.policy, []).append(run.terms)
    names = [field.name for field in fields(Terms)]
    return {
        policy: Terms(**{name: sum(getattr(one, name) for one in terms) / len(terms) for name in names})
        for policy, terms in by_policy.items()
    }


def cost_terms(terms: Mapping[str, Terms], who: Lineup, look: Look) -> Sheet:
    """A row a policy, least total cost first: all four parts, and beside (or below) them all but energy."""
    names = [short_name(name, 24 if look.is_wide else 18) for name in who.order]
    margin = max(text_width(name, look.font_px) for name in names) + 12.0
    row_px = 22.0 if look.is_wide else 19.0
    height, top, gap = row_px * len(names), 44.0, 78.0
    page = sheet(look, top + height + 28 + (0 if look.is_wide else height + gap))
    if look.is_wide:
        middle = margin + (look.width_px - margin) * 0.56
        first = axes(page, left=margin, right=middle - 46, top=top, bottom=top + height)
        second = axes(page, left=middle + 8, right=look.width_px - 46.0, top=top, bottom=top + height)
    else:
        first = axes(page, left=margin, right=look.width_px - 50.0, top=top, bottom=top + height)
        below = top + height + gap
        second = axes(page, left=margin, right=look.width_px - 50.0, top=below, bottom=below + height)
    _stack(first, terms, who, ("energy", "migration", "sla", "latency"), "all parts, Wh-eq", look)
    _stack(second, terms, who, ("migration", "sla", "latency"), "without energy, Wh-eq", look)
    first.set_yticks(range(len(names)), names)
    second.set_yticks(range(len(names)), [""] * len(names) if look.is_wide else names)
    for area in (first, second):
        area.tick_params(axis="y", labelcolor=colour("ink"), labelsize=look.font_px)
    return page


def _stack(area: Axes, terms: Mapping[str, Terms], who: Lineup, parts: Sequence[str], title: str, look: Look) -> None:
    area.grid(visible=False, axis="y")
    area.grid(visible=True, axis="x")
    for row, name in enumerate(who.order):
        right = left = 0.0
        if not all(math.isfinite(getattr(terms[name], part)) for part in parts):
            area.annotate("n/a", (0.0, row), xytext=(5, 0), textcoords="offset points", va="center_baseline")
            continue
        for part in parts:
            value = float(getattr(terms[name], part))
            begin = right if value >= 0.0 else left
            area.barh(row, value, left=begin, height=0.66, color=colour(part), edgecolor=colour("paper"), linewidth=0.6)
            right, left = (right + value, left) if value >= 0.0 else (right, left + value)
        area.annotate(f"{right + left:,.0f}", (right, row), xytext=(5, 0), textcoords="offset points",
                      va="center_baseline", color=colour("muted"), fontsize=look.font_px - 1)  # fmt: skip
    area.set_ylim(len(who.order) - 0.5, -0.5)
    area.xaxis.set_major_locator(MaxNLocator(4))
    area.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    area.annotate(title, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 26), textcoords="offset points",
                  color=colour("muted"))  # fmt: skip
    # A phone has no room for the key right of the names.
    across = 0.0 if look.is_wide else -float(area.bbox.x0)
    for part in parts:
        label = _LABELS[part]
        area.annotate("■", (0.0, 1.0), xycoords="axes fraction", xytext=(across, 8), textcoords="offset points",
                      color=colour(part), fontsize=look.font_px)  # fmt: skip
        area.annotate(label, (0.0, 1.0), xycoords="axes fraction", xytext=(across + look.font_px, 8),
                      textcoords="offset points", fontsize=look.font_px - 1)  # fmt: skip
        across += text_width(label, look.font_px - 1) + look.font_px * 1.9
