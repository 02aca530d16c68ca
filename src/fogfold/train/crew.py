"""The processes of a training run: each plays its share of the seats, and takes other work while there is some.

Deciding is Python, which one process does on one core only; so seats are dealt over processes, once, and stay where
they are. Results come back in the order of the seats. How many processes there are changes nothing but the time.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, TypeVar

from fogfold.compiled import compiles_anew
from fogfold.errors import FogfoldError, ModelError
from fogfold.policy.learned.weights import Weights
from fogfold.train.lessons import taught_world
from fogfold.train.seats import Played, Seats
from fogfold.train.settings import TrainSettings

__all__ = ["Crew"]

T = TypeVar("T")


def _serve(connection: Connection, settings: TrainSettings, numbers: Sequence[int]) -> None:
    """The life of a process: it does what it is told until nobody is there any more to tell it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is interrupted at the terminal hangs up, which ends this
    seats = Seats(settings, numbers)
    while True:
        try:
            what, arguments = connection.recv()
        except EOFError:
            return
        try:
            answer = (True, getattr(seats, what)(*arguments) if isinstance(what, str) else what(*arguments))
        except Exception as error:  # noqa: BLE001 - told to the process that asked, which raises it
            answer = (False, error)
        try:
            connection.send(answer)
        except BrokenPipeError:
            return


class _Hand:
    """A process, as the one that leads sees it."""

    def __init__(self, settings: TrainSettings, numbers: Sequence[int]) -> None:
        self.numbers = numbers
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self._process: BaseProcess = context.Process(target=_serve, args=(other, settings, numbers), daemon=True)
        self._process.start()
        other.close()

    def ask(self, what: str | Callable[..., Any], *arguments: Any) -> None:
        """Give it something to do: a method of its seats, or a function of a module."""
        try:
            self.connection.send((what, arguments))
        except BrokenPipeError as error:
            raise self._gone() from error

    def answer(self) -> Any:
        """Wait for what came of it; raises what was raised there."""
        try:
            done, answer = self.connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise self._gone() from error
        if not done:
            raise answer
        return answer

    def _gone(self) -> FogfoldError:
        self._process.join(1.0)
        return FogfoldError(
            f"a process of the training ended by itself (exit code {self._process.exitcode}); give the same command "
            "again to go on from what was kept, with fewer --jobs if memory was short"
        )

    def close(self) -> None:
        """End it."""
        self.connection.close()
        self._process.join(1.0)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()


class Crew:
    """All seats of a run, in this process and in as many others as help it.

    Use it as a context: its processes end with it.

    Args:
        settings: of the run.
        jobs: processes in all; 1 stays in this one.

    Raises:
        ModelError: if there is to be none.
    """

    def __init__(self, settings: TrainSettings, jobs: int = 1) -> None:
        if jobs < 1:
            raise ModelError(f"jobs is {jobs}; at least one process is needed")
        jobs = min(jobs, settings.seats)
        self.jobs = jobs
        """Processes in all."""
        shares = [range(k, settings.seats, jobs) for k in range(jobs)]
        self._seats = Seats(settings, shares[0])
        if jobs > 1 and compiles_anew():
            taught_world(_short(settings), 0)  # what is compiled here is on disk before the others look for it
        self._hands = [_Hand(settings, share) for share in shares[1:]]

    def __enter__(self) -> Crew:  # noqa: PYI034 - the shape checker takes no Self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hand in self._hands:
            hand.close()

    def play(self, weights: Weights, update: int) -> list[Played]:
        """What every seat brings in that update, in the order of their numbers."""
        played: dict[int, Played] = self._all("play", weights, update)
        return [played[number] for number in range(len(played))]

    def keep(self) -> list[bytes]:
        """All seats as bytes, in the order of their numbers."""
        kept: dict[int, bytes] = self._all("keep")
        return [kept[number] for number in range(len(kept))]

    def take(self, kept: Sequence[bytes]) -> None:
        """Go on from what `keep` gave, with however many processes that was."""
        by_number = dict(enumerate(kept))
        for hand in self._hands:
            hand.ask("take", {number: by_number[number] for number in hand.numbers})
        self._seats.take(by_number)
        for hand in self._hands:
            hand.answer()

    def cpu_s(self) -> list[float]:
        """CPU time of every process since its start, in s."""
        for hand in self._hands:
            hand.ask(time.process_time)
        return [time.process_time(), *(hand.answer() for hand in self._hands)]

    def _all(self, what: str, *arguments: Any) -> dict[int, Any]:
        for hand in self._hands:
            hand.ask(what, *arguments)
        found: dict[int, Any] = getattr(self._seats, what)(*arguments)
        for hand in self._hands:
            found |= hand.answer()
        return found

    def run(
        self,
        function: Callable[..., T],
        tasks: Sequence[tuple[Any, ...]],
        *,
        on_done: Callable[[int], None] | None = None,
    ) -> list[T]:
        """What a function of a module gives for each of some arguments, in their order, whoever is free doing the next.

        Args:
            function: what depends on its arguments only.
            tasks: the arguments of each call.
            on_done: told how many are done, after each.
        """
        results: dict[int, T] = {}
        todo = iter(range(len(tasks)))
        busy: dict[_Hand, int] = {}

        def collect(*, at_least_one: bool) -> None:
            ready = wait([hand.connection for hand in busy], None if at_least_one else 0.0)
            for hand in [hand for hand in busy if hand.connection in ready]:
                results[busy.pop(hand)] = hand.answer()
                if on_done is not None:
                    on_done(len(results))

        while len(results) < len(tasks):
            for hand in self._hands:
                if hand not in busy and (k := next(todo, None)) is not None:
                    hand.ask(function, *tasks[k])
                    busy[hand] = k
            mine = next(todo, None)
            if mine is not None:
                results[mine] = function(*tasks[mine])
                if on_done is not None:
                    on_done(len(results))
            collect(at_least_one=mine is None)
        return [results[k] for k in range(len(tasks))]


def _short(settings: TrainSettings) -> TrainSettings:
    return replace(settings, teacher=settings.ahead_rule, lesson_hours=0.25)
