"""How one asks somebody who may not answer: again, a few times, after waits that grow and are never in step.

Plain code on the clock port and not a library for retries: those wait on the machine's clock, so no test could jump
over their waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np

from fogfold.control.failure import PortTimeoutError
from fogfold.control.mandate import Mandate
from fogfold.control.ports import Clock
from fogfold.errors import ModelError
from fogfold.model.resources import check_number

__all__ = ["Asking", "Patience"]


@dataclass(frozen=True, slots=True)
class Patience:
    """How often one asks, and how long one waits between."""

    tries: int = 3
    """How often an order is given to somebody who does not answer."""
    first_wait_s: float = 5.0
    """Longest wait before the second try; it doubles with each further one."""
    longest_wait_s: float = 120.0

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ModelError(f"tries is {self.tries}; give at least 1")
        check_number("first_wait_s", self.first_wait_s, above=True)
        check_number("longest_wait_s", self.longest_wait_s, low=self.first_wait_s)


class Asking:
    """Asks until somebody answers.

    Args:
        clock: time.
        mandate: looked at before each try.
        rng: the jitter of the waits, so that many who wait do not come back at once.
        patience: how often and how long.
    """

    def __init__(self, clock: Clock, mandate: Mandate, rng: np.random.Generator, patience: Patience) -> None:
        self._clock = clock
        self._mandate = mandate
        self._rng = rng
        self._patience = patience

    def wait_s(self, tries: int) -> float:
        """How long to wait after that many tries, in s: between half of the doubled wait and all of it."""
        longest_s = min(self._patience.longest_wait_s, self._patience.first_wait_s * 2.0 ** min(tries - 1, 60))
        return float(longest_s * self._rng.uniform(0.5, 1.0))

    async def ask(self, act: Callable[[], Awaitable[None]]) -> str:
        """Order something that is harmless to order twice. Empty once it was taken, else what the last try met.

        Raises:
            PortError: if it is refused for good.
            LeaseLostError: if the right to act is gone.
        """
        met = ""
        for tries in range(self._patience.tries):
            if tries:
                await self._clock.sleep(self.wait_s(tries))
            self._mandate.check()
            try:
                await act()
            except PortTimeoutError as error:
                met = str(error) or "nobody answered"
            else:
                return ""
        return met
