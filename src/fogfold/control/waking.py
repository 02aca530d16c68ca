"""All nodes ordered on, at once and first of all; what is kept of them is put in order afterwards.

The orders wait for nothing: neither for the store, nor for a plan that is being carried out. Everything is stopped
first, so that no node is put to sleep again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from fogfold.control.failure import LeaseLostError, PortError
from fogfold.control.loop import Loop
from fogfold.control.ports import Power
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState

__all__ = ["Woken", "order_all_on", "put_in_order", "wake_all"]

_AT_ONCE = 8
"""Orders under way at one time: machines that start together draw their largest current together."""
_UP = (NodeState.ON, NodeState.DRAINING)


@dataclass
class Woken:
    """What became of the orders."""

    ordered: list[NodeId] = field(default_factory=list)
    not_ordered: dict[NodeId, str] = field(default_factory=dict)
    """Nodes whose driver did not take the order, and what it said."""
    trouble: str = ""
    """What could not be written down."""


async def order_all_on(nodes: Sequence[NodeId], power: Power, key: str) -> Woken:
    """Order these nodes on. Harmless for one that is on; one that cannot be ordered keeps no other waiting.

    Args:
        nodes: which.
        power: who switches.
        key: names this order, so that asking twice does it once.
    """
    woken, turn = Woken(), asyncio.Semaphore(_AT_ONCE)

    async def order(node: NodeId) -> None:
        async with turn:
            try:
                await power.on(node, f"{key}/{node}")
            except PortError as error:
                woken.not_ordered[node] = str(error)
            else:
                woken.ordered.append(node)

    await asyncio.gather(*(order(node) for node in nodes))
    woken.ordered.sort()
    return woken


async def wake_all(loop: Loop, why: str) -> Woken:
    """Stop everything and order every node on that is not surely up.

    Raises:
        PortTimeoutError: if the cluster was never seen, and cannot be seen now.
    """
    trouble = []
    try:
        await loop.stop(why)
    except (PortError, LeaseLostError) as error:
        trouble.append(f"the stop holds in this process only: {error}")
    if loop.watch.collected is None:
        await loop.watch.collect()
    collected = loop.watch.collected
    assert collected is not None  # noqa: S101 - it was just collected
    states, now_s = collected.snapshot.states, loop.means.clock.now_s()
    nodes = [node for node, state in states.items() if state not in _UP or node in collected.blind]
    woken = await order_all_on(nodes, loop.means.power, f"wake-all/{now_s:.3f}")
    value = {"why": why, "ordered": list(woken.ordered), "not_ordered": dict(woken.not_ordered)}
    try:
        await loop.means.store.append("wake_all", value, at_s=now_s)
    except PortError as error:
        trouble.append(f"it is not in the journal: {error}")
    woken.trouble = "; ".join(trouble)
    return woken


async def put_in_order(loop: Loop, nodes: Sequence[NodeId]) -> None:
    """See woken nodes up, so that their records and marks say so. Where another instance may act, it is its affair."""
    await loop.acted()
    means, settings, collected = loop.means, loop.settings, loop.watch.collected
    with suppress(PortError, LeaseLostError):
        lease = await means.store.acquire(settings.holder, for_s=settings.lease_s, now_s=means.clock.now_s())
        if lease is None or collected is None:
            return
        mandate = means.mandate(lease, settings.execute)
        switcher = means.switcher(collected.snapshot.cluster, mandate, settings.execute, plan="wake-all")
        await switcher.load()
        switcher.know(frozenset(nodes), collected.snapshot)
        alive = asyncio.create_task(mandate.keep_alive())
        try:
            await asyncio.gather(*(switcher.wake(node, lambda: True) for node in nodes))
        finally:
            alive.cancel()
