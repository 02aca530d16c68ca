"""Options that several commands share: which scenario, with which changes, for which seeds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from fogfold.errors import MissingExtraError, ModelError, ScenarioError
from fogfold.policy.registry import POLICIES, RULES
from fogfold.policy.registry import policy as policy_named
from fogfold.world.scenario.load import load_scenario
from fogfold.world.scenario.schema import Scenario

__all__ = ["Overrides", "jobs_of", "overrides_of", "policies_of", "scenario_of", "seeds_of"]

Overrides = tuple[str, ...]


def overrides_of(pairs: Sequence[str]) -> dict[str, Any]:
    """`path=value` pairs as a mapping.

    Raises:
        ScenarioError: if a pair has no equals sign or stands twice.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        path, equals, value = pair.partition("=")
        if not equals or not path:
            raise ScenarioError([f"--set {pair!r} is no path=value; write for instance --set nodes.edge.count=20"])
        if path in found:
            raise ScenarioError([f"--set gives {path!r} twice; give each path once"])
        found[path] = value
    return found


def scenario_of(name: str, pairs: Sequence[str], *, day: str | None = None, days: int | None = None) -> Scenario:
    """The scenario of that name or file with the changes of a command line.

    Args:
        name: name or path.
        pairs: `path=value` pairs.
        day: day of a PlanetLab scenario.
        days: how many days of a Bitbrains scenario.

    Raises:
        ScenarioError, UnknownNameError: as `world.scenario.load.load_scenario`.
    """
    overrides = overrides_of(pairs)
    if day is not None:
        overrides["workload.day"] = day
    if days is not None:
        overrides["workload.days"] = days
    return load_scenario(name, overrides)


def seeds_of(seed: int | None, seeds: int | None, first_seed: int | None) -> list[int]:
    """Seeds K to K + N - 1, or the one seed.

    Raises:
        ModelError: if both forms are mixed, a seed is negative, or there is none.
    """
    if seed is not None and (seeds is not None or first_seed is not None):
        raise ModelError("--seed names one seed; leave out --seeds and --first-seed, or give those two instead")
    first, count = (seed, 1) if seed is not None else (first_seed or 0, 1 if seeds is None else seeds)
    if first < 0 or count < 1:
        raise ModelError(
            f"first seed {first} and {count} seeds are asked for; seeds count from 0, and at least one is run"
        )
    return list(range(first, first + count))


def policies_of(text: str) -> list[str]:
    """Names of policies from a comma-separated list; `rules` and `all` (all that can run) stand for many."""
    names: list[str] = []
    for part in text.split(","):
        word = part.strip()
        names += RULES if word == "rules" else _runnable() if word == "all" else [word]
    return list(dict.fromkeys(name for name in names if name))


def _runnable() -> list[str]:
    """Policies that can run here on any cluster: those whose optional packages are installed."""
    names = []
    for name, entry in POLICIES.items():
        if entry.by_name_only:
            continue
        try:
            policy_named(name)
        except MissingExtraError:
            continue
        names.append(name)
    return names


def jobs_of(jobs: int | None) -> int:
    """How many processes to use: as many as there are processors, where none is given.

    Raises:
        ModelError: if it is under 1.
    """
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 1:
        raise ModelError(f"--jobs is {jobs}; at least one process is needed")
    return jobs
