"""Where every figure that a policy is shown comes from on a live cluster: a metric with its unit, or it has no place.

A dimension without a steady source works in the simulator and nowhere else, so there is none: the audit refuses it.
What a figure means stands beside it in `policy.learned.rows`; this table says what must be read to make it, and in
which unit it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from fogfold.policy.learned.rows import GlobalRow, NodeRow, StageRow, TargetRow, TokenRow

__all__ = ["GROUPS", "METRICS", "SOURCES", "Metric", "Needs", "Source"]


@dataclass(frozen=True)
class Metric:
    """Something that is read from a live cluster."""

    reading: str
    """Where it stands in what a collector brings (`control.readings`)."""
    unit: str
    live: str
    """The metric of the usual exporters, or who else knows it."""


METRICS: Mapping[str, Metric] = {
    "cpu": Metric("ContainerReading.usage", "cores", "rate of container_cpu_usage_seconds_total (cAdvisor)"),
    "memory": Metric("ContainerReading.usage", "bytes", "container_memory_working_set_bytes (cAdvisor)"),
    "network": Metric("ContainerReading.usage", "bit/s", "rate of container_network_transmit_bytes_total (cAdvisor)"),
    "disk": Metric("ContainerReading.usage", "IOPS", "rate of container_fs_reads_total and _writes_total (cAdvisor)"),
    "request": Metric("Readings.cluster", "each resource's", "kube_pod_container_resource_requests, annotations"),
    "capacity": Metric("Readings.cluster", "each resource's", "kube_node_status_allocatable, the inventory"),
    "power": Metric("Readings.cluster", "W, s, J", "the inventory: power curve, sleep and wake of each machine"),
    "sites": Metric("Readings.cluster", "km, ms, bit/s", "the inventory: sites, their links, regions of users"),
    "service": Metric("Readings.cluster", "ms", "the inventory: CPU time of a request, latency objective"),
    "movement": Metric("Readings.cluster", "bytes, bytes/s", "the inventory: image sizes, rate of memory written anew"),
    "duty": Metric("Readings.cluster", "yes or no", "the inventory: nodes that must stay on"),
    "placement": Metric("Readings.placement", "node", "kube_pod_info"),
    "states": Metric("Readings.states", "state", "kube_node_status_condition, and fogfold's own power records"),
    "targets": Metric("Readings.targets", "node", "fogfold's own record of moves under way"),
    "images": Metric("Readings.images", "yes or no", "status.images of each node"),
    "time": Metric("Readings.listed_s", "s", "the clock, UTC"),
    "plan": Metric("", "", "the decision itself, as far as it has come"),
}
"""By the words that the table below uses."""


class Needs(IntEnum):
    """When a figure says something; else it stands at 0."""

    NOTHING = 0
    OPTION = 1
    """Options other than to stop or to stay."""
    SAMPLES = 2
    """Two decisions' readings."""
    HALF_HOUR = 3
    """Readings of half an hour."""
    OPTION_AND_HALF_HOUR = 4


@dataclass(frozen=True)
class Source:
    """What a figure is made from."""

    metrics: tuple[str, ...]
    """Words of `METRICS`."""
    unit: str
    needs: Needs = Needs.NOTHING
    what: str = ""
    """What it says, where `policy.learned.rows` leaves that to its name."""


GROUPS: Mapping[str, type[IntEnum]] = {
    "intensity": StageRow,
    "node": NodeRow,
    "target": TargetRow,
    "token": TokenRow,
    "whole": GlobalRow,
}
"""The arrays that a policy is shown, by name: options of the three stages, all nodes, the cluster."""

_O, _H, _B = Needs.OPTION, Needs.HALF_HOUR, Needs.OPTION_AND_HALF_HOUR
_FLAG, _SHARE, _SPAN, _MEAN = "0 or 1", "share", "mean spans from idle to peak", "of a mean node's"
_SPACE = ("memory", "network", "disk", "placement", "targets", "capacity")
_PROMISE = ("request", "placement", "targets", "capacity")
_LATE = ("cpu", "placement", "capacity", "service", "sites")
_MOVING = ("memory", "movement", "images", "sites")
_LOAD = ("cpu", "placement", "targets", "capacity")
_EXPECTED = ("cpu", "placement", "capacity")

SOURCES: Mapping[str, Mapping[IntEnum, Source]] = {
    "intensity": {
        StageRow.HOLD: Source(("plan",), _FLAG, what="1 for the option to do nothing."),
        StageRow.LIGHT: Source(("plan",), _FLAG, what="1 for the option to relieve hot nodes."),
        StageRow.DEEP: Source(("plan",), _FLAG, what="1 for the option to fold cold nodes as well."),
    },
    "node": {
        NodeRow.STOP: Source(("plan",), _FLAG, what="1 for the option to end here."),
        NodeRow.RELIEVE: Source(("plan",), _FLAG, what="1 where the node is to be relieved."),
        NodeRow.FOLD: Source(("plan",), _FLAG, what="1 where it is to be emptied and to sleep."),
        NodeRow.WAKE: Source(("plan", "states"), _FLAG, what="1 where it is to be woken."),
        NodeRow.CPU_LOAD: Source(_LOAD, _SHARE, _O),
        NodeRow.PEAK_LOAD: Source(("cpu", "placement", "capacity"), _SHARE, _O),
        NodeRow.TREND: Source(("cpu", "placement", "capacity"), _SHARE, _B),
        NodeRow.SPACE_LOAD: Source(_SPACE, _SHARE, _O),
        NodeRow.PROMISED: Source(_PROMISE, _SHARE, _O),
        NodeRow.RESIDENTS: Source(("placement",), "tens of containers", _O),
        NodeRow.IDLE_POWER: Source(("power",), _SPAN, _O),
        NodeRow.SAVING: Source(("power",), _SPAN, _O),
        NodeRow.MOVE_COST: Source(_MOVING, _SPAN, _O),
        NodeRow.LATE_COST: Source(_LATE, _SPAN, _O),
        NodeRow.LOAD_AFTER: Source(("cpu", "capacity", "states"), _SHARE, _O),
        NodeRow.PROMISED_AFTER: Source(("request", "capacity", "states"), _SHARE, _O),
        NodeRow.SINCE_WOKEN: Source(("states", "time"), "four hours", _O),
        NodeRow.CORES: Source(("capacity",), _MEAN, _O),
        NodeRow.CHOSEN_BEFORE: Source(("plan",), "eighths of all nodes"),
        NodeRow.SHARE_LEFT: Source(("plan", "placement"), _SHARE, _O),
        NodeRow.SAVING_A_MOVE: Source(("power", "placement", "plan"), _SPAN, _O),
        NodeRow.PEAK_SOON: Source((*_EXPECTED, "power"), _SHARE, _O),
        NodeRow.PEAK_HOUR: Source(_EXPECTED, _SHARE, _O),
        NodeRow.TURN: Source(_EXPECTED, "hours before the hour is over", _B),
    },
    "target": {
        TargetRow.STAY: Source(("plan",), _FLAG, what="1 for the option to stay."),
        TargetRow.FOLDING: Source(("plan",), _FLAG),
        TargetRow.CPU_LOAD: Source(_LOAD, _SHARE, _O, "CPU load of the node by the plan so far."),
        TargetRow.CPU_AFTER: Source(_LOAD, _SHARE, _O, "The same with this container."),
        TargetRow.PEAK_AFTER: Source(_LOAD, _SHARE, _O),
        TargetRow.TREND_AFTER: Source(
            _LOAD, _SHARE, _B, "Change over the last half hour of the load of both together."
        ),
        TargetRow.SPACE_AFTER: Source(_SPACE, _SHARE, _O, "Largest share of memory, network or disk in use with it."),
        TargetRow.PROMISED_AFTER: Source(_PROMISE, _SHARE, _O, "Largest share of a resource that is promised with it."),
        TargetRow.POWER: Source(("power", *_LOAD), _SPAN, _O),
        TargetRow.LATE_HERE: Source(_LATE, _SHARE, _O),
        TargetRow.LATE_THERE: Source(_LATE, _SHARE, _O, "Share of its requests that would come late on the node."),
        TargetRow.NEIGHBOURS_COST: Source(_LATE, _SPAN, _O),
        TargetRow.OWN_COST: Source(_LATE, _SPAN, _O),
        TargetRow.TRIP: Source(("sites", "service"), "objectives", _O),
        TargetRow.IMAGE: Source(("images",), _FLAG, _O),
        TargetRow.SAME_SITE: Source(("sites",), _FLAG, _O, "1 where the node stands at the container's site."),
        TargetRow.CROSSING: Source(("plan", "sites"), _SHARE, _O),
        TargetRow.SIZE: Source(("request", "cpu", "memory", "network", "disk", "capacity"), _MEAN),
        TargetRow.MEMORY: Source(("memory", "capacity"), _MEAN),
        TargetRow.IDLE_PER_CORE: Source(("power", "capacity"), _MEAN, _O),
        TargetRow.WAKING: Source(("states", "plan"), _FLAG, _O),
        TargetRow.LEFT: Source(("plan", "placement"), "tens of containers"),
        TargetRow.PEAK_HOUR_AFTER: Source(_LOAD, _SHARE, _O),
    },
    "token": {
        TokenRow.ON: Source(("states",), _FLAG, what="1 where the node is on or draining."),
        TokenRow.ASLEEP: Source(("states",), _FLAG, what="1 where it is asleep."),
        TokenRow.ABSENT: Source(("states",), _FLAG),
        TokenRow.CPU_LOAD: Source(
            _LOAD, _SHARE, what="As for an option of the second stage; so are those that follow."
        ),
        TokenRow.PEAK_LOAD: Source(("cpu", "placement", "capacity"), _SHARE, what="Largest load remembered."),
        TokenRow.TREND: Source(("cpu", "placement", "capacity"), _SHARE, _H, "Change over the last half hour."),
        TokenRow.SPACE_LOAD: Source(_SPACE, _SHARE, what="Largest share of memory, network or disk in use."),
        TokenRow.PROMISED: Source(_PROMISE, _SHARE, what="Largest share of a resource that is promised."),
        TokenRow.IDLE_POWER: Source(("power",), _SPAN, what="Idle power."),
        TokenRow.SAVING: Source(("power",), _SPAN, what="What a sleep saves."),
        TokenRow.MOVE_COST: Source(_MOVING, _SPAN, what="What moving all its containers costs."),
        TokenRow.LATE_COST: Source(_LATE, _SPAN, what="What requests that come late there cost in an hour."),
        TokenRow.CORES: Source(("capacity",), _MEAN, what="Cores."),
        TokenRow.NEVER_SLEEPS: Source(("duty",), _FLAG, what="1 where the node must stay on."),
        TokenRow.PEAK_HOUR: Source(_EXPECTED, _SHARE, what="Load that it will stay under in the next hour."),
        TokenRow.TURN: Source(_EXPECTED, "hours before the hour is over", _H, "When its load crosses 0.6."),
    },
    "whole": {
        GlobalRow.LOAD: Source(("cpu", "capacity", "states"), _SHARE),
        GlobalRow.PROMISED: Source(("request", "capacity", "states"), _SHARE),
        GlobalRow.ASLEEP: Source(("states",), _SHARE),
        GlobalRow.ABSENT: Source(
            ("states",), _SHARE, what="Share of nodes failed, or on their way to sleep or from it."
        ),
        GlobalRow.HOUR_SIN: Source(("time",), "1", what="Sine of the hour of the day."),
        GlobalRow.HOUR_COS: Source(("time",), "1", what="Cosine of the hour of the day."),
        GlobalRow.WEEKEND: Source(("time",), _FLAG, what="1 on Saturday and Sunday."),
        GlobalRow.TREND_SHORT: Source(("cpu", "capacity"), "quarters", _H),
        GlobalRow.TREND_LONG: Source(("cpu", "capacity"), "quarters", Needs.SAMPLES),
        GlobalRow.LATE_COST: Source(_LATE, _SPAN),
        GlobalRow.IN_FLIGHT: Source(("targets",), _SHARE),
        GlobalRow.CALM: Source(("states", "time"), "eights of decisions"),
        GlobalRow.HOT: Source(("cpu", "placement", "capacity"), _SHARE),
        GlobalRow.PEAK_HOUR: Source(("cpu", "capacity", "states"), _SHARE),
        GlobalRow.BUDGET: Source(("plan", "targets"), "tenths of all containers"),
    },
}
"""The source of every figure, by group: numbers of rows repeat between them."""
