"""The reference page of the catalogue of machines, written from the catalogue itself.

A test holds `docs/reference/machines.md` equal to `page()`. To write it anew, from the root of the project:

    python -c "from pathlib import Path; from fogfold.cost.machines_page import page;
    Path('docs/reference/machines.md').write_text(page(), encoding='utf-8')"
"""

from __future__ import annotations

from collections.abc import Iterable

from fogfold.cost.catalogue.speed import REFERENCE_SSJ_OPS, REFERENCE_ZIP_MIPS
from fogfold.cost.machine import FIGURES, Machine, break_even_s
from fogfold.cost.machines import MACHINES
from fogfold.model.node import Accelerator, Architecture, PowerCurve
from fogfold.units import DAY_S, GIB, HOUR_S, MINUTE_S

__all__ = ["page"]

_INTRO = f"""# Machines

The catalogue in `fogfold.cost.machines`. A scenario names a machine; `node(machine, node_id, site)` makes a node of it.
This page is written from the code (see `fogfold.cost.machines_page`).

**Reference core.** {REFERENCE_SSJ_OPS:,.0f} ssj_ops of SPECpower_ssj2008 at full load, near one core of a data-centre
server of 2019 to 2021. Boards and PCs without that benchmark are placed by 7-zip over all cores, where the reference
core does about {REFERENCE_ZIP_MIPS:,.0f} MIPS; the two lists meet in Intel's Kaby Lake core. A speed that crossed this
bridge is good to about a third. Capacity is cores x speed.

**Sources.** Each figure has one, below. *Assumed* marks what no source gave, with the reason; *derived* what is
computed from other figures. Where only idle and full load were measured, the curve between is linear and its source
says so.

**Break-even** is the shortest time, from the order to sleep until the machine is up again, for which sleeping takes no
more energy than idling. Booting is charged at peak power, so the figure is a cautious one; a wake that fails is not
counted.
"""


def page() -> str:
    """The whole page, as Markdown that ends in a line feed."""
    machines = tuple(MACHINES.values())
    return "\n".join(
        [
            _INTRO,
            "## What they offer\n",
            _table(
                ("machine", "kind", "cores x speed", "memory GiB", "net Gbit/s", "IOPS", "architecture", "accelerator"),
                (_offer(each) for each in machines),
            ),
            "\n## What they draw, and what sleep costs\n",
            _table(
                (
                    "machine",
                    "idle W",
                    "peak W",
                    "sleep W",
                    "shutdown s",
                    "wake s",
                    "shutdown kJ",
                    "wake kJ",
                    "break-even min",
                    "wake fails",
                ),
                (_draw(each) for each in machines),
            ),
            "\n## Power curves, W at 0, 10, ..., 100 % CPU load\n",
            _table(
                ("machine", *(str(load) for load in range(0, 101, 10))),
                ((each.name, *(f"{w:.1f}" for w in each.power_curve.points_w)) for each in machines),
            ),
            "\n## Sources\n",
            "\n".join(_sources(each) for each in machines),
        ]
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---", *("---:" for _ in head[1:])), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _offer(machine: Machine) -> tuple[str, ...]:
    return (
        machine.name,
        machine.kind.value,
        f"{machine.cores} x {machine.core_speed:.2f} = {machine.capacity.cpu_cores:.1f}",
        f"{machine.memory_bytes / GIB:g}",
        f"{machine.network_up_bit_s / 1e9:g}",
        f"{machine.disk_iops:,.0f}",
        machine.architecture.name.lower(),
        machine.accelerator.kind if machine.accelerator else "none",
    )


def _draw(machine: Machine) -> tuple[str, ...]:
    return (
        machine.name,
        f"{machine.power_curve.idle_w:.1f}",
        f"{machine.power_curve.peak_w:.1f}",
        f"{machine.sleep_w:g}",
        f"{machine.shutdown_s:g}",
        f"{machine.wake_s:g}",
        f"{machine.shutdown_energy_j / 1e3:.2f}",
        f"{machine.wake_energy_j / 1e3:.2f}",
        f"{break_even_s(machine) / MINUTE_S:.1f}",
        f"{100 * machine.wake_failure_probability:g} %",
    )


def _sources(machine: Machine) -> str:
    """A section: figures that share a source share a line."""
    by_source: dict[str, list[str]] = {}
    for figure in FIGURES:
        by_source.setdefault(machine.sources[figure], []).append(f"`{figure}` {_shown(machine, figure)}")
    lines = [f"- {', '.join(figures)}: {source}." for source, figures in by_source.items()]
    return "\n".join([f"### {machine.name}\n", f"{machine.description}.\n", *lines, ""])


def _shown(machine: Machine, figure: str) -> str:
    """A figure as a reader wants it: durations and sizes in the greatest unit that keeps them readable."""
    value = getattr(machine, figure)
    if value is None:
        return "none"
    if isinstance(value, PowerCurve):
        return "(in the table above)"
    if isinstance(value, Accelerator):
        return f"{value.count} x {value.kind}"
    if isinstance(value, Architecture):
        return value.name.lower()
    if figure == "memory_bytes":
        return f"{value / GIB:g} GiB"
    if figure == "mtbf_s":
        return f"{value / DAY_S:g} days"
    if figure == "mttr_s":
        return f"{value / HOUR_S:g} h"
    if figure.endswith("_bit_s"):
        return f"{value / 1e9:g} Gbit/s"
    if figure.endswith("_j"):
        return f"{value / 1e3:.2f} kJ"
    return f"{value:,.3f}".rstrip("0").rstrip(".")
