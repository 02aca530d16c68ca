"""The least energy with which a day's demand can be served: all of it at the best watts per MIPS, hosts for free.

No placement that gives VMs what they ask can be below it; a figure below it starved somebody or changed the model.
It says nothing about whether a placement comes near: memory, whole hosts and moves are left out.
"""

from __future__ import annotations

import numpy as np

from fogfold.evaluate.planetlab.corrections import Corrections
from fogfold.evaluate.planetlab.fleet import fleet_of
from fogfold.evaluate.planetlab.machines import HOST_KINDS
from fogfold.evaluate.planetlab.start import START_S
from fogfold.evaluate.planetlab.trace import SAMPLE_S, DayTrace
from fogfold.units import J_PER_KWH

__all__ = ["best_w_per_mips", "lower_bound_kwh"]


def best_w_per_mips() -> float:
    """The least watts per MIPS of any kind of host at any measured load: a G5 at 100 %, 135 W for 5320 MIPS."""
    return min(
        watts / (kind.mips * tenth / 10) for kind in HOST_KINDS for tenth, watts in enumerate(kind.power_w) if tenth
    )


def lower_bound_kwh(trace: DayTrace, corrections: Corrections | None = None) -> float:
    """The bound in kWh over the time in which the benchmark counts energy, from the first event to the last.

    Demand counts as in the benchmark's SLA figures: as it is at an event, until the next. (Straight lines between
    events would give up to 0.15 % less.) Without the correction `keep`, demand ends where the benchmark removes the
    VM: at the first event with two zero samples around it.
    """
    corrections = corrections or Corrections()
    fleet = fleet_of(trace, corrections)
    share = fleet.vm_share
    at_event = share[:, 1:-1] + (share[:, 2:] - share[:, 1:-1]) * (START_S / SAMPLE_S)
    demand_mips = at_event * fleet.vm["mips"][:, None]
    if not corrections.keep:
        gone = np.cumsum(demand_mips == 0.0, axis=1) > 0
        demand_mips = np.where(gone, 0.0, demand_mips)
    mips_s = float(demand_mips[:, :-1].sum() * SAMPLE_S)
    return mips_s * best_w_per_mips() / J_PER_KWH
