"""Every proposal played forward over every future: one batch of worlds, in which the same things happen to all.

The first step bears a proposal's orders. What follows is either nothing, or what a rule would go on to order: it is
asked in a world of the mean forecast, once for each proposal, and its orders are given in all futures alike. That is
a rollout with an open loop (Bertsekas, Dynamic Programming and Optimal Control, section 6.4): a hot node that
the proposal leaves is relieved later, as it would be, at a price that grows with proposals and not with futures.

It can be cut off between chunks of futures: what has been played by then is compared, and always for all proposals.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.cost.total import ExchangeRates
from fogfold.decide.futures import Futures
from fogfold.decide.outset import outset_of, view_of_world
from fogfold.encoding.arrays import ClusterView
from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.policy.base import Policy, Proposal
from fogfold.policy.orders import orders_of
from fogfold.units import TICK_S
from fogfold.world.dynamics import Orders, advance, no_orders
from fogfold.world.faults import FaultSchedule
from fogfold.world.params import WorldParams
from fogfold.world.rows import C
from fogfold.world.state import WorldFrame, frame_of, tape_of
from fogfold.world.twin import terms_wh

__all__ = ["TERMS", "Rehearsal", "RehearsalParams", "rehearse", "script_of"]

TERMS = ("energy", "migration", "sla", "latency")
"""Terms of J, in the order of the last axis of a rehearsal."""


@dataclass(frozen=True)
class RehearsalParams:
    """How a rehearsal is played.

    Raises:
        ModelError: if a figure is out of its range.
    """

    follow_every: int = 3
    """Decisions between two orders of the rule that goes on; 0 orders nothing after the first step."""
    tail_steps: int = 3
    """Steps at the end whose cost stands for what comes after the horizon."""
    chunk: int = 4
    """Futures played between two looks at whether to stop."""

    def __post_init__(self) -> None:
        check_number("follow_every", self.follow_every)
        check_number("tail_steps", self.tail_steps, low=1)
        check_number("chunk", self.chunk, low=1)


@dataclass(frozen=True)
class Rehearsal:
    """What each proposal costs in each future that was played, in Wh-equivalents."""

    terms_wh: Float[Array, "proposals futures 4"]
    """Terms of J over the whole horizon, in the order of `TERMS`."""
    tail_wh: Float[Array, "proposals futures 4"]
    """The same over the last steps alone."""
    tail_s: float
    """How long these last."""
    whole: bool
    """Whether all futures were played."""

    @property
    def futures(self) -> int:
        """How many futures were played."""
        return int(self.terms_wh.shape[1])


def script_of(
    view: ClusterView,
    proposals: Sequence[Proposal],
    futures: Futures,
    *,
    world: WorldParams | None = None,
    params: RehearsalParams | None = None,
    follow: Policy | None = None,
    in_state_s: Float[Array, " nodes"] | None = None,
) -> tuple[Orders, ...]:
    """What is ordered in each step of a rehearsal, with one world for each proposal.

    Args:
        view: the cluster as it stands.
        proposals: what may be done now.
        futures: what may come.
        world: constants of the world; their defaults where None.
        params: how often the rule that goes on orders something.
        follow: that rule, as it stands now; copied, never changed. None: nothing is ordered any more.
        in_state_s: how long each node has been in its state, NaN where unknown.

    Raises:
        ModelError: if there is no proposal.
    """
    if not proposals:
        raise ModelError("there is no proposal to rehearse; give at least one, as in [hold]")
    params = params or RehearsalParams()
    script = [_first(proposals, view.fleet.nodes)]
    if follow is not None and params.follow_every > 0:
        frame = frame_of(view.fleet, world or WorldParams(), sample_ticks=round(futures.sample_s / TICK_S))
        script += _go_on(view, script[0], futures, frame, params.follow_every, follow, in_state_s)
    return tuple(script + [no_orders(len(proposals), view.fleet.nodes)] * (futures.steps - len(script)))


def rehearse(
    view: ClusterView,
    script: Sequence[Orders],
    futures: Futures,
    *,
    world: WorldParams | None = None,
    rates: ExchangeRates | None = None,
    params: RehearsalParams | None = None,
    in_state_s: Float[Array, " nodes"] | None = None,
    threads: Executor | None = None,
    cut_off: Callable[[], bool] | None = None,
) -> Rehearsal:
    """Play every proposal of a script over every future.

    Args:
        view: the cluster as it stands.
        script: what is ordered in each step, as `script_of` gives it.
        futures: what may come.
        world: constants of the world; their defaults where None.
        rates: exchange rates of J; their defaults where None.
        params: how it is played.
        in_state_s: how long each node has been in its state, NaN where unknown.
        threads: a pool of threads to share the worlds among.
        cut_off: asked between chunks of futures; true ends the rehearsal with what has been played.
    """
    world, rates, params = world or WorldParams(), rates or ExchangeRates(), params or RehearsalParams()
    frame = frame_of(view.fleet, world, sample_ticks=round(futures.sample_s / TICK_S))
    step_ticks, steps, proposals = futures.step_ticks, futures.steps, len(script[0].power)
    cut = max(0, steps - params.tail_steps)
    terms, tails = [], []
    workloads = futures.workloads(view.fleet.sites)
    played = 0
    while played < futures.count:
        if played and cut_off is not None and cut_off():
            break
        chunk = range(played, min(played + params.chunk, futures.count))
        # Worlds stand proposal by proposal, the futures of the chunk within each.
        tape = tape_of([(workloads[f], futures.faults[f]) for _ in range(proposals) for f in chunk])
        keys = [futures.keys[f] for _ in range(proposals) for f in chunk]
        state = outset_of(view, frame, keys, in_state_s=in_state_s)
        before = state.total.copy()
        for step, count in _stretches(script, cut, steps):
            if step == cut:
                before = state.total.copy()
            advance(frame, tape, state, _repeated(script[step], len(chunk)), ticks=count * step_ticks, threads=threads)
        shape = (proposals, len(chunk), len(TERMS))
        terms.append(_terms(state.total, rates).reshape(shape))
        tails.append(_terms(state.total - before, rates).reshape(shape))
        played += len(chunk)
    return Rehearsal(
        terms_wh=np.concatenate(terms, axis=1),
        tail_wh=np.concatenate(tails, axis=1),
        tail_s=(steps - cut) * step_ticks * TICK_S,
        whole=played == futures.count,
    )


def _first(proposals: Sequence[Proposal], nodes: int) -> Orders:
    """The proposals as orders to a batch with one world for each."""
    each = [orders_of(proposal, nodes) for proposal in proposals]
    return Orders(_padded([orders.moves[0] for orders in each]), np.concatenate([orders.power for orders in each]))


def _padded(moves: Sequence[Int[Array, "_ 2"]]) -> Int[Array, "worlds most 2"]:
    out = np.full((len(moves), max(len(one) for one in moves), 2), -1, np.int32)
    for w, one in enumerate(moves):
        out[w, : len(one)] = one
    return out


def _repeated(orders: Orders, times: int) -> Orders:
    return Orders(np.repeat(orders.moves, times, axis=0), np.repeat(orders.power, times, axis=0))


def _is_idle(orders: Orders) -> bool:
    return orders.moves.shape[1] == 0 and not orders.power.any()


def _stretches(script: Sequence[Orders], cut: int, steps: int) -> list[tuple[int, int]]:
    """Steps at which something is ordered or the tail begins, each with the number of steps until the next."""
    starts = [k for k in range(steps) if k == 0 or k == cut or not _is_idle(script[k])]
    return [(a, b - a) for a, b in zip(starts, [*starts[1:], steps], strict=True)]


def _go_on(
    view: ClusterView,
    first: Orders,
    futures: Futures,
    frame: WorldFrame,
    every: int,
    follow: Policy,
    in_state_s: Float[Array, " nodes"] | None,
) -> list[Orders]:
    """What the rule orders in each later step, for each proposal in a world of the mean forecast."""
    fleet, count = view.fleet, len(first.power)
    tape = tape_of([(futures.mean_workload(fleet.sites), FaultSchedule.none())] * count)
    state = outset_of(view, frame, [futures.keys[0]] * count, in_state_s=in_state_s)
    # The fleet is shared, not copied: it never changes and is known by its identity.
    shared = {id(fleet): fleet, id(fleet.cluster): fleet.cluster}
    rules = [copy.deepcopy(follow, dict(shared)) for _ in range(count)]
    history = [np.asarray(view.cpu_history, np.float64) for _ in range(count)]
    step_ticks, steps = futures.step_ticks, futures.steps
    script, orders = [], first
    for k in range(1, steps):
        advance(frame, tape, state, orders, ticks=step_ticks)
        for w in range(count):
            sample = state.container[w, C.USAGE_CPU][None]
            history[w] = np.concatenate([history[w].reshape(-1, fleet.containers), sample])[-30:]
        orders = no_orders(count, fleet.nodes)
        if k % every == 0:
            time_s = view.time_s + k * step_ticks * TICK_S
            asked = [
                rule.propose(view_of_world(frame, state, w, cpu_history=history[w], time_s=time_s))
                for w, rule in enumerate(rules)
            ]
            orders = _first(asked, fleet.nodes)
        script.append(orders)
    return script


def _terms(happened: Float[Array, "worlds totals"], rates: ExchangeRates) -> Float[Array, "worlds 4"]:
    """The terms of J of each world."""
    rows = [terms_wh(row, rates) for row in happened]
    return np.array([[terms.energy, terms.migration, terms.sla, terms.latency] for terms in rows])
