"""Where torch computes: devices by name, and nothing of an update left behind on the processor."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")

from fogfold.errors import ModelError, UnknownNameError  # noqa: E402
from fogfold.policy.learned.choosers import Drawn  # noqa: E402
from fogfold.seeding import stream  # noqa: E402
from fogfold.train.batch import contexts_of, stage_batches  # noqa: E402
from fogfold.train.devices import device_named  # noqa: E402
from fogfold.train.loop import learned_from  # noqa: E402
from fogfold.train.network import PolicyNetwork, ValueNetwork  # noqa: E402
from fogfold.train.ppo import Learner  # noqa: E402
from fogfold.train.rollout import Seat  # noqa: E402
from fogfold.train.seats import Seats  # noqa: E402
from fogfold.train.settings import TrainSettings  # noqa: E402

SMALL = TrainSettings(seats=2, steps=6, nodes=(8,), hours=1.0, parts=2, epochs=2, most_divergence=1.0)


def test_auto_takes_a_card_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_named("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_named("auto") == torch.device("cuda")


def test_card_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert device_named("cuda") == torch.device("cuda")
    with pytest.raises(ModelError, match="--device is cuda:1, and torch finds no such device"):
        device_named("cuda:1")


@pytest.mark.parametrize("name", ["gpu", "cpu:0", "cuda:", "cuda:x", "meta"])
def test_unknown_device_is_refused(name):
    with pytest.raises(UnknownNameError, match="is unknown"):
        device_named(name)


def played():
    weights = Learner(SMALL, torch.device("cpu")).policy.weights({})
    return [Seat(SMALL, i, 1000).play(Drawn(weights, stream(1, "draw", i)), SMALL.steps) for i in range(2)]


def test_networks_and_batches_stay_on_the_device_that_was_asked_for():
    # `meta` holds shapes and no numbers; torch refuses to mix it with the processor, as it refuses to mix in a card.
    device = torch.device("meta")
    policy, value = PolicyNetwork(SMALL.shape, follow=1.0).to(device), ValueNetwork().to(device)
    steps = [step for seat in played() for step in seat]
    contexts = contexts_of([step.context for step in steps], device)
    summary = policy.summary(*contexts.fields)
    assert value(*contexts.fields).device == device
    for batch in stage_batches([step.choices for step in steps], device):
        assert policy.logits(batch.stage, batch.rows, batch.lead, summary[batch.decision]).device == device
        for tensor in (batch.legal, batch.chosen, batch.log_prob):
            assert tensor.device == device


@pytest.fixture
def one_thread_an_operation():
    """As the command sets it; new threads of an update must not fall back to torch's default."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread_an_operation")
def test_threads_of_an_update_change_no_bit():
    settings = TrainSettings(
        method="ahead", nodes=(20,), seats=1, steps=3, chains=4, ahead_steps=2, most_divergence=9.0
    )
    weights = Learner(settings, torch.device("cpu")).policy.weights({})
    groups = Seats(settings, [0]).play(weights, 0)[0]
    digests = []
    for jobs in (1, 2):
        learner = Learner(settings, torch.device("cpu"), jobs=jobs)
        # So many that torch would split its sums among threads.
        figures = learned_from(learner, [20 * groups], 0.0, stream(1, "shuffle"))
        assert figures.passes == settings.epochs
        digests.append(learner.policy.weights({}).digest)
    assert digests[0] == digests[1]


def test_update_goes_down_the_gradient_of_the_whole_part(monkeypatch):
    """Shards summed are the gradient of the loss over the whole part, up to rounding."""
    experience = played()
    one = replace(SMALL, parts=1, epochs=1)
    seen = []
    for name in ("shuffle", "another order, and so other shards"):
        learner = Learner(one, torch.device("cpu"))
        monkeypatch.setattr(learner.optimiser, "step", lambda: None)
        assert learner.update(experience, done=0.0, rng=stream(1, name)).passes == 1.0
        seen.append([parameter.grad for parameter in learner.policy.parameters()])
    for a, b in zip(*seen, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
