"""The reference page of the rules is the rules'."""

from __future__ import annotations

from pathlib import Path

from fogfold.policy.registry import RULES
from fogfold.policy.rules_page import page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rules.md"


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_page_names_every_rule():
    for name in RULES:
        assert f"| `{name}` |" in page()
