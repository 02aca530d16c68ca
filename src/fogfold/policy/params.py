"""What all classic rules can be told, each figure with its unit and its reason."""

from __future__ import annotations

from dataclasses import dataclass

from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.policy.sleeping import SleepingParams
from fogfold.policy.targets import Ceiling
from fogfold.units import HOUR_S
from fogfold.world.params import WorldParams

__all__ = ["RuleParams"]

_CEILING = WorldParams().ceiling


@dataclass(frozen=True)
class RuleParams(SleepingParams):
    """Figures of a rule, those of the power rule included. All have defaults that work.

    Raises:
        ModelError: if a figure is out of its range, or the marks are not in order.
    """

    high_mark: float = 0.6
    """CPU load above which a node is hot and is relieved. Requests queue, and their time grows with 1 / (1 - load): at
    0.6 it has grown to 2.5 service times, at 0.8 to 5, and late requests are priced far above energy. No move may lead
    beyond it, or relief would make the next hot node."""
    fill_mark: float = 0.5
    """CPU load up to which emptying may fill its targets: a distance from the high mark, so that ordinary ups and downs
    do not turn a full node into a hot one."""
    low_mark: float = 0.5
    """A node is looked at for emptying only while its CPU load is at most this."""
    space_high_mark: float = 0.9
    """Share of memory, network or disk in use above which a node is hot, and beyond which no move may lead. These do
    not queue as the processor does: all is well until they are full."""
    space_fill_mark: float = 0.8
    """Share of memory, network or disk in use up to which emptying may fill its targets; memory grows with load."""
    move_share: float = 0.1
    """Most containers on the move at once, as a share of all (but at least `least_moves`): moves share links, and a
    move that takes too long is undone."""
    least_moves: int = 8
    """Containers that may be on the move at once however few there are: a tenth of a small cluster would not empty a
    single node, and its few moves share no link for long."""
    least_rate_bit_s: float = 100e6
    """What every move over a site's uplink must be left of it, in bit/s: pre-copy has to outrun what is rewritten
    meanwhile, or the container stands still while the rest is sent. Moves beyond that wait for a later decision."""
    minimum_saving: float = 2.0
    """Least energy saved by a sleep of `sleep_s`, as a multiple of what the moves for it cost (both in Wh-equivalents).
    Below 1 the moves cost more than they save; what they cost on the way back is not known yet, hence 2."""
    sleep_s: float = HOUR_S
    """How long a node is expected to sleep, in s, when saving and cost are compared: load follows the day, so an
    emptied node sleeps for hours, but a decision should not bet on many."""
    trip_per_ms: float = 0.02
    """What a millisecond more of mean round trip to the users costs a target, in shares of a node: 10 ms weigh as a
    fifth of a node more or less full."""
    image_per_gib: float = 0.05
    """What a GiB of image to be pulled costs a target, in shares of a node: enough to decide between equals."""
    most_failures: int = 100_000
    """Nodes in a row that could not be emptied after which a decision looks at no more of them: those that come later
    are worth less. No limit by default; on a thousand nodes the search for room is most of what a decision costs."""
    most_emptied: int = 100_000
    """Nodes that one decision empties at most. No limit by default but that of the moves."""
    late_limit: float = 0.003
    """Share of a container's requests that may come too late on a target, by its load and its way, where fewer do
    today: violations are priced far above energy, so that a node with a slow core is no place for the impatient."""

    def __post_init__(self) -> None:
        SleepingParams.__post_init__(self)
        for name in ("high_mark", "fill_mark", "space_high_mark", "space_fill_mark", "move_share"):
            check_number(name, float(getattr(self, name)), above=True, high=1.0)
        for name in ("low_mark", "late_limit"):
            check_number(name, float(getattr(self, name)), high=1.0)
        check_number("sleep_s", float(self.sleep_s), above=True)
        for name in (
            "least_rate_bit_s",
            "minimum_saving",
            "trip_per_ms",
            "image_per_gib",
            "least_moves",
            "most_failures",
        ):
            check_number(name, float(getattr(self, name)))
        for fill, high in (("fill_mark", "high_mark"), ("space_fill_mark", "space_high_mark")):
            if not getattr(self, fill) <= getattr(self, high) <= _CEILING:
                raise ModelError(
                    f"{fill} is {getattr(self, fill):g} and {high} is {getattr(self, high):g}; {fill} must not exceed "
                    f"{high}, nor that the {_CEILING:g} beyond which the world refuses moves"
                )

    @property
    def relief_ceiling(self) -> Ceiling:
        """How far relief may fill its targets."""
        return Ceiling(float(self.high_mark), float(self.space_high_mark))

    @property
    def fill_ceiling(self) -> Ceiling:
        """How far emptying may fill its targets."""
        return Ceiling(float(self.fill_mark), float(self.space_fill_mark))
