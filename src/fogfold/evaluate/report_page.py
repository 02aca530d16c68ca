"""The HTML of a report, piece by piece: headings, tables, figures, lists. Every text is escaped here and nowhere else.

The page is one file that asks nothing of a network: styles and figures stand in it, and it holds no script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from fogfold.evaluate.findings import KeyFigure
from fogfold.evaluate.result import Figure
from fogfold.evaluate.tables import Cell, Comparison, plain_line

__all__ = [
    "code",
    "comparison_table",
    "definitions",
    "facts",
    "figure",
    "folded",
    "key",
    "key_figures",
    "page",
    "paragraph",
    "plain_table",
    "section",
]


_UNIT = re.compile(r"(?<=[\d.]) (?=(?:%|pp|kWh|Wh-eq|W|ms|GiB·s|min|h|nodes)(?:\W|$))")


def text(words: str) -> str:
    """Words made safe for a page, on one line."""
    return escape(plain_line(words))


def prose(words: str) -> str:
    """A sentence made safe for a page, its numbers kept on one line with their units."""
    return _UNIT.sub("\u00a0", text(words))


def page(title: str, subtitle: str, lead: str, cautions: Sequence[str], body: Sequence[tuple[str, str, str]]) -> str:
    """The whole document.

    Args:
        title: shown as heading and in the window's title.
        subtitle: one line below it.
        lead: the finished HTML that follows (headline and key figures).
        cautions: sentences set apart below the lead; may be empty.
        body: id, heading and finished HTML of each section.
    """
    style = files("fogfold.evaluate").joinpath("report.css").read_text(encoding="utf-8")
    links = "".join(f'<a href="#{escape(anchor)}">{text(heading)}</a>' for anchor, heading, _ in body)
    wary = "".join(f"<li>{prose(caution)}</li>" for caution in cautions)
    sections = "\n".join(section(anchor, heading, content) for anchor, heading, content in body)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="fogfold">
<title>{text(title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{text(title)}</h1>
<p class="subtitle">{text(subtitle)}</p>
</header>
<main>
{lead}
{f'<ul class="cautions" aria-label="Read with care">{wary}</ul>' if wary else ""}
<nav aria-label="Sections">{links}</nav>
{sections}
</main>
</body>
</html>
"""


def section(anchor: str, heading: str, content: str) -> str:
    """A section with its heading."""
    return f'<section id="{escape(anchor)}">\n<h2>{text(heading)}</h2>\n{content}\n</section>'


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph of plain words, of a kind that the style sheet knows."""
    mark = f' class="{escape(kind)}"' if kind else ""
    return f"<p{mark}>{prose(words)}</p>"


def code(words: str) -> str:
    """A line to be copied."""
    return f'<p class="command"><code>{text(words)}</code></p>'


def key_figures(figures: Iterable[KeyFigure]) -> str:
    """The figures shown large."""
    items = []
    for one in figures:
        note = f"<i>{text(one.note)}</i>" if one.note else ""
        items.append(f"<div><dt>{text(one.label)}</dt><dd><b>{text(one.value)}</b>{note}</dd></div>")
    return f'<dl class="key-figures">{"".join(items)}</dl>'


def figure(anchor: str, drawings: Mapping[str, str], caption: str, alt: str) -> str:
    """A figure in each of its looks, of which the style sheet shows one.

    Args:
        anchor: id of the figure.
        drawings: finished SVG by the name of its look.
        caption: shown below.
        alt: what the figure shows, for those who do not see it.
    """
    plots = "".join(
        f'<div class="plot {escape(look)}" role="img" aria-label="{text(alt)}">{drawing}</div>'
        for look, drawing in drawings.items()
    )
    return f'<figure id="{escape(anchor)}">\n{plots}\n<figcaption>{prose(caption)}</figcaption>\n</figure>'


def swatch(colour: str) -> str:
    """A dot in a policy's colour; what it stands for is always written beside it."""
    return f'<span class="swatch {escape(colour)}" aria-hidden="true"></span>'


def key(policies: Iterable[tuple[str, str]]) -> str:
    """Which colour is which policy, for looks whose curves have no names at their ends."""
    items = "".join(f"<li>{swatch(colour)}{text(policy)}</li>" for policy, colour in policies)
    return f'<ul class="key" aria-label="Colours of the curves">{items}</ul>'


def comparison_table(table: Comparison, colours: Mapping[str, str], caption: str) -> str:
    """Policies by figures; the best mean of a column is bold and starred."""
    heads = "".join(
        f'<th scope="col">{text(one.label)}{f"<small>{text(one.unit)}</small>" if one.unit else ""}</th>'
        for one in table.columns
    )
    rows = []
    for row in table.rows:
        mark = " <small>baseline</small>" if row.is_baseline else ""
        name = f'<th scope="row">{swatch(colours[row.policy])}{text(row.policy)}{mark}</th>'
        rows.append(f"<tr>{name}{''.join(_cell(cell) for cell in row.cells)}</tr>")
    head = f'<tr><th scope="col">policy</th>{heads}</tr>'
    return _scrolled(f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>", caption)


def _cell(cell: Cell) -> str:
    star = '<span class="star" role="img" aria-label="best">★</span> ' if cell.best else ""
    mean, plus_minus, half = cell.value.partition(" ± ")
    spread = f"<small> ± {text(half)}</small>" if plus_minus else ""
    value = f"{star}{f'<b>{text(mean)}</b>' if cell.best else text(mean)}{spread}"
    return f"<td>{value}{f'<i>{text(cell.difference)}</i>' if cell.difference else ''}</td>"


def plain_table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table of texts whose first column names the row."""
    top = "".join(f'<th scope="col">{text(head)}</th>' for head in heads)
    lines = "".join(
        f'<tr><th scope="row">{text(row[0])}</th>{"".join(f"<td>{text(value)}</td>" for value in row[1:])}</tr>'
        for row in rows
    )
    return _scrolled(f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>", caption)


def _scrolled(table: str, caption: str) -> str:
    """A table that scrolls sideways by itself, reachable with the keyboard."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}">{table}</div>'


def definitions(figures: Iterable[Figure]) -> str:
    """Each figure with its unit, its meaning and which way is better."""
    items = []
    for one in figures:
        better = f" Better when {one.better}." if one.better else ""
        meaning = one.meaning[:1].upper() + one.meaning[1:]
        unit = f" <small>{text(one.unit)}</small>" if one.unit else ""
        items.append(f"<div><dt>{text(one.label)}{unit}</dt><dd>{text(meaning)}.{better}</dd></div>")
    return f'<dl class="definitions">{"".join(items)}</dl>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values, as in "how it was made"; a value keeps its words on one line where it is code."""
    items = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in rows)
    return f'<dl class="facts">{items}</dl>'


def folded(heading: str, content: str) -> str:
    """Content that is shown on demand."""
    return f"<details><summary>{text(heading)}</summary>{content}</details>"
