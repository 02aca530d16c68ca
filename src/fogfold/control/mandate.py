"""The right to act, held in the hand: whoever has lost the lease finds out before the next act, not after it.

The fence keeps writes of an outdated instance out of the store. An order to an orchestrator or a power driver bears no
fence, so before each of them the lease must also be known to last. It is renewed while a plan is carried out, since
that may take longer than any lease.
"""

from __future__ import annotations

from fogfold.control.failure import LeaseLostError, PortTimeoutError
from fogfold.control.ports import Clock, Lease, Store
from fogfold.model.resources import check_number

__all__ = ["Mandate"]


class Mandate:
    """A lease, and the means to keep it.

    Args:
        lease: as the store gave it.
        store: where it is renewed.
        clock: time; what is left of the lease is measured on its monotonic side, so that setting the clock changes
            nothing.
        for_s: for how long it is renewed each time; it is renewed three times in that.
    """

    def __init__(self, lease: Lease, store: Store, clock: Clock, *, for_s: float = 60.0) -> None:
        check_number("for_s", for_s, above=True)
        self.lease = lease
        self._store = store
        self._clock = clock
        self._for_s = for_s
        self._until_s = clock.monotonic_s() + lease.until_s - clock.now_s()
        self._lost = ""

    @property
    def fence(self) -> int:
        """The fence that every write bears.

        Raises:
            LeaseLostError: once the lease ran out or is another's.
        """
        if not self._lost and self._clock.monotonic_s() >= self._until_s:
            self._lost = f"the lease of {self.lease.holder!r} ran out"
        if self._lost:
            raise LeaseLostError(f"{self._lost}; stop acting, and acquire the lease again")
        return self.lease.fence

    def check(self) -> None:
        """Nothing, where there is still the right to act. Raises as `fence`."""
        _ = self.fence

    async def renew(self) -> None:
        """Ask for the lease once more; where the store does not answer the old one goes on until it runs out.

        Raises:
            LeaseLostError: if another holds it, or held it meanwhile.
        """
        asked_s = self._clock.monotonic_s()
        try:
            lease = await self._store.acquire(self.lease.holder, for_s=self._for_s, now_s=self._clock.now_s())
        except PortTimeoutError:
            return
        if lease is None or lease.fence != self.lease.fence:
            self._lost = f"the lease of {self.lease.holder!r} went to another"
            self.check()
        else:
            self.lease, self._until_s = lease, asked_s + self._for_s

    async def keep_alive(self) -> None:
        """Renew it for as long as this runs. Raises as `renew`."""
        while True:
            await self._clock.sleep(self._for_s / 3.0)
            await self.renew()
