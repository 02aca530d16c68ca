"""How an entry of the catalogue is written: each figure as a pair, the value and where it comes from."""

from __future__ import annotations

from typing import TypeVar

from fogfold.cost.machine import Machine, MachineKind
from fogfold.model.node import Accelerator, Architecture, PowerCurve

__all__ = ["Given", "entry", "spec_source"]

T = TypeVar("T")
Given = tuple[T, str]
"""A value and where it comes from."""

_SHUTDOWN_ENERGY = "derived: shutdown_s at the power of half load (assumed: neither idle nor busy)"
_WAKE_ENERGY = (
    "derived: wake_s at peak power, an upper bound; during setup a server draws peak power (Gandhi et al., "
    "Power-efficient server provisioning in server farms, slides: setup 240 W, busy 240 W, idle 150 W, 200 s)"
)


def spec_source(model: str, processor: str, tested: str, published: str) -> str:
    """The source of a SPECpower_ssj2008 result as it was read: in a public copy of all results, not at spec.org."""
    return (
        f"SPECpower_ssj2008 result of {model}, {processor}, tested {tested}, published {published} "
        "(green-coding-solutions/spec-power-model, data/spec_data.csv)"
    )


def entry(
    *,
    name: str,
    description: str,
    kind: MachineKind,
    cores: Given[int],
    core_speed: Given[float],
    memory_bytes: Given[float],
    network_bit_s: Given[float],
    disk_iops: Given[float],
    architecture: Given[Architecture],
    power_curve: PowerCurve,
    sleep_w: Given[float],
    shutdown_s: Given[float],
    wake_s: Given[float],
    wake_failure_probability: Given[float],
    mtbf_s: Given[float],
    mttr_s: Given[float],
    accelerator: Given[Accelerator | None],
) -> Machine:
    """A machine of figures that carry their sources; the link is taken as symmetric, the energies are derived.

    Raises:
        ModelError: if a figure is out of range or a source is empty.
    """
    half_load_w = power_curve.points_w[5]
    return Machine(
        name=name,
        description=description,
        kind=kind,
        cores=cores[0],
        core_speed=core_speed[0],
        memory_bytes=memory_bytes[0],
        network_up_bit_s=network_bit_s[0],
        network_down_bit_s=network_bit_s[0],
        disk_iops=disk_iops[0],
        architecture=architecture[0],
        accelerator=accelerator[0],
        power_curve=power_curve,
        sleep_w=sleep_w[0],
        shutdown_s=shutdown_s[0],
        wake_s=wake_s[0],
        shutdown_energy_j=shutdown_s[0] * half_load_w,
        wake_energy_j=wake_s[0] * power_curve.peak_w,
        wake_failure_probability=wake_failure_probability[0],
        mtbf_s=mtbf_s[0],
        mttr_s=mttr_s[0],
        sources={
            "cores": cores[1],
            "core_speed": core_speed[1],
            "memory_bytes": memory_bytes[1],
            "network_up_bit_s": network_bit_s[1],
            "network_down_bit_s": network_bit_s[1],
            "disk_iops": disk_iops[1],
            "architecture": architecture[1],
            "accelerator": accelerator[1],
            "power_curve": power_curve.source,
            "sleep_w": sleep_w[1],
            "shutdown_s": shutdown_s[1],
            "wake_s": wake_s[1],
            "shutdown_energy_j": _SHUTDOWN_ENERGY,
            "wake_energy_j": _WAKE_ENERGY,
            "wake_failure_probability": wake_failure_probability[1],
            "mtbf_s": mtbf_s[1],
            "mttr_s": mttr_s[1],
        },
    )
