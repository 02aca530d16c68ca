"""Ids: which signs they may hold, how long they may be, and that none stands twice."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.errors import ModelError
from fogfold.model.identity import check_id, check_unique

FIRST = string.ascii_letters + string.digits
LATER = FIRST + "._:/@-"

well_formed = st.builds(str.__add__, st.sampled_from(FIRST), st.text(st.sampled_from(LATER), max_size=252))


@given(well_formed)
def test_letters_digits_and_a_few_signs_make_an_id(name):
    check_id("node", name)


@given(st.text(max_size=6))
def test_whatever_holds_another_sign_is_refused(name):
    allowed = bool(name) and name[0] in FIRST and set(name) <= set(LATER)
    if allowed:
        check_id("node", name)
    else:
        with pytest.raises(ModelError, match="is not allowed; use letters, digits and"):
            check_id("node", name)


@pytest.mark.parametrize("name", ["", " ", "-edge", ".a", "a b", "a\n", "é", "node#1", "/x"])
def test_malformed_id_is_named_with_the_rule(name):
    with pytest.raises(ModelError, match=r"^site id ") as refused:
        check_id("site", name)
    assert repr(name) in str(refused.value)
    assert "at most 253 signs, starting with a letter or digit" in str(refused.value)


def test_longest_id_has_253_signs():
    check_id("image", "a" * 253)
    with pytest.raises(ModelError, match="at most 253 signs"):
        check_id("image", "a" * 254)


def test_image_names_with_registry_and_digest_are_ids():
    check_id("image", "registry.example:5000/team/app@sha256:0af1")


def test_first_id_that_stands_twice_is_named():
    with pytest.raises(ModelError, match=r"^container id 'b' is given twice; ids are unique within a cluster$"):
        check_unique("container", ["a", "b", "c", "b", "c"])


@given(st.lists(st.sampled_from("abcdef"), max_size=6))
def test_ids_pass_exactly_where_none_stands_twice(names):
    if len(set(names)) == len(names):
        check_unique("node", names)
    else:
        with pytest.raises(ModelError, match="is given twice"):
            check_unique("node", names)
