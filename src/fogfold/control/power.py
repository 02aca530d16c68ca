"""One node's way to sleep and back: what is seen and wanted gives the next state and what to do, one step at a time.

`node_power` says what may follow what. Here stands when: nothing is cut that is not empty, off is only what was read
back, a node that booted is looked at before it receives. Every act is named by the state that was written before it,
so whoever restarts in that state may do it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from fogfold.control.boot_times import lead_s, with_boot
from fogfold.control.node_power import PowerState, check_power_transition
from fogfold.control.ports import PowerReading, PowerSight
from fogfold.errors import ModelError
from fogfold.model.identity import NodeId
from fogfold.model.resources import check_number
from fogfold.units import HOUR_S, MINUTE_S

__all__ = ["NodeSight", "PowerAct", "PowerRecord", "PowerSettings", "PowerStep", "Wanted", "advance"]


@dataclass(frozen=True, slots=True)
class PowerSettings:
    """How long each state may last."""

    lost_s: float = 90.0
    """Silence after which a node that was up counts as lost: three looks of 30 s."""
    rest_s: float = 30.0
    """How long a node must be seen empty before its power goes: one look after the last has left."""
    off_s: float = 5 * MINUTE_S
    """How long after the order it may take until off is read; systems wait for services that hang."""
    off_tries: int = 2
    order_s: float = MINUTE_S
    """How long after the order to wake it may take until power is read as on."""
    boot_factor: float = 1.5
    """A boot is given up after that many times the node's lead."""
    boot_least_s: float = 10 * MINUTE_S
    """But not before that: servers need up to ten minutes."""
    wake_tries: int = 2
    wake_rest_s: float = HOUR_S
    """How long after all tries failed the node is not tried again."""
    settle_s: float = MINUTE_S
    """How long a node stands ready before it receives."""

    def __post_init__(self) -> None:
        for name in ("lost_s", "off_s", "order_s", "boot_factor", "boot_least_s", "wake_rest_s"):
            check_number(name, float(getattr(self, name)), above=True)
        for name in ("rest_s", "settle_s"):
            check_number(name, float(getattr(self, name)))
        for name in ("off_tries", "wake_tries"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} is {getattr(self, name)}; give at least 1")


class Wanted(StrEnum):
    """What is wanted of a node."""

    STAY = "stay"
    """Nothing: on stays on, off stays off; a drain is called off."""
    SLEEP = "sleep"
    WAKE = "wake"


class PowerAct(StrEnum):
    """What to do now. All are safe to repeat."""

    CORDON = "cordon"
    """Put our mark on it: nothing new goes there."""
    UNCORDON = "uncordon"
    """Remove our mark, and no others."""
    ORDER_OFF = "order off"
    ORDER_ON = "order on"
    MARK_OUT_OF_SERVICE = "mark out of service"
    """Volumes may be attached elsewhere: it is certain that the node writes to none."""
    WAKE_ANOTHER = "wake another"
    """It does not come up: whoever waits for room needs another node."""


@dataclass(frozen=True, slots=True)
class NodeSight:
    """What is seen of a node at one look; None where it cannot be seen."""

    answers: bool
    """Whether the node itself answers, fresh and in time."""
    is_empty: bool | None = None
    """Whether nothing but system containers is on it, or on its way to it."""
    volumes: int | None = None
    """Volumes that are still attached."""
    system_is_ready: bool | None = None
    """Whether its system containers run and its clock is right."""
    power: PowerSight | None = None


@dataclass(frozen=True)
class PowerRecord:
    """What is kept of a node's power; written before each act."""

    node: NodeId
    state: PowerState = PowerState.ON
    since_s: float = 0.0
    """Since when it is in that state, in seconds since the epoch."""
    tries: int = 0
    """How often the order that is under way was given."""
    asked_s: float | None = None
    """When it was first ordered to wake, while it is waking."""
    silent_since_s: float | None = None
    """Since when it does not answer, while it should be up."""
    woken_s: float | None = None
    """When it last came back from sleep."""
    off_s: float | None = None
    """When it last went off."""
    is_presumed: bool = False
    """Whether off was concluded and not read."""
    boots_s: tuple[float, ...] = field(default_factory=tuple)
    """How long its boots took, the latest last."""


@dataclass(frozen=True)
class PowerStep:
    """What comes of one look."""

    record: PowerRecord
    acts: tuple[PowerAct, ...] = ()
    alert: str = ""
    """What an operator should know; empty where nothing."""


_UP = (
    PowerState.ON,
    PowerState.CANDIDATE,
    PowerState.DRAINING,
    PowerState.DRAINED,
    PowerState.READY,
    PowerState.SETTLING,
)
_DOWN = (PowerState.OFF, PowerState.OFF_UNCONFIRMED, PowerState.WAKE_FAILED, PowerState.LOST)


def advance(
    record: PowerRecord,
    sight: NodeSight,
    wanted: Wanted,
    now_s: float,
    *,
    described_boot_s: float,
    site_is_busy: bool = False,
    must_stay: bool = False,
    settings: PowerSettings | None = None,
) -> PowerStep:
    """One step of a node, from one look at it.

    Args:
        record: what is kept of it.
        sight: what is seen of it.
        wanted: what is wanted of it.
        now_s: the time, in seconds since the epoch.
        described_boot_s: how long it takes to boot by its description.
        site_is_busy: whether another node of its site is just being switched: then it waits.
        must_stay: whether a rule forbids that it goes off now; asked anew until the order is given.
        settings: how long each state may last; defaults where None.
    """
    settings = settings or PowerSettings()
    if must_stay and wanted is Wanted.SLEEP:
        wanted = Wanted.STAY
    look = _Look(record, sight, wanted, now_s, described_boot_s, site_is_busy, settings)
    if record.state in _UP:
        lost = look.lost()
        if lost is not None:
            return lost
        look.record = replace(record, silent_since_s=None if sight.answers else look.silent_since_s)
    elif record.state in _DOWN and sight.answers:
        return look.go(PowerState.READY, alert=f"{record.node} came up and nobody here had asked for it")
    return _STEPS[record.state](look)


class _Look:
    """One look at a node, and the ways on from it."""

    def __init__(
        self,
        record: PowerRecord,
        sight: NodeSight,
        wanted: Wanted,
        now_s: float,
        described_boot_s: float,
        site_is_busy: bool,
        settings: PowerSettings,
    ) -> None:
        self.record = record
        self.sight = sight
        self.wanted = wanted
        self.now_s = now_s
        self.site_is_busy = site_is_busy
        self.settings = settings
        self.silent_since_s = record.silent_since_s if record.silent_since_s is not None else now_s
        self.boot_limit_s = max(settings.boot_least_s, settings.boot_factor * lead_s(record.boots_s, described_boot_s))

    @property
    def lasted_s(self) -> float:
        """How long the state has lasted; a clock that was set back makes it shorter, never negative."""
        return max(0.0, self.now_s - self.record.since_s)

    @property
    def reading(self) -> PowerReading:
        """What is read of its power from outside."""
        return self.sight.power.reading if self.sight.power is not None else PowerReading.UNKNOWN

    @property
    def may_be_cut(self) -> bool:
        """Whether it is seen to be empty with no volume attached; what is not seen is not so."""
        return self.sight.is_empty is True and self.sight.volumes == 0

    def stay(self, *acts: PowerAct, **changes: Any) -> PowerStep:
        """No other state."""
        return PowerStep(replace(self.record, **changes), acts)

    def go(self, state: PowerState, *acts: PowerAct, alert: str = "", **changes: Any) -> PowerStep:
        """On to another state."""
        check_power_transition(self.record.node, self.record.state, state)
        after = replace(self.record, state=state, since_s=self.now_s, silent_since_s=None)
        return PowerStep(replace(after, **changes), acts, alert)

    def lost(self) -> PowerStep | None:
        """On to `LOST`, where it should be up and has been silent for long; None where not."""
        if self.sight.answers or self.now_s - self.silent_since_s < self.settings.lost_s:
            return None
        return self.go(PowerState.LOST, alert=f"{self.record.node} does not answer any more")

    def order_on(self, **changes: Any) -> PowerStep:
        """On to `WAKE_REQUESTED`."""
        return self.go(PowerState.WAKE_REQUESTED, PowerAct.ORDER_ON, **changes)

    def up(self) -> PowerStep:
        """It answers after it was ordered to wake: learn how long that took."""
        asked_s = self.record.asked_s
        took_s = self.now_s - asked_s if asked_s is not None else 0.0
        boots_s = with_boot(self.record.boots_s, took_s) if took_s > 0.0 else self.record.boots_s
        return self.go(PowerState.READY, tries=0, asked_s=None, boots_s=boots_s)

    def again_or_failed(self) -> PowerStep:
        """Order it on once more, or give it up."""
        if self.record.tries >= self.settings.wake_tries:
            return self.go(
                PowerState.WAKE_FAILED,
                PowerAct.WAKE_ANOTHER,
                alert=f"{self.record.node} did not come up after {self.record.tries} orders",
                tries=0,
                asked_s=None,
            )
        tries = self.record.tries + 1
        # A boot that needed a second order says nothing about how long boots take: it is timed from that order.
        if self.record.state is PowerState.WAKE_REQUESTED:
            return self.stay(PowerAct.ORDER_ON, tries=tries, since_s=self.now_s, asked_s=self.now_s)
        return self.order_on(tries=tries, asked_s=self.now_s)


def _on(look: _Look) -> PowerStep:
    return look.go(PowerState.CANDIDATE) if look.wanted is Wanted.SLEEP else look.stay()


def _candidate(look: _Look) -> PowerStep:
    if look.wanted is not Wanted.SLEEP:
        return look.go(PowerState.ON)
    return look.go(PowerState.DRAINING, PowerAct.CORDON)


def _draining(look: _Look) -> PowerStep:
    if look.wanted is not Wanted.SLEEP:
        return look.go(PowerState.ON, PowerAct.UNCORDON)
    return look.go(PowerState.DRAINED) if look.may_be_cut else look.stay()


def _drained(look: _Look) -> PowerStep:
    if look.wanted is not Wanted.SLEEP:
        return look.go(PowerState.ON, PowerAct.UNCORDON)
    if not look.may_be_cut:
        return look.go(PowerState.DRAINING)
    if look.site_is_busy or look.lasted_s < look.settings.rest_s:
        return look.stay()
    return look.go(PowerState.OFF_REQUESTED, PowerAct.ORDER_OFF, tries=1)


def _off_requested(look: _Look) -> PowerStep:
    if look.reading is PowerReading.OFF and not look.sight.answers:
        return _confirmed(look)
    if look.lasted_s < look.settings.off_s:
        return look.stay()
    return look.go(PowerState.OFF_UNCONFIRMED, alert=f"nobody can say that {look.record.node} is off; it counts as on")


def _confirmed(look: _Look) -> PowerStep:
    presumed = look.sight.power is not None and look.sight.power.presumed
    # Only what was read from outside makes it certain that the node writes to no volume any more.
    acts = () if presumed else (PowerAct.MARK_OUT_OF_SERVICE,)
    return look.go(PowerState.OFF_CONFIRMED, *acts, off_s=look.now_s, is_presumed=presumed, tries=0)


def _off_confirmed(look: _Look) -> PowerStep:
    return look.go(PowerState.OFF)


def _off(look: _Look) -> PowerStep:
    if look.wanted is Wanted.WAKE and not look.site_is_busy:
        return look.order_on(tries=1, asked_s=look.now_s)
    return look.stay()


def _wake_requested(look: _Look) -> PowerStep:
    if look.sight.answers:
        return look.up()
    if look.reading is PowerReading.ON:
        return look.go(PowerState.BOOTING)
    # Where power cannot be read, the order is given the time of a boot before it is given again.
    limit_s = look.settings.order_s if look.reading is PowerReading.OFF else look.boot_limit_s
    return look.stay() if look.lasted_s < limit_s else look.again_or_failed()


def _booting(look: _Look) -> PowerStep:
    if look.sight.answers:
        return look.up()
    return look.stay() if look.lasted_s < look.boot_limit_s else look.again_or_failed()


def _ready(look: _Look) -> PowerStep:
    return look.go(PowerState.SETTLING) if look.sight.system_is_ready and look.sight.answers else look.stay()


def _settling(look: _Look) -> PowerStep:
    if not look.sight.system_is_ready:
        return look.go(PowerState.READY)
    if look.lasted_s < look.settings.settle_s or not look.sight.answers:
        return look.stay()
    return look.go(PowerState.ON, PowerAct.UNCORDON, woken_s=look.now_s, is_presumed=False)


def _off_unconfirmed(look: _Look) -> PowerStep:
    if look.reading is PowerReading.OFF:
        return _confirmed(look)
    if look.wanted is Wanted.WAKE:
        return look.order_on(tries=1, asked_s=look.now_s)
    if look.lasted_s >= look.settings.off_s and look.record.tries < look.settings.off_tries and not look.site_is_busy:
        return look.go(PowerState.OFF_REQUESTED, PowerAct.ORDER_OFF, tries=look.record.tries + 1)
    return look.stay()


def _wake_failed(look: _Look) -> PowerStep:
    rested = look.lasted_s >= look.settings.wake_rest_s
    if look.wanted is Wanted.WAKE and rested and not look.site_is_busy:
        return look.order_on(tries=1, asked_s=look.now_s)
    return look.stay()


def _lost(look: _Look) -> PowerStep:
    # Ordered on only where its power is read as off: a node behind a broken link must not be touched.
    if look.wanted is Wanted.WAKE and look.reading is PowerReading.OFF and not look.site_is_busy:
        return look.order_on(tries=1, asked_s=look.now_s)
    return look.stay()


_STEPS = {
    PowerState.ON: _on,
    PowerState.CANDIDATE: _candidate,
    PowerState.DRAINING: _draining,
    PowerState.DRAINED: _drained,
    PowerState.OFF_REQUESTED: _off_requested,
    PowerState.OFF_CONFIRMED: _off_confirmed,
    PowerState.OFF: _off,
    PowerState.WAKE_REQUESTED: _wake_requested,
    PowerState.BOOTING: _booting,
    PowerState.READY: _ready,
    PowerState.SETTLING: _settling,
    PowerState.OFF_UNCONFIRMED: _off_unconfirmed,
    PowerState.WAKE_FAILED: _wake_failed,
    PowerState.LOST: _lost,
}
