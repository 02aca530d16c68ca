"""What can go wrong, as types: each message names the value, the rule and the remedy.

Every error of fogfold is a `FogfoldError` with an exit code, so that a script can tell bad input from missing
data from an impossible cluster. Whether trying again can help is part of the type (`retryable`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar

__all__ = [
    "EXIT_CODES",
    "FogfoldError",
    "InvariantError",
    "MissingExtraError",
    "ModelError",
    "PlacementError",
    "ScenarioError",
    "TraceError",
    "TraceNotFoundError",
    "UnknownNameError",
    "did_you_mean",
]


class FogfoldError(Exception):
    """Root of all errors that fogfold raises on purpose."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False


class ModelError(FogfoldError):
    """A value that cannot be: a negative size, a curve that is missing, a duplicate id."""

    exit_code = 3


class ScenarioError(FogfoldError):
    """A scenario file that does not validate; holds every fault found, one sentence each."""

    exit_code = 3

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[str, ...]]]:
        # An exception is made again from its message; this one is made from its faults, on the way between processes.
        return type(self), (self.faults,)


class TraceError(FogfoldError):
    """A trace that cannot be read as it is: names the file, the line or row, and the value."""

    exit_code = 4


class TraceNotFoundError(FogfoldError):
    """The data that was asked for is not on this machine."""

    exit_code = 5


class PlacementError(FogfoldError):
    """A container that no node may hold, or a cluster that cannot hold its containers."""

    exit_code = 6


class UnknownNameError(FogfoldError):
    """A name that is not in the list it was looked up in."""

    exit_code = 2


class MissingExtraError(FogfoldError):
    """A part of fogfold that needs an optional package that is not installed."""

    exit_code = 7


class InvariantError(FogfoldError):
    """The world broke one of its own rules: a fault in fogfold, never in its input."""

    exit_code = 70


EXIT_CODES: dict[int, str] = {
    0: "done",
    1: "failed for another reason",
    2: "the command line is wrong, or a name in it is unknown",
    3: "a scenario, cluster or value does not validate",
    4: "a trace cannot be read as it is",
    5: "trace data is not on this machine",
    6: "a container fits nowhere",
    7: "an optional package is missing",
    8: "a decision that was made again came out otherwise",
    70: "fogfold broke one of its own invariants: please report it",
    130: "interrupted; what was finished has been kept",
}
"""What each exit code of the command line means."""


_LISTED = 20
"""Most known words that a message lists: a cluster has thousands of ids, and a message is to be read."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause that names the nearest known word, or the known words where none is near.

    >>> did_you_mean("memry_gib", ["memory_gib", "cpu_cores"])
    'did you mean "memory_gib"?'
    """
    options = sorted(set(known))
    near = difflib.get_close_matches(name, options, n=1, cutoff=0.6)
    if near:
        return f'did you mean "{near[0]}"?'
    if not options:
        return "none is known"
    more = len(options) - _LISTED
    return "known: " + ", ".join(options[:_LISTED]) + (f" and {more} more" if more > 0 else "")
