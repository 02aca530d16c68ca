"""What each node costs at rest, and what it would cost with one container more or less: power, late requests, distance.

A rehearsal plays what happens; this reckons what a placement would cost once everything has arrived, over samples of
the same futures, in the world's own formulae. It is rough (the processor alone, a calm network) and fast, so that
hundreds of single moves can be looked at to find the few that are worth a rehearsal.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array, compiled, compiled_inner
from fogfold.cost.latency import late_share
from fogfold.cost.power import curve_power_w
from fogfold.cost.total import ExchangeRates
from fogfold.decide.futures import Futures
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.rows import ContainerRow, NodeInt, NodeRow
from fogfold.policy.targets import trip_to_users_ms
from fogfold.units import HOUR_S
from fogfold.world.params import WorldParams

__all__ = ["Scales"]


@compiled_inner
def _at_load(
    n: int,
    load: float,
    s: int,
    first: Array,
    follow: Array,
    without: int,
    rate: Array,
    patience_ms: Array,
    service_ms: Array,
    site: Array,
    speed: Array,
    curve: Array,
    late_w: float,
    bound: float,
) -> float:
    """What a node costs at a load, with its containers but for one: W, and late or unserved requests as W."""
    served = 1.0 / load if load > 1.0 else 1.0
    slack = 1.0 - min(load, bound)
    lost = 0.0
    c = first[n]
    while c >= 0:
        if c != without:
            late = late_share(patience_ms[c, site[n]] * speed[n] / service_ms[c], slack)
            lost += rate[s, c] * (1.0 - served + served * late)
        c = follow[c]
    return curve_power_w(min(load, 1.0), curve[n]) + late_w * lost


@compiled
def _with_one_more(
    c: int,
    wanted: Array,
    load: Array,
    cores: Array,
    capacity: Array,
    first: Array,
    follow: Array,
    rate: Array,
    patience_ms: Array,
    service_ms: Array,
    site: Array,
    speed: Array,
    curve: Array,
    late_w: float,
    bound: float,
    trip_w: Array,
    out: Array,
) -> None:
    """Mean cost of each wanted node with the container, less that without it, in W; infinite elsewhere."""
    samples = load.shape[0]
    for n in range(len(wanted)):
        out[n] = np.inf
        if not wanted[n]:
            continue
        total = 0.0
        for s in range(samples):
            more = load[s, n] + cores[s, c] / capacity[n]
            served = 1.0 / more if more > 1.0 else 1.0
            late = late_share(patience_ms[c, site[n]] * speed[n] / service_ms[c], 1.0 - min(more, bound))
            total += late_w * rate[s, c] * (1.0 - served + served * late) + trip_w[c, site[n]] * rate[s, c]
            total += _at_load(
                n, more, s, first, follow, -1, rate, patience_ms, service_ms, site, speed, curve, late_w, bound
            )
            total -= _at_load(
                n, load[s, n], s, first, follow, -1, rate, patience_ms, service_ms, site, speed, curve, late_w, bound
            )
        out[n] = total / samples


@compiled
def _with_one_less(
    which: Array,
    where: Array,
    load: Array,
    cores: Array,
    capacity: Array,
    first: Array,
    follow: Array,
    rate: Array,
    patience_ms: Array,
    service_ms: Array,
    site: Array,
    speed: Array,
    curve: Array,
    late_w: float,
    bound: float,
    trip_w: Array,
    out: Array,
) -> None:
    """Mean cost of each container's node as it is, less that without the container, in W; 0 where it runs nowhere."""
    samples = load.shape[0]
    for i in range(len(which)):
        c = which[i]
        n = where[c]
        out[i] = 0.0
        if n < 0:
            continue
        total = 0.0
        for s in range(samples):
            less = max(load[s, n] - cores[s, c] / capacity[n], 0.0)
            total += trip_w[c, site[n]] * rate[s, c]
            total += _at_load(
                n, load[s, n], s, first, follow, -1, rate, patience_ms, service_ms, site, speed, curve, late_w, bound
            )
            total -= _at_load(
                n, less, s, first, follow, c, rate, patience_ms, service_ms, site, speed, curve, late_w, bound
            )
        out[i] = total / samples


class Scales:
    """Weighs single moves on a placement that can be changed move by move.

    Args:
        view: the cluster as it stands; containers on their way count where they go.
        futures: what may come; a few instants of each are looked at.
        world: constants of the world; their defaults where None.
        rates: exchange rates of J; their defaults where None.
        instants: how many instants of each future.
    """

    def __init__(
        self,
        view: ClusterView,
        futures: Futures,
        world: WorldParams | None = None,
        rates: ExchangeRates | None = None,
        instants: int = 3,
    ) -> None:
        world, rates = world or WorldParams(), rates or ExchangeRates()
        fleet = view.fleet
        at = np.linspace(0, futures.level.shape[1] - 1, instants + 1).round().astype(int)[1:]
        level = futures.level[:, at].reshape(-1, fleet.containers).astype(np.float64)
        self._cores = np.ascontiguousarray(level * fleet.request[0])
        self._rate = np.ascontiguousarray(level * fleet.container[ContainerRow.REQUEST_RATE])
        trip_ms = trip_to_users_ms(fleet, world)
        objective = fleet.container[ContainerRow.OBJECTIVE_MS][:, None]
        self._fixed = (
            np.ascontiguousarray(objective - trip_ms),
            np.ascontiguousarray(fleet.container[ContainerRow.SERVICE_MS]),
            np.ascontiguousarray(fleet.node_int[NodeInt.SITE]),
            np.ascontiguousarray(fleet.node[NodeRow.CORE_SPEED]),
            fleet.power_curve,
            rates.late_request_wh * HOUR_S,
            world.load_bound,
            np.ascontiguousarray(trip_ms * rates.latency_ms_request_wh * HOUR_S),
        )
        self._capacity = np.ascontiguousarray(fleet.capacity[0])
        self.where = np.where(view.target >= 0, view.target, view.placement)
        """Node of each container, -1 where it runs nowhere."""
        self.load: Float[Array, "samples nodes"] = np.zeros((len(level), fleet.nodes))
        """CPU load of each node in each sample."""
        self._first = np.full(fleet.nodes, -1)
        self._follow = np.full(fleet.containers, -1)
        for c in np.flatnonzero(self.where >= 0).tolist():
            self._put(c, int(self.where[c]))

    def _put(self, container: int, node: int) -> None:
        self.where[container] = node
        self._follow[container] = self._first[node]
        self._first[node] = container
        self.load[:, node] += self._cores[:, container] / self._capacity[node]

    def move(self, container: int, node: int) -> None:
        """Put a container elsewhere."""
        source = int(self.where[container])
        if source >= 0:
            before = int(self._first[source])
            if before == container:
                self._first[source] = self._follow[container]
            else:
                while int(self._follow[before]) != container:
                    before = int(self._follow[before])
                self._follow[before] = self._follow[container]
            self.load[:, source] -= self._cores[:, container] / self._capacity[source]
        self._put(container, node)

    def added_w(self, container: int, wanted: Bool[Array, " nodes"]) -> Float[Array, " nodes"]:
        """What each wanted node would cost more with the container, in Wh-equivalents an hour; infinite elsewhere."""
        out = np.empty(len(self._first))
        _with_one_more(
            container, wanted, self.load, self._cores, self._capacity, self._first, self._follow, self._rate,
            *self._fixed, out,
        )  # fmt: skip
        return out

    def removed_w(self, containers: Array) -> Float[Array, " containers"]:
        """What each container's node would cost less without it, in Wh-equivalents an hour."""
        out = np.empty(len(containers))
        _with_one_less(
            containers, self.where, self.load, self._cores, self._capacity, self._first, self._follow, self._rate,
            *self._fixed, out,
        )  # fmt: skip
        return out
