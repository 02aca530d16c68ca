"""Edge boxes and GPU boxes of the catalogue: small servers of branches and masts, mini PCs, desktops for inference."""

from __future__ import annotations

from fogfold.cost.catalogue.assumptions import (
    BMC_WAKE_FAILURE,
    EDGE_MTTR,
    HPE_WAKE,
    LAN_SLEEP,
    LAN_WAKE_FAILURE,
    NO_ACCELERATOR,
    NVME_IOPS,
    PC_MTBF,
    PC_SHUTDOWN,
    PC_WAKE,
    SATA_SSD_IOPS,
    SERVER_MTBF,
    SERVER_SHUTDOWN,
    SERVER_SLEEP,
)
from fogfold.cost.catalogue.entry import Given, entry, spec_source
from fogfold.cost.catalogue.speed import speed_from_ssj_ops, speed_from_zip_mips
from fogfold.cost.machine import Machine, MachineKind
from fogfold.cost.power import linear_curve
from fogfold.model.node import Accelerator, Architecture, PowerCurve
from fogfold.units import GIB

__all__ = ["EDGE_BOXES", "GPU_BOXES"]

_DL110 = spec_source("ProLiant DL110 Gen10 Plus", "Intel Xeon Gold 6314U", "Jul 12, 2021", "Aug 31, 2021")
_DL20 = spec_source("ProLiant DL20 Gen10 Plus", "Intel Xeon E-2388G", "Feb 14, 2022", "Mar 24, 2022")
_TX1320 = spec_source("FUJITSU Server PRIMERGY TX1320 M4", "Intel Xeon E-2176G", "Apr 26, 2019", "Jun 5, 2019")
_NUCBOX = "geerlingguy/sbc-reviews, web/data/results.yml and issue 64"
_GB10 = "geerlingguy/sbc-reviews, web/data/results.yml and issue 92"
_GB10_ZIP = "ThomasKaiser/sbc-bench, Results.md, results/fcm1253.txt"
_FRAMEWORK = "geerlingguy/sbc-reviews, web/data/results.yml and issue 80"

_SMALL_SERVER_SLEEP: Given[float] = (
    5.0,
    "assumed: the network card that listens, under 2 W (sustainableit.com, What is better, standby or shutdown?), and "
    "3 W for the BMC and a supply of under 300 W; whole machines of this sort, BMC included, idle at 12 to 22 W",
)
_SMALL_SERVER_WAKE: Given[float] = (
    120.0,
    "assumed: server firmware, but one socket and 16 GB to train: a little over half of the 210 s of a big board "
    "(linuxboot/book, pull request 208)",
)
EDGE_BOXES: tuple[Machine, ...] = (
    entry(
        name="hpe-proliant-dl110-gen10-plus",
        description="HPE ProLiant DL110 Gen10 Plus: short server for radio sites of 2021, Xeon Gold 6314U, 32 cores",
        kind=MachineKind.EDGE_BOX,
        cores=(32, _DL110),
        core_speed=(speed_from_ssj_ops(3_318_199.0, 32), f"3,318,199 ssj_ops at 100 % on 32 cores: {_DL110}"),
        memory_bytes=(64 * GIB, _DL110),
        network_bit_s=(10e9, f"nominal, one port of a 2-port 10/25 Gbit/s adapter at its lower speed: {_DL110}"),
        disk_iops=SATA_SSD_IOPS,
        architecture=(Architecture.AMD64, _DL110),
        accelerator=NO_ACCELERATOR,
        power_curve=PowerCurve(
            "hpe-proliant-dl110-gen10-plus",
            (94.1, 103.0, 116.0, 129.0, 141.0, 154.0, 171.0, 193.0, 230.0, 277.0, 299.0),
            _DL110,
        ),
        sleep_w=SERVER_SLEEP,
        shutdown_s=SERVER_SHUTDOWN,
        wake_s=HPE_WAKE,
        wake_failure_probability=BMC_WAKE_FAILURE,
        mtbf_s=SERVER_MTBF,
        mttr_s=EDGE_MTTR,
    ),
    entry(
        name="hpe-proliant-dl20-gen10-plus",
        description="HPE ProLiant DL20 Gen10 Plus: compact rack server for branches of 2022, Xeon E-2388G, 8 cores",
        kind=MachineKind.EDGE_BOX,
        cores=(8, _DL20),
        core_speed=(speed_from_ssj_ops(857_910.0, 8), f"857,910 ssj_ops at 100 % on 8 cores: {_DL20}"),
        memory_bytes=(16 * GIB, _DL20),
        network_bit_s=(1e9, f"nominal, one of two 1 Gbit/s ports, BCM5720: {_DL20}"),
        disk_iops=SATA_SSD_IOPS,
        architecture=(Architecture.AMD64, _DL20),
        accelerator=NO_ACCELERATOR,
        power_curve=PowerCurve(
            "hpe-proliant-dl20-gen10-plus",
            (21.7, 27.5, 30.5, 33.2, 36.1, 40.1, 44.5, 49.7, 55.9, 66.4, 82.8),
            _DL20,
        ),
        sleep_w=_SMALL_SERVER_SLEEP,
        shutdown_s=SERVER_SHUTDOWN,
        wake_s=_SMALL_SERVER_WAKE,
        wake_failure_probability=BMC_WAKE_FAILURE,
        mtbf_s=SERVER_MTBF,
        mttr_s=EDGE_MTTR,
    ),
    entry(
        name="fujitsu-primergy-tx1320-m4",
        description="Fujitsu PRIMERGY TX1320 M4: small tower for shops of 2019, Xeon E-2176G, 6 cores, 16 GB",
        kind=MachineKind.EDGE_BOX,
        cores=(6, _TX1320),
        core_speed=(speed_from_ssj_ops(695_687.0, 6), f"695,687 ssj_ops at 100 % on 6 cores: {_TX1320}"),
        memory_bytes=(16 * GIB, _TX1320),
        network_bit_s=(1e9, f"nominal, one of 2 x Intel I210 Gigabit: {_TX1320}"),
        disk_iops=SATA_SSD_IOPS,
        architecture=(Architecture.AMD64, _TX1320),
        accelerator=NO_ACCELERATOR,
        power_curve=PowerCurve(
            "fujitsu-primergy-tx1320-m4",
            (11.7, 16.2, 18.9, 21.4, 24.4, 27.9, 32.3, 36.8, 42.8, 49.8, 61.8),
            _TX1320,
        ),
        sleep_w=_SMALL_SERVER_SLEEP,
        shutdown_s=SERVER_SHUTDOWN,
        wake_s=_SMALL_SERVER_WAKE,
        wake_failure_probability=BMC_WAKE_FAILURE,
        mtbf_s=SERVER_MTBF,
        mttr_s=EDGE_MTTR,
    ),
    entry(
        name="gmktec-nucbox-g3-plus",
        description="GMKtec NucBox G3 Plus: mini PC of the NUC class of 2025, Intel N150, 4 cores, 16 GB",
        kind=MachineKind.EDGE_BOX,
        cores=(4, _NUCBOX),
        core_speed=(
            speed_from_zip_mips(14_090.0, 4),
            "assumed as its sister Intel N100: 14,090 7-zip MIPS on 4 cores: ThomasKaiser/sbc-bench, Results.md, "
            "results/uHzXI7.txt",
        ),
        memory_bytes=(16 * GIB, _NUCBOX),
        network_bit_s=(2.35e9, f"measured, 2,350 Mbit/s: {_NUCBOX}"),
        disk_iops=NVME_IOPS,
        architecture=(Architecture.AMD64, _NUCBOX),
        accelerator=NO_ACCELERATOR,
        power_curve=linear_curve(
            "gmktec-nucbox-g3-plus", 9.3, 25.0, f"measured at the wall: idle 9.3 W, stress-ng 25 W: {_NUCBOX}"
        ),
        sleep_w=LAN_SLEEP,
        shutdown_s=PC_SHUTDOWN,
        wake_s=PC_WAKE,
        wake_failure_probability=LAN_WAKE_FAILURE,
        mtbf_s=PC_MTBF,
        mttr_s=EDGE_MTTR,
    ),
)

GPU_BOXES: tuple[Machine, ...] = (
    entry(
        name="dell-pro-max-gb10",
        description="Dell Pro Max with GB10: desktop for inference of 2025, 20 ARM cores and a GPU, 128 GB",
        kind=MachineKind.GPU_BOX,
        cores=(20, _GB10_ZIP),
        core_speed=(speed_from_zip_mips(114_920.0, 20), f"114,920 7-zip MIPS on 20 cores: {_GB10_ZIP}"),
        memory_bytes=(
            119 * GIB,
            f"119 GiB seen by the system, of 128 GB fitted; shared between processor and GPU: {_GB10_ZIP}",
        ),
        network_bit_s=(1e9, "assumed: its wired port at 1 Gbit/s; no measurement in the lists used"),
        disk_iops=NVME_IOPS,
        architecture=(Architecture.ARM64, _GB10_ZIP),
        accelerator=(Accelerator("nvidia-gb10", 1), _GB10),
        power_curve=linear_curve(
            "dell-pro-max-gb10",
            31.5,
            127.1,
            f"measured at the wall: idle 31.5 W, stress-ng --matrix 0 (it keeps the processor busy, not the GPU) "
            f"127.1 W: {_GB10}",
        ),
        sleep_w=LAN_SLEEP,
        shutdown_s=PC_SHUTDOWN,
        wake_s=PC_WAKE,
        wake_failure_probability=LAN_WAKE_FAILURE,
        mtbf_s=PC_MTBF,
        mttr_s=EDGE_MTTR,
    ),
    entry(
        name="framework-desktop-ai-max-395",
        description="Framework Desktop: small PC of 2025, AMD Ryzen AI Max+ 395 with Radeon 8060S, 16 cores, 128 GB",
        kind=MachineKind.GPU_BOX,
        cores=(16, f"32 threads seen by the system, two a core: {_FRAMEWORK}"),
        core_speed=(
            speed_from_zip_mips(114_920.0 * 21_922 / 19_708, 16),
            "derived: 7-zip MIPS of the Dell Pro Max with GB10 (114,920: ThomasKaiser/sbc-bench, results/fcm1253.txt) "
            "times the two machines' ratio in Geekbench 6 multi-core, 21,922 to 19,708 (geerlingguy/sbc-reviews, "
            "web/data/results.yml)",
        ),
        memory_bytes=(
            125 * GIB,
            f"128,079 MiB seen by the system; shared between processor and GPU: {_FRAMEWORK}",
        ),
        network_bit_s=(4.71e9, f"measured, 4,710 Mbit/s: {_FRAMEWORK}"),
        disk_iops=NVME_IOPS,
        architecture=(Architecture.AMD64, _FRAMEWORK),
        accelerator=(Accelerator("amd-radeon-8060s", 1), _FRAMEWORK),
        power_curve=linear_curve(
            "framework-desktop-ai-max-395",
            12.5,
            154.7,
            f"measured at the wall: idle 12.5 W, stress-ng --matrix 0 (it keeps the processor busy, not the GPU) "
            f"154.7 W: {_FRAMEWORK}",
        ),
        sleep_w=LAN_SLEEP,
        shutdown_s=PC_SHUTDOWN,
        wake_s=PC_WAKE,
        wake_failure_probability=LAN_WAKE_FAILURE,
        mtbf_s=PC_MTBF,
        mttr_s=EDGE_MTTR,
    ),
)
