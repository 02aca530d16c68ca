"""The closed list of codes: complete, explained, on its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from fogfold.control.codes import CODE_OF_REASON, CODES, Code, code_of
from fogfold.control.codes_page import page
from fogfold.errors import ModelError
from fogfold.model.reason import Reason

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "reasons.md"
FROM_THE_FIELD = [
    "DATA_STALE",
    "NODE_HOT",
    "NO_ROOM",
    "NO_IMPROVING_TARGET",
    "SPREAD",
    "ANTI_AFFINITY",
    "TAINT",
    "PV_LOCAL",
    "PV_ZONE",
    "PDB_ZERO",
    "PDB_MULTIPLE",
    "SINGLETON",
    "OPT_OUT",
    "OWNER_UNKNOWN",
    "BACKOFF",
    "BUDGET_SITE",
    "RATE_LIMIT",
    "SCORE_LOW",
    "COOLDOWN",
    "FORECAST_RISE",
    "WAKE_UNPROVEN",
    "STORAGE_LAST_REPLICA",
    "CONTROL_PLANE",
    "OTHER_CONTROLLER",
    "UPLINK_LOST",
    "HALTED",
]


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_code_is_explained_with_what_to_do():
    assert set(CODES) == set(Code)
    for explanation in CODES.values():
        assert explanation.meaning.endswith(".")
        assert explanation.remedy.endswith(".")


def test_codes_that_orchestrators_need_are_on_the_list():
    assert set(FROM_THE_FIELD) <= {str(code) for code in Code}


def test_every_reason_but_none_has_a_code():
    assert set(CODE_OF_REASON) == set(Reason) - {Reason.NONE}
    assert code_of(Reason.PINNED) is Code.PV_LOCAL


def test_reason_none_has_no_code():
    with pytest.raises(ModelError, match="NONE has no code"):
        code_of(Reason.NONE)


def test_codes_are_their_own_names():
    assert all(code.value == code.name for code in Code)
