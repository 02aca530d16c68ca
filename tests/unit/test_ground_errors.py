"""Errors: one exit code for each kind of trouble, documented, and a message that can be acted on."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold import errors
from fogfold.errors import EXIT_CODES, FogfoldError, ScenarioError, did_you_mean

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FogfoldError)]
OF_THE_COMMAND_LINE = {0, 8, 130}
"""Codes that no error has: done, a decision that came out otherwise, and interrupted."""


def test_every_exit_code_of_an_error_is_documented_and_no_other():
    assert {kind.exit_code for kind in KINDS} | OF_THE_COMMAND_LINE == set(EXIT_CODES)
    assert not {kind.exit_code for kind in KINDS} & OF_THE_COMMAND_LINE


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("FogfoldError", 1),
        ("UnknownNameError", 2),
        ("ModelError", 3),
        ("ScenarioError", 3),
        ("TraceError", 4),
        ("TraceNotFoundError", 5),
        ("PlacementError", 6),
        ("MissingExtraError", 7),
        ("InvariantError", 70),
    ],
)
def test_scripts_may_rely_on_the_exit_codes(name, code):
    assert getattr(errors, name).exit_code == code


def test_table_above_has_every_kind_of_error():
    assert len(KINDS) == 9


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_can_be_caught_as_fogfolds_own(kind):
    assert issubclass(kind, FogfoldError)
    assert kind.__doc__
    assert kind.__name__ in errors.__all__


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_here_gets_better_by_trying_again(kind):
    assert kind.retryable is False


def test_what_a_code_means_is_said_in_words():
    assert all(meaning and meaning[0].islower() for meaning in EXIT_CODES.values())
    assert list(EXIT_CODES) == sorted(EXIT_CODES)


def test_scenario_error_holds_its_faults_one_a_line():
    error = ScenarioError(iter(["nodes: -1", "hours: 0"]))
    assert error.faults == ("nodes: -1", "hours: 0")
    assert str(error) == "nodes: -1\nhours: 0"


@pytest.mark.parametrize("copied", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301 - our own bytes
def test_scenario_error_stays_itself_on_the_way_between_processes(copied):
    error = copied(ScenarioError(["nodes: -1", "hours: 0"]))
    assert (type(error), error.faults, str(error)) == (ScenarioError, ("nodes: -1", "hours: 0"), "nodes: -1\nhours: 0")


@pytest.mark.parametrize(
    ("name", "known", "clause"),
    [
        ("memry_gib", ["memory_gib", "cpu_cores"], 'did you mean "memory_gib"?'),
        ("drian", ["hold", "drain", "drain-relief"], 'did you mean "drain"?'),
        ("zzz", ["hold", "drain"], "known: drain, hold"),
        ("zzz", ["b", "a", "b"], "known: a, b"),
        ("zzz", [], "none is known"),
    ],
)
def test_hint_names_the_nearest_word_or_all(name, known, clause):
    assert did_you_mean(name, known) == clause
    assert did_you_mean(name, iter(known)) == clause


def test_hint_does_not_list_thousands_of_words():
    clause = did_you_mean("zzz", [f"node-{i:04}" for i in range(5000)])
    assert clause.startswith("known: node-0000, node-0001, ")
    assert clause.endswith("node-0019 and 4980 more")


def test_twenty_words_are_listed_in_full():
    clause = did_you_mean("zzz", [f"n{i:02}" for i in range(20)])
    assert clause.endswith(", n18, n19")


words = st.text("abc-", min_size=1, max_size=6)


@given(words, st.lists(words, min_size=1, max_size=8))
def test_hint_names_only_words_that_are_known(name, known):
    clause = did_you_mean(name, known)
    if clause.startswith("known: "):
        assert clause.removeprefix("known: ").split(", ") == sorted(set(known))
    else:
        assert clause.removeprefix('did you mean "').removesuffix('"?') in known


@given(st.lists(words, min_size=1, max_size=8), st.data())
def test_known_word_is_its_own_nearest(known, data):
    word = data.draw(st.sampled_from(known))
    assert did_you_mean(word, known) == f'did you mean "{word}"?'
