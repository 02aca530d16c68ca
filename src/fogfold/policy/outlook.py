"""What every container is expected to use from now on: by its own past, or (for a yardstick) by the truth.

A planner needs a path: cores of each container now and after each of the next steps. `Watched` makes it from what the
policy has seen so far, by a forecaster of `fogfold.forecast`; with less than a day behind it that is the last reading,
a damped trend and the like, by whichever has the best record. `Told` reads it off the workload that the world plays.

How much room a path takes is not the sum of everybody's peak, since those on one node do not peak together
(`room_cores`).
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.rows import ContainerInt
from fogfold.errors import ModelError
from fogfold.forecast.base import FRESH, Forecaster
from fogfold.forecast.registry import forecaster
from fogfold.model.cluster import Cluster
from fogfold.units import DAY_S, TICK_S
from fogfold.world.workload.base import Workload

__all__ = ["Outlook", "Told", "Watched", "room_cores"]

Path = Float[Array, "steps containers"]


class Outlook(Protocol):
    """Something that knows, or thinks it knows, what comes."""

    def path(self, view: ClusterView) -> Path:
        """Cores that each container uses now (first row) and after each step of the horizon."""
        ...


class Watched:
    """An outlook made of what was seen: one reading a step, kept by the container's identity.

    A second look within a step is no reading of its own. Steps without a look are gaps; after a day without one, or
    where time runs backwards, all is forgotten.

    Args:
        name: a forecaster, by name.
        step_s: length of a step, of which a day is a whole number.
        steps: how many steps paths reach ahead, from 1.
    """

    def __init__(self, name: str, step_s: float, steps: int) -> None:
        self._name, self._step_s, self._steps = name, step_s, steps
        self._cluster: Cluster | None = None
        self._forecaster: Forecaster | None = None
        self._last = 0

    def path(self, view: ClusterView) -> Path:
        """What was just seen, and what it is expected to become."""
        # A hair is added so that a time on the border of two steps in binary fractions falls into the later one.
        step = math.floor(view.time_s / self._step_s + 1e-9)
        follower = self._follower(view, step)
        for _ in range(self._last + 1, step):
            follower.observe(np.full(follower.series, np.nan))
        if step > self._last:
            follower.observe(np.where(view.placement >= 0, view.usage[0], np.nan))
        self._last = step
        mean = follower.forecast(self._steps).mean
        return np.concatenate([view.usage[:1], np.where(np.isnan(mean), view.usage[0], mean)])

    def _follower(self, view: ClusterView, step: int) -> Forecaster:
        """The forecaster of this cluster's containers, in its order; a new one where nothing is known of them."""
        cluster = view.fleet.cluster
        if self._forecaster is None or self._cluster is None or not 0 <= step - self._last <= DAY_S / self._step_s:
            self._forecaster = forecaster(
                self._name,
                np.zeros((0, view.fleet.containers)),
                step_s=self._step_s,
                start_s=step * self._step_s,
                horizon_steps=self._steps,
            )
            self._last = step - 1
        elif cluster is not self._cluster:
            known = self._cluster.container_index
            self._forecaster.take([known.get(container.id, FRESH) for container in cluster.containers])
        self._cluster = cluster
        return self._forecaster


class Told:
    """An outlook that is the truth: what the world's workload will ask for, surges included.

    Args:
        workload: the future.
        step_s: length of a step.
        steps: how many steps paths reach ahead, from 1; beyond the workload's end its last step goes on.
    """

    def __init__(self, workload: Workload, step_s: float, steps: int) -> None:
        self._workload, self._steps = workload, steps
        self._ticks = max(1, round(step_s / TICK_S))

    def path(self, view: ClusterView) -> Path:
        """What is used now, and the mean of what is asked for in each step to come.

        Raises:
            ModelError: if the workload is about other containers, or does not reach to the view's time.
        """
        workload, fleet = self._workload, view.fleet
        tick = round((view.time_s - workload.start_s) / TICK_S)
        if workload.containers != fleet.containers or not 0 <= tick <= workload.ticks:
            raise ModelError(
                f"the future that was told has {workload.containers} containers and {workload.ticks} ticks, the view "
                f"{fleet.containers} containers at tick {tick}; tell the policy the future of the world it decides in"
            )
        ticks = tick + np.arange(self._steps * self._ticks)
        level = _levels(workload, fleet.container_int[ContainerInt.REGION], np.minimum(ticks, workload.ticks - 1))
        means = level.reshape(self._steps, self._ticks, fleet.containers).mean(axis=1)
        return np.concatenate([view.usage[:1], means * fleet.request[0]])


def _levels(
    workload: Workload, region: Int[Array, " containers"], ticks: Int[Array, " ticks"]
) -> Float[Array, "ticks containers"]:
    """Demand of each container at those ticks, as a share of its request, as the world asks for it."""
    sample_ticks = round(workload.sample_s / TICK_S)
    low, part = ticks // sample_ticks, (ticks % sample_ticks / sample_ticks)[:, None]
    level = workload.level[low] + (workload.level[low + 1] - workload.level[low]) * part
    found: Float[Array, "ticks containers"] = (level * workload.surge[ticks][:, region]).astype(np.float64)
    return found


def room_cores(path: Path, where: Int[Array, " containers"], nodes: int) -> Float[Array, " containers"]:
    """How much of a node each container takes over a path: its mean, and a share of its peak above the mean.

    The share is the same for all: what the nodes as they stand see of their containers' peaks at once, 1 where all
    rise together. Then those on a node add up, over all nodes, to the peaks of the nodes.

    Args:
        path: cores of each container, step by step.
        where: its node, -1 for none.
        nodes: how many nodes there are.
    """
    there = np.flatnonzero(where >= 0)
    on_node = np.array([np.bincount(where[there], row[there], nodes) for row in path])
    mean = path.mean(axis=0)
    above = path.max(axis=0) - mean
    alone = float(above[there].sum())
    together = float((on_node.max(axis=0) - on_node.mean(axis=0)).sum())
    return mean + above * (min(1.0, together / alone) if alone > 0.0 else 1.0)
