"""Takes out of the records what cannot be, or cannot be used, and counts it by reason: nothing is dropped unseen.

Where most of a form's rows have to go, the records are not what they claim to be, and that is an error.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.calibrate.beliefs import Described
from fogfold.calibrate.records import Boots, Kind, Moves, NodeReadings, Observations, Refused, sifted
from fogfold.compiled import Array
from fogfold.errors import ModelError, did_you_mean

__all__ = ["column_of", "machine_of_rows", "sift"]

_OVER = 1.02
"""How far usage may read over a node's capacity: meters round."""
_MOST_REFUSED = 0.5
_NO_FAULT = {"power was not measured", "usage was not measured", "the node was not on"}
"""Reasons that are no fault of the records."""


def sift(found: Observations, cluster: Described) -> tuple[Observations, Refused]:
    """The records that can be used, and a count of the others.

    Raises:
        ModelError: if more than half of a form's rows cannot be, naming the commonest reason and its first line.
    """
    refused = Refused()
    readings = None if found.readings is None else _readings(found.readings, cluster, refused)
    moves = None if found.moves is None else _moves(found.moves, cluster, refused)
    boots = None if found.boots is None else _boots(found.boots, cluster, refused)
    for kind, rows in ((Kind.READINGS, found.readings), (Kind.MOVES, found.moves), (Kind.BOOTS, found.boots)):
        wrong = {reason: told for (of, reason), told in refused.rows.items() if of is kind and reason not in _NO_FAULT}
        count = sum(told[0] for told in wrong.values())
        if rows is not None and count > _MOST_REFUSED * len(rows):
            reason, (_, line) = max(wrong.items(), key=lambda item: item[1][0])
            raise ModelError(
                f"{count} of {len(rows)} rows of the {kind.value} cannot be used, most because {reason} (first in line "
                f"{line}); check units, clocks and names, or take these rows out{_hint(kind, reason, found, cluster)}"
            )
    return Observations(readings, moves, boots), refused


def _hint(kind: Kind, reason: str, found: Observations, cluster: Described) -> str:
    """The nearest known name, where names are unknown."""
    names = {node.id for node in cluster.built.cluster.nodes}
    if "machine" in reason and kind is Kind.READINGS and found.readings is not None:
        row = found.readings.take(machine_of_rows(cluster, found.readings.node, found.readings.machine) == "")
        return f"; {row.node[0]}: {did_you_mean(str(row.machine[0] or row.node[0]), set(cluster.machines) | names)}"
    if "machine" in reason and kind is Kind.BOOTS and found.boots is not None:
        unknown = found.boots.take(machine_of_rows(cluster, found.boots.node, found.boots.machine) == "")
        word = str(unknown.machine[0] or unknown.node[0])
        return f"; {unknown.node[0]}: {did_you_mean(word, set(cluster.machines) | names)}"
    if reason == "a node is unknown" and found.moves is not None:
        every = np.concatenate([found.moves.source, found.moves.target])
        stray = next((str(name) for name in every if name not in names), "")
        return f"; {stray}: {did_you_mean(stray, names)}" if stray else ""
    return ""


def machine_of_rows(cluster: Described, node: Array, machine: Array) -> Array:
    """Kind of machine of each row: as it says itself, else as the scenario's node is; empty where neither is known."""
    index = cluster.built.cluster.node_index
    of_node = {name: cluster.machine[index[name]] for name in set(node.tolist()) & set(index)}
    named = [given if given in cluster.machines else "" for given in machine.tolist()]
    return np.array(
        [name if given else of_node.get(where, "") for given, name, where in zip(machine, named, node, strict=True)],
        dtype=np.str_,
    )


def column_of(names: Array, index: dict[str, int]) -> Int[Array, " rows"]:
    """Column of each name; -1 where it is unknown."""
    return np.array([index.get(name, -1) for name in names.tolist()], dtype=np.int64)


def cores_of(cluster: Described, readings: NodeReadings) -> Float[Array, " rows"]:
    """Capacity of the node of each reading, by its kind of machine; NaN where that is unknown."""
    kinds = machine_of_rows(cluster, readings.node, readings.machine)
    cores = {name: machine.capacity.as_tuple()[0] for name, machine in cluster.machines.items()}
    return np.array([cores.get(kind, np.nan) for kind in kinds.tolist()])


def _readings(rows: NodeReadings, cluster: Described, refused: Refused) -> NodeReadings:
    def over(some: NodeReadings) -> Bool[Array, " rows"]:
        return np.asarray(some.cpu_cores > _OVER * cores_of(cluster, some), dtype=bool)

    return sifted(
        rows,
        Kind.READINGS,
        refused,
        [
            ("the node was not on", lambda some: (some.state != "on") & (some.state != "")),
            ("power was not measured", lambda some: np.isnan(some.power_w)),
            ("usage was not measured", lambda some: np.isnan(some.cpu_cores)),
            ("a figure is infinite", lambda some: ~np.isfinite(some.power_w + some.cpu_cores + some.time_s)),
            ("power is negative", lambda some: some.power_w < 0),
            ("power is 0 W on a node that is on: a meter that reads nothing", lambda some: some.power_w == 0),
            ("usage is negative", lambda some: some.cpu_cores < 0),
            ("its machine is unknown", lambda some: machine_of_rows(cluster, some.node, some.machine) == ""),
            ("usage is above the node's capacity", over),
            ("it is a second reading of that node at that time", _second),
        ],
    )


def _second(rows: NodeReadings) -> Bool[Array, " rows"]:
    keys = np.array([f"{at!r} {node}" for at, node in zip(rows.time_s.tolist(), rows.node.tolist(), strict=True)])
    if not len(keys):
        return np.zeros(0, bool)
    _, first = np.unique(keys, return_index=True)
    repeated = np.ones(len(keys), bool)
    repeated[first] = False
    return repeated


def _moves(rows: Moves, cluster: Described, refused: Refused) -> Moves:
    index = {str(name): n for name, n in cluster.built.cluster.node_index.items()}
    known = {str(name) for name in cluster.built.cluster.container_index}
    services = {service.name for service in cluster.built.scenario.containers.services}

    def stray(some: Moves) -> Bool[Array, " rows"]:
        named = np.array([service in services for service in some.service.tolist()], bool)
        given = some.service != ""
        listed = np.array([name in known for name in some.container.tolist()], bool)
        return np.asarray((given & ~named) | (~given & ~listed), dtype=bool)

    return sifted(
        rows,
        Kind.MOVES,
        refused,
        [
            ("its outcome is neither arrived nor failed", lambda some: ~np.isin(some.outcome, ["arrived", "failed"])),
            ("it has no time at all", lambda some: np.isnan(some.at_s)),
            (
                "a node is unknown",
                lambda some: (column_of(some.source, index) < 0) | (column_of(some.target, index) < 0),
            ),
            ("it went from a node to itself", lambda some: some.source == some.target),
            ("its container and service are unknown", stray),
            ("it ended before it began", lambda some: some.end_s < some.start_s),
            ("memory is not above 0", lambda some: some.memory_bytes <= 0),
            ("bytes sent are negative", lambda some: some.sent_bytes < 0),
            ("downtime is negative or longer than the move", _downtime_is_wrong),
            ("resolution is negative", lambda some: some.resolution_s < 0),
        ],
    )


def _downtime_is_wrong(rows: Moves) -> Bool[Array, " rows"]:
    return np.asarray((rows.downtime_s < 0) | (rows.downtime_s > rows.end_s - rows.start_s), dtype=bool)


def _boots(rows: Boots, cluster: Described, refused: Refused) -> Boots:
    return sifted(
        rows,
        Kind.BOOTS,
        refused,
        [
            ("its outcome is neither up nor failed", lambda some: ~np.isin(some.outcome, ["up", "failed"])),
            ("it says up and not when", lambda some: (some.outcome == "up") & np.isnan(some.up_s)),
            ("it was up before it was ordered, or at once", lambda some: (some.outcome == "up") & (some.took_s <= 0)),
            ("its machine is unknown", lambda some: machine_of_rows(cluster, some.node, some.machine) == ""),
        ],
    )
