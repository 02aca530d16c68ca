"""Watts of a host and the energy of an interval, in CloudSim's own order of operations.

Placement compares differences of these watts between hosts on the same straight piece of their curve, where they
differ by rounding alone. The last bit therefore decides moves, and the expressions may not be rearranged.
"""

from __future__ import annotations

from math import ceil, floor

from fogfold.compiled import Array, compiled_inline

__all__ = ["interval_energy_j", "power_w", "utilisation"]


@compiled_inline
def utilisation(used_mips: float, host_mips: float) -> float:
    """Share of a host's MIPS in use; what rounding puts above 1 counts as 1."""
    return min(used_mips / host_mips, 1.0)


@compiled_inline
def power_w(curves: Array, host: int, share: float) -> float:
    """Watts at a utilisation in [0, 1]: straight between the measured tens (`PowerModelSpecPower`).

    Args:
        curves: watts at 0, 10, ..., 100 %, float (hosts, 11).
        host: row of the host.
        share: utilisation in [0, 1].
    """
    low, high = floor(share * 10), ceil(share * 10)
    if low == high:
        return float(curves[host, low])
    step = (curves[host, high] - curves[host, low]) / 10
    return float(curves[host, low] + step * (share - low / 10) * 100)


@compiled_inline
def interval_energy_j(curves: Array, host: int, before: float, after: float, seconds: float) -> float:
    """Joules between two events: mean of the watts at both ends; nothing if the host was off at the first.

    Args:
        curves: watts at 0, 10, ..., 100 %, float (hosts, 11).
        host: row of the host.
        before: utilisation at the first event, in [0, 1].
        after: utilisation at the second.
        seconds: time between them.
    """
    if before == 0.0:
        return 0.0
    watts = power_w(curves, host, before)
    return (watts + (power_w(curves, host, after) - watts) / 2) * seconds
