"""A training run: the served network is the trained one, the same seed gives the same curve, a killed run goes on."""

import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")

from fogfold.errors import ModelError, UnknownNameError  # noqa: E402
from fogfold.policy.learned.choosers import Drawn, Likeliest  # noqa: E402
from fogfold.policy.learned.weights import load_weights, save_weights  # noqa: E402
from fogfold.seeding import stream  # noqa: E402
from fogfold.train.ahead import AheadSeat, _is_triangular  # noqa: E402
from fogfold.train.batch import contexts_of, stage_batches  # noqa: E402
from fogfold.train.imitation import Imitator, imitation_loss  # noqa: E402
from fogfold.train.lessons import LessonStore, taught_world  # noqa: E402
from fogfold.train.loop import train  # noqa: E402
from fogfold.train.network import PolicyNetwork  # noqa: E402
from fogfold.train.rollout import Seat, training_world  # noqa: E402
from fogfold.train.settings import TrainSettings, read_settings  # noqa: E402

SMALL = TrainSettings(seats=2, steps=6, updates=4, judge_every=2, judge_worlds=1, nodes=(8,), hours=1.0)


def network(seed=0):
    """A network whose every weight counts."""
    torch.manual_seed(seed)
    made = PolicyNetwork(SMALL.shape, follow=1.0)
    for stage in made.stages.values():
        torch.nn.init.normal_(stage.get_parameter("score.weight"))
    return made


def experience(chooser, steps=8):
    return Seat(SMALL, 0, 1000).play(chooser, steps)


def test_numpy_serves_what_torch_has_learned():
    made = network()
    served = made.weights({})
    steps = experience(Drawn(served, stream(1, "draw")))
    contexts = contexts_of([step.context for step in steps], torch.device("cpu"))
    summary = made.summary(*contexts.fields)
    seen = 0
    for batch in stage_batches([step.choices for step in steps], torch.device("cpu")):
        logits = made.logits(batch.stage, batch.rows, batch.lead, summary[batch.decision]).detach().numpy()
        for i, d in enumerate(batch.decision.tolist()):
            options = int(batch.legal[i].sum())
            mine = served.logits(
                batch.stage,
                batch.rows[i, :options].numpy(),
                batch.lead[i, :options].numpy(),
                served.summary(steps[d].context),
            )
            np.testing.assert_allclose(mine, logits[i, :options], rtol=1e-5, atol=1e-5)
            seen += 1
    assert seen > 10


def test_log_probability_of_a_draw_is_that_of_the_network():
    made = network()
    steps = experience(Drawn(made.weights({}), stream(1, "draw")))
    contexts = contexts_of([step.context for step in steps], torch.device("cpu"))
    summary = made.summary(*contexts.fields)
    for batch in stage_batches([step.choices for step in steps], torch.device("cpu")):
        logits = made.logits(batch.stage, batch.rows, batch.lead, summary[batch.decision])
        logits = logits.masked_fill(~batch.legal, -1e9)
        found = torch.log_softmax(logits, -1).gather(-1, batch.chosen[:, None])[:, 0]
        torch.testing.assert_close(found, batch.log_prob, rtol=1e-4, atol=1e-5)


def test_a_new_network_does_what_the_rule_does():
    made = PolicyNetwork(SMALL.shape, follow=4.0)
    for step in experience(Likeliest(made.weights({})), steps=12):
        for choice in step.choices:
            assert choice.lead[choice.chosen] == 1.0


def test_summary_does_not_see_padding():
    made = network()
    steps = experience(Drawn(made.weights({}), stream(1, "draw")), steps=1)
    alone = contexts_of([steps[0].context], torch.device("cpu"))
    padded = torch.nn.functional.pad(alone.tokens, (0, 0, 0, 5))
    present = torch.nn.functional.pad(alone.present, (0, 5))
    torch.testing.assert_close(made.summary(*alone.fields), made.summary(padded, present, alone.whole))


def test_doing_nothing_is_paid_nothing():
    class Hold:
        def begin(self, context):
            pass

        def choose(self, stage, rows, lead):
            return 0, 0.0

    assert [step.reward for step in experience(Hold(), steps=6)] == [0.0] * 6


def test_end_of_a_day_is_a_cut():
    steps = experience(Drawn(network().weights({}), stream(1, "draw")), steps=26)
    assert [i for i, step in enumerate(steps) if step.is_last] == [11, 23]


def test_worlds_differ_in_size_load_and_day_and_repeat():
    settings = TrainSettings(nodes=(8, 14), hours=1.0)
    worlds = [training_world(settings, k) for k in range(6)]
    assert {len(world.cluster.nodes) for world in worlds} == {8, 14}
    assert len({world.start_s for world in worlds}) > 2
    again = training_world(settings, 3)
    assert again.cluster == worlds[3].cluster


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train(SMALL, folder)
    return folder


def test_run_leaves_its_log_its_settings_and_its_weights(whole_run):
    lines = [json.loads(line) for line in (whole_run / "log.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines if "judged" in line] == [0, 2, 4]
    assert [line["update"] for line in lines if "reward" in line] == [0, 1, 2, 3]
    assert read_settings(whole_run / "settings.yaml") == SMALL
    assert load_weights(whole_run / "best.safetensors").notes["serve"] in ("likeliest", "drawn")
    assert load_weights(whole_run / "last.safetensors").notes["update"] == 4


def test_same_seed_same_curve(whole_run, tmp_path):
    train(SMALL, tmp_path)
    assert (tmp_path / "log.jsonl").read_bytes() == (whole_run / "log.jsonl").read_bytes()


class Killed(Exception):  # noqa: N818 - not an error
    pass


def test_killed_run_goes_on_as_if_nothing_had_happened(whole_run, tmp_path):
    def kill(report):
        if report.update == 3:
            raise Killed

    with pytest.raises(Killed):
        train(SMALL, tmp_path, on_update=kill)
    train(SMALL, tmp_path)
    assert (tmp_path / "log.jsonl").read_bytes() == (whole_run / "log.jsonl").read_bytes()
    assert load_weights(tmp_path / "last.safetensors").digest == load_weights(whole_run / "last.safetensors").digest


def test_run_killed_in_its_warm_up_writes_the_same_log(tmp_path):
    settings = replace(AHEAD, teacher="drain-relief", lesson_worlds=2, lesson_hours=1.0, lesson_passes=2, updates=1)

    def kill(what, done, of):
        if (what, done) == ("passes over lessons", 1):
            raise Killed

    with pytest.raises(Killed):
        train(settings, tmp_path / "killed", on_lesson=kill)
    train(settings, tmp_path / "killed")
    train(settings, tmp_path / "whole")
    assert (tmp_path / "killed" / "log.jsonl").read_bytes() == (tmp_path / "whole" / "log.jsonl").read_bytes()


def test_run_with_other_settings_does_not_go_on_in_the_same_folder(whole_run):
    with pytest.raises(ModelError, match="belongs to a run with other settings"):
        train(TrainSettings(seed=9), whole_run)


def test_settings_refuse_what_they_do_not_know(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("seets: 3\n")
    with pytest.raises(UnknownNameError, match=r'no setting "seets".*seats'):
        read_settings(file)
    file.write_text("seats: many\n")
    with pytest.raises(ModelError, match="seats is 'many'"):
        read_settings(file)
    file.write_text("seats: 0\n")
    with pytest.raises(ModelError, match="seats is 0"):
        read_settings(file)
    file.write_text("- 1\n")
    with pytest.raises(ModelError, match="holds list"):
        read_settings(file)
    file.write_text("discount: 1\nnodes: [8, 9]\n")
    assert read_settings(file) == TrainSettings(discount=1.0, nodes=(8, 9))


TAUGHT = replace(SMALL, teacher="drain-relief", lesson_worlds=2, lesson_hours=1.0, lesson_passes=3, updates=1)
AHEAD = replace(SMALL, method="ahead", chains=4, ahead_steps=4, parts=2)


def test_lessons_come_back_from_the_store_as_they_were(tmp_path):
    store = LessonStore(tmp_path)
    store.fill(TAUGHT, ("world", 1))
    taught, read = taught_world(TAUGHT, 1), store.read(("world", 1))
    assert len(read) == len(taught) == 12
    for before, after in zip(taught, read, strict=True):
        assert (before.context.tokens == after.context.tokens).all()
        assert len(before.choices) == len(after.choices)
        for a, b in zip(before.choices, after.choices, strict=True):
            assert (a.stage, a.chosen) == (b.stage, b.chosen)
            assert (a.rows == b.rows).all()
            assert (a.lead == b.lead).all()
            assert a.taught is not None
            assert b.taught is not None
            np.testing.assert_array_equal(a.taught, b.taught)


def test_world_that_was_taught_is_not_played_again(tmp_path):
    store = LessonStore(tmp_path)
    assert store.missing(TAUGHT) == [("world", 0), ("world", 1)]
    store.fill(TAUGHT, ("world", 0))
    assert store.missing(TAUGHT) == [("world", 1)]
    with pytest.raises(ModelError, match="fill"):
        store.read(("world", 7))


def test_imitation_raises_the_chance_of_what_the_teacher_does():
    # Its own rule as the teacher: the mark alone tells all, so agreement must come close to everything.
    lessons = taught_world(TAUGHT, 0) + taught_world(TAUGHT, 1)
    made = network(3)
    pupil = Imitator(made, lessons, rate=3e-3, part=8, device=torch.device("cpu"))
    before = pupil.judge(lessons)
    for k in range(30):
        pupil.learn(done=k / 30, rng=stream(1, "lessons", k))
    after = pupil.judge(lessons)
    assert after.loss < 0.5 * before.loss
    assert after.agreement > 0.95


def test_imitation_loss_is_of_all_marked_options_together():
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2, 9.0]]))
    legal = torch.tensor([[True, True, True, False]])
    taught = torch.tensor([[False, True, True, False]])
    assert imitation_loss(logits, legal, taught).item() == pytest.approx(-np.log(0.5), abs=1e-6)


def test_group_is_worth_nothing_on_average_and_the_world_is_as_it_was():
    made = network(2)
    seat = AheadSeat(AHEAD, 0)
    groups = seat.play(Drawn(made.weights({}), stream(1, "draw")), 4, stream(1, "go on"))
    assert groups
    for group in groups:
        assert len(group.choices) == 4
        assert group.advantage.mean() == pytest.approx(0.0, abs=1e-9)
        assert group.advantage.std() > 0.0
    assert seat._world is not None
    assert seat._world.tick == 4 * seat._world.frame.params.ticks_per_step


def test_look_ahead_of_equal_chains_costs_the_same_whichever_comes_first():
    seat, made = AheadSeat(AHEAD, 0), network(2)
    world = seat._begun()
    chains, _ = seat._drawn(world, Drawn(made.weights({}), stream(1, "draw")))
    before = world.state.fingerprint()
    cost = seat._costs(world, chains)
    assert world.state.fingerprint() == before
    assert (seat._costs(world, chains[::-1])[::-1] == cost).all()


def test_rule_goes_on_more_and_more_seldom():
    assert [k for k in range(30) if _is_triangular(k)] == [0, 1, 3, 6, 10, 15, 21, 28]


def test_run_with_warm_up_and_look_ahead_gives_the_same_curve_twice(tmp_path):
    settings = replace(AHEAD, teacher="drain-relief", lesson_worlds=2, lesson_hours=1.0, lesson_passes=2, updates=2)
    for name in ("a", "b"):
        train(settings, tmp_path / name)
    assert (tmp_path / "a" / "log.jsonl").read_bytes() == (tmp_path / "b" / "log.jsonl").read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "a" / "log.jsonl").read_text().splitlines()]
    assert [line["lesson"] for line in lines if "lesson" in line] == [0, 1]
    assert lines[-1]["judged"]["likeliest"]["total_cost_wh"] > 0.0


def test_run_starts_from_given_weights(tmp_path):
    made = network(5).weights({})
    save_weights(tmp_path / "w.safetensors", made)
    settings = replace(AHEAD, start=str(tmp_path / "w.safetensors"), updates=1, learning_rate=1e-12)
    train(settings, tmp_path / "run")
    last = load_weights(tmp_path / "run" / "last.safetensors")
    for name, value in made.arrays.items():
        np.testing.assert_allclose(last.arrays[name], value, atol=1e-6)


def test_unknown_method_is_refused():
    with pytest.raises(ModelError, match='method is "dqn"'):
        replace(SMALL, method="dqn")
