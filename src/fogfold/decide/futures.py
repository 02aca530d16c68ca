"""What may come: an ensemble of demand over the next hour, made of a forecast and of how forecasts have erred.

The mean of a container comes from the forecaster that the project uses everywhere. About it lie the errors of earlier
forecasts: a future takes the whole path of errors of one earlier instant, for all containers and all steps ahead. So
errors grow with the distance, and containers that rose together rise together again, with nothing fitted. It is a
block bootstrap whose blocks are as long as the horizon and as wide as the cluster (Künsch, Annals of Statistics 17,
1989). Until there are enough such paths, futures are the last reading times a noise that grows with the distance.

Demand alone is foreseen. Memory, network, disk and requests follow from it as they do in the world; short surges are
not foreseen. Faults are drawn by their rates where they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView, FleetArrays
from fogfold.encoding.rows import ContainerInt
from fogfold.errors import ModelError
from fogfold.forecast.registry import DEFAULT, forecaster
from fogfold.model.resources import check_number
from fogfold.seeding import key, stream
from fogfold.units import HOUR_S, TICK_S
from fogfold.world.faults import FaultParams, FaultSchedule, draw_faults
from fogfold.world.workload.base import Workload

__all__ = ["Experience", "Futures", "FuturesParams", "futures_of"]

_LEAST_SCALE = 1e-9


@dataclass(frozen=True)
class FuturesParams:
    """How far ahead is looked, how many futures there are, and what they are made of.

    Raises:
        ModelError: if a figure is out of its range.
    """

    steps: int = 12
    """Decisions ahead: 12 of 5 min are an hour."""
    step_s: float = 300.0
    """Time between two decisions, in s; a multiple of two ticks."""
    count: int = 8
    """How many futures."""
    kept_paths: int = 144
    """Paths of errors that are kept: 144 of 5 min are half a day, in which load of every kind of hour comes by."""
    least_paths: int = 8
    """Paths from which on errors are drawn from them."""
    spread: float = 0.15
    """Before that: standard deviation of a container's level an hour ahead, as a share of it. Half of its variance is
    shared by all containers of a region. Assumed: what generated and traced load shows."""
    faults: FaultParams | None = None
    """Rates of faults; None foresees none."""

    def __post_init__(self) -> None:
        for name in ("steps", "count", "kept_paths", "least_paths"):
            check_number(name, getattr(self, name), low=1)
        check_number("step_s", self.step_s, low=2 * TICK_S)
        check_number("spread", self.spread)
        halves = self.step_s / (2 * TICK_S)
        if abs(halves - round(halves)) > 1e-9:
            raise ModelError(f"step_s is {self.step_s:g}; it must be a multiple of two ticks, {2 * TICK_S:g} s")


@dataclass(frozen=True)
class Futures:
    """An ensemble of futures, and the mean of the forecast."""

    level: Float32[Array, "futures samples containers"]
    """Demand as a share of the request, from now on, a sample each half step."""
    mean: Float32[Array, "samples containers"]
    """The same as forecast."""
    faults: tuple[FaultSchedule, ...]
    """Of each future."""
    keys: tuple[int, ...]
    """Of each future: key of its draws that depend on what is done."""
    sample_s: float
    time_s: float
    """World time of now."""

    @property
    def count(self) -> int:
        """How many futures."""
        return len(self.level)

    @property
    def steps(self) -> int:
        """How many decisions ahead they reach."""
        return (int(self.level.shape[1]) - 1) // 2

    @property
    def step_ticks(self) -> int:
        """Ticks between two decisions."""
        return 2 * round(self.sample_s / TICK_S)

    def workloads(self, sites: int) -> list[Workload]:
        """Each future as a workload."""
        return [self._workload(level, sites) for level in self.level]

    def mean_workload(self, sites: int) -> Workload:
        """The forecast itself as a workload."""
        return self._workload(self.mean, sites)

    def _workload(self, level: Float32[Array, "samples containers"], sites: int) -> Workload:
        ticks = round((len(level) - 1) * self.sample_s / TICK_S)
        return Workload(level, self.sample_s, self.time_s, np.ones((ticks, sites), np.float32))


class Experience:
    """What was seen of a cluster's demand: it forecasts, and keeps how its forecasts erred.

    Args:
        fleet: the cluster.
        params: how far ahead it looks.
        start_s: world time of the first reading.
        forecaster_name: one of `forecast.registry`.
    """

    def __init__(
        self, fleet: FleetArrays, params: FuturesParams, start_s: float, forecaster_name: str = DEFAULT
    ) -> None:
        self.params = params
        self.fleet = fleet
        count = fleet.containers
        self._forecaster = forecaster(
            forecaster_name,
            np.zeros((0, count)),
            step_s=params.step_s,
            start_s=start_s,
            horizon_steps=params.steps,
        )
        self._time_s: float | None = None
        self._said = np.full((params.steps, params.steps, count), np.nan, np.float32)
        """Forecasts of the last instants, by the instant's number modulo the horizon."""
        self._came = np.full((params.steps, count), np.nan, np.float32)
        self._paths = np.zeros((params.kept_paths, params.steps, count), np.float32)
        self._seen = 0
        self.paths = 0
        """How many paths of errors are kept."""
        self._next_path = 0
        self._last = np.full(count, np.nan)

    def see(self, view: ClusterView) -> None:
        """Take in the readings of a view; a view of the same step as the last one changes nothing.

        Raises:
            ModelError: if the view is of another fleet, or lies before the last one.
        """
        if view.fleet is not self.fleet:
            raise ModelError("the view is of another fleet than the experience; begin a new one for it")
        gap = 1 if self._time_s is None else round((view.time_s - self._time_s) / self.params.step_s)
        if gap < 0:
            raise ModelError(f"a view of {view.time_s:g} s follows one of {self._time_s:g} s; show views in order")
        if gap == 0:
            return
        request = np.maximum(self.fleet.request[0], _LEAST_SCALE)
        level = np.where(view.placement >= 0, view.usage[0] / request, np.nan)
        for _ in range(min(gap - 1, 2 * self.params.steps)):
            self._take(np.full(self.fleet.containers, np.nan))
        self._take(level)
        self._time_s = view.time_s

    def _take(self, level: Float[Array, " containers"]) -> None:
        steps = self.params.steps
        self._forecaster.observe(level)
        self._last = np.where(np.isnan(level), self._last, level)
        self._came[self._seen % steps] = level
        if self._seen >= steps:
            # The oldest forecast has now met all that it spoke of.
            said = self._said[self._seen % steps]
            came = self._came[(self._seen + 1 + np.arange(steps)) % steps]
            # A gap shows no error; it is no error of zero, but the draw needs a number and zero is its mean.
            self._paths[self._next_path] = np.nan_to_num(came - said, nan=0.0)
            self._next_path = (self._next_path + 1) % self.params.kept_paths
            self.paths = min(self.paths + 1, self.params.kept_paths)
        self._said[self._seen % steps] = self._forecaster.forecast(steps).mean
        self._seen += 1

    def forecast(self) -> Float[Array, "steps containers"]:
        """Mean level of each container at each step ahead; 1, what was promised, where nothing was ever read."""
        mean = self._said[(self._seen - 1) % self.params.steps].astype(np.float64) if self._seen else self._nothing()
        return np.maximum(np.where(np.isnan(mean), 1.0, mean), 0.0)

    def _nothing(self) -> Float[Array, "steps containers"]:
        return np.full((self.params.steps, self.fleet.containers), np.nan)

    @property
    def last(self) -> Float[Array, " containers"]:
        """Last level of each container; 1 where nothing was ever read."""
        return np.where(np.isnan(self._last), 1.0, self._last)

    def errors(self, rng: np.random.Generator, count: int) -> Float32[Array, "count steps containers"] | None:
        """Paths of errors drawn without repeats (with, where there are too few); None while there are hardly any."""
        if self.paths < self.params.least_paths:
            return None
        which = rng.choice(self.paths, count, replace=count > self.paths)
        return self._paths[which]


def futures_of(experience: Experience, view: ClusterView, *, seed: int, occasion: int) -> Futures:
    """An ensemble of futures of a cluster. Same experience, seed and occasion: the same futures.

    Args:
        experience: what was seen; it has seen this view.
        view: the cluster as it stands.
        seed: root of all randomness.
        occasion: number of the decision, so that every decision has draws of its own.
    """
    params, fleet = experience.params, experience.fleet
    rng = stream(seed, "futures", occasion)
    errors = experience.errors(rng, params.count)
    mean = experience.forecast()
    if errors is None:
        mean = np.broadcast_to(experience.last, mean.shape)
        levels = mean * _noise(rng, params, fleet)
    else:
        levels = np.maximum(mean + errors, 0.0)
    ticks = round(params.steps * params.step_s / TICK_S)
    return Futures(
        level=_samples(experience.last, levels),
        mean=_samples(experience.last, mean[None])[0],
        faults=tuple(_faults(params, fleet, ticks, seed, occasion, f) for f in range(params.count)),
        keys=tuple(int(k) for k in rng.integers(0, 2**62, params.count)),
        sample_s=params.step_s / 2,
        time_s=view.time_s,
    )


def _noise(
    rng: np.random.Generator, params: FuturesParams, fleet: FleetArrays
) -> Float[Array, "futures steps containers"]:
    """Factors about 1 that wander: a random walk of the logarithm, half of it shared within a region."""
    region = fleet.container_int[ContainerInt.REGION]
    shape = (params.count, params.steps)
    own = rng.standard_normal((*shape, fleet.containers))
    shared = rng.standard_normal((*shape, fleet.sites))[:, :, region]
    walk = np.cumsum(np.sqrt(0.5) * (own + shared), axis=1)
    deviation = params.spread * np.sqrt(np.arange(1, params.steps + 1) * params.step_s / HOUR_S)
    scale = params.spread * np.sqrt(params.step_s / HOUR_S)
    return np.exp(scale * walk - 0.5 * deviation[None, :, None] ** 2)


def _samples(
    last: Float[Array, " containers"], levels: Float[Array, "futures steps containers"]
) -> Float32[Array, "futures samples containers"]:
    """Means of steps as samples each half step: each mean in the middle of its step, and between them half way."""
    futures, steps, containers = levels.shape
    out = np.empty((futures, 2 * steps + 1, containers), np.float32)
    out[:, 0] = 0.5 * (last + levels[:, 0])
    out[:, 1::2] = levels
    out[:, 2:-1:2] = 0.5 * (levels[:, 1:] + levels[:, :-1])
    out[:, -1] = levels[:, -1]
    return out


def _faults(
    params: FuturesParams, fleet: FleetArrays, ticks: int, seed: int, occasion: int, future: int
) -> FaultSchedule:
    if params.faults is None:
        return FaultSchedule.none()
    nodes = fleet.cluster.nodes
    return draw_faults(
        params.faults,
        mtbf_s=np.array([node.mtbf_s for node in nodes]),
        mttr_s=np.array([node.mttr_s for node in nodes]),
        sites=fleet.sites,
        containers=fleet.containers,
        ticks=ticks,
        seed=key(seed, "futures", occasion, future),
    )
