"""`fogfold import`: a trace made into a workload file that scenarios can name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fogfold.cli.output import print_json, screen
from fogfold.errors import FogfoldError
from fogfold.units import HOUR_S, TICK_S
from fogfold.world.workload.archive import save_workload
from fogfold.world.workload.bitbrains import read_bitbrains
from fogfold.world.workload.importer import import_csv
from fogfold.world.workload.planetlab import read_planetlab
from fogfold.world.workload.reading import GapRule, TraceReading

__all__ = ["import_trace"]

Format = Literal["csv", "planetlab", "bitbrains"]


def import_trace(
    trace: Path,
    *,
    to: Path,
    form: Annotated[Format, Parameter(name="--format")] = "csv",
    gaps: GapRule = "refuse",
    machines: int | None = None,
    sample_s: float | None = None,
    time_origin: Literal["monday", "unix"] = "monday",
    sites: int = 1,
    replace: bool = False,
    json: bool = False,
) -> int:
    """Read a trace, check every value of it, and write it as a workload file (.npz).

    Parameters
    ----------
    trace
        A CSV file (time_s, container, cpu, and optionally memory, network, disk, as shares of the request); a PlanetLab
        day (.npz, or a folder with a text file a machine); or Bitbrains files (.npz, a raw file, or a folder of them).
    to
        The file to write; name it under `workload: {kind: file, path: ...}` in a scenario.
    form
        How the trace is written.
    gaps
        `refuse` stops at a missing sample; `carry` takes the last value before it, up to a limit, and counts them.
    machines
        Read only the first so many machines (not for csv).
    sample_s
        Time between samples (csv; the smallest step of the file where not given).
    time_origin
        What time_s of a csv file counts from: Monday 00:00 UTC, or 1970.
    sites
        User regions of the scenario that it is meant for.
    replace
        Overwrite the file where it exists.
    json
        Print one JSON object.
    """
    if to.exists() and not replace:
        raise FogfoldError(f"{to} exists; give --replace to overwrite it")
    reading = _read(trace, form, gaps, machines, sample_s, time_origin, sites)
    save_workload(reading.workload, to)
    workload = reading.workload
    found = {
        "file": str(to),
        "source": reading.source,
        "containers": workload.containers,
        "hours": workload.ticks * TICK_S / HOUR_S,
        "sample_s": workload.sample_s,
        "mean_level": float(workload.level.mean()),
        "filled_samples": reading.filled_samples,
        "longest_gap_samples": reading.longest_gap_samples,
        "left_out": list(reading.left_out),
    }
    if json:
        print_json(found)
        return 0
    screen().print(
        f"{to}: {workload.containers} containers, {found['hours']:g} h in samples of {workload.sample_s:g} s, "
        f"mean CPU demand {100 * float(workload.level.mean()):.1f} % of the request",
        markup=False,
    )
    if reading.filled_samples:
        screen().print(
            f"{reading.filled_samples} samples ({100 * reading.filled_share:.2f} %) were carried over gaps, "
            f"the longest of {reading.longest_gap_samples} samples",
            markup=False,
        )
    for name in reading.left_out:
        screen().print(f"left out: {name}", markup=False)
    return 0


def _read(
    trace: Path,
    form: Format,
    gaps: GapRule,
    machines: int | None,
    sample_s: float | None,
    time_origin: Literal["monday", "unix"],
    sites: int,
) -> TraceReading:
    if form == "planetlab":
        return read_planetlab(trace, machines=machines, sites=sites)
    if form == "bitbrains":
        return read_bitbrains(trace, machines=machines, gaps=gaps, sites=sites)
    if machines is not None:
        raise FogfoldError("--machines is for planetlab and bitbrains; leave rows out of a csv file instead")
    return import_csv(trace, sample_s=sample_s, time_origin=time_origin, gaps=gaps, sites=sites)
