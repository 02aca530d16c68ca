"""Calibrated parameters written back into a scenario: a whole scenario file, that everything takes which takes one.

Machines of the catalogue are not changed: a calibrated curve or boot time makes a machine of the scenario's own, named
after it, and the node groups use that one. Factors of uplinks and dirty rates move the median and the bounds of their
spread, so that every draw moves by the factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fogfold.calibrate.beliefs import Beliefs, Described
from fogfold.cost.machine import Machine
from fogfold.units import DAY_S, GIB, HOUR_S, MBIT
from fogfold.world.scenario.load import effective_yaml, parse_scenario
from fogfold.world.scenario.read import read_yaml
from fogfold.world.scenario.schema import Scenario

__all__ = ["Change", "calibrated_scenario", "scenario_text"]

Change = dict[str, Any]
"""One value of the scenario: its path, what it was, what it is now."""

_SUFFIX = "-calibrated"
_SOURCE = "fitted to readings of the cluster by fogfold calibrate"


def calibrated_scenario(cluster: Described, before: Beliefs, after: Beliefs) -> tuple[Scenario, list[Change]]:
    """The scenario with what differs between the beliefs, and the changes, in the order of the file."""
    scenario = cluster.built.scenario
    values: dict[str, Any] = read_yaml(effective_yaml(scenario)).values
    changes: list[Change] = []
    for name, machine in cluster.machines.items():
        _set_machine(values, machine, name, before, after, changes)
    for group in values["sites"]:
        factor = after.uplink_factor[group["name"]] / before.uplink_factor[group["name"]]
        _scale(group, "uplink_mbit_s", factor, f"sites.{group['name']}.uplink_mbit_s", changes)
    for service in values["containers"]["services"]:
        factor = after.dirty_factor[service["name"]] / before.dirty_factor[service["name"]]
        path = f"containers.services.{service['name']}.dirty_rate_mbit_s"
        _scale(service, "dirty_rate_mbit_s", factor, path, changes)
    for key, was, now in (
        ("migration_link_share", before.link_share, after.link_share),
        ("migration_cap_bit_s", before.cap_bit_s, after.cap_bit_s),
        ("migration_failure_base", before.failure_base, after.failure_base),
    ):
        if now != was:
            values["world"][key] = now
            changes.append({"path": f"world.{key}", "was": was, "now": now})
    workload = values["workload"]
    if workload.get("kind") == "file":
        workload["path"] = str(Path(workload["path"]).absolute())
    text = effective_yaml(Scenario.model_validate(values))
    return parse_scenario(text, f"{scenario.name} calibrated"), changes


def scenario_text(scenario: Scenario, changes: list[Change]) -> str:
    """The file: the scenario in full, after a comment that tells what was changed."""
    head = [f"# {scenario.name}, calibrated by fogfold calibrate. Changed:"]
    head += [f"#   {one['path']}: {_short(one['was'])} -> {_short(one['now'])}" for one in changes] or ["#   nothing"]
    return "\n".join(head) + "\n" + effective_yaml(scenario)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_short(one) for one in value) + "]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _scale(owner: dict[str, Any], key: str, factor: float, path: str, changes: list[Change]) -> None:
    if factor == 1.0:
        return
    spread: dict[str, Any] = owner[key]
    for name in ("median", "least", "most"):
        was = spread[name]
        if was:
            spread[name] = was * factor
            changes.append({"path": f"{path}.{name}", "was": was, "now": was * factor})


def _set_machine(
    values: dict[str, Any], machine: Machine, name: str, before: Beliefs, after: Beliefs, changes: list[Change]
) -> None:
    curve = np.asarray(after.curve_w[name])
    has_curve = not np.array_equal(before.curve_w[name], curve)
    has_boot = before.wake_s[name] != after.wake_s[name]
    if not (has_curve or has_boot):
        return
    own = next((part for part in values["machines"] if part["name"] == name), None)
    part = own if own is not None else _part_of(machine, _free_name(name, values["machines"]))
    if has_curve:
        now = [float(f"{point:.6g}") for point in curve.tolist()]
        changes.append({"path": f"machines.{part['name']}.power_w", "was": list(part["power_w"]), "now": now})
        part["power_w"] = now
        part["power_source"] = _SOURCE
    if has_boot:
        was, part["wake_s"] = part["wake_s"], float(after.wake_s[name])
        # The draw while it boots is what it was: a longer boot takes more energy.
        part["wake_energy_j"] *= part["wake_s"] / was
        changes.append({"path": f"machines.{part['name']}.wake_s", "was": was, "now": part["wake_s"]})
    if own is not None:
        return
    values["machines"].append(part)
    for group in values["nodes"]:
        for i, entry in enumerate(group["mix"]):
            if entry["machine"] == name:
                entry["machine"] = part["name"]
                path = f"nodes.{group['name']}.mix.{i}.machine"
                changes.append({"path": path, "was": name, "now": part["name"]})


def _free_name(name: str, taken: list[Mapping[str, Any]]) -> str:
    names, made = {part["name"] for part in taken}, name + _SUFFIX
    while made in names:
        made += "-again"
    return made


def _part_of(machine: Machine, name: str) -> dict[str, Any]:
    """A machine of the catalogue as a scenario file describes one."""
    accelerator = machine.accelerator
    return {
        "name": name,
        "architecture": machine.architecture.name.lower(),
        "cores": machine.cores,
        "core_speed": machine.core_speed,
        "memory_gib": machine.memory_bytes / GIB,
        "network_mbit_s": machine.network_up_bit_s / MBIT,
        "network_down_mbit_s": machine.network_down_bit_s / MBIT,
        "disk_iops": machine.disk_iops,
        "accelerator": None if accelerator is None else {"kind": accelerator.kind, "count": accelerator.count},
        "power_w": list(machine.power_curve.points_w),
        "power_source": machine.power_curve.source,
        "sleep_w": machine.sleep_w,
        "shutdown_s": machine.shutdown_s,
        "wake_s": machine.wake_s,
        "shutdown_energy_j": machine.shutdown_energy_j,
        "wake_energy_j": machine.wake_energy_j,
        "wake_failure_probability": machine.wake_failure_probability,
        "mtbf_days": machine.mtbf_s / DAY_S,
        "mttr_hours": machine.mttr_s / HOUR_S,
    }
