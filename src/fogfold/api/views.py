"""Model values and journal entries as the API shows them: where the one form becomes the other, and nothing is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fogfold import __version__
from fogfold.api import schemas
from fogfold.api.journal import Entry
from fogfold.control import codes
from fogfold.control.collect import Collected
from fogfold.control.loop import Loop
from fogfold.control.orders import Hold
from fogfold.control.ports import MigrationRow
from fogfold.control.power import PowerRecord
from fogfold.control.readings import Readings
from fogfold.model.container import Container
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import Node
from fogfold.model.resources import Resources

__all__ = ["ClusterView", "decision_of", "entry_of", "migration_of", "status_of", "summary_of"]


def status_of(loop: Loop) -> schemas.Status:
    """How the service stands."""
    status, collected, readings = loop.status(), loop.watch.collected, loop.watch.readings
    states: dict[str, int] = {}
    powers: list[float] = []
    if collected is not None and readings is not None:
        for state in collected.snapshot.states.values():
            states[state.name.lower()] = states.get(state.name.lower(), 0) + 1
        powers = [reading.power_w for reading in readings.nodes.values() if reading.power_w is not None]
    return schemas.Status(
        version=__version__,
        mode=status.mode.value,
        policy=loop.decider.policy.name,
        stopped=status.stopped,
        holds_lease=status.holds_lease,
        now_s=status.now_s,
        next_in_s=status.next_in_s,
        interval_s=status.interval_s,
        decisions=status.decisions,
        acting=status.acting,
        pending=status.pending,
        trouble=status.trouble,
        nodes=states,
        containers=len(collected.snapshot.cluster.containers) if collected is not None else None,
        placed=len(collected.snapshot.placement) if collected is not None else None,
        power_w=sum(powers) if powers else None,
        metered=len(powers),
        blind=len(collected.blind) if collected is not None else 0,
        age_s=collected.snapshot.age_s if collected is not None else None,
    )


class ClusterView:
    """The cluster as it was last seen, beside what the last whole decision says of it.

    Args:
        readings: the last readings.
        collected: what follows from them.
        records: how each node's power stands.
        decision: number and values of the last whole decision; None before the first.
    """

    def __init__(
        self,
        readings: Readings,
        collected: Collected,
        records: Mapping[NodeId, PowerRecord],
        decision: tuple[int, Mapping[str, Any]] | None,
    ) -> None:
        self._readings, self._collected, self._records = readings, collected, records
        self._number: int | None = None if decision is None else decision[0]
        self._value: Mapping[str, Any] = {} if decision is None else decision[1]
        snapshot = collected.snapshot
        self._on: dict[NodeId, list[ContainerId]] = {node.id: [] for node in snapshot.cluster.nodes}
        self._to: dict[NodeId, list[ContainerId]] = {node.id: [] for node in snapshot.cluster.nodes}
        for container, node_id in snapshot.placement.items():
            self._on[node_id].append(container)
        for container, node_id in snapshot.targets.items():
            self._to[node_id].append(container)
        self._sites = {site.id: site for site in snapshot.cluster.sites}
        self._refused = {
            refusal["subject"]: refusal for refusal in self._value.get("refused", ()) if refusal["act"] == "move"
        }
        self._wanted = {move["container"]: move["target"] for move in self._value.get("moves", ())}

    def nodes(self) -> schemas.NodeList:
        """All nodes."""
        snapshot = self._collected.snapshot
        return schemas.NodeList(
            at_s=snapshot.time_s,
            age_s=snapshot.age_s,
            decision=self._number,
            items=[self._node(node) for node in snapshot.cluster.nodes],
        )

    def node(self, name: str) -> schemas.Node | None:
        """One node; None where there is none of that name."""
        cluster = self._collected.snapshot.cluster
        place = cluster.node_index.get(NodeId(name))
        return None if place is None else self._node(cluster.nodes[place])

    def containers(self) -> schemas.ContainerList:
        """All containers."""
        snapshot = self._collected.snapshot
        return schemas.ContainerList(
            at_s=snapshot.time_s,
            age_s=snapshot.age_s,
            items=[self._container(container) for container in snapshot.cluster.containers],
        )

    def container(self, name: str) -> schemas.Container | None:
        """One container; None where there is none of that name."""
        cluster = self._collected.snapshot.cluster
        place = cluster.container_index.get(ContainerId(name))
        return None if place is None else self._container(cluster.containers[place])

    def _node(self, node: Node) -> schemas.Node:
        collected, snapshot = self._collected, self._collected.snapshot
        reading, record = self._readings.nodes.get(node.id), self._records.get(node.id)
        pressure, spot = collected.pressure.get(node.id), collected.blind.get(node.id)
        asleep, woken, stays = (self._value.get(key, ()) for key in ("sleep", "wake", "stays"))
        cluster = snapshot.cluster
        amounts = [cluster.containers[cluster.container_index[c]].request.as_tuple() for c in self._on[node.id]]
        site = self._sites[node.site]
        return schemas.Node(
            id=node.id,
            site=node.site,
            tier=node.tier.value,
            architecture=node.architecture.name.lower(),
            latitude_deg=site.latitude_deg,
            longitude_deg=site.longitude_deg,
            state=snapshot.states[node.id].name.lower(),
            power_state=record.state.name.lower() if record is not None else None,
            power_since_s=record.since_s if record is not None else None,
            containers=sorted(self._on[node.id]),
            arriving=sorted(self._to[node.id]),
            capacity=_resources(node.capacity.as_tuple()),
            requested=_resources(tuple(sum(column) for column in zip(*amounts, strict=True)) or (0.0,) * 4),
            used=_resources(reading.usage) if reading is not None and reading.usage is not None else None,
            power_w=reading.power_w if reading is not None else None,
            idle_w=node.power_curve.idle_w,
            sleep_w=node.sleep_w,
            pressure=pressure.score if pressure is not None else None,
            pressed_by=pressure.resource.name.lower() if pressure is not None else None,
            blind=schemas.Blind(why=spot.why.value, detail=spot.detail) if spot is not None else None,
            planned="sleep" if node.id in asleep else "wake" if node.id in woken else None,
            stays=_hold(*stays[node.id]) if node.id in stays else None,
        )

    def _container(self, container: Container) -> schemas.Container:
        snapshot = self._collected.snapshot
        reading = self._readings.containers.get(container.id)
        used, held = snapshot.usage.get(container.id), self._readings.container_holds.get(container.id)
        refusal = self._refused.get(container.id)
        return schemas.Container(
            id=container.id,
            group=container.group,
            service_class=container.service_class.name.lower(),
            movability=container.movability.name.lower(),
            node=snapshot.placement.get(container.id),
            target=snapshot.targets.get(container.id),
            requested=_of(container.request),
            used=_of(used) if used is not None else None,
            requests_s=reading.requests_s if reading is not None else None,
            restarts=reading.restarts if reading is not None else None,
            planned=self._wanted.get(container.id),
            held=_hold_of(held) if held is not None else None,
            refused=_hold(refusal["code"], refusal["detail"]) if refusal is not None else None,
        )


def summary_of(number: int, value: Mapping[str, Any]) -> schemas.DecisionSummary:
    """A decision in a line, from what was written down."""
    return schemas.DecisionSummary(
        number=number,
        at_s=value["at_s"],
        rhythm=value["rhythm"],
        policy=value["policy"],
        plan=value["plan"],
        proposed=schemas.Proposed(**value["proposed"]),
        moves=len(value["moves"]),
        sleep=len(value["sleep"]),
        wake=len(value["wake"]),
        refused=len(value["refused"]),
        saving_w=value["saving_w"],
    )


def decision_of(
    number: int, value: Mapping[str, Any], migrations: tuple[schemas.MigrationView, ...] = ()
) -> schemas.Decision:
    """A decision with its reasons, from what was written down."""
    told = {key: value[key] for key in schemas.Decision.model_fields if key in value}
    told["refused"] = [
        schemas.Refusal(
            act=refusal["act"],
            subject=refusal["subject"],
            **_hold(refusal["code"], refusal["detail"]).model_dump(),
        )
        for refusal in value["refused"]
    ]
    told["stays"] = {node: _hold(code, detail) for node, (code, detail) in value["stays"].items()}
    return schemas.Decision.model_validate({**told, "number": number, "migrations": list(migrations)})


def migration_of(row: MigrationRow) -> schemas.MigrationView:
    """A move that was begun."""
    return schemas.MigrationView(
        key=row.key,
        container=row.move.container,
        source=row.move.source,
        target=row.move.target,
        state=row.state.name.lower(),
        attempt=row.attempt,
        changed_s=row.changed_s,
        facts=dict(row.facts),
    )


def entry_of(entry: Entry) -> schemas.Entry:
    """An entry of the journal."""
    return schemas.Entry(number=entry.number, kind=entry.kind, at_s=entry.at_s, value=dict(entry.value))


def _hold_of(hold: Hold) -> schemas.Hold:
    return _hold(hold.code.value, hold.detail)


def _hold(code: str, detail: str) -> schemas.Hold:
    # A journal outlives the version that wrote it: a code that is no longer known is shown as it is.
    known = codes.CODES.get(codes.Code(code)) if code in codes.Code.__members__ else None
    return schemas.Hold(
        code=code,
        detail=detail,
        meaning=known.meaning if known is not None else "",
        remedy=known.remedy if known is not None else "",
    )


def _of(amounts: Resources) -> schemas.Resources:
    return _resources(amounts.as_tuple())


def _resources(amounts: tuple[float, ...]) -> schemas.Resources:
    cpu_cores, memory_bytes, network_bit_s, disk_iops = amounts
    return schemas.Resources(
        cpu_cores=cpu_cores, memory_bytes=memory_bytes, network_bit_s=network_bit_s, disk_iops=disk_iops
    )
