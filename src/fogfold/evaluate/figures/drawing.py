"""The ground that all figures stand on: sheets in pixels, named colours, and SVG that belongs to its page.

Matplotlib draws with stand-in colours, one for each name; in the finished SVG they become CSS variables, so that one
drawing serves light, dark and print. Text stays text, in the page's font. Every figure is drawn twice, for a wide
page and for a phone, since a drawing that is merely shrunk cannot be read. The same input gives the same bytes: ids
hang on a fixed salt, no date is written, and the user's own matplotlib settings are set aside.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Sheet

__all__ = ["COLOURS", "NARROW", "WIDE", "Look", "axes", "colour", "drawing", "sheet", "svg"]

COLOURS = (
    "ink",
    "muted",
    "rule",
    "paper",
    "night",
    "baseline",
    "policy-1",
    "policy-2",
    "policy-3",
    "policy-4",
    "other",
    "energy",
    "migration",
    "sla",
    "latency",
    "share-1",
    "share-2",
    "share-3",
    "share-4",
    "share-5",
)
"""Names of the colours that a figure may use; the page's style sheet must give each a value, `--name`."""

_STAND_IN = {name: f"#0a0b{number:02x}" for number, name in enumerate(COLOURS, start=1)}
_NAME = {value: name for name, value in _STAND_IN.items()}
_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_NUMBERS = frozenset({"d", "x", "y", "width", "height", "transform", "points", "x1", "x2", "y1", "y2"})
_DROPPED = frozenset({"metadata", "style"})


@dataclass(frozen=True, slots=True)
class Look:
    """How large a figure is drawn; one unit is one pixel of a page that shows it unscaled."""

    name: str
    width_px: int
    font_px: float

    @property
    def is_wide(self) -> bool:
        """Whether there is room for labels beside the curves."""
        return self.name == "wide"


WIDE = Look("wide", 1000, 13.0)
NARROW = Look("narrow", 380, 12.0)


def colour(name: str) -> str:
    """The stand-in that becomes the page's colour of this name."""
    return _STAND_IN[name]


@contextmanager
def drawing(look: Look) -> Iterator[None]:
    """Matplotlib's own defaults with ours on top, whatever the user has configured; undone at the end."""
    ours: dict[str, Any] = {
        "svg.hashsalt": "fogfold",
        "svg.fonttype": "none",
        "text.parse_math": False,
        "font.size": look.font_px,
        "text.color": colour("ink"),
        "axes.edgecolor": colour("muted"),
        "axes.labelcolor": colour("muted"),
        "axes.labelsize": look.font_px,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "grid.color": colour("rule"),
        "grid.linewidth": 0.8,
        "xtick.color": colour("muted"),
        "ytick.color": colour("muted"),
        "xtick.labelsize": look.font_px - 1,
        "ytick.labelsize": look.font_px - 1,
        "xtick.major.size": 3.0,
        "ytick.major.size": 0.0,
        "lines.solid_capstyle": "round",
        "figure.dpi": 72.0,
    }
    with warnings.catch_warnings(), mpl.style.context(["default", ours]):
        # The page's fonts show the text, not matplotlib's: a sign that its own font lacks is no fault.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def sheet(look: Look, height_px: float) -> Sheet:
    """An empty sheet of the look's width."""
    page = Sheet(figsize=(look.width_px / 72.0, height_px / 72.0), dpi=72)
    page.patch.set_visible(False)
    return page


def axes(page: Sheet, *, left: float, right: float, top: float, bottom: float) -> Axes:
    """Axes between these distances from the sheet's left and top edges, in pixels."""
    width, height = page.get_figwidth() * 72.0, page.get_figheight() * 72.0
    return page.add_axes((left / width, 1.0 - bottom / height, (right - left) / width, (bottom - top) / height))


def svg(page: Sheet, prefix: str) -> str:
    """The sheet as an `<svg>` element for an HTML page: ids begin with the prefix, colours are CSS variables.

    Args:
        page: a finished sheet, drawn inside `drawing`.
        prefix: a word that no other figure of the page has.
    """
    buffer = io.StringIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    page.savefig(buffer, format="svg", dpi=72, metadata=metadata)
    root = ET.fromstring(buffer.getvalue())  # noqa: S314 - matplotlib's own output of a moment ago
    _clean(root, _referenced(root), prefix)
    box = root.get("viewBox", "")
    root.attrib = {"viewBox": box, "aria-hidden": "true", "focusable": "false"}
    return ET.tostring(root, encoding="unicode")


def _referenced(root: ET.Element) -> frozenset[str]:
    found: set[str] = set()
    for element in root.iter():
        for value in element.attrib.values():
            found.update(re.findall(r"url\(#([^)]+)\)", value))
        target = element.get(f"{_XLINK}href")
        if target is not None:
            found.add(target.removeprefix("#"))
    return frozenset(found)


def _clean(element: ET.Element, referenced: frozenset[str], prefix: str) -> None:
    """Strips what a page does not need and ties ids, colours and fonts to the page; works on all below as well."""
    element.tag = element.tag.removeprefix(_SVG)
    element.tail = None
    if element.tag != "text":
        element.text = None
    attributes = {}
    for name, value in element.attrib.items():
        key = name.removeprefix(_XLINK)
        if key == "id":
            if value in referenced:
                attributes[key] = f"{prefix}-{value}"
        elif key == "href":
            attributes[key] = f"#{prefix}-{value.removeprefix('#')}"
        elif key in _NUMBERS:
            if not value.startswith("rotate(-0 "):
                attributes[key] = re.sub(r"-?\d+\.\d+", _short_number, value).strip().replace("  ", " ")
        else:
            tied = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", value)
            kept = [part for part in tied.split("; ") if not part.startswith("font-family")]
            attributes[key] = re.sub(r"#[0-9a-f]{6}", _variable, "; ".join(kept))
    element.attrib = attributes
    children: list[ET.Element] = []
    for child in element:
        if child.tag.removeprefix(_SVG) in _DROPPED:
            continue
        _clean(child, referenced, prefix)
        bare_group = child.tag == "g" and not child.attrib
        children.extend(child if bare_group else [child])
    element[:] = children


def _short_number(match: re.Match[str]) -> str:
    return f"{float(match.group()):.1f}".removesuffix(".0")


def _variable(match: re.Match[str]) -> str:
    name = _NAME.get(match.group())
    return match.group() if name is None else f"var(--{name})"
