"""The pages on the service hold: each address and each metric is on them, and their settings are settings."""

import re
from pathlib import Path

import pytest

from fogfold.bootstrap.settings import parse_settings

DOCS = Path(__file__).parents[3] / "docs"


def test_each_address_is_on_the_page_and_no_other(played):
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(GET|POST) ([^`?]+)", page, re.MULTILINE))
    paths = played.app.openapi()["paths"]
    assert told == {(method.upper(), path) for path, operations in paths.items() for method in operations}


def test_each_metric_is_on_the_page_and_no_other(played):
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(fogfold_\w+)", page))
    shown = set(re.findall(r"^# TYPE (\w+)", played.metrics.text().decode(), re.MULTILINE))
    assert told == shown


def test_settings_of_the_page_are_settings():
    page = (DOCS / "how-to" / "operate.md").read_text(encoding="utf-8")
    whole, *parts = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert parse_settings(whole).mode == "approve"
    assert len(parts) == 2
    for part in parts:
        parse_settings("plane: {kind: simulated}\n" + part)


@pytest.mark.parametrize("role", ["read", "approve", "admin"])
def test_roles_are_explained(role):
    assert f"| `{role}` |" in (DOCS / "how-to" / "operate.md").read_text(encoding="utf-8")
