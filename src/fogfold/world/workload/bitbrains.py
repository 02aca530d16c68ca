"""Bitbrains GWA-T-12 "rnd": a month of CPU, memory, network and disk of enterprise virtual machines, each 5 min.

Shen, van Beek and Iosup, "Statistical Characterization of Business-Critical Workloads Hosted in Cloud Datacenters",
CCGRID 2015. This file reads the resampled archive and turns either form into a workload; `bitbrains_raw` reads the
original files. What becomes of each quantity:

* CPU: use over provisioned capacity, as measured (it reaches 1.1).
* memory: active memory over provisioned memory. Machines of a shared host may report more than they were given.
* network, disk: rate over the machine's own 99th percentile in the whole trace, but at least over a floor. The trace
  says what was drawn, not what was promised; a request sized to all but 1 % of the time is the usual advice, and the
  floor keeps the murmur of an idle machine from looking like full load. Network is what the machine sends.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.errors import TraceError
from fogfold.model.resources import check_number
from fogfold.world.workload.bitbrains_raw import RawMachine, raw_files, read_raw
from fogfold.world.workload.folder import find_trace
from fogfold.world.workload.npz import check_array, read_npz
from fogfold.world.workload.reading import (
    CARRY_LIMIT,
    GapRule,
    TraceReading,
    build_reading,
    candidates,
    carried_rows,
    seconds_since_monday,
    window_rows,
)

__all__ = ["RATE_FLOOR_KB_S", "bitbrains_month", "read_bitbrains"]

SAMPLE_S = 300.0
RATE_FLOOR_KB_S = 10.0
"""Least reference of network and disk, in KB/s. Chosen: the median machine's 99th percentile is 6 (sent) and 18
(written), so a level of 1 never stands for less than real traffic."""
GAP_FACTOR = 1.5
"""Raw samples further apart than this many times 300 s have a gap between them: clocks drift by a second or two."""
FIXED = ("vm_id", "cpu_cores", "cpu_capacity_mhz", "mem_capacity_mb")
SERIES = ("cpu_pct_x100", "mem_used_mb", "net_rx_kbs", "net_tx_kbs", "disk_read_kbs", "disk_write_kbs")


@dataclass(frozen=True)
class _Month:
    """Machines on one grid of time, whichever form they were read from."""

    source: str
    names: tuple[str, ...]
    left_out: tuple[str, ...]
    start_unix_s: float
    cpu: Float[Array, "samples machines"]
    memory: Float[Array, "samples machines"]
    sent_kb_s: Float[Array, "samples machines"]
    disk_kb_s: Float[Array, "samples machines"]
    observed: Bool[Array, "samples machines"]


def bitbrains_month() -> Path:
    """The resampled archive in the traces folder.

    Raises:
        TraceNotFoundError: if it is not on this machine.
    """
    return find_trace("bitbrains_rnd", "rnd_2013-08.npz")


def read_bitbrains(
    source: Path,
    *,
    machines: int | None = None,
    seed: int | None = None,
    offset_s: float = 0.0,
    duration_s: float | None = None,
    gaps: GapRule | None = None,
    carry_limit: int = CARRY_LIMIT,
    reference_quantile: float = 0.99,
    sites: int = 1,
) -> TraceReading:
    """Demand for all four resources. World time is the trace's own: its Unix time, by weekday and hour in UTC.

    Args:
        source: the `.npz` archive; one raw `.csv` or `.csv.gz` file; or a folder of raw files.
        machines: how many; None takes all. Machines without provisioned CPU or memory are passed over and named in
            `left_out`.
        seed: None takes the first ones; else they are drawn without replacement.
        offset_s: where in the trace to start, a multiple of 300 s (the archive starts on a Wednesday at 22:00 UTC,
            midnight in Amsterdam).
        duration_s: how long, a multiple of 300 s; None goes on to the end.
        gaps: "refuse" or "carry"; None refuses in raw files, and carries in the archive, where each machine lacks
            some sample of the month (0.2 % of all).
        carry_limit: most samples in a row that are carried.
        reference_quantile: which quantile of its own rate stands for a machine's network and disk request, ]0, 1].
        sites: number of regions of the scenario; all surges are 1.

    Raises:
        TraceNotFoundError: if the source is not there.
        TraceError: with file, line and value, if it is not of the form; if the choice does not fit the trace.
    """
    check_number("reference_quantile", reference_quantile, above=True, high=1.0)
    if source.suffix == ".npz":
        month = _read_archive(source, machines, seed)
        gaps = gaps or "carry"
    else:
        month = _read_files(source, machines, seed)
        gaps = gaps or "refuse"
    rows = window_rows(len(month.cpu), SAMPLE_S, offset_s, duration_s, month.source)

    def describe(sample: int, machine: int) -> str:
        at = month.start_unix_s + sample * SAMPLE_S
        return f"{month.source}: machine {month.names[machine]}, Unix time {at:.0f} s"

    levels = {
        "level": month.cpu,
        "memory_level": month.memory,
        "network_level": _over_reference(month.sent_kb_s, month.observed, reference_quantile),
        "disk_level": _over_reference(month.disk_kb_s, month.observed, reference_quantile),
    }
    return build_reading(
        source=month.source,
        names=month.names,
        levels=levels,
        rows=rows,
        taken=carried_rows(month.observed, rows, gaps=gaps, limit=carry_limit, describe=describe),
        sample_s=SAMPLE_S,
        start_s=seconds_since_monday(month.start_unix_s + offset_s),
        sites=sites,
        left_out=month.left_out,
    )


def _over_reference(
    rate_kb_s: Float[Array, "samples machines"], observed: Bool[Array, "samples machines"], quantile: float
) -> Float[Array, "samples machines"]:
    """Rates over each machine's own quantile of what was observed, or over the floor where that is higher."""
    reference = np.array([np.quantile(rate[seen], quantile) for rate, seen in zip(rate_kb_s.T, observed.T)])
    return rate_kb_s / np.maximum(reference, RATE_FLOOR_KB_S)


def _read_archive(path: Path, machines: int | None, seed: int | None) -> _Month:
    arrays = read_npz(path, required=("t0", "observed", *FIXED, *SERIES))
    check_array(path, "t0", arrays["t0"], (), "iu")
    check_array(path, "vm_id", arrays["vm_id"], (None,), "iu")
    count = len(arrays["vm_id"])
    check_array(path, "cpu_pct_x100", arrays["cpu_pct_x100"], (count, None), "u")
    samples = arrays["cpu_pct_x100"].shape[1]
    if count == 0 or samples == 0:
        raise TraceError(f"{path} holds {count} machines of {samples} samples; the trace is empty")
    for name in FIXED[1:]:
        check_array(path, name, arrays[name], (count,), "iuf")
        if not (np.isfinite(arrays[name]) & (arrays[name] >= 0)).all():
            machine = int(np.argwhere(~(np.isfinite(arrays[name]) & (arrays[name] >= 0)))[0, 0])
            raise TraceError(
                f"{path}: {name} of machine {arrays['vm_id'][machine]} is {arrays[name][machine]}; "
                "a capacity is a finite number, at least 0"
            )
    for name in SERIES[1:]:
        check_array(path, name, arrays[name], (count, samples), "u")
    check_array(path, "observed", arrays["observed"], (count, -(-samples // 8)), "u")

    usable = (arrays["cpu_cores"] > 0) & (arrays["cpu_capacity_mhz"] > 0) & (arrays["mem_capacity_mb"] > 0)
    usable_rows = np.flatnonzero(usable)
    chosen = usable_rows[candidates(len(usable_rows), machines, seed, str(path))[:machines]]
    series = {name: arrays[name][chosen].T.astype(np.float64) for name in SERIES}
    return _Month(
        source=str(path),
        names=tuple(str(i) for i in arrays["vm_id"][chosen]),
        left_out=tuple(str(i) for i in arrays["vm_id"][~usable]),
        start_unix_s=float(arrays["t0"]),
        cpu=series["cpu_pct_x100"] / 1e4,
        memory=series["mem_used_mb"] / arrays["mem_capacity_mb"][chosen],
        sent_kb_s=series["net_tx_kbs"],
        disk_kb_s=series["disk_read_kbs"] + series["disk_write_kbs"],
        observed=np.unpackbits(arrays["observed"][chosen].astype(np.uint8), axis=1, count=samples).astype(np.bool_).T,
    )


def _read_files(source: Path, machines: int | None, seed: int | None) -> _Month:
    """Raw files on one grid: multiples of 300 s of Unix time within the span that all of them cover."""
    files = raw_files(source)
    read: list[RawMachine] = []
    left_out: list[str] = []
    for i in candidates(len(files), machines, seed, str(source)):
        if len(read) == machines:
            break
        machine = read_raw(files[i])
        if machine.provisioned.any():
            read.append(machine)
        else:
            left_out.append(machine.name)
    if not read or (machines is not None and len(read) < machines):
        raise TraceError(
            f"{source} holds {len(read)} machines with CPU and memory provisioned, "
            f"{'at least one is' if machines is None else f'{machines} are'} needed; ask for fewer or add files"
        )
    first = max(one.time_s[0] for one in read)
    last = min(one.time_s[-1] for one in read)
    grid_s = np.arange(np.ceil(first / SAMPLE_S), np.floor(last / SAMPLE_S) + 1) * SAMPLE_S
    if len(grid_s) < 2:
        raise TraceError(
            f"{source}: the files share no span of {SAMPLE_S:g} s (from {first:.0f} to {last:.0f} s); "
            "give files of the same days"
        )
    on_grid = [_resample(one, grid_s) for one in read]
    return _Month(
        source=str(source),
        names=tuple(one.name for one in read),
        left_out=tuple(left_out),
        start_unix_s=float(grid_s[0]),
        cpu=np.stack([values[0] for values, _ in on_grid], axis=1),
        memory=np.stack([values[1] for values, _ in on_grid], axis=1),
        sent_kb_s=np.stack([values[2] for values, _ in on_grid], axis=1),
        disk_kb_s=np.stack([values[3] for values, _ in on_grid], axis=1),
        observed=np.stack([seen for _, seen in on_grid], axis=1),
    )


def _resample(
    machine: RawMachine, grid_s: Float[Array, " samples"]
) -> tuple[Float[Array, "series samples"], Bool[Array, " samples"]]:
    """The four series at the times of the grid, straight between neighbours, and where two neighbours stand close.

    The original samples stand at any second of five minutes and drift by one or two a day; straight lines follow
    them as the world itself does between samples.
    """
    time_s = machine.time_s[machine.provisioned]
    at = np.searchsorted(time_s, grid_s)
    before_s = np.concatenate(([-np.inf], time_s))[at]
    next_s = np.concatenate((time_s, [np.inf]))[at]
    values = np.stack(
        [
            np.interp(grid_s, time_s, series[machine.provisioned])
            for series in (machine.cpu, machine.memory, machine.sent_kb_s, machine.disk_kb_s)
        ]
    )
    return values, (next_s == grid_s) | (next_s - before_s <= GAP_FACTOR * SAMPLE_S)
