"""The reference core, and how the speed of another core is measured against it.

The reference core does 100,000 ssj_ops of SPECpower_ssj2008 (server-side Java transactions a second) when all cores
of its machine are at full load: near one core of a data-centre server of 2019 to 2021 (EPYC 7763 at 0.99, Xeon
Platinum 8280 at 1.04). Speed here is throughput of a busy core, its second hardware thread included.

Boards and small PCs publish no ssj_ops, but 7-zip MIPS over all cores (sbc-bench). One microarchitecture stands in
both lists: Intel's Kaby Lake, as Xeon E3-1230 v6 in the first and as Pentium G4600 in the second, two threads a core
and about 3.6 GHz in both. That bridge puts the reference core at about 3,990 MIPS. Two benchmarks rank cores
differently, so a speed that crossed the bridge is good to about a third; a check that holds: 96 cores of Ampere Altra
come out at 62 reference cores, 64 of EPYC 7763 at 63.
"""

from __future__ import annotations

__all__ = [
    "KABY_LAKE_SSJ_OPS",
    "KABY_LAKE_ZIP_MIPS",
    "REFERENCE_SSJ_OPS",
    "REFERENCE_ZIP_MIPS",
    "speed_from_ssj_ops",
    "speed_from_zip_mips",
]

REFERENCE_SSJ_OPS = 100_000.0
"""ssj_ops of the reference core, by definition."""

KABY_LAKE_SSJ_OPS = 591_742 / 4
"""ssj_ops of a core of Xeon E3-1230 v6: FUJITSU PRIMERGY TX1320 M3, tested Mar 7, 2017, 4 cores
(green-coding-solutions/spec-power-model, data/spec_data.csv)."""

KABY_LAKE_ZIP_MIPS = 11_810 / 2
"""7-zip MIPS of a core of Pentium G4600, 2 cores (ThomasKaiser/sbc-bench, Results.md, results/2jVw.txt)."""

REFERENCE_ZIP_MIPS = KABY_LAKE_ZIP_MIPS * REFERENCE_SSJ_OPS / KABY_LAKE_SSJ_OPS
"""7-zip MIPS of the reference core, over the bridge: about 3,992."""


def speed_from_ssj_ops(ssj_ops: float, cores: int) -> float:
    """Speed of one core of a machine that does this many ssj_ops at 100 % load."""
    return ssj_ops / cores / REFERENCE_SSJ_OPS


def speed_from_zip_mips(mips: float, cores: int) -> float:
    """Speed of one core of a machine that reaches this many 7-zip MIPS with all cores, averaged over them."""
    return mips / cores / REFERENCE_ZIP_MIPS
