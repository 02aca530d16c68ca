"""Programs are solved as worked out by hand, and in silence."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fogfold.errors import MissingExtraError
from fogfold.policy.program import Columns, Rows, relax, require_solver, solve

pytest.importorskip("highspy", reason="the extra `exact` is not installed")

FIRST_SOLVE = """
from fogfold.policy.program import Columns, Rows, relax, solve
columns, rows = Columns(), Rows()
load = columns.add(2, cost=-1.0, high=3.0, whole=True)
rows.put(int(rows.add(1, high=4.5)[0]), load, 1.0)
relax(columns.program(rows))
solve(columns.program(rows), gap=1e-6)
"""


def knapsack(*, whole, high=4.5):
    """As much as possible of two things of at most 3 each, 4.5 together."""
    columns, rows = Columns(), Rows()
    load = columns.add(2, cost=-1.0, high=3.0, whole=whole)
    rows.put(int(rows.add(1, low=0.0, high=high)[0]), load, 1.0)
    return columns.program(rows)


def test_whole_numbers_and_fractions_differ_as_worked_out_by_hand():
    found = solve(knapsack(whole=True), gap=1e-6)
    assert found.proven
    assert (found.objective, found.bound) == pytest.approx((-4.0, -4.0))
    assert found.values is not None
    assert float(found.values.sum()) == pytest.approx(4.0)
    relaxed = relax(knapsack(whole=True))
    assert relaxed.objective == pytest.approx(-4.5)
    # One more on the right of the row is one more of either thing.
    assert relaxed.price.tolist() == pytest.approx([-1.0])
    assert relaxed.reduced_cost.tolist() == pytest.approx([0.0, 0.0])


def test_what_has_no_solution_is_proven_to_have_none():
    found = solve(knapsack(whole=True, high=-1.0), gap=1e-6)
    assert (found.values, found.proven, found.objective) == (None, True, np.inf)


def test_start_is_taken_or_dropped_but_never_trusted():
    for start in ([3.0, 1.0], [3.0, 3.0]):
        found = solve(knapsack(whole=True), gap=1e-6, start=(np.arange(2), np.array(start)))
        assert found.objective == pytest.approx(-4.0)


def test_solver_prints_nothing(capfd):
    relax(knapsack(whole=True))
    solve(knapsack(whole=True), gap=1e-6)
    assert capfd.readouterr() == ("", "")


def test_first_solver_of_a_process_prints_no_banner():
    command = [sys.executable, "-c", FIRST_SOLVE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own lines
    assert done.stdout == ""


def test_missing_solver_is_refused_with_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingExtraError, match=r"fogfold\[exact\]"):
        require_solver()
