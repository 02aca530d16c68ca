"""Scenario files read and checked: every fault at once, each with file, line and column."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path as FilePath
from typing import Any

import yaml
from pydantic import ValidationError

from fogfold.errors import ScenarioError, UnknownNameError, did_you_mean
from fogfold.world.scenario.explain import Fault, explain, spelt
from fogfold.world.scenario.read import SCALARS, Document, Path, read_scalar, read_yaml
from fogfold.world.scenario.rules import rule_faults
from fogfold.world.scenario.schema import Scenario

__all__ = ["effective_yaml", "load_scenario", "parse_scenario", "scenario_names"]

_NAMED = resources.files("fogfold.world.scenario") / "named"
_SUFFIX = ".yaml"


def scenario_names() -> tuple[str, ...]:
    """Names of the scenarios that come with fogfold, in alphabetical order."""
    return tuple(sorted(entry.name.removesuffix(_SUFFIX) for entry in _NAMED.iterdir() if entry.name.endswith(_SUFFIX)))


def load_scenario(path_or_name: str | FilePath, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of that name, or in that file.

    Args:
        path_or_name: a name of `scenario_names`, or the path of a YAML file. A name wins; write ./city-20 for a file.
        overrides: values to set before the file is checked, by path with dots: `workload.day`, `nodes.0.count`, or
            with the name of an entry, `nodes.edge.count`. Text is read as YAML reads it: "20" is a number.

    Raises:
        UnknownNameError: if it is neither a name nor a file.
        ScenarioError: with every fault of the file, as `file:line:col: sentence`.
    """
    name = str(path_or_name)
    if name in scenario_names():
        entry = _NAMED / (name + _SUFFIX)
        return parse_scenario(entry.read_text(encoding="utf-8"), name + _SUFFIX, overrides)
    path = FilePath(path_or_name)
    if not path.is_file():
        raise UnknownNameError(
            f'scenario "{name}" is neither a file nor the name of a scenario; {did_you_mean(name, scenario_names())}'
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError([f"{name}:1:1: the file cannot be read as UTF-8 text: {error}"]) from error
    return parse_scenario(text, name, overrides, folder=path.parent)


def parse_scenario(
    text: str, label: str = "scenario", overrides: Mapping[str, Any] | None = None, *, folder: FilePath | None = None
) -> Scenario:
    """The scenario that a YAML text describes.

    Args:
        text: the file's text.
        label: what faults call the file.
        overrides: as in `load_scenario`.
        folder: where relative paths of the file start; None leaves them as they are.

    Raises:
        ScenarioError: with every fault, as `label:line:col: sentence`.
    """
    document = read_yaml(text)
    faults = [(line, column, sentence) for line, column, sentence in document.faults]
    if document.values is None:
        raise ScenarioError(_lines(label, faults) or [f"{label}:1:1: the file says null; write a mapping"])
    values, set_paths, unset = _override(document.values, overrides or {})
    if folder is not None:
        _anchor(values, folder)
    scenario: Scenario | None = None
    found: list[Fault] = []
    try:
        scenario = Scenario.model_validate(values)
    except ValidationError as error:
        found += explain(error, values, Scenario)
    found += rule_faults(values)
    of_overrides = [f"override {key}: {sentence}" for key, sentence in unset]
    for fault in found:
        key = next((key for key, path in set_paths.items() if fault.path[: len(path)] == path), None)
        if key is None:
            faults.append((*_place(document, fault), fault.sentence))
        else:
            of_overrides.append(f"override {key}: {fault.sentence}")
    if scenario is None or faults or of_overrides:
        raise ScenarioError(_lines(label, faults) + of_overrides)
    return scenario


def effective_yaml(scenario: Scenario) -> str:
    """The scenario with every default written out, as YAML that loads back to the same."""
    return yaml.dump(_plain(scenario.model_dump()), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _place(document: Document, fault: Fault) -> tuple[int, int]:
    return document.mark(fault.path, key=fault.at_key)


def _lines(label: str, faults: list[tuple[int, int, str]]) -> list[str]:
    """The faults in the order of the file; each said once."""
    return [f"{label}:{line}:{column}: {sentence}" for line, column, sentence in sorted(set(faults))]


def _override(values: Any, overrides: Mapping[str, Any]) -> tuple[Any, dict[str, Path], list[tuple[str, str]]]:
    """The values with the overrides in them, the path that each was set at, and what could not be set."""
    set_paths: dict[str, Path] = {}
    unset: list[tuple[str, str]] = []
    for key, value in overrides.items():
        here: Any = values
        path: list[str | int] = []
        parts = key.split(".")
        for depth, part in enumerate(parts):
            step = _step(here, part, last=depth == len(parts) - 1)
            if step is None:
                where = spelt(tuple(path))
                known = list(here) if isinstance(here, Mapping) else _names(here)
                hint = f"; {did_you_mean(part, known)}" if known else ""
                unset.append((key, f'{where} has no entry "{part}"{hint}'))
                break
            path.append(step)
            if depth == len(parts) - 1:
                here[step] = read_scalar(value) if isinstance(value, str) else value
                set_paths[key] = tuple(path)
            else:
                if isinstance(here, dict) and here.get(step) is None:
                    here[step] = {}
                here = here[step]
    return values, set_paths, unset


def _step(here: Any, part: str, *, last: bool) -> str | int | None:
    """The key or position that one part of an override's path leads to; None where it leads nowhere.

    Keys that the file leaves out may be set: whether they exist is the schema's to say.
    """
    if isinstance(here, dict):
        return part
    if isinstance(here, list):
        if part.isdigit() and int(part) < len(here):
            return int(part)
        names = _names(here)
        return names.index(part) if part in names and not last else None
    return None


def _names(here: Any) -> list[str]:
    if not isinstance(here, list):
        return []
    return [str(entry.get("name", i)) if isinstance(entry, Mapping) else str(i) for i, entry in enumerate(here)]


def _anchor(values: Any, folder: FilePath) -> None:
    """Let a workload's relative path start at the folder of the scenario file."""
    workload = values.get("workload") if isinstance(values, Mapping) else None
    if isinstance(workload, dict) and workload.get("kind") == "file" and isinstance(workload.get("path"), str):
        workload["path"] = str(folder / workload["path"])


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper that quotes what YAML 1.2 would read as a number as well as what YAML 1.1 would."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's own form
        """Write repeated values out instead of referring to them."""
        return True


for _tag, _pattern, _first in SCALARS:
    _Dumper.add_implicit_resolver(_tag, _pattern, _first)
