"""What the service remembers over a restart: moves and who is left alone, evidence of load, what its policy recalls.

It is written where it changed, once in a cycle at most, and read when the lease is got. What cannot be read begins
anew, and an alert says so: a record of another version must not keep a cluster from being operated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fogfold.control.deciding import Decider
from fogfold.control.guard.memory import Memory, kept_memory, memory_of_kept
from fogfold.control.load_evidence import (
    EvidenceSettings,
    LoadEvidence,
    evidence_of_kept,
    joined,
    kept_evidence,
)
from fogfold.control.ports import Store
from fogfold.errors import ModelError
from fogfold.model.identity import SiteId
from fogfold.policy.base import Remembering
from fogfold.units import HOUR_S

__all__ = ["MEMORY_KIND", "POLICY_KIND", "Recalled", "Remembrance"]

MEMORY_KIND, MEMORY_NAME = "memory", "loop"
"""Under which the memory of moves and the evidence of load are kept."""
POLICY_KIND = "policy"
"""Under which the memory of a policy is kept, by the policy's name."""

_POLICY_S = HOUR_S
"""Age above which the memory of a policy is let go: what was calm then says nothing now."""


@dataclass(frozen=True)
class Recalled:
    """What was kept."""

    memory: Memory | None
    """None where nothing (new) was kept."""
    evidence: Mapping[SiteId, LoadEvidence]
    alerts: tuple[str, ...]
    """What was kept and cannot be read."""


class Remembrance:
    """Keeps and recalls what one loop remembers.

    Args:
        settings: how long a gap in the evidence may be.
    """

    def __init__(self, settings: EvidenceSettings) -> None:
        self._settings = settings
        self._kept: dict[str, Any] | None = None
        """What is known to be kept; None before it was read."""
        self._memory: Memory | None = None
        self._evidence: Mapping[SiteId, LoadEvidence] = {}
        self._policy: dict[str, Any] | None = None

    async def keep(
        self, store: Store, memory: Memory, evidence: Mapping[SiteId, LoadEvidence], *, fence: int, always: bool = False
    ) -> None:
        """Keep memory and evidence, where they say something else than what is kept; or their latest form `always`.

        Raises:
            PortError, LeaseLostError: as the store; it is tried again in the next cycle.
        """
        if not always and memory == self._memory and not self._is_news(evidence):
            return
        value = {"moves": kept_memory(memory), "evidence": kept_evidence(evidence)}
        if value != self._kept:
            await store.keep(MEMORY_KIND, MEMORY_NAME, value, fence=fence)
        self._kept, self._memory, self._evidence = value, memory, evidence

    async def recall(self, store: Store) -> Recalled:
        """What an instance before kept; nothing where that was this one.

        Raises:
            PortError: if the store does not answer.
        """
        value = (await store.kept(MEMORY_KIND)).get(MEMORY_NAME)
        if value is None or value == self._kept:
            return Recalled(None, {}, ())
        memory, evidence, alerts = None, {}, []
        try:
            memory = memory_of_kept(_part(value, "moves"))
        except ModelError as error:
            alerts.append(f"moves before this start are forgotten: {error}")
        try:
            evidence = evidence_of_kept(_part(value, "evidence"))
        except ModelError as error:
            alerts.append(f"evidence of load before this start is forgotten: {error}")
        return Recalled(memory, evidence, tuple(alerts))

    def with_kept(
        self, own: Mapping[SiteId, LoadEvidence], kept: Mapping[SiteId, LoadEvidence], *, looked_since_s: float
    ) -> dict[SiteId, LoadEvidence]:
        """One's own evidence of each site, with what was kept of it."""
        return {
            site: joined(kept[site], one, looked_since_s=looked_since_s, settings=self._settings)
            if site in kept
            else one
            for site, one in own.items()
        }

    async def keep_policy(self, store: Store, decider: Decider, now_s: float, *, fence: int) -> None:
        """Keep what the policy remembers, where it can say that and it changed. Raises as `keep`."""
        policy = decider.policy
        if not isinstance(policy, Remembering):
            return
        memory = policy.memory()
        if memory != self._policy:
            value = {"at_s": now_s, "week_began_s": decider.limits.week_began_s, "memory": memory}
            await store.keep(POLICY_KIND, policy.name, value, fence=fence)
            self._policy = memory

    async def recall_policy(self, store: Store, decider: Decider, now_s: float) -> tuple[str, ...]:
        """Let a policy that is fresh remember what one of its name did a short while ago; gives alerts.

        Raises:
            PortError: if the store does not answer.
        """
        policy = decider.policy
        if not isinstance(policy, Remembering):
            return ()
        value = (await store.kept(POLICY_KIND)).get(policy.name)
        if value is None or value.get("memory") == self._policy:
            return ()
        try:
            at_s, began_s = float(value["at_s"]), float(value["week_began_s"])
            if not 0.0 <= now_s - at_s <= _POLICY_S or began_s != decider.limits.week_began_s:
                return ()
            policy.recall(_part(value, "memory"))
        except (ModelError, KeyError, TypeError, ValueError) as error:
            policy.reset(decider.seed)
            return (f"policy {policy.name} begins anew: what was kept of it cannot be read ({error})",)
        return ()

    def _is_news(self, evidence: Mapping[SiteId, LoadEvidence]) -> bool:
        """Whether evidence says something else, or what is kept would soon be too old to go on from."""
        if evidence.keys() != self._evidence.keys():
            return True
        for site, one in evidence.items():
            kept = self._evidence[site]
            if (one.quiet_since_s, one.busy_since_s) != (kept.quiet_since_s, kept.busy_since_s):
                return True
            if one.seen_s is not None and (kept.seen_s is None or one.seen_s - kept.seen_s >= self._settings.gap_s / 2):
                return True
        return False


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = value.get(name)
    if not isinstance(part, Mapping):
        raise ModelError(f"{name} is {part!r} where a mapping should be; it is of another version")
    return part
