"""What several machines of the catalogue share, each written once: a value, and its source or its reason.

Most of these are assumptions: no public measurement was found of how often a machine fails to wake, nor of what most
of them draw when they are off. Who knows better for a cluster puts it in the scenario.
"""

from __future__ import annotations

from fogfold.cost.catalogue.entry import Given
from fogfold.model.node import Accelerator
from fogfold.units import DAY_S, HOUR_S

__all__ = [
    "BMC_WAKE_FAILURE",
    "EDGE_MTTR",
    "HPE_WAKE",
    "LAN_SLEEP",
    "LAN_WAKE_FAILURE",
    "NO_ACCELERATOR",
    "NVME_IOPS",
    "PC_MTBF",
    "PC_SHUTDOWN",
    "PC_WAKE",
    "PLUG_SLEEP",
    "PLUG_WAKE_FAILURE",
    "SATA_SSD_IOPS",
    "SERVER_MTBF",
    "SERVER_MTTR",
    "SERVER_SHUTDOWN",
    "SERVER_SLEEP",
    "UEFI_WAKE",
]

SATA_SSD_IOPS: Given[float] = (
    33_000.0,
    "assumed: random writes of an Intel SSD DC S4500 (its product specification: 33,000 writes, 72,000 reads of 4 KB), "
    "for a SATA SSD of the tested size whose own sheet was not found",
)
NVME_IOPS: Given[float] = (
    40_000.0,
    "assumed: no less than a Raspberry Pi SSD of 256 GB, a small NVMe disk: 40,000 random reads and 70,000 writes of "
    "4 kB (raspberrypi/documentation, accessories/ssds/about.adoc)",
)
UEFI_WAKE: Given[float] = (
    210.0,
    "assumed as measured on a board with one AMD EPYC 9005: power-on to booted system through vendor UEFI, 3.5 min "
    "(linuxboot/book, pull request 208, review of 2026-07-25)",
)
HPE_WAKE: Given[float] = (
    300.0,
    "assumed: between the 210 s of a UEFI board (linuxboot/book, pull request 208) and the 8 to 10 min that some HPE "
    "servers take to power on (plunder-app/plunder, issue 155)",
)

_YEAR_S = 365 * DAY_S
_FIELD_STUDY = (
    "field studies disagree widely (Schroeder and Gibson, A large-scale study of failures in high-performance "
    "computing systems, DSN 2006, abstract)"
)

NO_ACCELERATOR: Given[Accelerator | None] = (None, "none fitted in the machine as it was measured")

SERVER_SLEEP: Given[float] = (
    12.0,
    "assumed: off, with its supply and BMC in standby. An HP DPS-1200FB server supply with only its 12 V standby on "
    "was measured at 11.5 W (raplin/DPS-1200FB, issue 5)",
)
LAN_SLEEP: Given[float] = (
    2.0,
    "assumed as for office PCs: off, with the network card listening for a wake-up packet, usually under 2 W "
    "(sustainableit.com, What is better, standby or shutdown?); the upper end is taken",
)
PLUG_SLEEP: Given[float] = (
    0.5,
    "assumed: halted, its PoE port or smart plug cut. The board itself then draws nothing; 0.5 W are kept for the port "
    "or plug that brings it back. (Halted with power on, a Raspberry Pi 5 draws 1.2 to 1.6 W, or 0.01 W with "
    "POWER_OFF_ON_HALT=1: jeffgeerling.com, Reducing Raspberry Pi 5's power consumption by 140x, 2023)",
)

SERVER_SHUTDOWN: Given[float] = (30.0, "assumed: stop of services and of the system; Gandhi et al. take 0 s")
PC_SHUTDOWN: Given[float] = (15.0, "assumed: stop of services and of the system, on an SSD")
PC_WAKE: Given[float] = (
    60.0,
    "assumed: self-test of a PC without server firmware, start of the system from an NVMe disk, and of the container "
    "runtime; no measurement found",
)

BMC_WAKE_FAILURE: Given[float] = (
    0.005,
    "assumed: the BMC reports the power state, so that a lost order is repeated; what is left is a machine that hangs "
    "in its self-test",
)
LAN_WAKE_FAILURE: Given[float] = (
    0.02,
    "assumed: a wake-up packet is not acknowledged and may get lost, and a card may be deaf after a power cut; four "
    "times what is assumed for a BMC",
)
PLUG_WAKE_FAILURE: Given[float] = (
    0.01,
    "assumed: power comes back for certain, but the board may hang in its boot loader or find its card damaged; twice "
    "what is assumed for a BMC",
)

SERVER_MTBF: Given[float] = (2 * _YEAR_S, f"assumed: down once in two years; {_FIELD_STUDY}")
SERVER_MTTR: Given[float] = (
    4 * HOUR_S,
    "assumed: 4 h where staff is near; mean repair time varies from less than an hour to more than a day (Schroeder "
    "and Gibson, DSN 2006, abstract)",
)
PC_MTBF: Given[float] = (
    1 * _YEAR_S,
    f"assumed: down once a year: consumer supply, storage without redundancy, no machine room; {_FIELD_STUDY}",
)
EDGE_MTTR: Given[float] = (
    12 * HOUR_S,
    "assumed: 12 h, as someone has to travel; mean repair time varies from less than an hour to more than a day "
    "(Schroeder and Gibson, DSN 2006, abstract)",
)
