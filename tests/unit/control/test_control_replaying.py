"""Decisions noted and made again: what they were made from is all there, and what is missing or foreign is told."""

from __future__ import annotations

import copy
import json
import zlib
from dataclasses import replace
from typing import Any

import pytest

from fogfold.control.collect import CollectSettings, assemble
from fogfold.control.deciding import Decider, Known, Limits
from fogfold.control.failure import PortTimeoutError
from fogfold.control.guard.memory import Memory, MemorySettings, begun
from fogfold.control.guard.settings import GuardSettings
from fogfold.control.load_evidence import LoadEvidence
from fogfold.control.node_power import PowerState
from fogfold.control.orders import MoveOrder
from fogfold.control.ports import Capabilities
from fogfold.control.power import PowerRecord
from fogfold.control.readings import ContainerReading, NodeReading, Readings
from fogfold.control.recorder import InputsSettings, Recorder
from fogfold.control.replaying import Difference, differences, replay
from fogfold.control.schedule import Event, EventKind, Rhythm, Run
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, NodeId, SiteId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources
from fogfold.policy.base import Move, Proposal
from fogfold.policy.registry import policy
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.testing.clock import FakeClock
from fogfold.testing.memory_store import MemoryStore

pytestmark = pytest.mark.asyncio

NODES, CONTAINERS = 3, 2
MACRO, MICRO = Run(Rhythm.MACRO), Run(Rhythm.MICRO)


def a_known(at_s, cores=1.0, **more):
    """A cluster that is described anew at each look, with c0 and c1 on n0."""
    cluster = a_cluster([a_node(f"n{k}") for k in range(NODES)], [a_container(f"c{k}") for k in range(CONTAINERS)])
    containers = [ContainerId(f"c{k}") for k in range(CONTAINERS)]
    nodes = [NodeId(f"n{k}") for k in range(NODES)]
    readings = Readings(
        cluster,
        at_s,
        dict.fromkeys(nodes, NodeState.ON),
        dict.fromkeys(containers, nodes[0]),
        nodes={node: NodeReading(at_s, power_w=60.1) for node in nodes},
        containers={
            c: ContainerReading(at_s, Resources(cores + k / 3, 1e8, 0.1, 0.0)) for k, c in enumerate(containers)
        },
    )
    figures = {"memory": Memory(), "records": {}, "evidence": {}, "capabilities": Capabilities(live=True), **more}
    return Known(readings, assemble(readings, at_s), at_s + 0.25, **figures)


class Alternates:
    """A policy with a memory that it cannot tell: it sends c0 to another node at each call, as long as load grew."""

    name = "alternates"

    def __init__(self):
        self.calls = 0

    def reset(self, seed):
        self.calls = seed

    def propose(self, view):
        self.calls += 1
        grew = len(view.cpu_history) > 1 and view.cpu_history[-1, 0] > view.cpu_history[-2, 0]
        return Proposal(self.name, moves=(Move(0, 1 + self.calls % 2),) if grew else ())


class Remembers(Alternates):
    """The same with a memory that it can tell."""

    name = "remembers"

    def memory(self):
        return {"calls": self.calls}

    def recall(self, memory):
        self.calls = memory["calls"]


class Service:
    """A decider whose decisions are noted and written down, as the loop does it."""

    def __init__(self, chosen, store=None, limits=None, **settings):
        self.store: Any = store or MemoryStore()
        self.decider = Decider(chosen, limits or Limits.none(), seed=5)
        chosen.reset(5)
        self.recorder = Recorder(self.decider, CollectSettings(), InputsSettings(**settings), "one")
        self.clock = FakeClock(0.0)

    async def decide(self, known, run=MACRO, *, is_written=True):
        taken = self.recorder.take(known, run)
        decision = self.decider.decide(known, run)
        number = None
        if is_written:
            value = {**decision.to_json(), "alerts": [*decision.alerts, "of the cycle"], "mode": "m", "plan": "p"}
            number = await self.store.append("decision", value, at_s=known.now_s)
        self.recorder.note(taken, decision, number)
        assert self.recorder.trouble == ""
        await self.recorder.write(self.store, self.clock)
        return number

    async def again(self, number, kind=None):
        entry = await self.store.entry(number)
        return await replay(number, entry.value, self.store, lambda name: (kind or type(self.decider.policy))())


async def some_decisions(service, count=6):
    """Whole decisions and light ones under growing load; the light ones stand in no journal."""
    numbers = []
    for k in range(count):
        await service.decide(a_known(600.0 * k, 1.0 + k), MICRO, is_written=False)
        numbers.append(await service.decide(a_known(600.0 * k + 300.0, 1.0 + k)))
    return numbers


@pytest.mark.parametrize(("kind", "count"), [(Remembers, 1), (Alternates, 12)])
async def test_decision_is_made_again_with_all_that_was_remembered(kind, count):
    service = Service(kind())
    numbers = await some_decisions(service)
    again = [await service.again(number) for number in numbers]
    assert [one.is_same for one in again] == [True] * 6
    assert again[-1].decisions == count
    targets = [str(step.move.target) for one in again for step in one.decision.plan.steps]
    # The first has no load before it to compare with; then each other call is a light one.
    assert targets == ["n2"] * 5 or targets == ["n1"] * 5
    assert len(service.store._inputs) == (6 if kind is Remembers else 12)


async def test_everything_that_is_known_comes_back():
    move = MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n1"))
    snapshot = a_known(0.0).collected.snapshot
    service = Service(policy("drain-relief"), limits=Limits(GuardSettings(cooldown_s=123.0)))
    known = a_known(
        0.1 + 0.2,
        memory=begun(Memory(), move, snapshot, 1 / 3, MemorySettings()),
        records={NodeId("n2"): PowerRecord(NodeId("n2"), PowerState.OFF, 7.0, boots_s=(61.5, 70.25))},
        evidence={SiteId("s0"): LoadEvidence(1e-9, None, 2.0)},
        unproven=(NodeId("n1"),),
        stopped="storm",
    )
    run = Run(Rhythm.EVENT, (Event(EventKind.NODE_LOST, "n2"),), 3)
    again = await service.again(await service.decide(known, run), lambda: policy("drain-relief"))
    assert again.is_same
    assert again.decision.known == known
    assert again.decision.run == run


async def test_cluster_that_is_described_anew_is_stored_once():
    service = Service(Remembers())
    await some_decisions(service)
    # One cluster, one set of limits, and the usage of the whole decisions before the last.
    assert len(service.store._parts) == 1 + 1 + 5


async def test_cluster_that_is_described_anew_is_the_same_to_a_policy_until_it_changes():
    fleets = []

    class Looks(Remembers):
        def propose(self, view):
            fleets.append(view.fleet)
            return super().propose(view)

    service = Service(Looks())
    for at_s in (0.0, 300.0):
        await service.decide(a_known(at_s))
    known = a_known(600.0)
    cluster = replace(known.readings.cluster, nodes=(*known.readings.cluster.nodes, a_node("n9")))
    states = {**known.readings.states, NodeId("n9"): NodeState.ASLEEP}
    readings = replace(known.readings, cluster=cluster, states=states)
    number = await service.decide(replace(known, readings=readings, collected=assemble(readings, 600.0)))
    assert fleets[0] is fleets[1]
    assert (fleets[1].nodes, fleets[2].nodes) == (3, 4)
    assert (await service.again(number)).is_same


async def test_store_that_was_away_gets_all_later():
    service = Service(Alternates())
    numbers = [await service.decide(a_known(0.0, 1.0))]
    remember, away = service.store.remember_inputs, True

    async def sometimes(rows, parts):
        if away:
            raise PortTimeoutError("away")
        await remember(rows, parts)

    service.store.remember_inputs = sometimes
    for k in range(1, 4):
        with pytest.raises(PortTimeoutError):
            await service.decide(a_known(300.0 * k, 1.0 + k))
    away = False
    numbers.append(await service.decide(a_known(1200.0, 9.0)))
    assert (await service.again(numbers[-1])).is_same
    assert (await service.again(numbers[-1])).decisions == 5


async def test_nothing_is_stored_where_nothing_is_to_be_kept():
    service = Service(Remembers(), keep_s=0.0)
    number = await service.decide(a_known(0.0))
    assert service.store._inputs == {}
    with pytest.raises(ModelError, match=f"nothing is stored of what decision {number} was made from"):
        await service.again(number)


async def test_old_inputs_are_forgotten_once_an_hour():
    service = Service(Remembers(), keep_s=3600.0)
    first = await service.decide(a_known(0.0))
    for minute in range(10, 121, 10):
        service.clock.advance(600.0)
        last = await service.decide(a_known(60.0 * minute))
    with pytest.raises(ModelError, match="nothing is stored"):
        await service.again(first)
    assert (await service.again(last)).is_same


async def test_record_of_another_form_names_the_version_that_wrote_it():
    service = Service(Remembers())
    number = await service.decide(a_known(0.0))
    ((key, row),) = service.store._inputs.items()
    value = json.loads(zlib.decompress(row.value))
    service.store._inputs[key] = replace(row, value=_packed({**value, "form": "older", "fogfold": "0.0.7"}))
    with pytest.raises(ModelError, match=r"of the form of fogfold 0\.0\.7"):
        await service.again(number)
    service.store._inputs[key] = replace(row, value=_packed({**value, "readings": []}))
    with pytest.raises(ModelError, match="cannot be read as Readings"):
        await service.again(number)
    service.store._inputs[key] = replace(row, value=b"no zlib")
    with pytest.raises(ModelError, match="damaged"):
        await service.again(number)
    service.store._inputs[key] = replace(row, value=_packed({**value, "fogfold": "0.0.7"}))
    again = await service.again(number)
    assert (again.is_same, again.fogfold) == (True, "0.0.7")
    service.store._parts.clear()
    with pytest.raises(ModelError, match="is not stored any more"):
        await service.again(number)


async def test_other_policy_of_that_name_is_found_out():
    class Otherwise(Remembers):
        def propose(self, view):
            return replace(super().propose(view), stays={})

        def recall(self, memory):
            self.calls = memory["calls"] + 1

    service = Service(Remembers())
    numbers = await some_decisions(service)
    again = await service.again(numbers[-1], Otherwise)
    assert not again.is_same
    assert [one.field for one in again.differences] == ["moves[0].target"]
    assert again.parted == f"decision {numbers[-1]}"
    with pytest.raises(ModelError, match="remembers otherwise here"):
        await service.again(numbers[-1], Alternates)


async def test_chain_names_the_first_decision_that_parted():
    service = Service(Alternates())
    numbers = await some_decisions(service)
    row = service.store._inputs[next(key for key in service.store._inputs if key[1] == 8)]
    value = json.loads(zlib.decompress(row.value))
    service.store._inputs[row.life, 8] = replace(row, value=_packed({**value, "decided": "another"}))
    again = await service.again(numbers[-1])
    assert (again.differences, again.is_same) == ((), False)
    assert again.parted == f"decision {numbers[3]}"


async def test_differences_name_the_field_and_both_sides():
    made = Service(Remembers()).decider.decide(a_known(0.0), MACRO).to_json()
    written = copy.deepcopy(json.loads(json.dumps(made)))
    assert differences({**written, "mode": "x", "plan": "y", "alerts": ["of the cycle"]}, made) == ()
    written["blind"]["n9"] = "gone"
    written["proposed"]["moves"] = 3
    written["wake"] = ["n1"]
    assert set(differences(written, made)) == {
        Difference("blind.n9", "gone", None),
        Difference("proposed.moves", 3, 0),
        Difference("wake[0]", "n1", None),
    }


def _packed(value):
    return zlib.compress(json.dumps(value).encode())
