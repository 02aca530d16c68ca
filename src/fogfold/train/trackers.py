"""Other people's screens for a training run: every line of its log goes to TensorBoard or Trackio as well, if asked.

The log of the run, `log.jsonl`, is always written and is what a run goes on from; a tracker is a copy of its figures.
The packages are imported when they are asked for and not before. Nothing leaves the machine: both write to its disk.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from fogfold.errors import MissingExtraError, UnknownNameError, did_you_mean
from fogfold.train.settings import TrainSettings

__all__ = ["TRACKERS", "Tracker", "figures_of", "tracker_named"]

TRACKERS = ("tensorboard", "trackio")
"""Names of those that there are."""


@runtime_checkable
class Tracker(Protocol):
    """Shows figures."""

    def show(self, line: Mapping[str, Any]) -> None:
        """A line of the log."""
        ...

    def close(self) -> None:
        """Nothing more comes."""
        ...


def figures_of(line: Mapping[str, Any]) -> tuple[int, dict[str, float]]:
    """Step and figures of a line of the log, by names with slashes; what is no number is left out.

    >>> figures_of({"update": 3, "judged": {"rule": {"moves": 4.0}}})
    (3, {'judged/rule/moves': 4.0})
    """
    step = int(line.get("update", line.get("lesson", 0)))
    part = "warm-up" if "lesson" in line else "" if "judged" in line else "update"
    return step, {
        f"{part}/{name}".strip("/"): value for name, value in _flat("", line) if name not in ("update", "lesson")
    }


def _flat(before: str, value: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, found in value.items():
        if isinstance(found, Mapping):
            yield from _flat(f"{before}{name}/", found)
        elif isinstance(found, int | float):
            yield f"{before}{name}", float(found)


def tracker_named(name: str, folder: Path, settings: TrainSettings) -> Tracker:
    """The tracker of that name.

    Args:
        name: one of `TRACKERS`.
        folder: of the run; TensorBoard's files go into its `tensorboard`, and Trackio calls the run by its name.
        settings: of the run.

    Raises:
        UnknownNameError: if there is none of that name.
        MissingExtraError: if its package is not installed.
    """
    if name == "tensorboard":
        return _TensorBoard(folder / "tensorboard")
    if name == "trackio":
        return _Trackio(folder.resolve().name, settings)
    raise UnknownNameError(f'tracker "{name}" is unknown; {did_you_mean(name, TRACKERS)}')


def _imported(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"--tracker {package} needs the package {package} ({error}); install fogfold[{package}], or leave it out: "
            "the log of the run is written in any case"
        ) from error


class _TensorBoard:
    def __init__(self, folder: Path) -> None:
        self._writer = _imported("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(folder))

    def show(self, line: Mapping[str, Any]) -> None:
        step, figures = figures_of(line)
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)
        if "warning" in line:
            self._writer.add_text("warning", line["warning"], step)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class _Trackio:
    def __init__(self, run: str, settings: TrainSettings) -> None:
        self._trackio = _imported("trackio", "trackio")
        with self._quiet():
            self._trackio.init(project="fogfold", name=run, config=asdict(settings), resume="allow", embed=False)

    def show(self, line: Mapping[str, Any]) -> None:
        step, figures = figures_of(line)
        found: dict[str, Any] = {**figures}
        if "warning" in line:
            found["warning"] = line["warning"]
        with self._quiet():
            self._trackio.log(found, step=step)

    def close(self) -> None:
        with self._quiet():
            self._trackio.finish()

    @staticmethod
    def _quiet() -> contextlib.AbstractContextManager[Any]:
        """It greets on standard output, where results go."""
        return contextlib.redirect_stdout(sys.stderr)
