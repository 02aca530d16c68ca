"""Trackers: what a log holds is shown there too; a package that is missing is told in a sentence."""

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch")

from fogfold.errors import MissingExtraError, UnknownNameError
from fogfold.train.keeping import RunFolder
from fogfold.train.settings import TrainSettings
from fogfold.train.trackers import figures_of, tracker_named

SETTINGS = TrainSettings(seed=7)
LINES: list[dict[str, Any]] = [
    {"lesson": 0, "learned": {"loss": 0.5}, "held_back": {"loss": 0.75}},
    {"update": 0, "judged": {"rule": {"moves": 4.0}, "drawn": {"moves": 3.0}}},
    {"update": 0, "reward": 0.25, "choices": 12},
    {"update": 1, "warning": "reward rose while energy got worse"},
]


def test_figures_of_a_line_are_named_by_where_they_stand():
    assert [figures_of(line) for line in LINES] == [
        (0, {"warm-up/learned/loss": 0.5, "warm-up/held_back/loss": 0.75}),
        (0, {"judged/rule/moves": 4.0, "judged/drawn/moves": 3.0}),
        (0, {"update/reward": 0.25, "update/choices": 12.0}),
        (1, {}),
    ]


class Trackio(SimpleNamespace):
    """A stand-in with the calls that are made."""

    def __init__(self):
        super().__init__(calls=[])

    def init(self, **options):
        print("a greeting on standard output")  # noqa: T201 - as the real one does
        self.calls.append(("init", options))

    def log(self, metrics, step):
        self.calls.append(("log", step, metrics))

    def finish(self):
        self.calls.append(("finish",))


def test_trackio_is_given_every_line_and_keeps_quiet(tmp_path, monkeypatch, capsys):
    fake = Trackio()
    monkeypatch.setitem(sys.modules, "trackio", fake)
    tracker = tracker_named("trackio", tmp_path / "my-run", SETTINGS)
    kept = RunFolder(tmp_path / "my-run", tracker)
    for line in LINES:
        kept.log(line)
    tracker.close()
    kind, options = fake.calls[0]
    assert (kind, options["project"], options["name"], options["resume"]) == ("init", "fogfold", "my-run", "allow")
    assert options["config"]["seed"] == 7
    assert fake.calls[1:] == [
        ("log", 0, {"warm-up/learned/loss": 0.5, "warm-up/held_back/loss": 0.75}),
        ("log", 0, {"judged/rule/moves": 4.0, "judged/drawn/moves": 3.0}),
        ("log", 0, {"update/reward": 0.25, "update/choices": 12.0}),
        ("log", 1, {"warning": "reward rose while energy got worse"}),
        ("finish",),
    ]
    assert capsys.readouterr().out == ""
    assert [json.loads(line) for line in (tmp_path / "my-run" / "log.jsonl").read_text().splitlines()] == LINES


def test_tensorboard_holds_the_figures_of_the_log(tmp_path):
    reading = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard", exc_type=ImportError
    )

    tracker = tracker_named("tensorboard", tmp_path, SETTINGS)
    for line in LINES:
        tracker.show(line)
    tracker.close()
    found = reading.EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    shown = {name: [(e.step, e.value) for e in found.Scalars(name)] for name in found.Tags()["scalars"]}
    assert shown == {
        "warm-up/learned/loss": [(0, 0.5)],
        "warm-up/held_back/loss": [(0, 0.75)],
        "judged/rule/moves": [(0, 4.0)],
        "judged/drawn/moves": [(0, 3.0)],
        "update/reward": [(0, 0.25)],
        "update/choices": [(0, 12.0)],
    }
    assert "warning/text_summary" in found.Tags()["tensors"]


@pytest.mark.parametrize(("name", "module"), [("trackio", "trackio"), ("tensorboard", "torch.utils.tensorboard")])
def test_missing_package_is_told_in_one_sentence(name, module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"needs the package {name}.*install fogfold\[{name}\]") as caught:
        tracker_named(name, tmp_path, SETTINGS)
    assert "\n" not in str(caught.value)


def test_unknown_tracker_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match=r'"tensorbord" is unknown; did you mean "tensorboard"'):
        tracker_named("tensorbord", tmp_path, SETTINGS)


@pytest.mark.slow
def test_without_a_tracker_nothing_of_theirs_is_imported():
    import subprocess

    code = "import sys, fogfold.train.loop; sys.exit(any(m in sys.modules for m in ('tensorboard', 'trackio')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own line
