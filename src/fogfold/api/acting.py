"""Routes that act: approve and deny, stop and resume, decide, wake all. Each needs a role, and says who asked."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

from fastapi import APIRouter, Path

from fogfold.api import schemas
from fogfold.api.access import Caller
from fogfold.api.asking import Admin, Approver, AtHand
from fogfold.api.problems import responses
from fogfold.control.waking import put_in_order
from fogfold.control.waking import wake_all as order_all

__all__ = ["acting"]

_LOG = logging.getLogger(__name__)

Waiting = Annotated[int, Path(ge=1, le=2**63 - 1, description="Number of the plan that waits.")]

acting = APIRouter(prefix="/api/v1", tags=["acts"], responses=responses(401, 403, 409, 422, 502, 503))


@acting.post("/plan/{number}/approve")
async def approve(number: Waiting, desk: AtHand, caller: Approver) -> schemas.Answer:
    """Have the plan that waits carried out. It has to be the one of that number: plans grow old and are replaced."""
    await desk.loop.approve(number, caller.name)
    _LOG.info("plan %s was approved by %s", number, caller.name)
    return schemas.Answer(number=number, done="approved; it is being carried out")


@acting.post("/plan/{number}/deny")
async def deny(number: Waiting, desk: AtHand, caller: Approver, why: schemas.Why | None = None) -> schemas.Answer:
    """Throw the plan that waits away."""
    await desk.loop.deny(number, _signed(why.why if why is not None else "", caller))
    _LOG.info("plan %s was denied by %s", number, caller.name)
    return schemas.Answer(number=number, done="denied")


@acting.post("/stop")
async def stop(request: schemas.StopRequest, desk: AtHand, caller: Approver) -> schemas.StopState:
    """Press the stop button: nothing new is begun, also after a restart. What is under way comes to its end.

    Where it cannot be written down the answer is an error, and it holds in this process all the same.
    """
    _LOG.warning("stopped by %s", caller.name)
    await desk.loop.stop(_signed(request.why, caller))
    return schemas.StopState(stopped=desk.loop.stopped)


@acting.post("/resume")
async def resume(desk: AtHand, caller: Admin) -> schemas.StopState:
    """Let the stop button go."""
    await desk.loop.resume()
    _LOG.warning("resumed by %s", caller.name)
    return schemas.StopState(stopped=desk.loop.stopped)


@acting.post("/decide", status_code=202)
async def decide(desk: AtHand, _: Approver) -> schemas.Answer:
    """Ask for a whole decision as soon as may be; events and the journal tell when it is made."""
    desk.loop.decide_soon()
    return schemas.Answer(done="asked for")


@acting.post("/wake-all", status_code=202)
async def wake_all(desk: AtHand, caller: Admin, why: schemas.Why | None = None) -> schemas.WakeAll:
    """Stop everything, and order every node on that is not surely up. They come up in their own time."""
    _LOG.warning("all nodes are woken by %s", caller.name)
    woken = await order_all(desk.loop, _signed((why.why if why is not None else "") or "wake-all", caller))
    task = asyncio.create_task(put_in_order(desk.loop, woken.ordered))
    desk.tasks.add(task)
    task.add_done_callback(desk.tasks.discard)
    return schemas.WakeAll(
        ordered=[str(node) for node in woken.ordered],
        not_ordered={str(node): said for node, said in woken.not_ordered.items()},
        stopped=desk.loop.stopped,
        trouble=woken.trouble,
    )


def _signed(why: str, caller: Caller) -> str:
    return f"{why} ({caller.name})" if why else f"by {caller.name}"
