"""Some seats of a training run in one process: where their worlds stand, and what they bring in an update.

What a seat brings depends on the run's settings, the weights, the number of the update and its own number, and on
nothing else: whichever process plays it, and whatever else is played there, the bytes are the same.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from fogfold.policy.learned.choosers import Drawn
from fogfold.policy.learned.weights import Weights
from fogfold.seeding import stream
from fogfold.train.ahead import AheadSeat, Group
from fogfold.train.rollout import Seat, Step
from fogfold.train.settings import TrainSettings

__all__ = ["Played", "Seats"]

_STEPS_A_DAY = 288

Played: TypeAlias = list[Step] | list[Group]
"""What a seat brings: steps where choices are paid against a twin, groups where it is looked ahead."""


class Seats:
    """The seats of those numbers.

    Args:
        settings: of the run.
        numbers: which.
    """

    def __init__(self, settings: TrainSettings, numbers: Sequence[int]) -> None:
        self._settings = settings
        self._seats = {number: _new(settings, number) for number in numbers}

    def play(self, weights: Weights, update: int) -> dict[int, Played]:
        """What each seat brings in that update, by its number."""
        return {number: self._played(number, weights, update) for number in self._seats}

    def _played(self, number: int, weights: Weights, update: int) -> Played:
        root, steps, seat = self._settings.seed, self._settings.steps, self._seats[number]
        chooser = Drawn(weights, stream(root, "train", "draw", update, number))
        if isinstance(seat, AheadSeat):
            return seat.play(chooser, steps, stream(root, "train", "go on", update, number))
        return seat.play(chooser, steps)

    def keep(self) -> dict[int, bytes]:
        """The seats as bytes, by number: `take` goes on from them."""
        return {number: pickle.dumps(seat) for number, seat in self._seats.items()}

    def take(self, kept: Mapping[int, bytes]) -> None:
        """Go on from what `keep` gave, whichever process gave it; only one's own numbers are taken."""
        for number in self._seats:
            self._seats[number] = pickle.loads(kept[number])  # noqa: S301 - written by `keep`


def _new(settings: TrainSettings, number: int) -> Seat | AheadSeat:
    if settings.method == "ahead":
        return AheadSeat(settings, number)
    return Seat(settings, number, 1 + int(stream(settings.seed, "train", "cut", number).integers(_STEPS_A_DAY)))
