"""One parameter, what it was believed to be, what the records say, and what became of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float

from fogfold.calibrate.beliefs import Beliefs
from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.model.resources import check_number

__all__ = ["CalibrationSettings", "Estimate", "Parameter", "Verdict", "with_value"]


@dataclass(frozen=True, slots=True)
class CalibrationSettings:
    """What a fit needs, and what it is judged by."""

    hold_back: float = 0.2
    """Share of the records, the latest, that nothing is fitted to, in ]0, 1[."""
    least_readings: int = 50
    """Readings of power that a machine's curve needs."""
    least_moves: int = 10
    """Moves that a bandwidth or a dirty rate needs."""
    least_attempts: int = 50
    """Attempts that a chance of failure needs."""
    least_boots: int = 5
    """Boots that a boot time needs: those from which the control plane trusts a node's own."""
    held_readings: int = 10
    """Held-back readings that a curve is judged by, at least."""
    held_moves: int = 3
    held_attempts: int = 20
    held_boots: int = 1
    resamples: int = 200
    """Bootstrap resamples of an interval."""
    block_s: float = 3600.0
    """Readings of one node within so long are drawn together."""
    seed: int = 0
    """Root of the bootstrap's draws."""

    def __post_init__(self) -> None:
        check_number("hold_back", self.hold_back, above=True, high=0.9)
        check_number("block_s", self.block_s, above=True)
        for name in ("least_readings", "least_moves", "least_attempts", "least_boots", "resamples"):
            if getattr(self, name) < 2:
                raise ModelError(f"{name} is {getattr(self, name)}; at least 2 are needed to say anything")


class Parameter(StrEnum):
    """What can be calibrated."""

    CURVE = "power curve"
    BOOT = "boot time"
    LINK_SHARE = "share of links"
    CAP = "limit of a move"
    UPLINK = "uplinks"
    DIRTY = "dirty rate"
    FAILURE = "failure of moves"


class Verdict(StrEnum):
    """What became of an estimate."""

    ADOPTED = "adopted"
    TOO_FEW = "kept: too few records"
    AGREES = "kept: agrees with the records"
    """The old value lies within the interval."""
    NOT_CHECKED = "kept: too few held back"
    NO_BETTER = "kept: predicts no better"
    NOT_IDENTIFIED = "kept: not identifiable"
    IMPOSSIBLE = "kept: the fit cannot be"


@dataclass(frozen=True)
class Estimate:
    """One parameter. Without a fit there is no value: the old one stays."""

    parameter: Parameter
    of: str
    """Machine, site group or service; empty where there is one for the world."""
    unit: str
    was: Float[Array, " values"]
    fitted: Float[Array, " values"] | None
    low: Float[Array, " values"] | None
    """Ends of the 95 % interval."""
    high: Float[Array, " values"] | None
    records: int
    """Records that it was fitted to."""
    held_back: int = 0
    verdict: Verdict | None = None
    why: str = ""
    error_before: float | None = None
    """Held-back error with the old value, in the measure of its quantity."""
    error_after: float | None = None

    @property
    def now(self) -> Float[Array, " values"]:
        """The value that stands in the end."""
        return self.fitted if self.verdict is Verdict.ADOPTED and self.fitted is not None else self.was

    def left_as_it_is(self, verdict: Verdict, why: str) -> Estimate:
        """Without a fit, for that reason."""
        return replace(self, verdict=verdict, why=why)

    def judged(self, held_back: int, least: int, before: float, after: float, measure: str) -> Estimate:
        """With the verdict that its held-back errors give."""
        told = {"held_back": held_back, "error_before": before, "error_after": after}
        if held_back < least:
            why = f"{held_back} of at least {least} held back; nothing says whether it predicts better"
            return replace(self, held_back=held_back, verdict=Verdict.NOT_CHECKED, why=_joined(self.why, why))
        verdict = Verdict.ADOPTED if after < before else Verdict.NO_BETTER
        if self.low is not None and self.high is not None and (self.low <= self.was).all():
            verdict = Verdict.AGREES if (self.was <= self.high).all() else verdict
        why = f"held-back {measure} {before:.4g} before, {after:.4g} after"
        return replace(self, verdict=verdict, why=_joined(self.why, why), **told)  # type: ignore[arg-type]

    def as_json(self) -> dict[str, Any]:
        """As plain values; a parameter of one value as a number."""

        def plain(values: Float[Array, " values"] | None) -> float | list[float] | None:
            if values is None:
                return None
            rounded = [float(f"{value:.6g}") for value in values.tolist()]
            return rounded[0] if len(rounded) == 1 else rounded

        return {
            "parameter": self.parameter.value,
            "of": self.of,
            "unit": self.unit,
            "was": plain(self.was),
            "fitted": plain(self.fitted),
            "low": plain(self.low),
            "high": plain(self.high),
            "now": plain(self.now),
            "records": self.records,
            "held_back": self.held_back,
            "error_before": self.error_before,
            "error_after": self.error_after,
            "verdict": None if self.verdict is None else self.verdict.value,
            "why": self.why,
        }


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def with_value(beliefs: Beliefs, estimates: Sequence[Estimate]) -> Beliefs:
    """The beliefs with what these estimates fitted."""
    for one in estimates:
        if one.fitted is None:
            continue
        value = float(one.fitted[0])
        match one.parameter:
            case Parameter.CURVE:
                beliefs = replace(beliefs, curve_w={**beliefs.curve_w, one.of: np.asarray(one.fitted)})
            case Parameter.BOOT:
                beliefs = replace(beliefs, wake_s={**beliefs.wake_s, one.of: value})
            case Parameter.LINK_SHARE:
                beliefs = replace(beliefs, link_share=value)
            case Parameter.CAP:
                beliefs = replace(beliefs, cap_bit_s=value)
            case Parameter.UPLINK:
                beliefs = replace(beliefs, uplink_factor={**beliefs.uplink_factor, one.of: value})
            case Parameter.DIRTY:
                beliefs = replace(beliefs, dirty_factor={**beliefs.dirty_factor, one.of: value})
            case Parameter.FAILURE:
                beliefs = replace(beliefs, failure_base=value)
    return beliefs
