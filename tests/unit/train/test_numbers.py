"""Advantages and losses, with numbers worked by hand."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")

from fogfold.train.advantages import advantages  # noqa: E402
from fogfold.train.losses import choice_terms, masked_log_softmax, value_loss  # noqa: E402


def test_advantages_by_hand():
    # delta = [1 + .5 * 2 - 1, 2 + .5 * 4 - 2, 3 + .5 * 6 - 4] = [1, 2, 2]; trace .5 * .5 = .25
    found = advantages(
        np.array([[1.0, 2.0, 3.0]]),
        np.array([[1.0, 2.0, 4.0]]),
        np.array([[2.0, 4.0, 6.0]]),
        np.array([[False, False, False]]),
        discount=0.5,
        trace=0.5,
    )
    np.testing.assert_allclose(found, [[1.0 + 0.25 * 2.5, 2.0 + 0.25 * 2.0, 2.0]])


def test_a_cut_keeps_the_value_of_what_comes_after_but_not_its_advantage():
    found = advantages(
        np.array([[1.0, 2.0, 3.0]]),
        np.array([[1.0, 2.0, 4.0]]),
        np.array([[2.0, 4.0, 6.0]]),
        np.array([[False, True, False]]),
        discount=0.5,
        trace=0.5,
    )
    np.testing.assert_allclose(found, [[1.0 + 0.25 * 2.0, 2.0, 2.0]])


def test_options_that_are_not_legal_have_no_chance_and_no_part_in_the_entropy():
    logits = torch.tensor([[0.0, 5.0, 0.0]])
    legal = torch.tensor([[True, False, True]])
    chances = masked_log_softmax(logits, legal).exp()
    torch.testing.assert_close(chances, torch.tensor([[0.5, 0.0, 0.5]]))
    terms = choice_terms(logits, legal, torch.tensor([0]), torch.tensor([math.log(0.5)]), torch.tensor([2.0]), clip=0.2)
    assert float(terms.entropy) == pytest.approx(math.log(2.0))
    assert float(terms.policy) == pytest.approx(-2.0)
    assert float(terms.divergence) == pytest.approx(0.0, abs=1e-7)
    assert float(terms.clipped) == 0.0


def test_a_choice_without_a_legal_option_is_an_error():
    with pytest.raises(ValueError, match="no legal option"):
        masked_log_softmax(torch.zeros(1, 2), torch.zeros(1, 2, dtype=torch.bool))


@pytest.mark.parametrize(
    ("before", "advantage", "gain"),
    [
        (0.25, 1.0, 1.2),  # ratio 2, clipped to 1.2
        (0.25, -1.0, -2.0),  # ratio 2: the worse of both
        (1.0, 1.0, 0.5),  # ratio .5
        (1.0, -1.0, -0.8),  # ratio .5, clipped to .8
    ],
)
def test_ratio_is_clipped_where_that_is_worse(before, advantage, gain):
    terms = choice_terms(
        torch.zeros(1, 2),
        torch.ones(1, 2, dtype=torch.bool),
        torch.tensor([1]),
        torch.tensor([math.log(before)]),
        torch.tensor([advantage]),
        clip=0.2,
    )
    assert float(terms.policy) == pytest.approx(-gain)
    assert float(terms.clipped) == 1.0


def test_value_loss_by_hand():
    assert float(value_loss(torch.tensor([1.0, 3.0]), torch.tensor([0.0, 1.0]))) == pytest.approx(1.25)
