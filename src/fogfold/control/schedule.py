"""When to decide: whole decisions now and then, light ones often, and at once where something happens.

Three rhythms. *Macro* decides everything; its interval adapts, short in volatile hours, long in quiet ones. *Micro*
makes light moves only. *Event* answers what cannot wait, locally. At most one run goes on at a time; what falls due
meanwhile waits, and many reasons to run become one run. Gaps are counted from the end of a run, so that a slow one is
never followed at once by the next.

All time is the clock's monotonic time: a wall clock that is set back or forth changes nothing. The schedule only
answers what is due; it starts nothing.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from fogfold.control.ports import Clock
from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.units import MINUTE_S

__all__ = [
    "Event",
    "EventKind",
    "Recurrence",
    "Rhythm",
    "Run",
    "Schedule",
    "ScheduleSettings",
    "interval_s_at",
    "macro_interval_s",
]


class Rhythm(IntEnum):
    """The rhythms, the most urgent first."""

    EVENT = 0
    MACRO = 1
    MICRO = 2


class EventKind(StrEnum):
    """What cannot wait."""

    NODE_LOST = "node lost"
    RESTART_LOOP = "restart loop"
    REQUEST_SURGE = "request surge"


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """Something that happened, to a node or a container."""

    kind: EventKind
    subject: str


@dataclass(frozen=True, slots=True)
class Run:
    """A decision that is due."""

    rhythm: Rhythm
    events: tuple[Event, ...] = ()
    """What it answers, where it is an event run; sorted, each once."""
    missed: int = 0
    """Further times at which it would have been due and was not: they are not made up for."""


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """The rhythms' figures."""

    macro_shortest_s: float = 2 * MINUTE_S
    """Nodes take one to three minutes to boot and shut down: deciding more often would judge unfinished work."""
    macro_longest_s: float = 30 * MINUTE_S
    """A daily cycle changes by a tenth of its swing in that time."""
    macro_unknown_s: float = 5 * MINUTE_S
    """Interval as long as volatility is not known."""
    micro_s: float = MINUTE_S
    """Between light decisions: two readings of 30 s."""
    macro_gap_s: float = MINUTE_S
    """From the end of a whole decision to the next: what it did must show in readings first."""
    micro_gap_s: float = 30.0
    event_gap_s: float = 10.0
    """From the end of one event run to the next: what happens together is answered together."""

    def __post_init__(self) -> None:
        for name in ("macro_shortest_s", "macro_longest_s", "macro_unknown_s", "micro_s"):
            check_number(name, float(getattr(self, name)), above=True)
        for name in ("macro_gap_s", "micro_gap_s", "event_gap_s"):
            check_number(name, float(getattr(self, name)))
        if not self.macro_shortest_s <= self.macro_unknown_s <= self.macro_longest_s:
            raise ModelError(
                f"macro_shortest_s, macro_unknown_s and macro_longest_s are {self.macro_shortest_s:g}, "
                f"{self.macro_unknown_s:g} and {self.macro_longest_s:g}; give them in rising order"
            )


def interval_s_at(share: float, settings: ScheduleSettings) -> float:
    """Time between whole decisions at a volatility in [0, 1]: longest x (shortest / longest)^share.

    Geometric, so that a step of volatility shortens the interval by the same factor everywhere.

    Raises:
        ModelError: if the share lies outside [0, 1].
    """
    check_number("volatility share", share, high=1.0)
    return settings.macro_longest_s * (settings.macro_shortest_s / settings.macro_longest_s) ** share


def macro_interval_s(volatility: float | None, settings: ScheduleSettings) -> float:
    """Time between whole decisions: `interval_s_at` the volatility, and the unknown one where that is None.

    Raises:
        ModelError: if the volatility lies outside [0, 1].
    """
    return settings.macro_unknown_s if volatility is None else interval_s_at(volatility, settings)


class Schedule:
    """What is due when. The loop asks `due`, runs what it is given, and says `finished`.

    Args:
        clock: the time.
        settings: the rhythms' figures; defaults where None.
    """

    def __init__(self, clock: Clock, settings: ScheduleSettings | None = None) -> None:
        self._clock = clock
        self._settings = settings or ScheduleSettings()
        self._running: Run | None = None
        self._events: set[Event] = set()
        self._volatility: float | None = None
        # Each rhythm is due at once when the service starts: nothing is known yet.
        now_s = clock.monotonic_s()
        self._due_s = {Rhythm.MACRO: now_s, Rhythm.MICRO: now_s}
        self._not_before_s = dict.fromkeys(Rhythm, now_s)

    @property
    def interval_s(self) -> float:
        """Time between whole decisions as things are."""
        return macro_interval_s(self._volatility, self._settings)

    def notice(self, event: Event) -> None:
        """Something happened: an event run becomes due. The same event twice is one."""
        self._events.add(event)

    def see_volatility(self, share: float | None) -> None:
        """Take in how restless the cluster is, in [0, 1], as `gauge` reckons it; may be called at every reading.

        A storm brings the next whole decision nearer; calm never pushes one away that is due.

        Args:
            share: the volatility; None where it is not known.

        Raises:
            ModelError: if the share lies outside [0, 1].
        """
        if share is not None:
            check_number("volatility share", share, high=1.0)
        self._volatility = share
        soon_s = self._clock.monotonic_s() + self.interval_s
        self._due_s[Rhythm.MACRO] = min(self._due_s[Rhythm.MACRO], soon_s)

    def ask_for(self, rhythm: Rhythm) -> None:
        """An operator asks for a decision now; the least gap holds all the same.

        Raises:
            ModelError: for an event run, which needs an event.
        """
        if rhythm is Rhythm.EVENT:
            raise ModelError("an event run was asked for without an event; say what happened with notice()")
        self._due_s[rhythm] = min(self._due_s[rhythm], self._clock.monotonic_s())

    def next_s(self) -> float | None:
        """Monotonic time at which something is next due; None while a run goes on."""
        if self._running is not None:
            return None
        times = [max(self._due_s[r], self._not_before_s[r]) for r in (Rhythm.MACRO, Rhythm.MICRO)]
        if self._events:
            times.append(self._not_before_s[Rhythm.EVENT])
        return min(times)

    def due(self) -> Run | None:
        """The most urgent run that is due, which then counts as begun; None where none is, or one is going on."""
        if self._running is not None:
            return None
        now_s = self._clock.monotonic_s()
        if self._events and now_s >= self._not_before_s[Rhythm.EVENT]:
            self._running = Run(Rhythm.EVENT, tuple(sorted(self._events)))
            self._events.clear()
            return self._running
        for rhythm in (Rhythm.MACRO, Rhythm.MICRO):
            if now_s >= max(self._due_s[rhythm], self._not_before_s[rhythm]):
                self._running = Run(rhythm, missed=int((now_s - self._due_s[rhythm]) // self._every_s(rhythm)))
                return self._running
        return None

    def finished(self, run: Run) -> None:
        """A run is over, well or badly.

        Raises:
            ModelError: if another run, or none, is going on.
        """
        if run is not self._running:
            raise ModelError(
                f"a {run.rhythm.name} run is said to be over, but it was not going on; finish what due() gave"
            )
        self._running = None
        now_s = self._clock.monotonic_s()
        settings = self._settings
        gap_s = {
            Rhythm.EVENT: settings.event_gap_s,
            Rhythm.MACRO: settings.macro_gap_s,
            Rhythm.MICRO: settings.micro_gap_s,
        }
        self._not_before_s[run.rhythm] = now_s + gap_s[run.rhythm]
        if run.rhythm is not Rhythm.EVENT:
            self._due_s[run.rhythm] = now_s + self._every_s(run.rhythm)
        if run.rhythm is Rhythm.MACRO:
            # A whole decision did what a light one would have done.
            self._due_s[Rhythm.MICRO] = now_s + settings.micro_s

    def _every_s(self, rhythm: Rhythm) -> float:
        return self.interval_s if rhythm is Rhythm.MACRO else self._settings.micro_s


class Recurrence:
    """Whether something was so in k of the last n samples of a subject, so that one spike does nothing.

    It fires once when that begins to hold, and again only after the subject was well in k of the last n.

    Args:
        k: how many samples must be bad.
        n: of how many.

    Raises:
        ModelError: if k is not in 2..n, or so small that a subject could be bad and well at once.
    """

    def __init__(self, k: int, n: int) -> None:
        if not 2 <= k <= n or 2 * k <= n:
            raise ModelError(f"{k} of {n} samples cannot tell; k must be more than half of n, and at least 2")
        self._k = k
        self._n = n
        # The samples of a subject as bits behind a leading one, the latest last.
        self._full, self._most = 1 << n, (2 << n) - 1
        self._samples: dict[str, int] = {}
        self._fired: set[str] = set()

    def see(self, subject: str, *, is_bad: bool | None) -> bool:
        """Take in a sample; None where there was none, which counts as neither. Gives whether it fires now."""
        if is_bad is None:
            return False
        before = self._samples.get(subject, 1)
        if before == self._full and not is_bad:
            # As well as it can be, and still so: nearly all of thousands of samples.
            return False
        after = before << 1 | is_bad
        if after > self._most:
            after = after & (self._full - 1) | self._full
        self._samples[subject] = after
        bad = after.bit_count() - 1
        if bad >= self._k and subject not in self._fired:
            self._fired.add(subject)
            return True
        if after.bit_length() - 1 - bad >= self._k:
            self._fired.discard(subject)
        return False

    def keep(self, subjects: Container[str]) -> None:
        """Forget all subjects but these."""
        for subject in [name for name in self._samples if name not in subjects]:
            del self._samples[subject]
            self._fired.discard(subject)
