"""The seam for other policies: an object that sees one optimisation as arrays and answers with moves.

It replaces overload detection, VM selection and placement of the benchmark at once; moves, sharing, energy and
metrics stay the benchmark's. Learned policies are judged here on the field's own terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.errors import PlacementError
from fogfold.evaluate.planetlab.fleet import Fleet, State
from fogfold.evaluate.planetlab.overload import HISTORY
from fogfold.evaluate.planetlab.power import power_w, utilisation

__all__ = ["MovePolicy", "Observation", "checked_moves", "observe"]


@dataclass(frozen=True)
class Observation:
    """What a policy sees at one scheduling event, after demand was read and before anything moves.

    Arrays are copies; writing to them changes nothing.
    """

    step: int
    """Number of the event, from 1."""
    time_s: float
    """300 x step + 0.1."""
    host_mips: Float[Array, " hosts"]
    host_core_mips: Float[Array, " hosts"]
    """Most that one VM can be given there."""
    host_ram_mb: Float[Array, " hosts"]
    host_power_w: Float[Array, "hosts 11"]
    """Watts at 0, 10, ..., 100 %."""
    host_load: Float[Array, " hosts"]
    """Utilisation in [0, 1]; a host at 0 is off."""
    host_power_now_w: Float[Array, " hosts"]
    """Watts at that load by the curve; a host that is off stands at its idle power, as CloudSim's rule sees it,
    or at 0 with the correction `wake`."""
    vm_mips: Float[Array, " vms"]
    """What the VM was sold."""
    vm_ram_mb: Float[Array, " vms"]
    vm_host: Int[Array, " vms"]
    """Where it runs; -1 once it was removed."""
    vm_demand_mips: Float[Array, " vms"]
    vm_allocated_mips: Float[Array, " vms"]
    vm_history_mips: Float[Array, "vms 30"]
    """Demand at the last events, newest (this one) first; zero before the first."""
    on_host: tuple[Int[Array, " _"], ...]
    """VMs of each host, in the benchmark's order: sums that run in it agree to the last bit."""
    checks_ram: bool
    """Whether a move to a host without room for the memory is refused (correction `ram`)."""
    wake_s: float
    """Time at full power that waking a host takes, 0 without the correction `waking`."""

    @property
    def alive(self) -> Bool[Array, " vms"]:
        """Which VMs are still there."""
        return self.vm_host >= 0


@runtime_checkable
class MovePolicy(Protocol):
    """A policy from outside: called once per scheduling event, in order, from step 1.

    VMs start as with the benchmark's own migrating policies (spread by least added power).
    """

    @property
    def name(self) -> str:
        """What the row of results calls it."""
        ...

    def moves(self, seen: Observation) -> Sequence[tuple[int, int]]:
        """The moves to start now, each as (VM, target host), in order.

        A VM named twice moves to both targets at once and ends on the later one, as in CloudSim.
        """
        ...


def observe(fleet: Fleet, state: State, step: int) -> Observation:
    """The present state as a policy sees it."""
    hosts = range(len(fleet.host))
    load = np.array([utilisation(state.host["used_mips"][h], fleet.host["mips"][h]) for h in hosts])
    power = np.array([power_w(fleet.host_power_w, h, load[h]) for h in hosts])
    if fleet.counts_off_as_zero:
        power[load == 0.0] = 0.0
    history = np.zeros((len(fleet.vm), HISTORY))
    depth = min(HISTORY, step)
    history[:, :depth] = state.observed_mips[:, step - depth + 1 : step + 1][:, ::-1]
    return Observation(
        step=step,
        time_s=float(state.tally["clock_s"][0]),
        host_mips=fleet.host["mips"].copy(),
        host_core_mips=fleet.host["core_mips"].copy(),
        host_ram_mb=fleet.host["ram_mb"].copy(),
        host_power_w=fleet.host_power_w.copy(),
        host_load=load,
        host_power_now_w=power,
        vm_mips=fleet.vm["mips"].copy(),
        vm_ram_mb=fleet.vm["ram_mb"].copy(),
        vm_host=state.vm["home"].copy(),
        vm_demand_mips=state.vm["demand_mips"].copy(),
        vm_allocated_mips=state.vm["allocated_mips"].copy(),
        vm_history_mips=history,
        on_host=tuple(state.listed[h, : state.host["vms_on"][h]].copy() for h in hosts),
        checks_ram=fleet.checks_ram,
        wake_s=fleet.wake_s,
    )


def checked_moves(
    policy: str, seen: Observation, moves: Sequence[tuple[int, int]]
) -> tuple[Int[Array, " moves"], Int[Array, " moves"]]:
    """The moves as two arrays, VMs and targets.

    Raises:
        PlacementError: if a move names a VM or host that is not there, the VM's own host or the same move twice, or
            (correction `ram`) a target without room beside what it holds and what was sent to it before.
    """
    held_mb = np.bincount(seen.vm_host[seen.alive], weights=seen.vm_ram_mb[seen.alive], minlength=len(seen.host_mips))
    done: set[tuple[int, int]] = set()
    for vm, host in moves:
        where = f"policy {policy}, step {seen.step}, move of VM {vm} to host {host}"
        if not 0 <= vm < len(seen.vm_host) or not seen.vm_host[vm] >= 0:
            raise PlacementError(f"{where}: there is no such VM now; move only VMs whose vm_host is 0 or more")
        if not 0 <= host < len(seen.host_mips):
            raise PlacementError(f"{where}: there is no such host; hosts are 0 to {len(seen.host_mips) - 1}")
        if seen.vm_host[vm] == host or (vm, host) in done:
            raise PlacementError(f"{where}: it is there already or was sent there before; leave the move out")
        done.add((vm, host))
        held_mb[host] += seen.vm_ram_mb[vm]
        if seen.checks_ram and held_mb[host] > seen.host_ram_mb[host]:
            raise PlacementError(
                f"{where}: it would hold {held_mb[host]:g} MB of {seen.host_ram_mb[host]:g} MB; "
                "choose a host with room (memory is freed only when a move ends)"
            )
    pairs = np.array(list(moves), np.int64).reshape(-1, 2)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
