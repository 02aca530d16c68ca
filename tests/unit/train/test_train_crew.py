"""Processes that play side by side: as many as one likes, and the bytes are the same."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="training needs torch")

from fogfold.errors import FogfoldError, ModelError
from fogfold.policy.learned.weights import load_weights
from fogfold.train.crew import Crew
from fogfold.train.loop import train
from fogfold.train.settings import TrainSettings

PAIRED = TrainSettings(seats=3, steps=4, updates=3, judge_every=1, judge_worlds=2, nodes=(8,), hours=1.0, parts=2)
AHEAD = replace(
    PAIRED, method="ahead", chains=3, ahead_steps=3, teacher="drain-relief", lesson_worlds=2, lesson_hours=0.5
)


class Killed(Exception):  # noqa: N818 - not an error
    pass


def kill(report):
    if report.update == 1:
        raise Killed


def halved(number):
    if number % 2:
        raise ModelError(f"{number} is odd; halve even numbers")
    return number // 2


def gone():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("settings", [PAIRED, AHEAD], ids=["paired", "ahead"])
def test_number_of_processes_changes_no_byte_and_may_change_when_a_run_goes_on(settings, tmp_path):
    train(settings, tmp_path / "one")
    with pytest.raises(Killed):
        train(settings, tmp_path / "two", jobs=2, on_update=kill)
    train(settings, tmp_path / "two", jobs=3)
    assert (tmp_path / "two" / "log.jsonl").read_bytes() == (tmp_path / "one" / "log.jsonl").read_bytes()
    for name in ("best.safetensors", "last.safetensors"):
        one, two = load_weights(tmp_path / "one" / name), load_weights(tmp_path / "two" / name)
        assert (two.digest, two.notes) == (one.digest, one.notes)


@pytest.fixture(scope="module")
def crew():
    with Crew(PAIRED, 2) as made:
        yield made


def test_results_come_in_the_order_of_the_tasks(crew):
    told: list[int] = []
    assert crew.run(halved, [(2 * k,) for k in range(9)], on_done=told.append) == list(range(9))
    assert told == list(range(1, 10))
    assert crew.run(halved, []) == []


def test_no_process_at_all_is_refused():
    with pytest.raises(ModelError, match="jobs is 0"):
        Crew(PAIRED, 0)


def test_more_processes_than_seats_are_not_started():
    with Crew(replace(PAIRED, seats=1), 4) as made:
        assert made.jobs == 1


def test_error_of_another_process_is_raised_here():
    with Crew(PAIRED, 2) as made, pytest.raises(ModelError, match="is odd"):
        made.run(halved, [(1,), (2,), (4,)])


def test_process_that_is_killed_is_told_in_a_sentence():
    with Crew(PAIRED, 2) as made:
        made._hands[0].ask(gone)
        with pytest.raises(FogfoldError, match=r"ended by itself \(exit code -9\)"):
            made._hands[0].answer()


UNTIL_KILLED = """
import sys
from pathlib import Path
from fogfold.train.loop import train
from fogfold.train.settings import read_settings
train(read_settings(Path(sys.argv[1])), Path(sys.argv[2]), jobs=2, on_update=lambda r: print(r.update, flush=True))
"""


@pytest.mark.slow
def test_run_whose_processes_are_killed_goes_on_and_leaves_none_behind(tmp_path):
    train(PAIRED, tmp_path / "whole")
    config, folder = tmp_path / "whole" / "settings.yaml", tmp_path / "killed"
    run = subprocess.Popen(  # noqa: S603 - our own lines
        [sys.executable, "-c", UNTIL_KILLED, str(config), str(folder)], stdout=subprocess.PIPE
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"0\n"
    assert run.stdout.readline() == b"1\n"
    run.kill()
    run.communicate(timeout=60)  # the other process holds the pipe as well: this ends once it has ended
    train(PAIRED, folder, jobs=2)
    assert (folder / "log.jsonl").read_bytes() == (tmp_path / "whole" / "log.jsonl").read_bytes()
