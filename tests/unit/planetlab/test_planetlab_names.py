"""Names of policies and corrections."""

from __future__ import annotations

import pytest

from fogfold.errors import UnknownNameError
from fogfold.evaluate.planetlab import RULES, Corrections, rule_named


@pytest.mark.parametrize("alias", ["lr", "lr-mmt", "lr-mmt-1.2"])
def test_aliases_mean_the_same_rule(alias):
    assert rule_named(alias) == rule_named("lr")


def test_all_seven_policies_are_there():
    assert [rule.name for rule in RULES] == ["npa", "dvfs", "thr", "iqr", "mad", "lr", "lrr"]


@pytest.mark.parametrize(
    ("name", "hint"), [("lr-mnt", 'did you mean "lr-mmt"'), ("THR", "known"), ("dvfs-mmt", "dvfs")]
)
def test_an_unknown_policy_is_refused_with_a_hint(name, hint):
    with pytest.raises(UnknownNameError, match=hint):
        rule_named(name)


def test_corrections_go_by_name_in_a_fixed_order():
    assert Corrections.of(["keep", "wake"]).applied() == ("wake", "keep")
    assert Corrections.of(["all"]).applied() == ("wake", "keep", "ram", "waking")
    assert Corrections.of([]) == Corrections()


def test_an_unknown_correction_is_refused_with_a_hint():
    with pytest.raises(UnknownNameError, match='did you mean "wake"'):
        Corrections.of(["wakes"])
