"""`fogfold bench rehearse`: how long it takes to play proposals over futures, for one decision."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fogfold.cli.bench_rows import show
from fogfold.cli.output import progress
from fogfold.decide.futures import Experience, Futures, FuturesParams, futures_of
from fogfold.decide.proposers import TUNED
from fogfold.decide.rehearse import RehearsalParams, rehearse, script_of
from fogfold.encoding.arrays import ClusterView, fleet_arrays
from fogfold.encoding.feasibility import mask
from fogfold.errors import ModelError
from fogfold.policy.base import Move, Policy, Proposal
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy as policy_named
from fogfold.seeding import stream
from fogfold.units import MINUTE_S, TICK_S
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World

__all__ = ["RehearsalRow", "rehearse_bench"]

_MOVES = 8
_WARM_STEPS = 24


@dataclass(frozen=True, slots=True)
class RehearsalRow:
    """How long one rehearsal takes, as the policy asks for it."""

    nodes: int
    containers: int
    candidates: int
    futures: int
    minutes: float
    p50_ms: float
    p99_ms: float

    def as_json(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


def rehearse_bench(
    *,
    nodes: tuple[int, ...] = (20, 50, 200, 1000),
    candidates: int = 8,
    futures: int = 8,
    minutes: float = 60.0,
    follow_every: int = RehearsalParams.follow_every,
    repeats: int = 10,
    threads: int = 2,
    seed: int = 0,
    json: bool = False,
) -> int:
    """How long a rehearsal takes: proposals x futures, the base rule going on, eight containers a node.

    Parameters
    ----------
    nodes
        Sizes of the cluster.
    candidates
        Proposals, holding among them; the others move some containers each.
    futures
        Futures that each is played over.
    minutes
        How far ahead, a multiple of five.
    follow_every
        Decisions between two orders of the rule that goes on; 0 orders nothing after the first step.
    repeats
        Rehearsals that are timed, after one that is not.
    threads
        Threads that share the worlds; 1 does without.
    seed
        Root of all randomness.
    json
        Print one JSON object.
    """
    if candidates < 1 or repeats < 1 or threads < 1:
        raise ModelError(
            f"--candidates is {candidates}, --repeats is {repeats} and --threads is {threads}; each is at least 1"
        )
    rows = []
    with progress("rehearse", len(nodes), "rows") as track:
        for count in nodes:
            rows.append(
                _measure(
                    count,
                    candidates,
                    FuturesParams(steps=_steps(minutes), count=futures),
                    RehearsalParams(follow_every=follow_every),
                    repeats,
                    threads,
                    seed,
                )
            )
            track.by()
    show("rehearse", [row.as_json() for row in rows], json)
    return 0


def _steps(minutes: float) -> int:
    steps = minutes * MINUTE_S / FuturesParams().step_s
    if not (steps >= 1 and abs(steps - round(steps)) < 1e-9):
        raise ModelError(f"--minutes is {minutes:g}; give a multiple of five, at least five")
    return round(steps)


def _measure(
    nodes: int,
    candidates: int,
    futures_params: FuturesParams,
    params: RehearsalParams,
    repeats: int,
    threads: int,
    seed: int,
) -> RehearsalRow:
    view, futures, follow, world = _decision(nodes, futures_params, seed)
    proposals = _proposals(view, candidates, seed)
    taken_ms = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats + 1):
            started = time.perf_counter()
            script = script_of(view, proposals, futures, world=world.frame.params, params=params, follow=follow)
            rehearse(
                view,
                script,
                futures,
                world=world.frame.params,
                params=params,
                threads=pool if threads > 1 else None,
            )
            taken_ms.append(1e3 * (time.perf_counter() - started))
    timed = np.array(taken_ms[1:])
    return RehearsalRow(
        nodes=view.fleet.nodes,
        containers=view.fleet.containers,
        candidates=candidates,
        futures=futures.count,
        minutes=futures.steps * futures.step_ticks * TICK_S / MINUTE_S,
        p50_ms=float(np.quantile(timed, 0.5)),
        p99_ms=float(np.quantile(timed, 0.99)),
    )


def _decision(nodes: int, params: FuturesParams, seed: int) -> tuple[ClusterView, Futures, Policy, World]:
    """A decision in the middle of a day's work: two hours of the base rule lie behind it."""
    name = "region-1000" if nodes >= 1000 else "city-200" if nodes >= 200 else "city-50" if nodes >= 50 else "city-20"
    overrides = {} if str(nodes) == name.rpartition("-")[2] else {"nodes.edge.count": nodes}
    built = build(load_scenario(name, overrides), seed)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=seed)
    rule = policy_named("drain-relief", **TUNED)
    experience = Experience(fleet, params, world.view().time_s)
    view = world.view()
    for _ in range(_WARM_STEPS):
        experience.see(view)
        world.step(orders_of(rule.propose(view), fleet.nodes))
        view = world.view()
    experience.see(view)
    return view, futures_of(experience, view, seed=seed, occasion=0), rule, world


def _proposals(view: ClusterView, count: int, seed: int) -> list[Proposal]:
    """Holding, and proposals of some random legal moves each."""
    rng = stream(seed, "bench", "rehearse")
    found = [Proposal("hold")]
    while len(found) < count:
        moves: list[Move] = []
        chosen = rng.permutation(view.fleet.containers)[:_MOVES]
        for c, open_to in zip(chosen.tolist(), mask(view, chosen), strict=True):
            if open_to.any():
                moves.append(Move(c, int(rng.choice(np.flatnonzero(open_to)))))
        found.append(Proposal(f"drawn-{len(found)}", moves=tuple(moves)))
    return found
