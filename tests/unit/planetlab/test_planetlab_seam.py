"""The seam: a policy from outside sees what the rules see, and its moves are checked."""

from __future__ import annotations

from math import ceil, floor

import numpy as np
import pytest

from fogfold.compiled import Array
from fogfold.errors import PlacementError
from fogfold.evaluate.planetlab import Corrections, Observation, play_day, rule_named


def watts(curve: Array, share: float) -> float:
    low, high = floor(share * 10), ceil(share * 10)
    if low == high:
        return float(curve[low])
    return float(curve[low] + (curve[high] - curve[low]) / 10 * (share - low / 10) * 100)


class ThresholdTwin:
    """THR-0.8 with minimum migration time, written from the rules in plain Python."""

    name = "threshold-twin"

    def moves(self, seen: Observation) -> list[tuple[int, int]]:
        self.seen = seen
        self.lists = [[int(vm) for vm in vms] for vms in seen.on_host]
        over = [h for h in range(len(self.lists)) if self.load(h) > 0.8]
        own = [list(vms) for vms in self.lists]
        picked = []
        for host in over:
            while own[host]:
                vm = min(own[host], key=lambda v: seen.vm_ram_mb[v])
                own[host].remove(vm)
                picked.append(vm)
                if sum(seen.vm_demand_mips[v] for v in own[host]) / seen.host_mips[host] <= 0.8:
                    break
        moves = []
        self.tried: list[list[int]] = [[] for _ in self.lists]
        for vm in sorted(picked, key=lambda v: -seen.vm_demand_mips[v]):
            host = self.find(vm, set(over))
            if host >= 0:
                self.tried[host].append(vm)
                moves.append((vm, host))
        off = {h for h, load in enumerate(seen.host_load) if load == 0.0}
        no_source, no_target = set(over) | off, set(over) | off
        while True:
            candidates = [h for h in range(len(self.lists)) if h not in no_source and seen.host_load[h] < 1.0]
            if not candidates:
                return moves
            source = min(candidates, key=lambda h: seen.host_load[h])
            no_source.add(source)
            no_target.add(source)
            placed: list[tuple[int, int]] = []
            for vm in sorted(self.lists[source] + self.tried[source], key=lambda v: -seen.vm_demand_mips[v]):
                host = self.find(vm, no_target)
                if host < 0:
                    for sent, target in placed:
                        self.tried[target].remove(sent)
                    placed = []
                    break
                self.tried[host].append(vm)
                placed.append((vm, host))
            no_source.update(target for _, target in placed)
            moves += placed

    def load(self, host: int) -> float:
        total = 0.0
        for vm in self.lists[host]:
            total += self.seen.vm_demand_mips[vm]
        return total / float(self.seen.host_mips[host])

    def find(self, vm: int, excluded: set[int]) -> int:
        seen, best, least = self.seen, -1, np.inf
        demand = seen.vm_demand_mips[vm]
        for host, mips in enumerate(seen.host_mips):
            if host in excluded or seen.host_core_mips[host] < demand:
                continue
            given, wanted, free, ram = 0.0, 0.0, mips, 0.0
            for other in self.lists[host]:
                asked = min(seen.vm_demand_mips[other], seen.host_core_mips[host])
                free = free - asked if free >= asked else 0.0
                given += seen.vm_allocated_mips[other]
                wanted += seen.vm_demand_mips[other]
                ram += seen.vm_ram_mb[other]
            for other in self.tried[host]:
                free -= seen.vm_demand_mips[other]
                given += seen.vm_demand_mips[other]
                wanted += seen.vm_demand_mips[other]
                ram += seen.vm_ram_mb[other]
            if free < demand or (seen.checks_ram and ram + seen.vm_ram_mb[vm] > seen.host_ram_mb[host]):
                continue
            if given != 0.0 and (wanted + demand) / mips > 0.8:
                continue
            added = watts(seen.host_power_w[host], min((given + demand) / mips, 1.0)) - seen.host_power_now_w[host]
            if added < least:
                best, least = host, added
        return best


@pytest.mark.parametrize("corrections", [(), ("wake",), ("keep",), ("ram",), ("waking",), ("all",)])
def test_a_twin_of_the_threshold_rule_gives_its_exact_figures(busy_day, corrections):
    switches = Corrections.of(corrections)
    compiled = play_day(busy_day, rule_named("thr"), switches, hosts=30)
    twin = play_day(busy_day, ThresholdTwin(), switches, hosts=30)
    assert compiled.migrations > 0
    assert twin == compiled


def test_a_policy_that_never_moves_keeps_the_spread_start(busy_day, script):
    policy = script({})
    figures = play_day(busy_day, policy, Corrections(), hosts=30)
    first_fit = play_day(busy_day, rule_named("dvfs"), Corrections(), hosts=30)
    assert (figures.migrations, figures.pdm) == (0, 0.0)
    # As with dvfs nothing moves; but start-up spread the VMs, so more hosts are on and more is drawn.
    assert figures.removed_vms == first_fit.removed_vms
    assert figures.energy_kwh > first_fit.energy_kwh
    still = [seen.vm_host[seen.alive] for seen in policy.seen]
    assert all((hosts == policy.seen[0].vm_host[seen.alive]).all() for hosts, seen in zip(still, policy.seen))


def test_history_is_the_demand_at_the_last_events(busy_day, script):
    policy = script({})
    play_day(busy_day, policy, Corrections(keep=True), hosts=30)
    demand = np.array([seen.vm_demand_mips for seen in policy.seen])
    last = policy.seen[-1]
    assert last.step == 23
    assert np.array_equal(last.vm_history_mips[:, :23], demand[::-1].T)
    assert (last.vm_history_mips[:, 23:] == 0.0).all()


def test_writing_to_what_it_sees_changes_nothing(busy_day, script):
    class Vandal:
        name = "vandal"

        def moves(self, seen):
            seen.vm_host[:] = 0
            seen.vm_demand_mips[:] = 1e9
            for vms in seen.on_host:
                vms[:] = 0
            return []

    assert play_day(busy_day, Vandal(), Corrections(), hosts=30) == play_day(
        busy_day, script({}), Corrections(), hosts=30
    )


@pytest.mark.parametrize(
    ("moves", "match"),
    [
        ([(1, 0)], "no such VM"),
        ([(-1, 0)], "no such VM"),
        ([(0, 3)], "no such host; hosts are 0 to 2"),
        ([(0, 1)], "there already"),
        ([(0, 0), (0, 0)], "sent there before"),
    ],
)
def test_a_move_that_cannot_be_is_refused(day, script, moves, match):
    with pytest.raises(PlacementError, match=match):
        play_day(day((40, 40, 40)), script({1: moves}), Corrections(), hosts=3)


def test_a_removed_vm_cannot_be_moved(day, script):
    with pytest.raises(PlacementError, match="policy script, step 2, move of VM 0 to host 0: there is no such VM"):
        play_day(day((40, 40, 0, 0)), script({2: [(0, 0)]}), Corrections(), hosts=2)


def test_memory_is_checked_only_when_corrected(day, script):
    # Five VMs of which three hold 1740 MB: the third does not fit 4096 MB.
    rows = [(5, 5, 5)] * 6

    class Gather:
        name = "gather"

        def moves(self, seen):
            return [(vm, 0) for vm in range(6) if seen.vm_host[vm] != 0] if seen.step == 1 else []

    assert play_day(day(*rows), Gather(), Corrections(), hosts=10).migrations >= 4
    with pytest.raises(PlacementError, match="of 4096 MB"):
        play_day(day(*rows), Gather(), Corrections(ram=True), hosts=10)
