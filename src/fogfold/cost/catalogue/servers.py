"""Servers of the catalogue: five with SPECpower_ssj2008 tables and one ARM server measured at the wall."""

from __future__ import annotations

from fogfold.cost.catalogue.assumptions import (
    BMC_WAKE_FAILURE,
    EDGE_MTTR,
    HPE_WAKE,
    LAN_WAKE_FAILURE,
    NO_ACCELERATOR,
    NVME_IOPS,
    SATA_SSD_IOPS,
    SERVER_MTBF,
    SERVER_MTTR,
    SERVER_SHUTDOWN,
    SERVER_SLEEP,
    UEFI_WAKE,
)
from fogfold.cost.catalogue.entry import Given, entry, spec_source
from fogfold.cost.catalogue.speed import speed_from_ssj_ops, speed_from_zip_mips
from fogfold.cost.machine import Machine, MachineKind
from fogfold.cost.power import linear_curve
from fogfold.model.node import Architecture, PowerCurve
from fogfold.units import GIB

__all__ = ["SERVERS"]


_G4 = spec_source("ProLiant ML110 G4", "Intel Xeon 3040", "Jan 19, 2011", "Feb 17, 2011")
_G5 = spec_source("ProLiant ML110 G5", "Intel Xeon 3075", "Jan 19, 2011", "Feb 17, 2011")
_X3550 = spec_source("IBM System x3550 M3", "2 x Intel Xeon X5675", "Mar 28, 2011", "Apr 20, 2011")
_DL325 = spec_source("ProLiant DL325 Gen10 Plus", "AMD EPYC 7763", "Feb 19, 2021", "Mar 15, 2021")
_R740 = spec_source("PowerEdge R740", "2 x Intel Xeon Platinum 8280", "Apr 3, 2019", "Apr 25, 2019")
_ALTRA = "geerlingguy/sbc-reviews, web/data/results.yml (issue 19)"
_ALTRA_ZIP = "ThomasKaiser/sbc-bench, Results.md, results/4zGI.txt"
_CLOUDSIM = "the same table as CloudSim's PowerModelSpecPower"

_TOWER_SLEEP: Given[float] = (
    4.0,
    "assumed: the network card that listens, under 2 W (sustainableit.com, What is better, standby or shutdown?), and "
    "2 W lost in the standby part of an old supply",
)
_OLD_WAKE: Given[float] = (
    200.0,
    "assumed as the setup time of a server with two Intel Xeon E5320 (Gandhi et al., Power-efficient server "
    "provisioning in server farms, slides: 200 s, range 1 to 5 min)",
)
SERVERS: tuple[Machine, ...] = (
    entry(
        name="hp-proliant-ml110-g4",
        description="HP ProLiant ML110 G4: tower server of 2006, 2 cores at 1.86 GHz, 4 GB; CloudSim's first host",
        kind=MachineKind.SERVER,
        cores=(2, _G4),
        core_speed=(speed_from_ssj_ops(54_479.0, 2), f"54,479 ssj_ops at 100 % on 2 cores: {_G4}"),
        memory_bytes=(4 * GIB, _G4),
        network_bit_s=(1e9, f"nominal, 1 x NC320i Gigabit: {_G4}"),
        disk_iops=(
            180.0,
            f"assumed: 3.5 ms mean seek and half a turn at 15,000 rpm (2 ms), two mirrored SAS disks: {_G4}",
        ),
        architecture=(Architecture.AMD64, _G4),
        accelerator=NO_ACCELERATOR,
        power_curve=PowerCurve(
            "hp-proliant-ml110-g4",
            (86.0, 89.4, 92.6, 96.0, 99.5, 102.0, 106.0, 108.0, 112.0, 114.0, 117.0),
            f"{_G4}; {_CLOUDSIM}HpProLiantMl110G4Xeon3040",
        ),
        sleep_w=_TOWER_SLEEP,
        shutdown_s=SERVER_SHUTDOWN,
        wake_s=_OLD_WAKE,
        wake_failure_probability=LAN_WAKE_FAILURE,
        mtbf_s=SERVER_MTBF,
        mttr_s=EDGE_MTTR,
    ),
    entry(
        name="hp-proliant-ml110-g5",
        description="HP ProLiant ML110 G5: tower server of 2008, 2 cores at 2.66 GHz, 4 GB; CloudSim's second host",
        kind=MachineKind.SERVER,
        cores=(2, _G5),
        core_speed=(speed_from_ssj_ops(98_472.0, 2), f"98,472 ssj_ops at 100 % on 2 cores: {_G5}"),
        memory_bytes=(4 * GIB, _G5),
        network_bit_s=(1e9, f"nominal, 1 x NC105i Gigabit: {_G5}"),
        disk_iops=(
            80.0,
            f"assumed: 8.5 ms mean seek and half a turn at 7,200 rpm (4.2 ms), two mirrored SATA disks: {_G5}",
        ),
        architecture=(Architecture.AMD64, _G5),
        accelerator=NO_ACCELERATOR,
        power_curve=PowerCurve(
            "hp-proliant-ml110-g5",
            (93.7, 97.0, 101.0, 105.0, 110.0, 116.0, 121.0, 125.0, 129.0, 133.0, 135.0),
            f"{_G5}; {_CLOUDSIM}HpProLiantMl110G5Xeon3075",
        ),
        sleep_w=_TOWER_SLEEP,
        shutdown_s=SERVER_SHUTDOWN,
        wake_s=_OLD_WAKE,
        wake_failure_probability=LAN_WAKE_FAILURE,
        mtbf_s=SERVER_MTBF,
        mttr_s=EDGE_MTTR,
    ),
    entry(
        name="ibm-system-x3550-m3",
        description="IBM System x3550 M3: rack server of 2011, 2 x Xeon X5675, 12 cores, 16 GB; a host of CloudSim",
        kind=MachineKind.SERVER,
        cores=(12, _X3550),
        core_speed=(speed_from_ssj_ops(890_651.0, 12), f"890,651 ssj_ops at 100 % on 12 cores: {_X3550}"),
        memory_bytes=(16 * GIB, _X3550),
        network_bit_s=(1e9, f"nominal, one of 2 x Broadcom NetXtreme II Gigabit: {_X3550}"),
        disk_iops=SATA_SSD_IOPS,
        architecture=(Architecture.AMD64, _X3550),
        accelerator=NO_ACCELERATOR,
        power_curve=PowerCurve(
            "ibm-system-x3550-m3",
            (58.4, 98.0, 109.0, 118.0, 128.0, 140.0, 153.0, 170.0, 189.0, 205.0, 222.0),
            f"{_X3550}; {_CLOUDSIM}IbmX3550XeonX5675",
        ),
        sleep_w=SERVER_SLEEP,
        shutdown_s=SERVER_SHUTDOWN,
        wake_s=_OLD_WAKE,
        wake_failure_probability=BMC_WAKE_FAILURE,
        mtbf_s=SERVER_MTBF,
        mttr_s=SERVER_MTTR,
    ),
    entry(
        name="hpe-proliant-dl325-gen10-plus",
        description="HPE ProLiant DL325 Gen10 Plus: rack server of 2021, AMD EPYC 7763, 64 cores, 128 GB",
        kind=MachineKind.SERVER,
        cores=(64, _DL325),
        core_speed=(speed_from_ssj_ops(6_343_544.0, 64), f"6,343,544 ssj_ops at 100 % on 64 cores: {_DL325}"),
        memory_bytes=(128 * GIB, _DL325),
        network_bit_s=(1e9, f"nominal, one port of a 4-port 1 Gbit/s Intel I350: {_DL325}"),
        disk_iops=SATA_SSD_IOPS,
        architecture=(Architecture.AMD64, _DL325),
        accelerator=NO_ACCELERATOR,
        power_curve=PowerCurve(
            "hpe-proliant-dl325-gen10-plus",
            (56.8, 100.0, 116.0, 130.0, 143.0, 162.0, 191.0, 211.0, 231.0, 250.0, 268.0),
            _DL325,
        ),
        sleep_w=SERVER_SLEEP,
        shutdown_s=SERVER_SHUTDOWN,
        wake_s=HPE_WAKE,
        wake_failure_probability=BMC_WAKE_FAILURE,
        mtbf_s=SERVER_MTBF,
        mttr_s=SERVER_MTTR,
    ),
    entry(
        name="dell-poweredge-r740",
        description="Dell PowerEdge R740: rack server of 2019, 2 x Xeon Platinum 8280, 56 cores, 192 GB",
        kind=MachineKind.SERVER,
        cores=(56, _R740),
        core_speed=(speed_from_ssj_ops(5_811_114.0, 56), f"5,811,114 ssj_ops at 100 % on 56 cores: {_R740}"),
        memory_bytes=(192 * GIB, _R740),
        network_bit_s=(1e9, f"nominal, one port of a 4-port 1 Gbit/s Broadcom 5720: {_R740}"),
        disk_iops=SATA_SSD_IOPS,
        architecture=(Architecture.AMD64, _R740),
        accelerator=NO_ACCELERATOR,
        power_curve=PowerCurve(
            "dell-poweredge-r740",
            (49.8, 114.0, 137.0, 159.0, 182.0, 208.0, 240.0, 277.0, 319.0, 376.0, 432.0),
            _R740,
        ),
        sleep_w=SERVER_SLEEP,
        shutdown_s=SERVER_SHUTDOWN,
        wake_s=UEFI_WAKE,
        wake_failure_probability=BMC_WAKE_FAILURE,
        mtbf_s=SERVER_MTBF,
        mttr_s=SERVER_MTTR,
    ),
    entry(
        name="ampere-altra-m96-28",
        description="ADLINK Ampere Altra Developer Platform, M96-28: ARM server of 2023, 96 cores at 2.8 GHz, 96 GB",
        kind=MachineKind.SERVER,
        cores=(96, _ALTRA_ZIP),
        core_speed=(speed_from_zip_mips(249_380.0, 96), f"249,380 7-zip MIPS on 96 cores: {_ALTRA_ZIP}"),
        memory_bytes=(96 * GIB, f"93 GiB seen by the system, taken as 96: {_ALTRA_ZIP}"),
        network_bit_s=(1e9, "assumed: one port at 1 Gbit/s; no measurement in the two lists used"),
        disk_iops=NVME_IOPS,
        architecture=(Architecture.ARM64, _ALTRA_ZIP),
        accelerator=NO_ACCELERATOR,
        power_curve=linear_curve(
            "ampere-altra-m96-28", 85.0, 242.0, f"measured at the wall: idle 85 W, stress-ng 242 W: {_ALTRA}"
        ),
        sleep_w=SERVER_SLEEP,
        shutdown_s=SERVER_SHUTDOWN,
        wake_s=UEFI_WAKE,
        wake_failure_probability=BMC_WAKE_FAILURE,
        mtbf_s=SERVER_MTBF,
        mttr_s=SERVER_MTTR,
    ),
)
