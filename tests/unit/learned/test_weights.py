"""Weights: what is read is what was written, and nothing else is read."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fogfold.errors import ModelError, UnknownNameError
from fogfold.policy.learned.policy import BASE, LearnedParams, checkpoint_path
from fogfold.policy.learned.weights import Shape, Weights, load_weights, save_weights, softmax
from fogfold.policy.registry import policy
from fogfold.seeding import stream

SHAPE = Shape(encoder=4, summary=4, hidden=4, last=4)


def some_weights(**notes):
    rng = stream(1, "weights")
    return Weights(SHAPE, {k: rng.normal(size=s).astype(np.float32) for k, s in SHAPE.arrays().items()}, notes)


def test_weights_come_back_as_they_were_written(tmp_path):
    was = some_weights(seed=7)
    save_weights(tmp_path / "w.safetensors", was)
    now = load_weights(tmp_path / "w.safetensors")
    assert now.digest == was.digest
    assert now.notes == {"seed": 7}
    assert now.shape == SHAPE
    for name, array in was.arrays.items():
        np.testing.assert_array_equal(array, now.arrays[name])


def test_damaged_weights_are_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    save_weights(path, some_weights())
    whole = bytearray(path.read_bytes())
    whole[-5] ^= 0x10
    path.write_bytes(bytes(whole))
    with pytest.raises(ModelError, match="is damaged: its hash is"):
        load_weights(path)


def test_weights_of_another_version_are_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    save_weights(path, some_weights())
    save_file(load_file(path), path, metadata={"format": "fogfold-policy", "encoding_version": "0"})
    with pytest.raises(ModelError, match="version 0 of the encoding"):
        load_weights(path)


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    save_file({"a": np.zeros(1, np.float32)}, path)
    with pytest.raises(ModelError, match="holds no policy of fogfold"):
        load_weights(path)
    path.write_text("no weights")
    with pytest.raises(ModelError, match="cannot be read as a checkpoint"):
        load_weights(path)


def test_missing_unknown_misshapen_and_infinite_arrays_are_refused():
    arrays = dict(some_weights().arrays)
    first = arrays.pop("summary.bias")
    with pytest.raises(ModelError, match=r'"summary\.bias" is missing'):
        Weights(SHAPE, arrays, {})
    with pytest.raises(ModelError, match="belongs to no part"):
        Weights(SHAPE, {**arrays, "summary.bias": first, "more": first}, {})
    with pytest.raises(ModelError, match="has shape"):
        Weights(SHAPE, {**arrays, "summary.bias": np.zeros(9, np.float32)}, {})
    with pytest.raises(ModelError, match="not finite"):
        Weights(SHAPE, {**arrays, "summary.bias": np.full(4, np.nan, np.float32)}, {})


def test_chances_sum_to_one_for_any_logits():
    for logits in (np.zeros(3), np.array([1e4, 0.0]), np.array([-1e4, -1e4])):
        assert softmax(logits).sum() == pytest.approx(1.0, abs=1e-12)


def test_checkpoint_that_is_not_there_is_refused_with_what_to_do():
    with pytest.raises(ModelError, match=r'"nowhere" is no file; .* `fogfold train` .* fogfold-base'):
        checkpoint_path("nowhere")
    with pytest.raises(ModelError, match="is no file"):
        checkpoint_path("")


def test_a_checkpoint_comes_with_fogfold():
    weights = load_weights(checkpoint_path(BASE))
    assert weights.notes["judged_against_rule"] < 0.0
    assert policy("learned").name == "learned"


def test_unknown_way_of_serving_is_refused():
    with pytest.raises(ModelError, match="likeliest, drawn"):
        LearnedParams(serve="best")


def test_learned_policy_takes_the_path_of_a_checkpoint(tmp_path):
    save_weights(tmp_path / "w.safetensors", some_weights())
    assert policy("learned", checkpoint=str(tmp_path / "w.safetensors")).name == "learned"


def test_checkpoint_may_follow_the_name_after_a_colon(tmp_path):
    path = tmp_path / "w.safetensors"
    save_weights(path, some_weights())
    assert policy(f"learned:{path}").name == f"learned:{path}"
    with pytest.raises(UnknownNameError, match="drain takes nothing after a colon"):
        policy("drain:much")
