"""A mixed-integer linear program as arrays, and the one door to the solver HiGHS.

HiGHS comes with the optional package `highspy`; nothing of it is imported before a program is solved. It runs on one
thread and, where no time limit is set, stops at a number of branch-and-bound nodes, so that the same program gives the
same answer on every run. It prints nothing: standard output belongs to whoever asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.errors import InvariantError, MissingExtraError

__all__ = ["Columns", "Program", "Relaxation", "Rows", "Solution", "relax", "require_solver", "solve"]

Amounts = Float[Array, " some"] | float
"""One figure for each of some variables or rows, or one for all."""


class Columns:
    """The variables of a program in the making."""

    def __init__(self) -> None:
        self.count = 0
        self._cost: list[Float[Array, " some"]] = []
        self._low: list[Float[Array, " some"]] = []
        self._high: list[Float[Array, " some"]] = []
        self._whole: list[Bool[Array, " some"]] = []

    def add(
        self, count: int, *, cost: Amounts = 0.0, low: Amounts = 0.0, high: Amounts = np.inf, whole: bool = False
    ) -> Int[Array, " some"]:
        """New variables; gives their numbers."""
        first = self.count
        self.count += count
        self._cost.append(_each(cost, count))
        self._low.append(_each(low, count))
        self._high.append(_each(high, count))
        self._whole.append(np.full(count, whole))
        return np.arange(first, self.count)

    def program(self, rows: Rows) -> Program:
        """The variables with their rows: the whole program."""
        return Program(
            cost=_joined(self._cost, np.float64),
            low=_joined(self._low, np.float64),
            high=_joined(self._high, np.float64),
            whole=_joined(self._whole, np.bool_),
            rows=rows,
        )


def _each(amount: Amounts, count: int) -> Float[Array, " some"]:
    return np.broadcast_to(np.asarray(amount, np.float64), (count,))


class Rows:
    """Linear constraints in the making: `low <= sum of coefficient x variable <= high`, row by row."""

    def __init__(self) -> None:
        self.count = 0
        self._row: list[Int[Array, " entries"]] = []
        self._column: list[Int[Array, " entries"]] = []
        self._value: list[Float[Array, " entries"]] = []
        self._low: list[Float[Array, " rows"]] = []
        self._high: list[Float[Array, " rows"]] = []

    def add(self, count: int, *, low: Amounts = -np.inf, high: Amounts = np.inf) -> Int[Array, " rows"]:
        """New rows without entries; gives their numbers, for `put`."""
        first = self.count
        self.count += count
        self._low.append(_each(low, count))
        self._high.append(_each(high, count))
        return np.arange(first, self.count)

    def put(
        self,
        row: Int[Array, " entries"] | int,
        column: Int[Array, " entries"],
        value: Amounts,
    ) -> None:
        """Entries of rows: one each for row, column and value, a single row or value standing for all."""
        self._row.append(np.broadcast_to(np.asarray(row, np.int64), (len(column),)))
        self._column.append(np.asarray(column, np.int64))
        self._value.append(_each(value, len(column)))

    def compressed(
        self,
    ) -> tuple[
        Int[Array, " rows_edges"],
        Int[Array, " entries"],
        Float[Array, " entries"],
        Float[Array, " rows"],
        Float[Array, " rows"],
    ]:
        """Where each row starts, its columns, its coefficients, and the rows' limits."""
        row = _joined(self._row, np.int64)
        order = np.argsort(row, kind="stable")
        start = np.searchsorted(row[order], np.arange(self.count + 1)).astype(np.int32)
        column = _joined(self._column, np.int64)[order].astype(np.int32)
        return (
            start,
            column,
            _joined(self._value, np.float64)[order],
            _joined(self._low, np.float64),
            _joined(self._high, np.float64),
        )


def _joined(parts: list[Array], kind: type) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, kind)


@dataclass(frozen=True)
class Program:
    """Minimise `cost x variables` under the rows, each variable within its limits."""

    cost: Float[Array, " variables"]
    low: Float[Array, " variables"]
    high: Float[Array, " variables"]
    whole: Bool[Array, " variables"]
    """Which variables are whole numbers."""
    rows: Rows


@dataclass(frozen=True)
class Solution:
    """What the solver found and what it proved."""

    values: Float[Array, " variables"] | None
    """The best solution found; None where none was found."""
    objective: float
    """Its cost; infinite where none was found."""
    bound: float
    """No solution costs less; infinite where it is proven that there is none."""
    proven: bool
    """Whether the two agree to the gap that was asked for."""


@dataclass(frozen=True)
class Relaxation:
    """The optimum when all variables may be fractions."""

    values: Float[Array, " variables"]
    objective: float
    reduced_cost: Float[Array, " variables"]
    """What a unit more of each variable costs beyond what the rows pay for it."""
    price: Float[Array, " rows"]
    """What a unit more on the right of each row costs."""


def require_solver() -> Any:
    """The module `highspy`.

    Raises:
        MissingExtraError: if it is not installed.
    """
    try:
        return import_module("highspy")
    except ImportError as error:
        raise MissingExtraError(
            "the solver HiGHS (Python package highspy) is not installed; pip install 'fogfold[exact]'"
        ) from error


@cache
def _silent_solver() -> Any:
    """The class of solvers that print nothing, not even that they are there."""
    highspy = require_solver()

    def enable_callbacks(solver: Any) -> None:
        # The first solver of a process prints a banner from here, inside its constructor.
        solver.setOptionValue("output_flag", False)
        highspy.Highs.enableCallbacks(solver)

    return type("SilentHighs", (highspy.Highs,), {"enableCallbacks": enable_callbacks})


def solve(
    program: Program,
    *,
    gap: float,
    node_limit: int | None = None,
    time_limit_s: float | None = None,
    start: tuple[Int[Array, " some"], Float[Array, " some"]] | None = None,
) -> Solution:
    """Solve a program.

    Args:
        program: what to minimise.
        gap: relative distance between cost and bound at which to stop.
        node_limit: branch-and-bound nodes after which to stop; None for no limit.
        time_limit_s: time after which to stop, in s; the answer then depends on the machine. None for no limit.
        start: some variables and their values in a solution that is known; HiGHS finds the others, or drops it.

    Raises:
        MissingExtraError: if HiGHS is not installed.
        InvariantError: if the solver fails.
    """
    highspy = require_solver()
    options: dict[str, Any] = {"mip_rel_gap": gap}
    if node_limit is not None:
        options["mip_max_nodes"] = node_limit
    if time_limit_s is not None:
        options["time_limit"] = float(time_limit_s)
    solver = _load(program, options, whole=True)
    if start is not None:
        columns, values = start
        solver.setSolution(len(columns), columns.astype(np.int32), values.astype(np.float64))
    status = _run(solver)
    if status == highspy.HighsModelStatus.kInfeasible:
        return Solution(None, np.inf, np.inf, proven=True)
    found = solver.getInfo()
    if found.primal_solution_status != int(highspy.SolutionStatus.kSolutionStatusFeasible):
        return Solution(None, np.inf, float(found.mip_dual_bound), proven=False)
    return Solution(
        np.array(solver.getSolution().col_value),
        float(found.objective_function_value),
        float(found.mip_dual_bound),
        proven=status == highspy.HighsModelStatus.kOptimal,
    )


def relax(program: Program) -> Relaxation:
    """The optimum of a program whose variables may all be fractions: a bound, and prices.

    Raises:
        MissingExtraError: if HiGHS is not installed.
        InvariantError: if the program has no solution, or the solver fails.
    """
    highspy = require_solver()
    solver = _load(program, {}, whole=False)
    status = _run(solver)
    if status != highspy.HighsModelStatus.kOptimal:
        raise InvariantError(
            f"a relaxation of {len(program.cost)} variables ended with status {solver.modelStatusToString(status)!r}; "
            "please report it with the snapshot"
        )
    solution = solver.getSolution()
    return Relaxation(
        np.array(solution.col_value),
        float(solver.getInfo().objective_function_value),
        np.array(solution.col_dual),
        np.array(solution.row_dual),
    )


def _load(program: Program, options: dict[str, Any], *, whole: bool) -> Any:
    """A solver with the program and its options."""
    highspy = require_solver()
    begin, column, value, row_low, row_high = program.rows.compressed()
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(program.cost), program.rows.count
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.cost, program.low, program.high
    lp.row_lower_, lp.row_upper_ = row_low, row_high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = begin, column, value
    if whole:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(is_whole)] for is_whole in program.whole]
    solver = _silent_solver()()
    for name, setting in {"output_flag": False, "threads": 1, "random_seed": 0, **options}.items():
        solver.setOptionValue(name, setting)
    solver.passModel(lp)
    return solver


def _run(solver: Any) -> Any:
    """Run a solver; gives its status.

    Raises:
        InvariantError: if it failed for a reason of its own.
    """
    highspy = require_solver()
    if solver.run() == highspy.HighsStatus.kError:
        # HiGHS keeps one pool of threads for the process; somebody else has started it with another number.
        highspy.Highs.resetGlobalScheduler(True)
        solver.run()
    status = solver.getModelStatus()
    expected = (
        highspy.HighsModelStatus.kOptimal,
        highspy.HighsModelStatus.kInfeasible,
        highspy.HighsModelStatus.kTimeLimit,
        highspy.HighsModelStatus.kSolutionLimit,
        highspy.HighsModelStatus.kInterrupt,
    )
    if status not in expected:
        raise InvariantError(
            f"HiGHS ended with status {solver.modelStatusToString(status)!r}; please report it with the snapshot"
        )
    return status
