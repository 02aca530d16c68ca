"""A training run: the served network is the trained one, the same seed gives the same curve, a killed run goes on."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")

from fogfold.errors import ModelError, UnknownNameError  # noqa: E402
from fogfold.policy.learned.choosers import Drawn, Likeliest  # noqa: E402
from fogfold.policy.learned.weights import load_weights  # noqa: E402
from fogfold.seeding import stream  # noqa: E402
from fogfold.train.batch import contexts_of, stage_batches  # noqa: E402
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
