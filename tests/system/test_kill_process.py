"""A real process that carries out a plan over SQLite is killed at random instants, and another puts all in order.

This file is both: the test, and (run as a script) the process that is killed. What it acts on is kept in a file, whole
or not at all after each call, since a cluster outlives who manages it.
"""

from __future__ import annotations

import asyncio
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fogfold.adapters.storage.schema import upgrade
from fogfold.adapters.storage.sql_store import SqlStore
from fogfold.control.asking import Patience
from fogfold.control.execute import Executor
from fogfold.control.means import ExecuteSettings, Means
from fogfold.control.moving import MoveSettings
from fogfold.control.node_power import PowerState
from fogfold.control.orders import MoveOrder, Orders
from fogfold.control.outcome import Verdict
from fogfold.control.plan import PlanSettings, make_plan
from fogfold.control.power import PowerSettings
from fogfold.control.recover import recover
from fogfold.control.switching import POWER_KIND, SwitchSettings
from fogfold.model.identity import ContainerId, NodeId
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.testing.fakes import FakeEyes, FakeOrchestrator, FakePower, Fate, Turn

PLACEMENT = {"c0": "n0", "c1": "n0", "c2": "n1", "c3": "n1"}
CLUSTER = a_cluster([a_node(f"n{i}", wake_s=0.1) for i in range(4)], [a_container(name) for name in PLACEMENT])
LEASE_S = 0.5
SETTINGS = ExecuteSettings(
    MoveSettings(look_s=0.01, stall_s=2.0, undo_s=2.0, patience=Patience(3, 0.02, 0.1)),
    SwitchSettings(
        look_s=0.01,
        empty_s=2.0,
        power=PowerSettings(
            lost_s=1.0, rest_s=0.02, off_s=2.0, order_s=2.0, boot_least_s=2.0, wake_rest_s=1.0, settle_s=0.02
        ),
    ),
    settle_s=0.02,
    lease_s=LEASE_S,
    cycle_s=10.0,
)
ROUNDS = 6


class MachineClock:
    """The machine's own time; its monotonic side goes on from process to process."""

    def now_s(self) -> float:
        return time.time()

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)


class World:
    """The fakes in a file: read before each call, written after it in one piece."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "world"
        self.clock = MachineClock()
        self.orchestrator = FakeOrchestrator(self.clock, PLACEMENT)
        self.power = FakePower(self.clock, self.orchestrator, asleep=("n3",), off_s=0.05, boot_s=0.05)
        self.eyes = FakeEyes(CLUSTER, self.orchestrator, self.power, self.clock)
        if self._file.exists():
            self._load()
        else:
            for name in PLACEMENT:
                fates = [Fate.FAILS, Fate.ARRIVES] if name == "c1" else [Fate.ARRIVES]
                self.orchestrator.script(name, *(Turn(fate, takes_s=0.1) for fate in fates))
            self.save()

    def _load(self) -> None:
        for fake, kept in zip((self.orchestrator, self.power), pickle.loads(self._file.read_bytes()), strict=True):  # noqa: S301  our own file
            fake.__dict__.update(kept)

    def save(self) -> None:
        parts = [
            {name: value for name, value in vars(fake).items() if name not in {"_clock", "_orchestrator"}}
            for fake in (self.orchestrator, self.power)
        ]
        beside = self._file.with_suffix(".new")
        beside.write_bytes(pickle.dumps(parts))
        beside.replace(self._file)

    def through(self, port: Any) -> Any:
        return _Kept(self, port)


class _Kept:
    def __init__(self, world: World, port: Any) -> None:
        self._world, self._port = world, port

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def call(*arguments: Any, **named: Any) -> Any:
            out = await found(*arguments, **named)
            self._world.save()
            return out

        return call


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'journal.db'}"


def _means(world: World, store: SqlStore) -> Means:
    return Means(
        world.through(world.orchestrator),
        world.through(world.power),
        store,
        world.clock,
        world.through(world.eyes),
        stream(3, "executor"),
    )


async def _carry_out(folder: Path) -> Verdict:
    """What the process does that is killed."""
    world = World(folder)
    async with SqlStore(_url(folder)) as store:
        lease = await store.acquire("to be killed", for_s=LEASE_S, now_s=time.time())
        assert lease is not None
        moves = [("c0", "n0", "n1"), ("c1", "n0", "n2"), ("c2", "n1", "n3")]
        orders = Orders(
            tuple(MoveOrder(ContainerId(c), NodeId(a), NodeId(b)) for c, a, b in moves),
            sleep=(NodeId("n0"),),
            wake=(NodeId("n3"),),
        )
        plan = make_plan(orders, await world.eyes.snapshot(), PlanSettings(node_at_once=9))
        print("ready", flush=True)  # noqa: T201  the signal that the clock of its death may start
        report = await Executor(_means(world, store), SETTINGS).execute(plan, "p1", lease)
    print(report.verdict.value, flush=True)  # noqa: T201
    return report.verdict


async def _put_in_order(folder: Path) -> list[str]:
    """What the next process does; gives what is not as it must be."""
    world = World(folder)
    async with SqlStore(_url(folder)) as store:
        lease = await store.acquire("the next", for_s=30.0, now_s=time.time())
        assert lease is not None
        report = await recover(_means(world, store), lease, SETTINGS)
        faults = [] if report.is_complete else [f"not complete: {report}"]
        faults += [f"{row.key} is open" for row in await store.open_migrations()]
        kept = await store.kept(POWER_KIND)
    faults += [f"{name} is {value['state']}" for name, value in kept.items() if value["state"] not in {"ON", "OFF"}]
    off = {name for name, value in kept.items() if value["state"] == PowerState.OFF.name}
    faults += [f"{name} is not off" for name in off if not world.power.is_off(NodeId(name))]
    faults += [f"{node} bears a mark" for node in world.orchestrator.nodes_marked if node not in off]
    faults += [f"{c} runs on {sorted(nodes)}" for c, nodes in world.orchestrator.runs.items() if len(nodes) != 1]
    faults += [f"room is held for {key}" for key in world.orchestrator.held]
    return faults + [f"{node} was cut with {sorted(who)}" for node, who in world.power.cut.items() if who]


def _start(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, __file__, str(folder)], stdout=subprocess.PIPE, text=True)  # noqa: S603  this very file
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
def test_process_that_is_killed_at_random_instants_leaves_nothing_that_is_not_put_in_order(tmp_path):
    asyncio.run(upgrade(_url(tmp_path)))

    def prepare(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(tmp_path / "journal.db", folder)
        return folder

    with _start(prepare("whole")) as process:
        began_s = time.monotonic()
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        takes_s = time.monotonic() - began_s
    rng = stream(11, "instants")
    killed = 0
    for number in range(ROUNDS):
        folder = prepare(str(number))
        with _start(folder) as process:
            time.sleep(float(rng.uniform(0.0, takes_s)))
            process.kill()
            killed += "done" not in process.communicate(timeout=60.0)[0]
        time.sleep(LEASE_S + 0.1)
        assert asyncio.run(_put_in_order(folder)) == [], number
    assert killed >= ROUNDS // 2


if __name__ == "__main__":
    asyncio.run(_carry_out(Path(sys.argv[1])))
