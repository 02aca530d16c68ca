"""The learned policy as a policy like any other: a checkpoint that proposes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from fogfold.encoding.arrays import ClusterView
from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.policy.base import Proposal
from fogfold.policy.learned.choosers import Drawn, Likeliest
from fogfold.policy.learned.deciding import Chooser, Decider, DeciderParams, Decision
from fogfold.policy.learned.weights import Weights, load_weights
from fogfold.policy.recipe import Recipe
from fogfold.policy.sleeping import SleepingParams
from fogfold.policy.space import Space
from fogfold.seeding import stream

__all__ = ["BASE", "LEARNED", "Learned", "LearnedParams", "checkpoint_path", "limits_of"]

BASE = "fogfold-base"
"""The checkpoint that comes with fogfold."""
_SERVE = ("likeliest", "drawn")


@dataclass(frozen=True)
class LearnedParams(SleepingParams):
    """Which checkpoint, how it is asked, and the limits of its decisions, none of which is learned.

    Raises:
        ModelError: if a figure is out of its range.
    """

    checkpoint: str = BASE
    """Path of a file that training wrote, or the name of the one that comes with fogfold."""
    serve: str = "likeliest"
    """`likeliest` takes the option with the highest score; `drawn` draws by chance, from a stream of the seed."""

    wake_load: float = DeciderParams().sleeping.wake_load
    """Mean CPU load of the nodes that are on above which nodes are woken whatever the policy says."""
    high_mark: float = DeciderParams().ceiling
    """CPU load up to which a target may be filled, and beyond which a node is relieved whatever the policy says."""
    fill_mark: float = DeciderParams().fill_mark
    """CPU load up to which the rule beside it would fill its targets."""
    low_mark: float = DeciderParams().low_mark
    """CPU load up to which the rule beside it would empty a node."""
    most_nodes: int = DeciderParams().most_nodes
    """Nodes that one decision may choose."""
    move_share: float = DeciderParams().move_share
    """Most containers on the move at once, as a share of all (but at least `least_moves`)."""
    least_moves: int = DeciderParams().least_moves
    """Containers that may be on the move at once however few there are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("move_share", "high_mark", "fill_mark"):
            check_number(name, float(getattr(self, name)), above=True, high=1.0)
        check_number("low_mark", float(self.low_mark), high=1.0)
        check_number("least_moves", float(self.least_moves))
        check_number("most_nodes", float(self.most_nodes), low=1.0)
        if self.serve not in _SERVE:
            raise ModelError(f'serve is "{self.serve}"; it is one of {", ".join(_SERVE)}')


def checkpoint_path(name: str) -> Path:
    """The file of a checkpoint: the one that comes with fogfold, by its name, or any other by its path.

    Raises:
        ModelError: if there is no such file.
    """
    path = Path(__file__).parent / "checkpoints" / f"{BASE}.safetensors" if name == BASE else Path(name)
    if not path.is_file():
        raise ModelError(
            f'checkpoint "{name}" is no file; give the path of one that `fogfold train` wrote '
            f"(learned:runs/train/best.safetensors), or {BASE}, which comes with fogfold"
        )
    return path


class Learned:
    """A network that proposes.

    Args:
        name: what it is called.
        weights: the network.
        serve: how it is asked, as in `LearnedParams`.
        limits: of its decisions.
    """

    def __init__(
        self, name: str, weights: Weights, *, serve: str = "likeliest", limits: DeciderParams | None = None
    ) -> None:
        self.name = name
        self._weights, self._serve = weights, serve
        self._decider = Decider(limits)
        self._chooser: Chooser = Likeliest(weights)
        self._rng: np.random.Generator | None = None
        self.last: Decision | None = None
        """How the last proposal came about."""

    def reset(self, seed: int) -> None:
        """Forget everything; draws that follow come from this seed."""
        self._decider.reset(seed)
        if self._serve == "drawn":
            self._rng = stream(seed, "policy", self.name)
            self._chooser = Drawn(self._weights, self._rng)

    def memory(self) -> dict[str, Any]:
        """All that it remembers, which weights it has, and where its draws stand. As `Remembering`."""
        return {
            "weights": self._weights.digest,
            **self._decider.memory(),
            "draws": None if self._rng is None else self._rng.bit_generator.state,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Remember that. As `Remembering`.

        Raises:
            ModelError: also if it is the memory of other weights.
        """
        self.reset(0)
        if memory.get("weights") != self._weights.digest:
            raise ModelError(
                f"a memory of weights {memory.get('weights')} was given to weights {self._weights.digest}; "
                "name the checkpoint that decided then"
            )
        try:
            self._decider.recall(memory)
            if self._rng is not None:
                self._rng.bit_generator.state = memory["draws"]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"a memory of a learned policy cannot be read ({error!r}); let it begin anew") from error

    def propose(self, view: ClusterView) -> Proposal:
        """What to do with the cluster as it stands. Never changes the view."""
        self.last = self._decider.decide(view, self._chooser, name=self.name)
        return self.last.proposal


def limits_of(params: LearnedParams) -> DeciderParams:
    """The limits that such a policy decides within."""
    sleeping = SleepingParams(**{field.name: getattr(params, field.name) for field in fields(SleepingParams)})
    return DeciderParams(
        ceiling=params.high_mark,
        fill_mark=params.fill_mark,
        low_mark=params.low_mark,
        most_nodes=int(params.most_nodes),
        move_share=params.move_share,
        least_moves=int(params.least_moves),
        sleeping=sleeping,
    )


def _make(name: str, params: LearnedParams) -> Learned:
    weights = load_weights(checkpoint_path(params.checkpoint))
    return Learned(name, weights, serve=params.serve, limits=limits_of(params))


LEARNED = Recipe(
    name="learned",
    summary="A network trained by PPO in the simulator chooses how hard, which node next, and where its containers go.",
    params=LearnedParams(),
    space=Space({}),
    maker=_make,
)
