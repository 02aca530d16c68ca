"""The catalogue of machines: every figure sourced, every machine a node, known tables kept, sleep worth its price."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from pathlib import Path

import pytest

from fogfold.cost.catalogue.speed import REFERENCE_ZIP_MIPS, speed_from_ssj_ops, speed_from_zip_mips
from fogfold.cost.machine import FIGURES
from fogfold.cost.machines import MACHINES, Machine, MachineKind, break_even_s, machine, node
from fogfold.cost.machines_page import page
from fogfold.cost.power import linear_curve
from fogfold.errors import ModelError, UnknownNameError
from fogfold.model.identity import NodeId, SiteId
from fogfold.model.node import Accelerator, Architecture, Tier
from fogfold.units import DAY_S, GIB, HOUR_S

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "machines.md"

FALLING_CURVES: dict[str, str] = {}
"""Machines whose measured curve falls somewhere, with the reason: none does."""

every_machine = pytest.mark.parametrize("each", MACHINES.values(), ids=MACHINES)


def sample(**changes) -> Machine:
    """A machine of round figures: idle 10 W, half load 15 W, peak 20 W, sleep 1 W."""
    curve = linear_curve("sample", 10.0, 20.0, "a meter")
    values = {
        "name": "sample",
        "description": "a sample",
        "kind": MachineKind.EDGE_BOX,
        "cores": 4,
        "core_speed": 0.5,
        "memory_bytes": 8 * GIB,
        "network_up_bit_s": 1e8,
        "network_down_bit_s": 1e9,
        "disk_iops": 1000.0,
        "architecture": Architecture.RISCV64,
        "accelerator": Accelerator("npu", 2),
        "power_curve": curve,
        "sleep_w": 1.0,
        "shutdown_s": 10.0,
        "wake_s": 50.0,
        "shutdown_energy_j": 150.0,
        "wake_energy_j": 900.0,
        "wake_failure_probability": 0.25,
        "mtbf_s": 100.0 * DAY_S,
        "mttr_s": 2.0 * HOUR_S,
        "sources": dict.fromkeys(FIGURES, "a meter") | {"power_curve": curve.source},
    }
    return Machine(**(values | changes))  # type: ignore[arg-type]  # a builder of any field


@every_machine
def test_every_machine_makes_a_valid_node(each):
    made = node(each, NodeId("n-1"), SiteId("shop"))
    assert made.capacity.cpu_cores == each.cores * each.core_speed
    assert made.power_curve is each.power_curve
    assert made.sleep_w < made.power_curve.idle_w


@every_machine
def test_every_figure_of_every_machine_has_a_source_that_says_something(each):
    assert set(each.sources) == set(FIGURES)
    for figure, source in each.sources.items():
        assert len(source) > 20, figure
        # A source names a file, page, paper or result; else it must own up to being assumed, derived or absent.
        named = re.search(r"\.(?:com|md|yml|csv|adoc|txt)\b|DSN 2006|issue \d+|pull request \d+|wiki|slides", source)
        assert named or source.startswith(("assumed", "derived", "none fitted")), f"{each.name}: {figure}: {source}"


@every_machine
def test_every_curve_rises_or_is_a_known_exception(each):
    points_w = each.power_curve.points_w
    rises = all(low <= high for low, high in itertools.pairwise(points_w))
    assert rises != (each.name in FALLING_CURVES)


@every_machine
def test_idle_takes_a_believable_share_of_peak(each):
    assert 0.05 <= each.power_curve.idle_w / each.power_curve.peak_w <= 0.75


@every_machine
def test_every_machine_saves_by_sleeping_within_an_hour(each):
    assert 0.0 < break_even_s(each) <= HOUR_S


@every_machine
def test_two_points_are_called_two_points(each):
    points_w = each.power_curve.points_w
    step = (points_w[-1] - points_w[0]) / 10
    is_straight = all(abs(w - points_w[0] - k * step) < 1e-9 for k, w in enumerate(points_w))
    assert is_straight == ("idle and full load only" in each.power_curve.source)


@every_machine
def test_figures_lie_where_such_machines_lie(each):
    assert each.name == each.power_curve.name
    assert 0.2 <= each.core_speed <= 2.5
    assert 0.2 * GIB <= each.memory_bytes / each.cores <= 16 * GIB
    assert 30.0 <= each.wake_s <= 600.0
    assert each.shutdown_s < each.wake_s
    assert each.wake_energy_j <= each.wake_s * each.power_curve.peak_w
    assert 0.0 < each.wake_failure_probability <= 0.05
    assert each.mttr_s < each.mtbf_s < math.inf


def test_catalogue_holds_every_kind_and_no_name_twice():
    kinds = [each.kind for each in MACHINES.values()]
    assert len(MACHINES) == 16
    assert {kind: kinds.count(kind) for kind in MachineKind} == {
        MachineKind.SERVER: 6,
        MachineKind.EDGE_BOX: 4,
        MachineKind.ARM_BOARD: 4,
        MachineKind.GPU_BOX: 2,
    }
    assert all(name == each.name for name, each in MACHINES.items())
    assert {each.architecture for each in MACHINES.values()} == {Architecture.AMD64, Architecture.ARM64}
    assert all(each.accelerator for each in MACHINES.values() if each.kind is MachineKind.GPU_BOX)


def test_ml110_tables_are_those_of_the_planetlab_benchmark():
    assert machine("hp-proliant-ml110-g4").power_curve.points_w == (
        *(86.0, 89.4, 92.6, 96.0, 99.5, 102.0),
        *(106.0, 108.0, 112.0, 114.0, 117.0),
    )
    assert machine("hp-proliant-ml110-g5").power_curve.points_w == (
        *(93.7, 97.0, 101.0, 105.0, 110.0, 116.0),
        *(121.0, 125.0, 129.0, 133.0, 135.0),
    )


def test_reference_core_is_a_hundred_thousand_ssj_ops():
    assert speed_from_ssj_ops(6_343_544.0, 64) == pytest.approx(0.9912, abs=1e-4)
    # 5,905 MIPS a core where 147,935.5 ssj_ops a core are done: 5,905 / 1.479355 = 3,991.6.
    assert pytest.approx(3991.6, abs=0.05) == REFERENCE_ZIP_MIPS
    assert speed_from_zip_mips(2 * REFERENCE_ZIP_MIPS, 4) == 0.5


def test_ninety_six_altra_cores_come_out_near_sixty_four_epyc_cores():
    altra = machine("ampere-altra-m96-28").capacity.cpu_cores
    epyc = machine("hpe-proliant-dl325-gen10-plus").capacity.cpu_cores
    assert (round(altra, 1), round(epyc, 1)) == (62.5, 63.4)


def test_unknown_machine_is_refused_with_the_nearest_name():
    with pytest.raises(
        UnknownNameError, match=r"'rasberry-pi-5' is not in the catalogue; did you mean \"raspberry-pi-5"
    ):
        machine("rasberry-pi-5")


def test_catalogue_cannot_be_changed():
    with pytest.raises(TypeError):
        MACHINES["mine"] = sample()  # type: ignore[index]


def test_node_takes_every_figure_of_the_machine():
    made = node(sample(), NodeId("n-7"), SiteId("depot"), Tier.FOG, never_sleep=True)
    assert dataclasses.asdict(made) == {
        "id": "n-7",
        "site": "depot",
        "capacity": {"cpu_cores": 2.0, "memory_bytes": 8 * GIB, "network_bit_s": 1e8, "disk_iops": 1000.0},
        "network_down_bit_s": 1e9,
        "power_curve": dataclasses.asdict(sample().power_curve),
        "sleep_w": 1.0,
        "shutdown_s": 10.0,
        "wake_s": 50.0,
        "shutdown_energy_j": 150.0,
        "wake_energy_j": 900.0,
        "wake_failure_probability": 0.25,
        "architecture": Architecture.RISCV64,
        "core_speed": 0.5,
        "accelerator": {"kind": "npu", "count": 2},
        "tier": Tier.FOG,
        "mtbf_s": 100.0 * DAY_S,
        "mttr_s": 2.0 * HOUR_S,
        "never_sleep": True,
    }


def test_break_even_balances_sleep_against_idle():
    # (150 + 900 - 1 x 60) / (10 - 1) = 990 / 9 = 110 s
    assert break_even_s(sample()) == pytest.approx(110.0)
    # Idle for 110 s: 1,100 J. Asleep: 1,050 J for the transitions and 50 s at 1 W.
    assert pytest.approx(1050.0 + 1.0 * (110.0 - 60.0)) == 10.0 * 110.0


def test_break_even_is_never_shorter_than_the_transitions():
    # (0 + 90 - 60) / 9 = 3.3 s, but it takes 60 s to go and come back.
    assert break_even_s(sample(shutdown_energy_j=0.0, wake_energy_j=90.0)) == 60.0


def test_machine_that_sleeps_at_idle_power_never_breaks_even():
    assert break_even_s(sample(sleep_w=10.0)) == math.inf


@pytest.mark.parametrize("figure", FIGURES)
def test_figure_without_a_source_is_refused(figure):
    for sources in (
        {key: value for key, value in sample().sources.items() if key != figure},
        {**sample().sources, figure: ""},
    ):
        with pytest.raises(ModelError, match=f"machine 'sample': {figure} has no source"):
            sample(sources=sources)


def test_source_of_no_figure_is_refused_with_the_nearest():
    with pytest.raises(ModelError, match=r"'slep_w' belongs to no figure; did you mean \"sleep_w\""):
        sample(sources={**sample().sources, "slep_w": "a meter"})


def test_second_source_of_the_curve_is_refused():
    with pytest.raises(ModelError, match="not the curve's own"):
        sample(sources={**sample().sources, "power_curve": "another meter"})


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Sample"},
        {"name": "sam_ple"},
        {"name": ""},
        {"cores": 0},
        {"core_speed": math.nan},
        {"memory_bytes": 0.0},
        {"network_down_bit_s": 0.0},
        {"sleep_w": 10.5},
        {"wake_failure_probability": 1.5},
        {"mtbf_s": 0.0},
        {"mtbf_s": math.inf},
        {"mttr_s": -1.0},
    ],
    ids=str,
)
def test_figure_out_of_range_is_refused(changes):
    with pytest.raises(ModelError):
        sample(**changes)


def test_reference_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "write docs/reference/machines.md anew (see machines_page.py)"


def test_reference_page_prints_every_break_even_and_every_source():
    text = page()
    for each in MACHINES.values():
        assert f"| {break_even_s(each) / 60:.1f} |" in text
        for source in each.sources.values():
            assert source in text
