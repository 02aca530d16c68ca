"""ARM boards of the catalogue. All are measured at idle and full load only, and are slept by cutting their plug."""

from __future__ import annotations

from fogfold.cost.catalogue.assumptions import (
    EDGE_MTTR,
    NO_ACCELERATOR,
    NVME_IOPS,
    PC_MTBF,
    PLUG_SLEEP,
    PLUG_WAKE_FAILURE,
)
from fogfold.cost.catalogue.entry import Given, entry
from fogfold.cost.catalogue.speed import speed_from_zip_mips
from fogfold.cost.machine import Machine, MachineKind
from fogfold.cost.power import linear_curve
from fogfold.model.node import Accelerator, Architecture
from fogfold.units import GIB

__all__ = ["ARM_BOARDS"]

_RESULTS = "geerlingguy/sbc-reviews, web/data/results.yml"
_PI_4_ZIP = "ThomasKaiser/sbc-bench, Results.md, results/3OBF.txt"
_PI_5_ZIP = "ThomasKaiser/sbc-bench, Results.md, results/8-NK.txt"
_ROCK_ZIP = "ThomasKaiser/sbc-bench, Results.md, results/41BH.txt"
_JETSON = "ARK-Electronics/ark_jetson_kernel, docs/power.md"
_SD_CARD = "raspberrypi/documentation, accessories/sd-cards/about.adoc (pull request 3873)"

_BOARD_SHUTDOWN: Given[float] = (10.0, "assumed: stop of services and of the system, before the plug is cut")
_PI_WAKE: Given[float] = (
    40.0,
    "a full boot of normal Raspbian takes 15 to 30 s (jbaumann/attiny_daemon, wiki, Raspberry Pi Startup); assumed "
    "beside the 30 s: 10 s until the container runtime is ready",
)
_UBOOT_WAKE: Given[float] = (
    40.0,
    "assumed: as a Raspberry Pi, 30 s (jbaumann/attiny_daemon, wiki, Raspberry Pi Startup) and 10 s until the "
    "container runtime is ready",
)
_JETSON_WAKE: Given[float] = (
    60.0,
    "assumed: as a Raspberry Pi, 40 s, and 20 s for UEFI, which its boot goes through (NVIDIA Jetson Linux Developer "
    "Guide r36.4.3, Jetson Orin Series)",
)

ARM_BOARDS: tuple[Machine, ...] = (
    entry(
        name="raspberry-pi-4",
        description="Raspberry Pi 4 Model B of 2019: 4 cores Cortex-A72 at 1.8 GHz, 4 GB, SD card",
        kind=MachineKind.ARM_BOARD,
        cores=(4, _PI_4_ZIP),
        core_speed=(speed_from_zip_mips(5_790.0, 4), f"5,790 7-zip MIPS on 4 cores at 1.8 GHz: {_PI_4_ZIP}"),
        memory_bytes=(4 * GIB, "assumed: the model with 4 GB; it is sold with 1 to 8 GB"),
        network_bit_s=(0.939e9, f"measured, 939 Mbit/s: {_RESULTS} (issue 4)"),
        disk_iops=(1_200.0, f"random 4 KB writes of a Raspberry Pi SD card on a Pi 4 (3,200 reads): {_SD_CARD}"),
        architecture=(Architecture.ARM64, _PI_4_ZIP),
        accelerator=NO_ACCELERATOR,
        power_curve=linear_curve(
            "raspberry-pi-4",
            2.7,
            6.4,
            "measured: idle 540 mA, 400 % CPU load (stress --cpu 4) 1,280 mA at 5 V: pidramble.com, Power Consumption "
            "Benchmarks, linked from geerlingguy/raspberry-pi-dramble issue 180, read in a copy. (The lower 1.6 W and "
            "5.0 W of geerlingguy/sbc-reviews come from a meter called too low in its issue 21)",
        ),
        sleep_w=PLUG_SLEEP,
        shutdown_s=_BOARD_SHUTDOWN,
        wake_s=_PI_WAKE,
        wake_failure_probability=PLUG_WAKE_FAILURE,
        mtbf_s=PC_MTBF,
        mttr_s=EDGE_MTTR,
    ),
    entry(
        name="raspberry-pi-5",
        description="Raspberry Pi 5 Model B of 2023: 4 cores Cortex-A76 at 2.4 GHz, 8 GB, SD card",
        kind=MachineKind.ARM_BOARD,
        cores=(4, _PI_5_ZIP),
        core_speed=(speed_from_zip_mips(11_830.0, 4), f"11,830 7-zip MIPS on 4 cores at 2.4 GHz: {_PI_5_ZIP}"),
        memory_bytes=(8 * GIB, "the model with 8 GB: geerlingguy/top500-benchmark, README.md (issue 18)"),
        network_bit_s=(0.938e9, f"measured, 938 Mbit/s: {_RESULTS} (issue 21)"),
        disk_iops=(2_000.0, f"random 4 KB writes of a Raspberry Pi SD card on a Pi 5 (5,000 reads): {_SD_CARD}"),
        architecture=(Architecture.ARM64, _PI_5_ZIP),
        accelerator=NO_ACCELERATOR,
        power_curve=linear_curve(
            "raspberry-pi-5", 2.8, 9.7, f"measured at the wall: idle 2.8 W, stress-ng 9.7 W: {_RESULTS} (issue 21)"
        ),
        sleep_w=PLUG_SLEEP,
        shutdown_s=_BOARD_SHUTDOWN,
        wake_s=_PI_WAKE,
        wake_failure_probability=PLUG_WAKE_FAILURE,
        mtbf_s=PC_MTBF,
        mttr_s=EDGE_MTTR,
    ),
    entry(
        name="radxa-rock-5b",
        description="Radxa ROCK 5B of 2023: RK3588, 4 cores Cortex-A76 and 4 Cortex-A55, 16 GB, NVMe disk",
        kind=MachineKind.ARM_BOARD,
        cores=(8, _ROCK_ZIP),
        core_speed=(
            speed_from_zip_mips(16_450.0, 8),
            f"16,450 7-zip MIPS on 8 cores, mean of fast and slow ones: {_ROCK_ZIP}",
        ),
        memory_bytes=(16 * GIB, f"15 GiB seen by the system, taken as 16: {_ROCK_ZIP}"),
        network_bit_s=(2.35e9, f"measured, 2,350 Mbit/s: {_RESULTS} (issue 3)"),
        disk_iops=NVME_IOPS,
        architecture=(Architecture.ARM64, _ROCK_ZIP),
        accelerator=NO_ACCELERATOR,
        power_curve=linear_curve(
            "radxa-rock-5b", 3.6, 17.0, f"measured at the wall: idle 3.6 W, stress-ng 17 W: {_RESULTS} (issue 3)"
        ),
        sleep_w=PLUG_SLEEP,
        shutdown_s=_BOARD_SHUTDOWN,
        wake_s=_UBOOT_WAKE,
        wake_failure_probability=PLUG_WAKE_FAILURE,
        mtbf_s=PC_MTBF,
        mttr_s=EDGE_MTTR,
    ),
    entry(
        name="nvidia-jetson-orin-nx",
        description="NVIDIA Jetson Orin NX 16GB on a carrier, 25 W mode: 8 cores Cortex-A78AE at 1.5 GHz and a GPU",
        kind=MachineKind.ARM_BOARD,
        cores=(8, f"8 cores on in mode 3, 25W: {_JETSON}"),
        core_speed=(
            speed_from_zip_mips(13_650.0, 6),
            "that of a Jetson Orin Nano, the same core at the same 1.5 GHz: 13,650 7-zip MIPS on 6 cores: "
            "ThomasKaiser/sbc-bench, Results.md, results/4vy7.txt",
        ),
        memory_bytes=(16 * GIB, f"Orin NX 16GB; shared between processor and GPU: {_JETSON}"),
        network_bit_s=(1e9, "assumed: one 1 Gbit/s port on the carrier"),
        disk_iops=NVME_IOPS,
        architecture=(Architecture.ARM64, _JETSON),
        accelerator=(Accelerator("nvidia-orin", 1), _JETSON),
        power_curve=linear_curve(
            "nvidia-jetson-orin-nx",
            4.6 * 37.0 / 29.0,
            16.9 * 37.0 / 29.0,
            "measured at the module: idle 4.6 W, 25W mode under load 16.9 W, times 37/29 for what the carrier takes "
            f"(measured at 37 W in): {_JETSON}. The load kept 8 CPU threads and the GPU busy, so the peak is an upper "
            "bound for CPU load",
        ),
        sleep_w=PLUG_SLEEP,
        shutdown_s=_BOARD_SHUTDOWN,
        wake_s=_JETSON_WAKE,
        wake_failure_probability=PLUG_WAKE_FAILURE,
        mtbf_s=PC_MTBF,
        mttr_s=EDGE_MTTR,
    ),
)
