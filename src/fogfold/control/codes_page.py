"""The reference page of the codes, written from the enum, so that it cannot lag behind it.

A test holds `docs/reference/reasons.md` equal to `page()`. To write it anew, from the root of the project:

    python -c "from pathlib import Path; from fogfold.control.codes_page import page;
    Path('docs/reference/reasons.md').write_text(page(), encoding='utf-8')"
"""

from __future__ import annotations

from fogfold.control.codes import CODE_OF_REASON, CODES, Code
from fogfold.model.reason import Reason

__all__ = ["page"]

_HEAD = """# Reasons

Every move, sleep or wake-up that is refused has a code, and so has every node that stays on. The list is closed: codes
are added, never renamed. Each is counted as a metric and shown with the detail that belongs to it.

| code | what it means | what to do |
|---|---|---|
"""

_MASK = """
## What masks and rules say

The simulator, the rules and the learned policy know why a container may not go to a node by `model.reason.Reason`.
These are the codes it is shown under.

| reason | code |
|---|---|
"""


def page() -> str:
    """The page, as Markdown."""
    codes = "".join(f"| `{code}` | {CODES[code].meaning} | {CODES[code].remedy} |\n" for code in Code)
    reasons = "".join(f"| `{r.name}` | `{CODE_OF_REASON[r]}` |\n" for r in Reason if r is not Reason.NONE)
    return _HEAD + codes + _MASK + reasons
