"""What it costs to operate a cluster, beside deciding: each part of a cycle timed in the real loop, over a real store.

The loop is driven by hand, one look after the other; what goes on between two looks is carrying out. The time of a part
is what it took without the parts inside it. The simulated cluster's own time and the policy's are taken apart and are
no part of the overhead. Memory is that of this process, with the API that `fogfold serve` answers by; where another
process plays the simulated world, it is the service's alone.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import resource
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from fogfold.adapters.simulated.apart import CourseApart
from fogfold.adapters.simulated.clocks import SimulatedClock
from fogfold.adapters.storage import schema
from fogfold.adapters.storage.sql_store import SqlStore
from fogfold.api.app import create_app
from fogfold.api.metrics import Metrics
from fogfold.api.recent import Recent
from fogfold.api.stream import Stream
from fogfold.bootstrap.planes import jumping_plane
from fogfold.control.deciding import Decider, Limits
from fogfold.control.load_evidence import EvidenceSettings
from fogfold.control.loop import Loop, LoopSettings, Mode
from fogfold.control.means import ExecuteSettings, Means
from fogfold.control.power_rules import PowerRules
from fogfold.control.schedule import ScheduleSettings
from fogfold.control.watch import Watch
from fogfold.policy.base import Policy
from fogfold.seeding import stream
from fogfold.units import DAY_S, HOUR_S, MIB, MINUTE_S, TICK_S
from fogfold.world.scenario.build import BuiltScenario

__all__ = ["APART", "Cycle", "Day", "OverheadSettings", "Played", "peak_mib", "play_control", "resident_mib"]

APART = ("deciding", "world")
"""Parts that are measured so that they can be left out: the policy's thinking, and the simulator's."""

_PARTS: tuple[tuple[str, str, str], ...] = (
    ("fogfold.adapters.simulated.course:Course", "_go", "world"),
    ("fogfold.adapters.simulated.course:Course", "state", "world"),
    ("fogfold.adapters.simulated.course:Course", "cut", "world"),
    ("fogfold.adapters.simulated.apart:CourseApart", "_ask", "world"),
    ("fogfold.adapters.simulated.readings:SimulatedCollector", "read", "collect"),
    ("fogfold.control.watch", "assemble", "assemble"),
    ("fogfold.control.signs:Signs", "see", "signs"),
    ("fogfold.control.loop", "site_loads", "evidence"),
    ("fogfold.control.loop", "observe_load", "evidence"),
    ("fogfold.control.loop", "seen", "memory"),
    ("fogfold.control.deciding:Decider", "_view", "view"),
    ("fogfold.control.deciding:Decider", "_with_power", "power rules"),
    ("fogfold.control.deciding", "judge", "guard"),
    ("fogfold.control.deciding", "make_plan", "plan"),
    ("fogfold.control.deciding:Decision", "to_json", "journal"),
)
"""Which functions are which part, by where they are called from."""

_LET_GO_S = 0.5
_STORE_PARTS = {
    "acquire": "lease",
    "kept": "records",
    "append": "journal",
    "keep": "records",
}
"""Calls of the store; all others are `inputs`."""


@dataclass(frozen=True)
class OverheadSettings:
    """What is played."""

    hours: float = 2.0
    look_s: float = 30.0
    """Time between two looks."""
    macro_s: float = 5 * MINUTE_S
    """Time between two whole decisions."""
    by_processor: bool = False
    """Whether processor time of this process is counted instead of time that passes."""


@dataclass(frozen=True)
class Cycle:
    """One look and all that followed from it."""

    is_macro: bool
    part_s: dict[str, float]
    """Time of each part, in seconds; those of `APART` with them."""

    @property
    def total_s(self) -> float:
        """All parts but those apart."""
        return sum(time_s for part, time_s in self.part_s.items() if part not in APART)


@dataclass(frozen=True)
class Day:
    """Memory at the end of a day of the cluster, of an hour where it is one day at most, and at the end of it all."""

    day: float
    resident_mib: float
    peak_mib: float
    """The most that was resident so far."""
    journal_mib: float
    """Size of the store's file and its log."""
    looks: int


@dataclass
class Played:
    """What was measured."""

    cycles: list[Cycle] = field(default_factory=list)
    days: list[Day] = field(default_factory=list)
    moves: int = 0
    """Steps of the plans of all decisions."""


class _Stopwatch:
    """Adds up the time of parts, each without the parts inside it."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.part_s: dict[str, float] = defaultdict(float)
        self._inside: list[float] = []
        self._waits = False

    @contextmanager
    def running(self, part: str) -> Iterator[None]:
        """Count the time in here to a part."""
        self._inside.append(0.0)
        began_s = self._clock()
        try:
            yield
        finally:
            took_s = self._clock() - began_s
            self.part_s[part] += took_s - self._inside.pop()
            if self._inside:
                self._inside[-1] += took_s

    def timed(self, call: Callable[..., Any], part: str) -> Callable[..., Any]:
        """A function that is timed."""
        if iscoroutinefunction(call):

            @wraps(call)
            async def waiting(*args: Any, **kwargs: Any) -> Any:
                # Of two calls that wait at the same time only the first is timed, so that no time counts twice.
                if self._waits:
                    return await call(*args, **kwargs)
                self._waits = True
                try:
                    with self.running(part):
                        return await call(*args, **kwargs)
                finally:
                    self._waits = False

            return waiting

        @wraps(call)
        def timing(*args: Any, **kwargs: Any) -> Any:
            with self.running(part):
                return call(*args, **kwargs)

        return timing

    def take(self) -> dict[str, float]:
        """The sums so far, which begin anew."""
        taken, self.part_s = dict(self.part_s), defaultdict(float)
        return taken


class _TimedPolicy:
    """A policy whose thinking is timed."""

    def __init__(self, inner: Policy, watch: _Stopwatch) -> None:
        self.name, self._inner, self._watch = inner.name, inner, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def reset(self, seed: int) -> None:
        self._inner.reset(seed)

    def propose(self, view: Any) -> Any:
        with self._watch.running("deciding"):
            return self._inner.propose(view)


class _TimedStore:
    """A store whose calls are timed, with the clock held meanwhile."""

    def __init__(self, store: SqlStore, watch: _Stopwatch, clock: SimulatedClock) -> None:
        self._store, self._watch, self._clock = store, watch, clock

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not iscoroutinefunction(found):
            return found
        timed = self._watch.timed(found, _STORE_PARTS.get(name, "inputs"))

        async def held(*args: Any, **kwargs: Any) -> Any:
            with self._clock.held():
                return await timed(*args, **kwargs)

        return held


def resident_mib() -> float:
    """Memory of this process now, in MiB."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() / MIB
    except OSError:  # no such file on this system: the most it ever was
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / MIB if sys.platform == "darwin" else most * 1024 / MIB


def peak_mib() -> float:
    """The most memory that this process ever had, in MiB."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024 / MIB
    except (OSError, StopIteration):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / MIB if sys.platform == "darwin" else most * 1024 / MIB


async def play_control(
    built: BuiltScenario,
    policy: Policy,
    settings: OverheadSettings,
    *,
    course: CourseApart | None = None,
    on_hour: Callable[[float], object] = lambda hour: None,  # noqa: ARG005
) -> Played:
    """Operate a simulated cluster for some hours of its time, and say what that took.

    Args:
        built: the cluster and its load.
        policy: who decides; its time is taken apart.
        settings: how long, and how often it is looked at.
        course: its world, where another process plays it.
        on_hour: called after each look with the hours that have passed.
    """
    played, rhythms = Played(), list[str]()
    metrics, recent, events = Metrics(), Recent(), Stream()
    watch = _Stopwatch(time.process_time if settings.by_processor else time.perf_counter)

    def note(kind: str, number: int, value: Mapping[str, Any]) -> None:
        recent.note(kind, number, value)
        metrics.count(kind, value)
        events.publish(kind, number, value)
        if kind == "decision":
            rhythms.append(value["rhythm"])
            played.moves += len(value["moves"])

    plane = jumping_plane(built, last_entry_s=None, course=course)
    clock = plane.clock
    assert isinstance(clock, SimulatedClock)  # noqa: S101 - a jumping plane has one
    with tempfile.TemporaryDirectory(prefix="fogfold-") as folder, _timed_parts(watch):
        file = Path(folder) / "fogfold.db"
        await schema.upgrade(f"sqlite:///{file}")
        async with SqlStore(f"sqlite:///{file}") as store:
            eyes = Watch(plane.collector, clock)
            means = Means(
                plane.orchestrator,
                plane.power,
                _TimedStore(store, watch, clock),
                clock,
                eyes,
                stream(built.seed, "executor"),
            )
            evidence = EvidenceSettings(gap_s=max(EvidenceSettings().gap_s, 3.0 * settings.look_s))
            limits = Limits(power=PowerRules(evidence=evidence), week_began_s=plane.week_began_s)
            loop = Loop(
                means,
                eyes,
                Decider(_TimedPolicy(policy, watch), limits),
                LoopSettings(
                    "bench",
                    Mode.AUTOMATIC,
                    collect_s=settings.look_s,
                    lease_s=3.0 * settings.look_s,
                    schedule=ScheduleSettings(
                        micro_s=max(MINUTE_S, settings.look_s),
                        macro_shortest_s=settings.macro_s,
                        macro_unknown_s=settings.macro_s,
                        macro_longest_s=settings.macro_s,
                    ),
                    evidence=evidence,
                    execute=ExecuteSettings(caps=limits.plan),
                ),
                on_change=note,
            )
            create_app(loop, store, stream=events, metrics=metrics, recent=recent)
            await _drive(loop, clock, watch, settings, played, rhythms, file, on_hour)
            with suppress(TimeoutError):
                # What is still under way is let go: the cluster ends with the measurement.
                await asyncio.wait_for(loop.acted(), _LET_GO_S)
    return played


async def _drive(
    loop: Loop,
    clock: SimulatedClock,
    watch: _Stopwatch,
    settings: OverheadSettings,
    played: Played,
    rhythms: list[str],
    file: Path,
    on_hour: Callable[[float], object],
) -> None:
    end_s, next_day_s, looks = settings.hours * HOUR_S, 0.0, 0
    while clock.monotonic_s() < end_s - TICK_S:
        rhythms.clear()
        watch.take()
        with watch.running("rest"):
            await loop.cycle()
        with watch.running("carrying out"):
            # Until the next look, which the loop takes at the same times, whatever is under way goes on.
            due_in_s = loop.status().next_in_s
            rest_s = settings.look_s if due_in_s is None else min(settings.look_s, due_in_s)
            # Time ends with the cluster: who sleeps longer is never woken.
            await clock.sleep(min(max(1.0, rest_s), end_s - clock.monotonic_s()))
        is_macro = "macro" in rhythms
        played.cycles.append(Cycle(is_macro, watch.take()))
        looks += 1
        if clock.monotonic_s() >= min(next_day_s, end_s - TICK_S):
            gc.collect()
            size = sum(path.stat().st_size for path in file.parent.iterdir()) / MIB
            played.days.append(Day(clock.monotonic_s() / DAY_S, resident_mib(), peak_mib(), size, looks))
            next_day_s += DAY_S if settings.hours > 24.0 else HOUR_S
        on_hour(clock.monotonic_s() / HOUR_S)


@contextmanager
def _timed_parts(watch: _Stopwatch) -> Iterator[None]:
    with ExitStack() as stack:
        for where, name, part in _PARTS:
            module, _, owner = where.partition(":")
            holder: Any = importlib.import_module(module)
            holder = getattr(holder, owner) if owner else holder
            plain = holder.__dict__[name]
            setattr(holder, name, watch.timed(plain, part))
            stack.callback(setattr, holder, name, plain)
        here, walking = threading.get_ident(), ExitStack()

        def walks(phase: str, _: dict[str, int]) -> None:
            if threading.get_ident() == here:
                if phase == "start":
                    walking.enter_context(watch.running("garbage"))
                else:
                    walking.close()

        gc.callbacks.append(walks)
        stack.callback(gc.callbacks.remove, walks)
        yield
