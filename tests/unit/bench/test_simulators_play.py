"""Each set-up of the other simulators plays the day it was given; only where `make bench-simulators` put them."""

from __future__ import annotations

import functools
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
_PYTHON = _BENCHMARKS / "simulators" / ".venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
_MODULES = ("compare", "draw", "play", "workload")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _PYTHON.exists(), reason="the other simulators are installed by make bench-simulators"),
]


@pytest.fixture(scope="module")
def simulators() -> Iterator[dict[str, ModuleType]]:
    """The modules of the benchmark that need neither of the other simulators."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(_BENCHMARKS))
        yield {name: importlib.import_module(f"simulators.{name}") for name in _MODULES}


@pytest.fixture(scope="module")
def day_path(simulators: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of sixty nodes."""
    draw = simulators["draw"]
    day, _ = draw.draw_day(draw.ground(0, steps=2), 1)
    path: Path = tmp_path_factory.mktemp("day") / "day.json"
    day.save(path)
    return path


@pytest.fixture(scope="module")
def played(simulators: dict[str, ModuleType], day_path: Path) -> Callable[[str, str], Any]:
    """The run of a simulator's variant, played once."""

    @functools.cache
    def play(simulator: str, variant: str) -> Any:
        return simulators["compare"].play(_PYTHON, simulator, variant, str(day_path), variant)

    return play


@pytest.mark.parametrize("simulator", ["leaf", "eclypse"])
def test_every_set_up_finds_the_energy_and_the_last_placement_of_the_day(
    simulators: dict[str, ModuleType], played: Callable[[str, str], Any], day_path: Path, simulator: str
) -> None:
    day = simulators["workload"].load_day(day_path)
    for variant in simulators["play"].VARIANTS[simulator]:
        # A process that did not make the moves, the ticks or the energy of the day ends with an error.
        run = played(simulator, variant.name)
        assert (run.nodes, run.containers, run.steps, run.moves) == (60, 240, 2, 10)
        expected_kwh = day.energy_kwh(variant.ticks_a_step, changing=variant.changing)
        assert run.outcome["energy_kwh"] == pytest.approx(expected_kwh, rel=1e-9)


@pytest.mark.parametrize(
    ("variant", "readings"),
    [
        # Once a step by one meter, and by sixty; once a second by one.
        ("demand by step", 2),
        ("demand by step, a meter a node", 120),
        ("as its README", 600),
        # Nodes and applications twice, the infrastructure once.
        ("as its placement example", 5),
        # Nodes, links and applications, 600 times each.
        ("as its smart city example", 1800),
    ],
)
def test_leaf_reads_power_as_often_as_its_examples_do(
    played: Callable[[str, str], Any], variant: str, readings: int
) -> None:
    assert played("leaf", variant).outcome["readings"] == readings


def test_eclypse_reports_only_where_its_example_does(played: Callable[[str, str], Any]) -> None:
    assert played("eclypse", "demand by step, 30 apps").outcome["report_lines"] == 0
    lines = played("eclypse", "as its local example").outcome["report_lines"]
    # Of each step: 240 services and 60 nodes in at least four resources, thirty response times.
    assert lines > 2 * (4 * 240 + 4 * 60 + 30)


def test_a_day_that_does_not_fit_is_refused(simulators: dict[str, ModuleType], day_path: Path, tmp_path: Path) -> None:
    told = json.loads(day_path.read_text(encoding="utf-8"))
    told["capacity_mcpu"] = [1] * len(told["capacity_mcpu"])
    broken = str(tmp_path / "broken.json")
    Path(broken).write_text(json.dumps(told), encoding="utf-8")
    name = "as its placement example"
    with pytest.raises(SystemExit, match=r"leaf \(as its placement example\) failed"):
        simulators["compare"].play(_PYTHON, "leaf", name, broken, name)
