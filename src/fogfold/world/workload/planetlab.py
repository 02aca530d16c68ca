"""PlanetLab: CPU use of a thousand and more virtual machines over one day each, in steps of five minutes.

Measured by CoMon (Park and Pai, SIGOPS OSR 40(1), 2006) in March and April 2011 and chosen by Beloglazov and Buyya
(CCPE 24(13), 2012); CloudSim ships the same files. Two forms are read: one `.npz` file for a day, and the original
folder with one text file for each machine. Only CPU is measured, so memory, network and disk follow it.

A day is taken to begin at 00:00 UTC of the date in its name. That is an assumption: the files say neither CoMon's
clock nor where a machine stood, and machines all over the world share one day, so no common peak hour is to be
expected. Machines stand in case-insensitive order of their names, the order of CloudSim's published results.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Integer

from fogfold.compiled import Array
from fogfold.errors import TraceError, TraceNotFoundError
from fogfold.units import DAY_S
from fogfold.world.workload.folder import find_trace
from fogfold.world.workload.npz import check_array, read_npz
from fogfold.world.workload.reading import TraceReading, build_reading, candidates, window_rows

__all__ = ["planetlab_day", "read_planetlab"]

SAMPLES = 288
SAMPLE_S = 300.0


def planetlab_day(day: str) -> Path:
    """The archive of that day in the traces folder, as in `planetlab_day("20110303")`.

    Raises:
        TraceNotFoundError: if it is not on this machine; names the days that are.
    """
    return find_trace("planetlab", f"{day}.npz")


def read_planetlab(
    source: Path | Sequence[Path],
    *,
    machines: int | None = None,
    seed: int | None = None,
    offset_s: float = 0.0,
    duration_s: float | None = None,
    start_s: float | None = None,
    sites: int = 1,
) -> TraceReading:
    """The CPU demand of one day, as a share of each machine's capacity.

    Args:
        source: an `.npz` archive or a folder of text files; several days stand side by side as one pool of machines,
            all from 00:00, on the weekday of the first.
        machines: how many; None takes all.
        seed: None takes the first ones; else they are drawn without replacement.
        offset_s: where in the day to start, a multiple of 300 s.
        duration_s: how long, a multiple of 300 s; None goes on to 24:00.
        start_s: world time of the day's 00:00, in seconds since Monday 00:00 UTC; None reads it off the date in the
            name.
        sites: number of regions of the scenario; all surges are 1.

    Raises:
        TraceNotFoundError: if a source is not there.
        TraceError: with file, line and value, if it is not of the form; if the choice does not fit the trace.
    """
    sources = [source] if isinstance(source, Path) else list(source)
    if not sources:
        raise TraceError("no PlanetLab day is given; name at least one archive or folder")
    days = [_read_archive(path) if path.suffix == ".npz" else _read_folder(path) for path in sources]
    if start_s is None:
        start_s = _weekday_s(sources[0])
    prefixes = [f"{path.stem}/" if len(sources) > 1 else "" for path in sources]
    names = [prefix + name for prefix, (day_names, _) in zip(prefixes, days) for name in day_names]
    percent = np.concatenate([cpu for _, cpu in days])
    where = ", ".join(str(path) for path in sources)
    chosen = candidates(len(names), machines, seed, where)[:machines]
    rows = window_rows(SAMPLES, SAMPLE_S, offset_s, duration_s, where)
    return build_reading(
        source=where,
        names=[names[i] for i in chosen],
        levels={"level": percent[chosen].T / 100.0},
        rows=rows,
        taken=None,
        sample_s=SAMPLE_S,
        start_s=start_s + offset_s,
        sites=sites,
    )


def _weekday_s(path: Path) -> float:
    """World time of 00:00 of the date that names this source."""
    try:
        return dt.date.fromisoformat(path.stem).weekday() * DAY_S
    except ValueError as error:
        raise TraceError(
            f"{path} is not named by a date such as 20110303 ({error}); give start_s, the world time of its 00:00"
        ) from error


def _read_archive(path: Path) -> tuple[list[str], Integer[Array, "machines samples"]]:
    arrays = read_npz(path, required=("cpu", "names", "ascii_order"))
    cpu, names, order = arrays["cpu"], arrays["names"], arrays["ascii_order"]
    check_array(path, "cpu", cpu, (None, SAMPLES), "u")
    check_array(path, "names", names, (len(cpu),), "U")
    check_array(path, "ascii_order", order, (len(cpu),), "ui")
    if len(cpu) == 0:
        raise TraceError(f"{path} holds no machine; the trace is empty")
    if not np.array_equal(np.sort(order), np.arange(len(cpu))):
        raise TraceError(f"{path}: ascii_order is no permutation of the {len(cpu)} machines; the archive is damaged")
    if cpu.max() > 100:
        machine, sample = (int(i) for i in np.argwhere(cpu > 100)[0])
        raise TraceError(
            f"{path}: machine {names[machine]}, sample {sample} is {cpu[machine, sample]}; "
            "CPU use is a whole percentage from 0 to 100"
        )
    return [str(name) for name in names], cpu


def _read_folder(path: Path) -> tuple[list[str], Integer[Array, "machines samples"]]:
    if not path.is_dir():
        raise TraceNotFoundError(f"{path} is neither an .npz archive nor a folder of text files; check the path")
    files = sorted(path.iterdir(), key=lambda file: (file.name.upper(), file.name))
    if not files:
        raise TraceError(f"{path} holds no file; a PlanetLab day has one text file for each machine")
    return [file.name for file in files], np.stack([_read_machine(file) for file in files])


def _read_machine(path: Path) -> Integer[Array, " samples"]:
    """The 288 whole percentages of one text file."""
    if not path.is_file():
        raise TraceError(f"{path} is not a file; a PlanetLab day has one text file for each machine and nothing else")
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as error:
        raise TraceError(f"{path} is not plain text ({error}); expected one whole number on each line") from error
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not (text.isdecimal() and int(text) <= 100):
            raise TraceError(f'{path}, line {number} is "{line}"; CPU use is a whole percentage from 0 to 100')
    if len(lines) != SAMPLES:
        raise TraceError(
            f"{path} has {len(lines)} lines; a day has {SAMPLES}, one each 5 min (leave the file out if it is short)"
        )
    return np.array([int(line) for line in lines], np.uint8)
