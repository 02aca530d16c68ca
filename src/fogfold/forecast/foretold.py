"""How well crossings of a threshold are foretold: precision, recall and lead time on nodes made of a trace's machines.

Load on a node is the sum of that of its containers. Machines of a trace are put together in their order, a fixed
number a node, and each node's threshold is the load that it stays under for a given share of the trace. The threshold
says which events count; no forecaster sees it before it is asked.

* Event: load reaches the threshold (up) or falls under it (down), having been on the other side for `calm` samples,
  and stays for `calm` samples: flicker about the threshold turns nothing.
* Warning: a spell in which a crossing in one direction is announced at every sample, load having been on one side for
  `calm` samples: while it flickers nobody acts.
* A warning is true if an event of its direction begins after it does, and no later than the horizon after its end.
  Precision is the share of true warnings; recall the share of events with a true warning; lead is the time from the
  beginning of an event's earliest true warning to the event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.forecast.backtest import Track, play
from fogfold.forecast.base import Forecast
from fogfold.forecast.turning import Crossings, Cusum, foresee

__all__ = ["TurningRow", "events_of", "foretell", "judge_warnings", "nodes_of"]

_CALM = 3
_SHIFT_STEPS = 6
"""Samples for which a found shift is believed: half an hour of five-minute samples."""


@dataclass(frozen=True, slots=True)
class TurningRow:
    """One forecaster's warnings of crossings in one direction."""

    trace: str
    forecaster: str
    direction: str
    """`up` or `down`."""
    nodes: int
    threshold_share: float
    """Share of the trace that each node stays under its threshold."""
    horizon_min: float
    """How far ahead crossings were looked for."""
    events: int
    warnings: int
    precision: float | None
    """Share of warnings that came true; None without a warning."""
    recall: float | None
    """Share of events that were foretold; None without an event."""
    lead_min: float | None
    """Median lead of the events that were foretold; None where none was."""

    def as_json(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


def nodes_of(track: Track, machines_a_node: int) -> Track:
    """The same trace summed over machines in groups; machines that fill no node are left out, a gap makes a gap.

    Raises:
        ModelError: if there are too few machines for one node.
    """
    nodes = track.level.shape[1] // machines_a_node if machines_a_node > 0 else 0
    if nodes < 1:
        raise ModelError(
            f"nodes of {machines_a_node} machines are asked for, trace {track.name} has {track.level.shape[1]}; "
            "ask for smaller nodes or more machines"
        )
    grouped = track.level[:, : nodes * machines_a_node].reshape(len(track.level), nodes, machines_a_node)
    return Track(track.name, grouped.sum(axis=2, dtype=np.float64), track.step_s, track.start_s, track.warm_up)


def events_of(above: Bool[Array, " samples"], calm: int = _CALM) -> Int[Array, "events 2"]:
    """Sample and direction (+1, -1) of each crossing with `calm` samples on one side before and on the other after.

    >>> events_of(np.array([0, 0, 0, 1, 1, 1, 0, 1, 1, 1], bool)).tolist()
    [[3, 1]]
    """
    found = [
        (sample, 1 if above[sample] else -1)
        for sample in range(calm, len(above) - calm + 1)
        if (above[sample - calm : sample] != above[sample]).all()
        and (above[sample : sample + calm] == above[sample]).all()
    ]
    return np.array(found, np.int64).reshape(-1, 2)


def judge_warnings(
    warned: Bool[Array, " samples"], events: Sequence[int], horizon_steps: int
) -> tuple[int, int, list[int]]:
    """Warnings, true ones, and the lead in samples of each event that was foretold, for one series and direction.

    Args:
        warned: at which samples a crossing was announced.
        events: samples at which crossings happened, ascending.
        horizon_steps: how long after its end a warning may still come true.
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([False], warned, [False])).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2] - 1
    true = 0
    leads: dict[int, int] = {}
    for begin, end in zip(begins.tolist(), ends.tolist()):
        met = [event for event in events if begin < event <= end + horizon_steps]
        true += bool(met)
        for event in met:
            leads.setdefault(event, event - begin)
    return len(begins), true, list(leads.values())


def foretell(track: Track, name: str, *, horizon_steps: int = 12, threshold_share: float = 0.9) -> list[TurningRow]:
    """Two rows, up and down: how well this forecaster foretells crossings on these series.

    Raises:
        UnknownNameError: if the forecaster is unknown.
        ModelError: if a figure does not fit.
    """
    if not 0.0 < threshold_share < 1.0:
        raise ModelError(f"threshold_share is {threshold_share:g}; give a share of time within ]0, 1[")
    level = np.asarray(track.level, np.float64)
    threshold = np.nanquantile(level, threshold_share, axis=0)
    cusum = Cusum(level.shape[1])
    recent = np.zeros((_SHIFT_STEPS, level.shape[1]), np.int64)
    announced = np.zeros(level.shape, np.int8)
    for sample in range(track.warm_up - 1):
        recent[sample % _SHIFT_STEPS] = cusum.observe(level[sample])

    def look(sample: int, forecast: Forecast) -> None:
        recent[sample % _SHIFT_STEPS] = cusum.observe(level[sample])
        found: Crossings = foresee(forecast, level[sample], threshold, np.sign(recent.sum(axis=0)))
        side = level[sample - _CALM + 1 : sample + 1] >= threshold
        calm = (side == side[-1]).all(axis=0)
        announced[sample] = np.where(calm, found.direction, 0)

    play(name, track, horizon_steps, look)
    return [
        _turning_row(track, name, direction, level >= threshold, announced, horizon_steps, threshold_share)
        for direction in (1, -1)
    ]


def _turning_row(
    track: Track,
    name: str,
    direction: int,
    above: Bool[Array, "samples series"],
    announced: Float[Array, "samples series"] | Int[Array, "samples series"],
    horizon_steps: int,
    threshold_share: float,
) -> TurningRow:
    events = warnings = true = 0
    leads: list[int] = []
    for series in range(above.shape[1]):
        turned = [
            int(sample) for sample, way in events_of(above[:, series]) if way == direction and sample >= track.warm_up
        ]
        given, met, lead = judge_warnings(announced[:, series] == direction, turned, horizon_steps)
        events, warnings, true = events + len(turned), warnings + given, true + met
        leads += lead
    return TurningRow(
        trace=track.name,
        forecaster=name,
        direction="up" if direction > 0 else "down",
        nodes=above.shape[1],
        threshold_share=threshold_share,
        horizon_min=horizon_steps * track.step_s / 60.0,
        events=events,
        warnings=warnings,
        precision=true / warnings if warnings else None,
        recall=len(leads) / events if events else None,
        lead_min=float(np.median(leads)) * track.step_s / 60.0 if leads else None,
    )
