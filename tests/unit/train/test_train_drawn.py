"""Lessons on drawn snapshots: the suite's rules, other seeds, and a chain that can do all that the teacher does."""

import numpy as np
import pytest

pytest.importorskip("highspy", reason="the teacher needs HiGHS (extra exact)")

from fogfold.encoding.arrays import view_of
from fogfold.errors import ModelError
from fogfold.evaluate.snapshots.cluster import drawn_snapshot
from fogfold.evaluate.snapshots.suite import containers_for
from fogfold.evaluate.snapshots.variant import VARIANTS
from fogfold.policy.learned.deciding import Decider
from fogfold.policy.learned.rows import GlobalRow, Stage
from fogfold.train.drawn import drawn_case
from fogfold.train.lessons import LessonStore, taught_snapshot
from fogfold.train.settings import TrainSettings

SETTINGS = TrainSettings(snapshot_nodes=(12, 20), lesson_snapshots=3)


def test_same_number_gives_the_same_case_and_another_another():
    one, limits, _ = drawn_case(SETTINGS, 4)
    again, _, _ = drawn_case(SETTINGS, 4)
    other, _, _ = drawn_case(SETTINGS, 5)
    assert (one.placement == again.placement).all()
    assert one.placement.shape != other.placement.shape or (one.placement != other.placement).any()
    assert 0.0 < limits.move_share <= 0.2
    assert limits.least_moves == 0
    assert limits.sleeping.calm_decisions == 0


def test_no_lesson_is_one_of_the_suites_snapshots():
    for number in range(20):
        view, _, _ = drawn_case(SETTINGS, number)
        nodes = view.fleet.nodes
        for seed in range(3):
            asked = view_of(drawn_snapshot(nodes, containers_for(nodes), seed, VARIANTS["base"]))
            same = view.fleet.containers == asked.fleet.containers
            assert not same or (view.usage != asked.usage).any()


@pytest.mark.parametrize("number", range(6))
def test_a_pupil_that_follows_does_what_the_teacher_does(number):
    view, limits, teacher = drawn_case(SETTINGS, number)
    teacher.reset(0)
    wanted = teacher.propose(view)
    assert wanted.sleep, "a lesson in which nothing is emptied teaches nothing"
    asking = Decider(limits, teacher=drawn_case(SETTINGS, number)[2]).ask(view)
    question, decision = next(asking), None
    while decision is None:
        assert question.taught is not None
        try:
            question = asking.send((int(np.argmax(question.taught)), 0.0))
        except StopIteration as end:
            decision = end.value
    assert set(decision.proposal.sleep) >= set(wanted.sleep)
    assert decision.abandoned == 0


def test_lesson_tells_the_budget_and_goes_into_the_store(tmp_path):
    (lesson,) = taught_snapshot(SETTINGS, 0)
    view, limits, _ = drawn_case(SETTINGS, 0)
    most = np.ceil(limits.move_share * view.fleet.containers)
    assert lesson.context.whole[GlobalRow.BUDGET] == pytest.approx(10.0 * most / view.fleet.containers)
    assert {choice.stage for choice in lesson.choices} == set(Stage)
    moved = [choice for choice in lesson.choices if choice.stage == Stage.TARGET and choice.chosen > 0]
    assert 0 < len(moved) <= most
    store = LessonStore(tmp_path)
    assert store.missing(SETTINGS) == [("snapshot", 0), ("snapshot", 1), ("snapshot", 2)]
    store.fill(SETTINGS, ("snapshot", 0))
    assert store.missing(SETTINGS) == [("snapshot", 1), ("snapshot", 2)]
    (read,) = store.read(("snapshot", 0))
    assert len(read.choices) == len(lesson.choices)


def test_sizes_are_checked():
    with pytest.raises(ModelError, match="snapshot_nodes"):
        TrainSettings(snapshot_nodes=(1,))
    with pytest.raises(ModelError, match="lesson_snapshots"):
        TrainSettings(lesson_snapshots=-1)
