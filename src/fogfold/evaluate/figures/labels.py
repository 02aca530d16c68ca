"""Where labels go so that they do not cover each other or what they name.

Widths are estimated from the number of characters, since the page's font is not known while drawing; the estimate
is on the wide side. Positions are in pixels, upwards positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from fogfold.evaluate.tables import plain_line

__all__ = ["Box", "Placed", "place", "short_name", "spread", "text_width"]

_MOST_CHARACTERS = 26
_WIDE, _USUAL, _SLIM = 0.9, 0.6, 0.36
"""Widths of characters over the size of the font: a little above those of the common sans-serif fonts."""
_SIDES = (("left", 1, 0), ("right", -1, 0), ("center", 0, 1), ("center", 0, -1))
_CORNERS = (("left", 1, 1), ("left", 1, -1), ("right", -1, 1), ("right", -1, -1))


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle that is taken."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: Box) -> float:
        """The common area."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)

    def outside(self, frame: Box) -> float:
        """The area that lies outside a frame."""
        area = (self.right - self.left) * (self.top - self.bottom)
        return area - self.overlap(frame)


@dataclass(frozen=True, slots=True)
class Placed:
    """A label's anchor and how its text hangs on it."""

    x: float
    y: float
    align: str
    far: bool
    """Whether it is so far off that a line should lead to it."""
    crowded: bool
    """Whether it covers something all the same."""


def short_name(name: str, most: int = _MOST_CHARACTERS) -> str:
    """The name on one line, cut with an ellipsis where it is longer than a figure has room for."""
    line = plain_line(name)
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def text_width(text: str, font_px: float) -> float:
    """About how wide a text is, in pixels."""
    widths = (_WIDE if sign in "mwMW@%" else _SLIM if sign in "iljtfrI.,:;-'|! " else _USUAL for sign in text)
    return font_px * sum(width * max(cell_len(sign), 0) for width, sign in zip(widths, text))


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near the wanted ones, at least `gap` apart and within [low, high] where there is room, order kept.

    >>> spread([10.0, 11.0, 40.0], 6.0, 0.0, 50.0)
    [7.5, 13.5, 40.0]
    """
    order = sorted(range(len(wanted)), key=lambda index: (wanted[index], index))
    # Groups of labels that touch move as one, about the mean of what they wanted (pool adjacent violators).
    groups: list[list[float]] = []
    for rank, index in enumerate(order):
        groups.append([wanted[index] - rank * gap, 1.0])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            value, weight = groups.pop()
            before = groups[-1]
            groups[-1] = [(before[0] * before[1] + value * weight) / (before[1] + weight), before[1] + weight]
    ceiling = high - (len(order) - 1) * gap
    base = [min(max(value, low), max(ceiling, low)) for value, weight in groups for _ in range(int(weight))]
    placed = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        placed[index] = base[rank] + rank * gap
    return placed


def place(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    radii: Sequence[float],
    *,
    frame: Box,
    font_px: float,
    others: Sequence[tuple[float, float, float]] = (),
) -> list[Placed]:
    """A place for each label near its point, in turn: earlier ones choose first.

    Each tries the sides, then the corners, at growing distances, and takes the first that covers nothing; where all
    cover something, the one that covers least.

    Args:
        points: where each labelled mark is.
        texts: the labels, one a point.
        radii: half the size of each mark.
        frame: the area that labels should stay in.
        font_px: size of the text.
        others: x, y and radius of marks without a label that should not be covered either.
    """
    marks = [Box(x - r, y - r, x + r, y + r) for x, y, r in (*((*p, r) for p, r in zip(points, radii)), *others)]
    taken: list[Box] = []
    result = []
    for (x, y), text, radius in zip(points, texts, radii):
        best: tuple[float, Placed, Box] | None = None
        for step in range(3):
            distance = radius + 4.0 + step * font_px
            for align, right, up in (*_SIDES, *_CORNERS):
                nearer = 0.75 if up and right else 1.0
                anchor_x = x + right * distance * nearer
                anchor_y = y + up * (distance * nearer + font_px * 0.4)
                box = _box(anchor_x, anchor_y, align, text_width(text, font_px), font_px)
                covered = sum(box.overlap(other) for other in (*marks, *taken)) + 4.0 * box.outside(frame)
                if best is None or covered < best[0] - 1e-9:
                    best = (covered, Placed(anchor_x, anchor_y, align, step > 0, covered > 1e-9), box)
        if best is not None:
            taken.append(best[2])
            result.append(best[1])
    return result


def _box(x: float, y: float, align: str, width: float, font_px: float) -> Box:
    left = {"left": x, "right": x - width, "center": x - width / 2.0}[align]
    return Box(left - 2.0, y - 0.62 * font_px, left + width + 2.0, y + 0.62 * font_px)
