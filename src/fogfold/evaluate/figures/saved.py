"""A figure as a file of its own, PNG or SVG, in the colours of a page on light paper.

Figures of a report take their colours from the page; a file has none, so its names get the values that the report's
style sheet gives them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure as Sheet

from fogfold.errors import ModelError
from fogfold.evaluate.figures.drawing import COLOURS, WIDE, Look, colour, drawing

__all__ = ["FORMATS", "check_figure_path", "light", "save_figure"]

FORMATS = (".png", ".svg")
_DPI = 144


def check_figure_path(path: Path) -> None:
    """Nothing, where a figure can be written there; ask before a long sweep rather than after it.

    Raises:
        ModelError: if it does not end like a picture, or its folder is not there.
    """
    if path.suffix not in FORMATS:
        raise ModelError(f'figure "{path}" does not end in {" or ".join(FORMATS)}; name the file so')
    if not path.parent.is_dir():
        raise ModelError(f'folder "{path.parent}" is not there; make it, or write the figure elsewhere')


def light(name: str) -> str:
    """The value of a colour on light paper."""
    css = resources.files("fogfold.evaluate").joinpath("report.css").read_text(encoding="utf-8")
    found = re.search(rf"--{re.escape(name)}: (#[0-9a-f]+);", css)
    assert found is not None  # noqa: S101 - the style sheet must name every colour of `COLOURS`
    return found.group(1)


def save_figure(path: Path, draw: Callable[[Look, Callable[[str], str]], Sheet]) -> None:
    """Draw a figure and write it.

    Args:
        path: where; its ending says in which format.
        draw: draws the figure in a look, with what gives each named colour its value.

    Raises:
        ModelError: as `check_figure_path`.
    """
    check_figure_path(path)
    values = {name: light(name) for name in COLOURS}
    stand_ins = {colour(name): values[name] for name in COLOURS}
    with drawing(WIDE):
        for key, value in list(mpl.rcParams.items()):
            if isinstance(value, str) and value in stand_ins:
                mpl.rcParams[key] = stand_ins[value]
        page = draw(WIDE, values.__getitem__)
        page.patch.set_visible(True)
        page.patch.set_facecolor(values["paper"])
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        page.savefig(path, dpi=_DPI if path.suffix == ".png" else 72, metadata=metadata)
