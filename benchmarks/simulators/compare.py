"""fogfold's world beside LEAF and ECLYPSE on one workload, CPU seconds on one thread, in one run.

`make bench-simulators` runs it. The others are installed, at pinned versions, in an environment of this folder's own,
and each run has a process of its own. Rounds go through all simulators in turn, so that a noisy minute falls on all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np

from fogfold.cli.bench_rows import machine
from simulators.draw import MOVES_A_STEP, draw_day, ground
from simulators.play import VARIANTS
from simulators.rows import Run, rows_of

_HERE = Path(__file__).resolve().parent
_ENVIRONMENT = _HERE / ".venv"
_REQUIREMENTS = _HERE / "requirements.txt"
_STAMP = _ENVIRONMENT / ".installed"


def environment() -> Path:
    """The Python of the environment with the two simulators; made where it is missing or its pins have changed."""
    python = _ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"
    pins = _REQUIREMENTS.read_text(encoding="utf-8")
    if not _STAMP.exists() or _STAMP.read_text(encoding="utf-8") != pins:
        print("making benchmarks/simulators/.venv ...", file=sys.stderr)
        venv.create(_ENVIRONMENT, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--requirement", str(_REQUIREMENTS)], check=True, stdout=sys.stderr)
        _STAMP.write_text(pins, encoding="utf-8")
    return python


def play(python: Path | str, simulator: str, variant: str, *arguments: str) -> Run:
    """One run of one simulator, in a process and on a thread of its own."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")}
    done = subprocess.run(
        [str(python), "-m", f"simulators.play_{simulator}", *arguments],
        env={**os.environ, **one_thread, "PYTHONPATH": str(_HERE.parent)},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{simulator} ({variant}) failed:\n{done.stderr or done.stdout}")
    said = json.loads(done.stdout.splitlines()[-1])
    return Run(simulator=simulator, variant=variant, **said)


def compare(seed: int, rounds: int, worlds: int) -> list[Run]:
    """All runs: so many rounds of each simulator, in turn."""
    others = environment()
    print("drawing the day ...", file=sys.stderr)
    day, orders = draw_day(ground(seed), worlds, MOVES_A_STEP)
    with tempfile.TemporaryDirectory() as folder:
        path, orders_path = str(Path(folder) / "day.json"), str(Path(folder) / "orders.npz")
        day.save(Path(path))
        np.savez(orders_path, moves=[o.moves for o in orders], power=[o.power for o in orders])
        runs = []
        for number in range(rounds):
            print(f"round {number + 1} of {rounds} ...", file=sys.stderr)
            runs.append(play(sys.executable, "fogfold", "one world", path, orders_path, "1"))
            runs.append(play(sys.executable, "fogfold", f"{worlds} worlds in one call", path, orders_path, str(worlds)))
            for simulator, variants in VARIANTS.items():
                runs += [play(others, simulator, variant.name, path, variant.name) for variant in variants]
    return runs


def table(rows: list[dict[str, Any]]) -> str:
    """The rows for reading."""
    ours = f"{'fogfold, one world':>24} {'fogfold, batch':>24} {'aim':>5}"
    lines = [f"{'simulator':<10} {'':<30} {'CPU s':>9} {'node-steps per CPU s':>34} {ours}"]
    for row in rows:
        speed = row["node_steps_per_cpu_s"]
        spread = f"{speed['median']:>12,.0f} ({speed['least']:,.0f} to {speed['most']:,.0f})"
        aim = f"{row['aim']:.0f}x" if row["aim"] else ""
        lines.append(
            f"{row['simulator']:<10} {row['variant']:<30} {row['cpu_s']:>9.4g} {spread:>34}"
            f" {_times(row['ratio_to_fogfold']):>24} {_times(row['ratio_to_fogfold_batch']):>24} {aim:>5}"
        )
    return "\n".join(lines)


def _times(ratio: dict[str, float] | None) -> str:
    return f"{ratio['median']:.1f}x ({ratio['least']:.1f} to {ratio['most']:.1f})" if ratio else "-"


def main() -> None:
    """Run the comparison of the command line."""
    parser = argparse.ArgumentParser(prog="simulators.compare", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seed", type=int, default=0, help="root of all randomness")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each simulator, in turn")
    parser.add_argument("--worlds", type=int, default=64, help="size of fogfold's batch; at least 2")
    chosen = parser.parse_args()
    if chosen.rounds < 1 or chosen.worlds < 2:
        parser.error(f"{chosen.rounds} rounds and {chosen.worlds} worlds; at least 1 and 2 are needed")
    rows = rows_of(compare(chosen.seed, chosen.rounds, chosen.worlds))
    if chosen.json:
        print(json.dumps({"bench": "simulators", "machine": machine(), "seed": chosen.seed, "rows": rows}, indent=2))
    else:
        print(table(rows))


if __name__ == "__main__":
    main()
