"""A decision made again from what was stored, and compared with the one that was made then.

The limits, the policy and its memory are those of then, whatever the settings say today. A decision that stands alone
is made from its own record. Any other is made as it was made: by a fresh policy that decides all that came before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fogfold.control.deciding import Decider, Decision
from fogfold.control.inputs import Inputs, unpacked
from fogfold.control.ports import InputsRow, Store
from fogfold.control.recorder import digest_of_decision
from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.policy.base import Policy, Remembering

__all__ = ["Difference", "Replayed", "differences", "replay"]

_ADDED = ("mode", "plan")
"""What the journal says of a decision beside it: what became of it depends on more than its inputs."""
_LISTED = 50
"""Differences that are told, at most."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that came out otherwise."""

    field: str
    """As in `moves[2].target`."""
    then: Any
    now: Any
    """None on either side also where the field is not there at all."""


@dataclass(frozen=True)
class Replayed:
    """How a replay came out."""

    number: int
    """Of the decision in the journal."""
    policy: str
    fogfold: str
    """Which version decided then."""
    decisions: int
    """How many were made again: one, or all since the policy was fresh."""
    decision: Decision
    """As it was made again."""
    differences: tuple[Difference, ...]
    parted: str
    """The first decision on the way that came out otherwise; empty where all were the same."""

    @property
    def is_same(self) -> bool:
        """Whether the decision came out as it was, and so did all on the way to it."""
        return not self.differences and not self.parted


async def replay(
    number: int, written: Mapping[str, Any], store: Store, make_policy: Callable[[str], Policy]
) -> Replayed:
    """Make a decision again.

    Args:
        number: of its entry in the journal.
        written: what the entry says.
        store: where the inputs are.
        make_policy: a new policy by its name.

    Raises:
        ModelError: if what it was made from is not stored (any more), is damaged, or is of another version's form.
        FogfoldError: if the policy cannot be made.
    """
    row = await store.inputs_of(number)
    if row is None:
        raise ModelError(
            f"nothing is stored of what decision {number} was made from; it was made before inputs were kept, without "
            "keeping them (replay_days 0), or longer ago than they are kept"
        )
    chain = _Chain(store, make_policy)
    if row.is_alone:
        decision = await chain.play(row)
    else:
        expected = 1
        async for link in store.inputs_until(row.life, row.number):
            if link.number != expected:
                break
            decision = await chain.play(link)
            expected += 1
        if expected != row.number + 1:
            raise ModelError(
                f"decision {number} cannot be made again: its policy remembers more than can be stored, and decision "
                f"{expected} of the {row.number} since it was fresh is not kept (any more)"
            )
    return Replayed(
        number,
        chain.inputs.policy,
        chain.inputs.fogfold,
        chain.played,
        decision,
        differences(written, decision.to_json()),
        chain.parted,
    )


class _Chain:
    """Decisions that are made again, one after the other, by one policy."""

    def __init__(self, store: Store, make_policy: Callable[[str], Policy]) -> None:
        self.inputs: Inputs
        """Those of the latest."""
        self.played = 0
        self.parted = ""
        self._store, self._make_policy = store, make_policy
        self._parts: dict[str, bytes] = {}
        self._clusters: dict[str, Cluster] = {}
        self._policy: Policy | None = None
        self._decider: Decider | None = None

    async def play(self, row: InputsRow) -> Decision:
        """Make the next decision."""
        self._parts = {digest: await self._part(digest, row) for digest in row.parts}
        self.inputs = inputs = unpacked(row, self._parts, self._clusters)
        if self._decider is None or self._decider.limits != inputs.limits:
            self._decider = Decider(self._fresh(inputs), inputs.limits, seed=inputs.seed)
        if inputs.remembered is not None:
            if not isinstance(self._decider.policy, Remembering):
                raise ModelError(
                    f"policy {inputs.policy} remembers otherwise here than it did in fogfold {inputs.fogfold}, which "
                    "decided; replay it with that version"
                )
            self._decider.policy.recall(inputs.remembered)
        self._decider.recall(inputs.usage)
        decision = self._decider.decide(inputs.known, inputs.run)
        self.played += 1
        if not self.parted and digest_of_decision(decision.to_json()) != inputs.decided:
            self.parted = f"decision {row.journal}" if row.journal is not None else f"light decision {row.number}"
        return decision

    def _fresh(self, inputs: Inputs) -> Policy:
        if self._policy is None:
            self._policy = self._make_policy(inputs.policy)
            self._policy.reset(inputs.seed)
        return self._policy

    async def _part(self, digest: str, row: InputsRow) -> bytes:
        if digest in self._parts:
            return self._parts[digest]
        value = await self._store.inputs_part(digest)
        if value is None:
            raise ModelError(f"a part of what decision {row.journal} was made from ({digest}) is not stored any more")
        return value


def differences(written: Mapping[str, Any], made: Mapping[str, Any]) -> tuple[Difference, ...]:
    """How a decision that was made again differs from its entry in the journal, field by field, at most fifty."""
    then = {name: value for name, value in written.items() if name not in _ADDED}
    now: dict[str, Any] = json.loads(json.dumps(made))
    # The journal adds the alerts of the cycle to those of the decision.
    then["alerts"] = list(then.get("alerts", ()))[: len(now["alerts"])]
    found: list[Difference] = []
    _compare("", then, now, found)
    return tuple(found[:_LISTED])


def _compare(where: str, then: Any, now: Any, found: list[Difference]) -> None:
    if isinstance(then, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*then, *now)):
            _compare(f"{where}.{name}" if where else name, then.get(name), now.get(name), found)
    elif isinstance(then, list) and isinstance(now, list):
        for k in range(max(len(then), len(now))):
            _compare(f"{where}[{k}]", then[k] if k < len(then) else None, now[k] if k < len(now) else None, found)
    elif then != now:
        found.append(Difference(where, then, now))
