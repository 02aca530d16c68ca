"""The machine's own time, behind the `Clock` port."""

from __future__ import annotations

import asyncio
import time

__all__ = ["MachineClock"]


class MachineClock:
    """Time as the machine tells it."""

    def now_s(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def monotonic_s(self) -> float:
        """Seconds since some start; never goes back."""
        return time.monotonic()

    async def sleep(self, duration_s: float) -> None:
        """Return once that much time has passed."""
        await asyncio.sleep(max(0.0, duration_s))
