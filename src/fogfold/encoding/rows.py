"""Where each figure stands in the packed arrays: one row a figure, one column a node, container, group or site.

Compiled loops take few, wide arrays (each argument of a compiled function costs a fraction of a microsecond, and a
step of the world lasts some fifty). These enumerations are the only place that knows which row means what, in which
unit. The first four rows of nodes and containers are the resources, in the order of `model.resources.Resource`.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ContainerInt", "ContainerRow", "GroupRow", "NodeInt", "NodeRow", "SiteRow"]


class NodeRow(IntEnum):
    """Rows of float figures of a node that do not change."""

    CPU_CORES = 0
    MEMORY_BYTES = 1
    NETWORK_BIT_S = 2
    DISK_IOPS = 3
    NETWORK_DOWN_BIT_S = 4
    SLEEP_W = 5
    SHUTDOWN_S = 6
    WAKE_S = 7
    SHUTDOWN_W = 8
    """Mean power while shutting down."""
    WAKE_W = 9
    """Mean power while booting."""
    WAKE_FAILURE = 10
    CORE_SPEED = 11
    MTTR_S = 12


class NodeInt(IntEnum):
    """Rows of whole-number figures of a node that do not change."""

    SITE = 0
    ARCHITECTURE = 1
    ACCELERATOR_KIND = 2
    """-1 where it has none."""
    ACCELERATOR_COUNT = 3
    NEVER_SLEEP = 4


class ContainerRow(IntEnum):
    """Rows of float figures of a container that do not change."""

    CPU_CORES = 0
    MEMORY_BYTES = 1
    NETWORK_BIT_S = 2
    DISK_IOPS = 3
    SERVICE_MS = 4
    OBJECTIVE_MS = 5
    """Infinite where nobody waits."""
    DATA_KM = 6
    """Infinite where the data may be anywhere."""
    DIRTY_BYTE_S = 7
    START_S = 8
    IMAGE_BYTES = 9
    REQUEST_RATE = 10
    """Requests a second when its CPU demand equals its request: cores / service time (utilisation law)."""


class ContainerInt(IntEnum):
    """Rows of whole-number figures of a container that do not change."""

    IMAGE = 0
    ARCHITECTURES = 1
    """Bit i is set where it has an image for architecture i."""
    ACCELERATOR_KIND = 2
    """-1 where it needs none."""
    ACCELERATOR_COUNT = 3
    DATA_SITE = 4
    """-1 where it depends on no data."""
    GROUP = 5
    """-1 where it belongs to none."""
    MOVABILITY = 6
    PINNED = 7
    """-1 where it is not."""
    REGION = 8
    """The user region with the largest share."""
    SERVICE_CLASS = 9


class GroupRow(IntEnum):
    """Rows of figures of a group."""

    ANTI_AFFINITY = 0
    SPREAD = 1
    MAX_SKEW = 2
    GHOSTS_COUNT = 3
    MAY_BE_MISSING = 4
    FIRST = 5
    """Where its members start in the list of members."""
    END = 6


class SiteRow(IntEnum):
    """Rows of figures of a site."""

    LATITUDE_DEG = 0
    LONGITUDE_DEG = 1
    UPLINK_BIT_S = 2
    ACCESS_MS = 3
    JITTER_MS = 4
    LOSS = 5
