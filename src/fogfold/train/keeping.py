"""What a run keeps on disk: its log, its best and latest weights, and a state from which it can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import yaml

from fogfold.errors import ModelError
from fogfold.policy.learned.weights import Weights, save_weights
from fogfold.train.ppo import Learner
from fogfold.train.settings import TrainSettings, read_settings
from fogfold.train.trackers import Tracker

__all__ = ["RunFolder"]

_STATE = "state.pt"
_LOG = "log.jsonl"
_SETTINGS = "settings.yaml"


class RunFolder:
    """The folder of a training run.

    Args:
        path: the folder; made where it is not there.
        tracker: who is shown every line of the log as well.
    """

    def __init__(self, path: Path, tracker: Tracker | None = None) -> None:
        self.path, self._tracker = path, tracker
        path.mkdir(parents=True, exist_ok=True)

    @property
    def can_go_on(self) -> bool:
        """Whether a run was kept here that can go on."""
        return (self.path / _STATE).is_file()

    def check(self, settings: TrainSettings) -> None:
        """Refuse to go on with other settings; write them down where the folder is new.

        Raises:
            ModelError: if the folder belongs to a run with other settings.
        """
        file = self.path / _SETTINGS
        if file.is_file():
            if read_settings(file) != settings:
                raise ModelError(
                    f"{self.path} belongs to a run with other settings (see {file}); give another folder, or its own "
                    "settings to go on with it"
                )
            return
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(settings).items()}
        file.write_text(yaml.safe_dump(plain, sort_keys=False), encoding="utf-8")

    def log(self, line: Mapping[str, Any]) -> None:
        """Add a line to the log."""
        with (self.path / _LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(line), allow_nan=False) + "\n")
        if self._tracker is not None:
            self._tracker.show(line)

    def begin(self) -> None:
        """Begin the log anew: a warm-up that was cut short is gone through again."""
        (self.path / _LOG).unlink(missing_ok=True)

    def keep(self, update: int, learner: Learner, seats: Sequence[bytes], best: float, *, log_bytes: int) -> None:
        """Write a state that a later process can go on from; the old one stays whole until the new one is there.

        Args:
            update: the next one.
            learner: who learns.
            seats: as `Crew.keep` gives them.
            best: of all judgements so far.
            log_bytes: length of the log up to which the state is.
        """
        partial = self.path / (_STATE + ".part")
        state = {
            "update": update,
            "best": best,
            "log_bytes": log_bytes,
            "policy": learner.policy.state_dict(),
            "value": learner.value.state_dict(),
            "scale": learner.scale,
            "optimiser": learner.optimiser.state_dict(),
            "seats": list(seats),
        }
        with partial.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path / _STATE)

    def lines(self) -> list[dict[str, Any]]:
        """What the log holds, line by line."""
        file = self.path / _LOG
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []

    @property
    def log_bytes(self) -> int:
        """Length of the log so far."""
        file = self.path / _LOG
        return file.stat().st_size if file.is_file() else 0

    def go_on(self, learner: Learner) -> tuple[int, float, list[bytes]]:
        """Take up the state that was kept: the next update, the best judgement so far, and the worlds as they stood.

        What the log holds beyond it is cut off, since it will be written again.

        Raises:
            ModelError: if it was kept by a release that kept its worlds otherwise.
        """
        # The file is the run's own; `weights_only` keeps torch from running code out of it. The worlds are pickled.
        state = torch.load(self.path / _STATE, weights_only=True, map_location=learner.device)
        if not isinstance(state["seats"], list):
            raise ModelError(
                f"{self.path / _STATE} was kept by another release; go on with that one, or begin in another folder"
            )
        learner.policy.load_state_dict(state["policy"])
        learner.value.load_state_dict(state["value"])
        learner.scale = state["scale"]
        learner.optimiser.load_state_dict(state["optimiser"])
        with (self.path / _LOG).open("r+b") as file:
            file.truncate(int(state["log_bytes"]))
        return int(state["update"]), float(state["best"]), state["seats"]

    def save(self, name: str, weights: Weights) -> None:
        """Write weights as `name.safetensors`."""
        save_weights(self.path / f"{name}.safetensors", weights)
