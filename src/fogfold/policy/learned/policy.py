"""The learned policy as a policy like any other: a checkpoint that proposes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fogfold.encoding.arrays import ClusterView
from fogfold.errors import ModelError
from fogfold.policy.base import Proposal
from fogfold.policy.learned.choosers import Drawn, Likeliest
from fogfold.policy.learned.deciding import Chooser, Decider, Decision
from fogfold.policy.learned.weights import Weights, load_weights
from fogfold.policy.recipe import Recipe
from fogfold.policy.space import Space
from fogfold.seeding import stream

__all__ = ["LEARNED", "Learned", "LearnedParams", "checkpoint_path"]

_SERVE = ("likeliest", "drawn")


@dataclass(frozen=True)
class LearnedParams:
    """Which checkpoint, and how it is asked.

    Raises:
        ModelError: if `serve` is neither of its two values.
    """

    checkpoint: str = ""
    """Path of a file that training wrote."""
    serve: str = "likeliest"
    """`likeliest` takes the option with the highest score; `drawn` draws by chance, from a stream of the seed."""

    def __post_init__(self) -> None:
        if self.serve not in _SERVE:
            raise ModelError(f'serve is "{self.serve}"; it is one of {", ".join(_SERVE)}')


def checkpoint_path(name: str) -> Path:
    """The file of a checkpoint.

    Raises:
        ModelError: if none is named, or there is no such file.
    """
    if not name:
        raise ModelError(
            "policy learned needs a checkpoint; train one with `fogfold train`, and name it after a colon: "
            "learned:runs/train/best.safetensors"
        )
    path = Path(name)
    if not path.is_file():
        raise ModelError(f'checkpoint "{name}" is no file; give the path of one that `fogfold train` wrote')
    return path


class Learned:
    """A network that proposes.

    Args:
        name: what it is called.
        weights: the network.
        serve: how it is asked, as in `LearnedParams`.
    """

    def __init__(self, name: str, weights: Weights, *, serve: str = "likeliest") -> None:
        self.name = name
        self._weights, self._serve = weights, serve
        self._decider = Decider()
        self._chooser: Chooser = Likeliest(weights)
        self.last: Decision | None = None
        """How the last proposal came about."""

    def reset(self, seed: int) -> None:
        """Forget everything; draws that follow come from this seed."""
        self._decider.reset(seed)
        if self._serve == "drawn":
            self._chooser = Drawn(self._weights, stream(seed, "policy", self.name))

    def propose(self, view: ClusterView) -> Proposal:
        """What to do with the cluster as it stands. Never changes the view."""
        self.last = self._decider.decide(view, self._chooser, name=self.name)
        return self.last.proposal


def _make(name: str, params: LearnedParams) -> Learned:
    return Learned(name, load_weights(checkpoint_path(params.checkpoint)), serve=params.serve)


LEARNED = Recipe(
    name="learned",
    summary="A network trained by PPO in the simulator chooses how hard, which node next, and where its containers go.",
    params=LearnedParams(),
    space=Space({}),
    maker=_make,
)
