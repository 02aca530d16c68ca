"""What a decision was made from, as bytes that stand for it exactly, and back: what must be stored to make it again.

A row holds what is its own (readings, memory, evidence, how the policy remembered); what many decisions share (the
cluster, the limits, the usage of a whole decision) lies apart, by its digest. Everything is JSON, compressed, with
numbers to their last digit. Rows are read only in the form in which they were written: after a change of it they are
told apart by the fingerprint, never misread.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fogfold import __version__
from fogfold.control.collect import CollectSettings, assemble
from fogfold.control.deciding import Known, Limits
from fogfold.control.guard.memory import Memory
from fogfold.control.load_evidence import LoadEvidence
from fogfold.control.plain_form import fingerprint, of_row, row_of
from fogfold.control.ports import Capabilities, InputsRow
from fogfold.control.power import PowerRecord
from fogfold.control.readings import Readings
from fogfold.control.schedule import Run
from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.model.identity import ContainerId, NodeId, SiteId
from fogfold.units import HOUR_S

__all__ = ["Facts", "Inputs", "Parts", "Rules", "digest_of", "form", "packed", "unpacked"]


@dataclass(frozen=True)
class Facts:
    """What is known at a decision beside the readings: the other fields of `Known`."""

    now_s: float
    memory: Memory
    records: Mapping[NodeId, PowerRecord]
    evidence: Mapping[SiteId, LoadEvidence]
    capabilities: Capabilities
    unproven: tuple[NodeId, ...]
    stopped: str


@dataclass(frozen=True)
class Rules:
    """What a decision is held to, and what is believed of readings."""

    limits: Limits
    collect: CollectSettings


@dataclass(frozen=True)
class Inputs:
    """What one decision was made from."""

    run: Run
    known: Known
    limits: Limits
    collect: CollectSettings
    usage: tuple[Mapping[ContainerId, float], ...]
    """The usage that the decider remembered before it, oldest first."""
    policy: str
    """By the name under which the registry makes it."""
    seed: int
    """From which it was made fresh."""
    remembered: Mapping[str, Any] | None
    """The policy's memory before it; None where that cannot be stored."""
    decided: str
    """Digest of the decision that came of it."""
    fogfold: str = __version__
    """Which version decided."""


@cache
def form() -> str:
    """Of which form rows are that are written and read here; others cannot be read."""
    return fingerprint(Facts, Readings, Rules, Run, Cluster)


def digest_of(text: bytes) -> str:
    """The name of a content."""
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def packed(inputs: Inputs, *, life: str, number: int, journal: int | None, parts: Parts) -> InputsRow:
    """Inputs as a row; what they share with others waits in `parts`.

    Raises:
        ModelError: if they hold what has no plain form.
    """
    known = inputs.known
    facts = Facts(
        known.now_s,
        known.memory,
        known.records,
        known.evidence,
        known.capabilities,
        tuple(known.unproven),
        known.stopped,
    )
    samples = parts.usage(inputs.usage, known.now_s)
    value: dict[str, Any] = {
        "form": form(),
        "fogfold": inputs.fogfold,
        "policy": inputs.policy,
        "seed": inputs.seed,
        "remembered": inputs.remembered,
        "decided": inputs.decided,
        "rules": parts.rules(Rules(inputs.limits, inputs.collect), known.now_s),
        "cluster": parts.cluster(known.readings.cluster, known.now_s),
        "usage": samples,
        "run": row_of(inputs.run),
        "collected_s": known.collected.snapshot.time_s,
        "readings": row_of(known.readings, leave_out={"cluster"}),
        "facts": row_of(facts),
    }
    needs: tuple[str, ...] = tuple(dict.fromkeys([value["rules"], value["cluster"], *samples]))
    is_alone = inputs.remembered is not None
    return InputsRow(life, number, journal, known.now_s, is_alone, zlib.compress(_json(value)), needs)


def unpacked(row: InputsRow, parts: Mapping[str, bytes], clusters: dict[str, Cluster]) -> Inputs:
    """The inputs that a row stands for.

    Args:
        row: as `packed` made it.
        parts: the parts that it needs, by digest.
        clusters: clusters that were read before, by digest: the same digest gives the same object.

    Raises:
        ModelError: if the row is damaged, or of another form.
    """
    value = _plain(row.value)
    version = value.get("fogfold", "unknown") if isinstance(value, dict) else "unknown"
    if not isinstance(value, dict) or value.get("form") != form():
        raise ModelError(
            f"the inputs of decision {_named(row)} are of the form of fogfold {version}, which this version "
            f"({__version__}) does not read; replay it with that one"
        )
    try:
        rules = of_row(Rules, _plain(parts[value["rules"]]))
        if value["cluster"] not in clusters:
            clusters[value["cluster"]] = of_row(Cluster, _plain(parts[value["cluster"]]))
        readings = of_row(Readings, value["readings"], cluster=clusters[value["cluster"]])
        facts = of_row(Facts, value["facts"])
        collected = assemble(readings, value["collected_s"], rules.collect)
        known = Known(
            readings,
            collected,
            facts.now_s,
            facts.memory,
            facts.records,
            facts.evidence,
            facts.capabilities,
            facts.unproven,
            facts.stopped,
        )
        return Inputs(
            of_row(Run, value["run"]),
            known,
            rules.limits,
            rules.collect,
            tuple(_plain(parts[digest]) for digest in value["usage"]),
            value["policy"],
            value["seed"],
            value["remembered"],
            value["decided"],
            version,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"the inputs of decision {_named(row)} are damaged ({error!r}); they cannot be replayed"
        ) from error


class Parts:
    """What decisions share, as it comes up: each part is written as bytes once, and given to the store once.

    Args:
        again_s: how long a part counts as stored after it was last needed; later it is given to the store again, which
            may have forgotten it.
    """

    def __init__(self, again_s: float = HOUR_S) -> None:
        self.waiting: dict[str, bytes] = {}
        """Those that the store may not have yet, by digest."""
        self._again_s = again_s
        self._cluster: tuple[Cluster, str, bytes] | None = None
        self._rules: tuple[Rules, str, bytes] | None = None
        self._usage: list[tuple[Mapping[ContainerId, float], str, bytes]] = []
        self._stored_s: dict[str, float] = {}

    def cluster(self, cluster: Cluster, at_s: float) -> str:
        """The digest of a cluster that is needed at that time."""
        if self._cluster is None or (self._cluster[0] is not cluster and self._cluster[0] != cluster):
            self._cluster = (cluster, *_part(row_of(cluster)))
        return self._needed(*self._cluster[1:], at_s)

    def rules(self, rules: Rules, at_s: float) -> str:
        """The digest of what is held to."""
        if self._rules is None or self._rules[0] != rules:
            self._rules = (rules, *_part(row_of(rules)))
        return self._needed(*self._rules[1:], at_s)

    def usage(self, samples: Sequence[Mapping[ContainerId, float]], at_s: float) -> list[str]:
        """The digests of the usage at whole decisions."""
        known = self._usage
        self._usage = []
        for sample in samples:
            found = next((one for one in known if one[0] is sample), None)
            self._usage.append(found or (sample, *_part(dict(sample))))
        return [self._needed(*one[1:], at_s) for one in self._usage]

    def stored(self, parts: Collection[str], at_s: float) -> None:
        """These are in the store now."""
        for digest in parts:
            self.waiting.pop(digest, None)
            self._stored_s[digest] = at_s

    def _needed(self, digest: str, value: bytes, at_s: float) -> str:
        if digest in self._stored_s and at_s - self._stored_s[digest] <= self._again_s:
            self._stored_s[digest] = at_s
        else:
            self.waiting[digest] = value
        return digest


def _part(plain: Any) -> tuple[str, bytes]:
    text = _json(plain)
    return digest_of(text), zlib.compress(text)


def _json(plain: Any) -> bytes:
    try:
        return json.dumps(plain, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise ModelError(f"what a decision was made from has no plain form: {error}; use plain values") from error


def _plain(value: bytes) -> Any:
    try:
        return json.loads(zlib.decompress(value))
    except (zlib.error, ValueError) as error:
        raise ModelError(f"what a decision was made from is damaged ({error}); it cannot be replayed") from error


def _named(row: InputsRow) -> str:
    return f"{row.journal}" if row.journal is not None else f"{row.number} of {row.life}"
