"""The reference page of what a policy is shown, written from the rows themselves and the table of their sources.

A test holds `docs/reference/state.md` equal to `page()`. To write it anew, from the root of the project:

    python -c "from pathlib import Path; from fogfold.train.state_page import page;
    Path('docs/reference/state.md').write_text(page(), encoding='utf-8')"
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from enum import IntEnum

from fogfold.policy.learned.rows import ENCODING_VERSION
from fogfold.train.state_sources import GROUPS, METRICS, SOURCES, Needs

__all__ = ["meanings", "page"]

_HEAD = f"""# What a policy is shown

The state of the learned policy, version {ENCODING_VERSION} of its encoding, and where each figure comes from on a live
cluster. Weights are for one version only. This page is written from the code (see `fogfold.train.state_page`).

Every figure is relative to the node or the cluster it belongs to, so that one set of weights serves any size. None is
without a source, and none is constant where it is learned from:

    fogfold audit state --scenario city-20,city-50

plays a Monday and a Saturday of each, lists mean, variance, range and the share of times at which a figure says
nothing, and ends with code 1 where one is refused: because no live metric feeds it, it is constant, it was never met,
or it is not finite. Other figures of a cluster (reading times, pressure, restarts, power at the plug) are kept outside
the policy, in the journal.

## Live metrics

`reading` is where it stands in what a collector brings (`fogfold.control.readings`). A container without a reading is
taken at its request and its node is left alone; absence is never read as zero.

| word | reading | unit | live |
|---|---|---|---|
"""

_TITLES = {
    "intensity": "How hard: an option of the first stage",
    "node": "Which node next: an option of the second stage",
    "target": "Where to: an option of the third stage",
    "token": "Every node, from which the state of the cluster is summed up",
    "whole": "The cluster",
}

_NEEDS = {
    Needs.NOTHING: "",
    Needs.OPTION: "a node",
    Needs.SAMPLES: "two decisions",
    Needs.HALF_HOUR: "half an hour",
    Needs.OPTION_AND_HALF_HOUR: "a node, half an hour",
}


def meanings(rows: type[IntEnum]) -> dict[str, str]:
    """The sentence under each member of an enumeration, on one line; members without one are left out."""
    body = ast.parse(textwrap.dedent(inspect.getsource(rows))).body[0]
    assert isinstance(body, ast.ClassDef)  # noqa: S101 - it is the source of a class
    found = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            found[statement.targets[0].id] = " ".join(str(following.value.value).split())
    return found


def page() -> str:
    """The page, as Markdown."""
    parts = [_HEAD]
    parts += [
        f"| {word} | {f'`{metric.reading}`' if metric.reading else ''} | {metric.unit} | {metric.live} |\n"
        for word, metric in METRICS.items()
    ]
    parts.append(
        "\n## Figures\n\nWhere what is named in the last column is not there, the figure stands at 0 and says nothing. "
        "Shares may go\nbeyond 1.\n"
    )
    for group, rows in GROUPS.items():
        known = meanings(rows)
        parts.append(f"\n### {_TITLES[group]}\n\n")
        parts.append("| figure | what it says | unit | from | says nothing without |\n|---|---|---|---|---|\n")
        for row in rows:
            source = SOURCES[group][row]
            what = source.what or known[row.name]
            parts.append(
                f"| `{row.name.lower()}` | {what} | {source.unit} | {', '.join(source.metrics)} | "
                f"{_NEEDS[source.needs]} |\n"
            )
    return "".join(parts)
