"""Nodes put to sleep and woken: one look after the other, each new state kept before the act that it stands for.

What follows from a look is for `power.advance` to say. Here it is kept, carried out, and looked at again until the
node is where it should be, or it is clear that it will not get there. At most one node of a site is on its way at a
time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fogfold.control.asking import Asking
from fogfold.control.codes import Code
from fogfold.control.eyes import Eyes
from fogfold.control.failure import PortError, PortTimeoutError
from fogfold.control.mandate import Mandate
from fogfold.control.node_power import IN_TRANSIT, PowerState, check_power_transition
from fogfold.control.orders import Hold
from fogfold.control.ports import Clock, Orchestrator, Power, PowerSight, Store
from fogfold.control.power import NodeSight, PowerAct, PowerRecord, PowerSettings, PowerStep, Wanted, advance
from fogfold.errors import ModelError, did_you_mean
from fogfold.model.cluster import Cluster
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState
from fogfold.model.resources import check_number
from fogfold.model.snapshot import Snapshot
from fogfold.units import HOUR_S, MINUTE_S

__all__ = ["CAN_BE_CALLED_OFF", "POWER_KIND", "SwitchSettings", "Switcher", "kept_form", "record_of_kept"]

POWER_KIND = "power"
"""Under which kind power records are kept, each by the name of its node."""

_STATE: dict[NodeState, PowerState] = {
    NodeState.ON: PowerState.ON,
    NodeState.DRAINING: PowerState.DRAINING,
    NodeState.GOING_TO_SLEEP: PowerState.OFF_REQUESTED,
    NodeState.ASLEEP: PowerState.OFF,
    NodeState.WAKING: PowerState.BOOTING,
    NodeState.FAILED: PowerState.LOST,
}
"""What a node's record begins with, where none is kept."""

CAN_BE_CALLED_OFF = frozenset({PowerState.CANDIDATE, PowerState.DRAINING, PowerState.DRAINED})
"""States on the way to sleep in which nothing was ordered yet."""

_LOOKS = 4
"""Looks within which a node that is on is on its way to be emptied, or will not be."""
_LOOKED_AT_FROM_OUTSIDE = frozenset(PowerState) - CAN_BE_CALLED_OFF - {PowerState.ON}


@dataclass(frozen=True, slots=True)
class SwitchSettings:
    """How long to stay with a node that is switched."""

    look_s: float = 5.0
    """Time between two looks."""
    empty_s: float = 5 * MINUTE_S
    """How long after the last move a node may take to be seen empty, before its drain is called off."""
    switch_s: float = HOUR_S
    """How long one stays with a node in all, waiting for its turn included; its record then says how it stands."""
    power: PowerSettings = dataclasses.field(default_factory=PowerSettings)

    def __post_init__(self) -> None:
        for name in ("look_s", "empty_s", "switch_s"):
            check_number(name, float(getattr(self, name)), above=True)


class Switcher:
    """Takes single nodes to sleep and back.

    Args:
        cluster: sites and described boot times.
        orchestrator: where our marks are put.
        power: who switches.
        store: where records are kept first.
        clock: time.
        mandate: the right to act.
        asking: how to ask somebody who may not answer.
        eyes: what is seen of a node.
        settings: how long to stay with it.
        plan: the name that our marks bear, beside the fence.
    """

    def __init__(
        self,
        cluster: Cluster,
        orchestrator: Orchestrator,
        power: Power,
        store: Store,
        clock: Clock,
        mandate: Mandate,
        asking: Asking,
        eyes: Eyes,
        settings: SwitchSettings,
        *,
        plan: str,
    ) -> None:
        self.records: dict[NodeId, PowerRecord] = {}
        """What is kept of each node that was ever switched."""
        self.alerts: list[str] = []
        """What an operator should know."""
        self.marked: set[NodeId] = set()
        """Nodes whose mark nobody would remove."""
        self._nodes = {node.id: node for node in cluster.nodes}
        self._orchestrator = orchestrator
        self._power = power
        self._store = store
        self._clock = clock
        self._mandate = mandate
        self._asking = asking
        self._eyes = eyes
        self._settings = settings
        self._plan = plan
        self._unmet: dict[NodeId, str] = {}

    async def load(self) -> None:
        """Read the records that are kept; those of nodes that are no more are left alone."""
        kept = await self._store.kept(POWER_KIND)
        for name, value in kept.items():
            if NodeId(name) in self._nodes:
                self.records[NodeId(name)] = record_of_kept(NodeId(name), value)

    def know(self, nodes: frozenset[NodeId], snapshot: Snapshot) -> None:
        """Begin a record for those nodes that have none, from how they look.

        So it is for one that is kept as on and was put to sleep by somebody else: nobody wakes a node that is on.
        """
        for node in sorted(nodes & snapshot.states.keys()):
            record, looks = self.records.get(node), _STATE[snapshot.states[node]]
            if record is None:
                self.records[node] = PowerRecord(node, looks, self._clock.now_s())
            elif record.state is PowerState.ON and looks is PowerState.OFF:
                self.records[node] = replace(record, state=looks, since_s=self._clock.now_s())

    async def begin_drain(self, node: NodeId) -> str:
        """Mark a node so that it takes nothing more; empty once the mark is on it, else why it is not."""
        self._unmet.pop(node, None)
        empties = {PowerState.DRAINING, PowerState.DRAINED}
        if self.records[node].state in empties:
            # It was draining before this plan: what mark it bears, if any, is another's.
            await self._act(node, PowerAct.CORDON)
        for _ in range(_LOOKS):
            if self.records[node].state in empties:
                return self._unmet.get(node, "")
            if await self.turn(node, Wanted.SLEEP) is None:
                await self._clock.sleep(self._settings.look_s)
        return f"{node} is {self.records[node].state.name} and cannot be emptied"

    async def call_off(self, node: NodeId) -> None:
        """A node that was to sleep stays on, and takes containers again."""
        while self.records[node].state in CAN_BE_CALLED_OFF:
            # Nothing needs to be seen for that.
            await self._step(node, Wanted.STAY, NodeSight(answers=False))

    async def put_off(self, node: NodeId, may_go: Callable[[], bool]) -> Hold | None:
        """Switch an emptied node off; None once it is off, else why it is not.

        Args:
            node: a node of which all moves have arrived.
            may_go: asked before each step; once it says no, and nothing was ordered yet, the drain is called off.
        """
        began_s = self._clock.monotonic_s()
        ordered = looked = False
        while self.records[node].state is not PowerState.OFF:
            state = self.records[node].state
            waited_s = self._clock.monotonic_s() - began_s
            ordered = ordered or state not in CAN_BE_CALLED_OFF
            if state in CAN_BE_CALLED_OFF:
                hold = self._why_not(node, state, waited_s, may_go)
                if hold is not None:
                    await self.call_off(node)
                    return hold
            elif state is PowerState.LOST or (state is PowerState.ON and ordered):
                return Hold(Code.NODE_NOT_READY, self._unmet.get(node) or f"{node} was ordered off and is {state.name}")
            elif waited_s >= self._settings.switch_s or (looked and self._is_given_up(node)):
                return Hold(Code.NODE_NOT_READY, f"{node} was ordered off, and nobody can say that it is")
            step, looked = await self.turn(node, Wanted.SLEEP), True
            if step is None or self.records[node].state is state:
                await self._clock.sleep(self._settings.look_s)
        return None

    async def wake(self, node: NodeId, may_begin: Callable[[], bool]) -> str:
        """Wake a node, or call its drain off; empty once it is up and receives, else why it does not."""
        began_s = self._clock.monotonic_s()
        looked = False
        while self.records[node].state is not PowerState.ON:
            state = self.records[node].state
            if state is PowerState.OFF and not may_begin():
                return "stopped before it was ordered"
            if state is PowerState.WAKE_FAILED and looked:
                return self._unmet.get(node) or f"{node} did not come up"
            if self._clock.monotonic_s() - began_s >= self._settings.switch_s:
                return f"{node} is still {state.name}"
            step, looked = await self.turn(node, Wanted.WAKE), True
            if step is None or self.records[node].state is state:
                await self._clock.sleep(self._settings.look_s)
        return ""

    async def turn(self, node: NodeId, wanted: Wanted) -> PowerStep | None:
        """One look at a node and what follows from it; None where nobody could look."""
        record = self.records[node]
        try:
            sight = await self._eyes.look(node)
            if sight.power is None and record.state in _LOOKED_AT_FROM_OUTSIDE:
                sight = replace(sight, power=await self._read(node))
        except PortTimeoutError:
            return None
        return await self._step(node, wanted, sight)

    async def _step(self, node: NodeId, wanted: Wanted, sight: NodeSight) -> PowerStep:
        record = self.records[node]
        step = advance(
            record,
            sight,
            wanted,
            self._clock.now_s(),
            described_boot_s=self._nodes[node].wake_s,
            site_is_busy=self._site_is_busy(node),
            must_stay=self._eyes.keeps_on(node) is not None,
            settings=self._settings.power,
        )
        if step.record != record:
            # Taken note of before anything is awaited, so that two nodes of one site never set out together.
            self.records[node] = step.record
            await self._keep(node)
        if step.alert:
            self.alerts.append(step.alert)
        for act in step.acts:
            await self._act(node, act)
        return step

    async def order_again(self, node: NodeId) -> None:
        """Give an order again that may or may not have been given; to go off only where the node is seen empty.

        Each time counts as a try, and after the last one nothing is ordered: the wait runs out as it does for others.
        """
        record, power = self.records[node], self._settings.power
        if record.tries >= (power.off_tries if record.state is PowerState.OFF_REQUESTED else power.wake_tries):
            return
        act = PowerAct.ORDER_ON
        if record.state is PowerState.OFF_REQUESTED:
            act = PowerAct.ORDER_OFF
            try:
                sight = await self._eyes.look(node)
            except PortTimeoutError:
                return
            if sight.is_empty is not True or sight.volumes != 0 or self._eyes.keeps_on(node) is not None:
                return
        now_s = self._clock.now_s()
        asked_s = now_s if act is PowerAct.ORDER_ON else record.asked_s
        self.records[node] = replace(record, since_s=now_s, asked_s=asked_s, tries=record.tries + 1)
        await self._keep(node)
        await self._act(node, act)

    async def uncordon(self, node: NodeId) -> None:
        """Remove our mark."""
        await self._act(node, PowerAct.UNCORDON)

    def _why_not(self, node: NodeId, state: PowerState, waited_s: float, may_go: Callable[[], bool]) -> Hold | None:
        kept_on = self._eyes.keeps_on(node)
        if kept_on is not None:
            return kept_on
        if not may_go():
            return Hold(Code.HALTED, f"stopped before {node} was ordered off")
        if state is PowerState.DRAINING and waited_s >= self._settings.empty_s:
            return Hold(Code.DRAIN_BROKEN, f"{node} is not seen to be empty and free of volumes")
        if waited_s >= self._settings.switch_s:
            return Hold(Code.POWER_BUSY, f"another node of the site of {node} has been in switching all the time")
        return None

    def _is_given_up(self, node: NodeId) -> bool:
        record, power = self.records[node], self._settings.power
        lasted_s = self._clock.now_s() - record.since_s
        return (
            record.state is PowerState.OFF_UNCONFIRMED and record.tries >= power.off_tries and lasted_s >= power.off_s
        )

    def _site_is_busy(self, node: NodeId) -> bool:
        site = self._nodes[node].site
        return any(
            record.state in IN_TRANSIT
            for name, record in self.records.items()
            if name != node and self._nodes[name].site == site
        )

    async def _keep(self, node: NodeId) -> None:
        await self._store.keep(POWER_KIND, node, kept_form(self.records[node]), fence=self._mandate.fence)

    async def _read(self, node: NodeId) -> PowerSight | None:
        try:
            return await self._power.read(node)
        except PortTimeoutError:
            return None

    async def _act(self, node: NodeId, act: PowerAct) -> None:
        record = self.records.get(node, PowerRecord(node))
        key = f"{node}/{record.state.name}/{record.since_s:.3f}/{record.tries}"
        orders: Mapping[PowerAct, Callable[[], Any]] = {
            PowerAct.CORDON: lambda: self._orchestrator.cordon(node, f"{self._plan} {self._mandate.fence}"),
            PowerAct.UNCORDON: lambda: self._orchestrator.uncordon(node),
            PowerAct.ORDER_OFF: lambda: self._power.off(node, key),
            PowerAct.ORDER_ON: lambda: self._power.on(node, key),
        }
        if act not in orders:
            return
        try:
            met = await self._asking.ask(orders[act])
        except PortError as error:
            met = str(error)
            self.alerts.append(f"{act.value} {node}: {met}")
            await self._refused(node)
        if met:
            self._unmet[node] = met
            if act is PowerAct.UNCORDON:
                self.marked.add(node)
        elif act is PowerAct.UNCORDON:
            self.marked.discard(node)

    async def _refused(self, node: NodeId) -> None:
        # What the driver will never do is not waited for: it counts as on, and is looked at again.
        after = {
            PowerState.OFF_REQUESTED: PowerState.OFF_UNCONFIRMED,
            PowerState.WAKE_REQUESTED: PowerState.WAKE_FAILED,
        }.get(self.records[node].state)
        if after is not None:
            check_power_transition(node, self.records[node].state, after)
            tries = self._settings.power.off_tries if after is PowerState.OFF_UNCONFIRMED else 0
            self.records[node] = replace(
                self.records[node], state=after, since_s=self._clock.now_s(), tries=tries, asked_s=None
            )
            await self._keep(node)


def kept_form(record: PowerRecord) -> dict[str, Any]:
    """A power record as plain values; its node is the name it is kept under."""
    values = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    del values["node"]
    return values | {"state": record.state.name, "boots_s": list(record.boots_s)}


def record_of_kept(node: NodeId, value: Mapping[str, Any]) -> PowerRecord:
    """A power record from what was kept.

    Raises:
        ModelError: if a field or the state is unknown.
    """
    known = {field.name for field in dataclasses.fields(PowerRecord)} - {"node"}
    for name in value:
        if name not in known:
            raise ModelError(f"the power record of {node!r} has a field {name!r}; {did_you_mean(name, known)}")
    states = PowerState.__members__
    if value.get("state") not in states:
        raise ModelError(
            f"the power record of {node!r} has state {value.get('state')!r}; "
            f"{did_you_mean(str(value.get('state')), states)}"
        )
    return PowerRecord(node, **{**value, "state": states[value["state"]], "boots_s": tuple(value.get("boots_s", ()))})
