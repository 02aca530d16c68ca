"""The reference page of the rules, written from their recipes, so that it cannot lag behind them.

A test holds `docs/reference/rules.md` equal to `page()`. To write it anew, from the root of the project:

    python -c "from pathlib import Path; from fogfold.policy.rules_page import page;
    Path('docs/reference/rules.md').write_text(page(), encoding='utf-8')"
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fogfold.policy.registry import RULES, recipe

__all__ = ["page"]

_HEAD = """# Rules

The classic consolidation rules, each in its own file under `src/fogfold/policy/`. All see the same view, take room at
once for every move that they draft, relieve hot nodes as well as empty cold ones (but for `drain`, the known-bad
simple rule, and `hold`), and share one power rule (`sleeping.py`): which empty nodes sleep, which nodes wake. So
comparisons are about the moves. A rule proposes only what the constraints allow; the world checks again.

| rule | what it does |
|---|---|
"""

_SEARCH = """
## Searching the parameters

No rule is called tuned without a search over its parameters on seeds of its own:

    fogfold tune city-50 --policy rules --trials 48 --seeds 8

Many combinations are tried on few seeds and the better half goes on with twice as many; what is found is held against
the defaults on seeds that the search did not see. Seeds of searches start at 100,000, far from those of comparisons.
Run a rule with other figures from Python: `policy("drain-relief", high_mark=0.7)`.

## Defaults, and what a search may try

"""


def page() -> str:
    """The page, as Markdown."""
    rows = "".join(f"| `{name}` | {recipe(name).summary} |\n" for name in RULES)
    parts = [_HEAD, rows, _SEARCH]
    for name in RULES:
        found = recipe(name)
        if not found.space.values:
            continue
        parts.append(f"### {name}\n\n| figure | default | tried |\n|---|---|---|\n")
        figures = found.params
        for field in fields(figures):
            tried = found.space.values.get(field.name)
            if tried is not None:
                parts.append(
                    f"| `{field.name}` | {_text(getattr(figures, field.name))} | {', '.join(map(_text, tried))} |\n"
                )
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n"


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
