"""The weights of a learned policy, and what they say to a choice, in plain numpy: serving needs no torch.

One small network for each stage scores the options one by one; a summary of all nodes (Zaheer et al., Deep Sets,
NeurIPS 2017) tells it what state the cluster is in. The work grows linearly with the nodes, and no weight knows their
number. It is summed up by means alone: the largest of many nodes is larger than that of few, and would tell a large
cluster from a small one where they are alike. The rule's own choice enters as a term of its own: a learned factor on
`lead`.

    summary = relu(W [mean, root of the mean square of encoder(tokens); whole])
    logit   = score(relu(... relu(A row + B summary))) + follow * lead
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.policy.learned.deciding import Context
from fogfold.policy.learned.rows import (
    ENCODING_VERSION,
    GlobalRow,
    NodeRow,
    Stage,
    StageRow,
    TargetRow,
    TokenRow,
)

__all__ = ["SQUARE_FLOOR", "STAGE_ROWS", "Shape", "Weights", "load_weights", "save_weights", "softmax"]

STAGE_ROWS: Mapping[Stage, int] = {
    Stage.INTENSITY: len(StageRow),
    Stage.NODE: len(NodeRow),
    Stage.TARGET: len(TargetRow),
}
"""Figures of an option in each stage."""

SQUARE_FLOOR = 1e-6
"""Added under the root: its slope has no end at 0."""
_BLOCK = 128
"""Nodes that are encoded at once: so few that no library spreads the product over cores, which takes thirty times as
long as the product itself where the cores are busy."""
_FORMAT = "fogfold-policy"


@dataclass(frozen=True)
class Shape:
    """Widths of the network."""

    encoder: int = 32
    summary: int = 32
    hidden: int = 48
    last: int = 32

    def arrays(self) -> dict[str, tuple[int, ...]]:
        """Every array of the network by name, with its shape."""
        out: dict[str, tuple[int, ...]] = {
            "encoder.0.weight": (self.encoder, len(TokenRow)),
            "encoder.0.bias": (self.encoder,),
            "encoder.1.weight": (self.encoder, self.encoder),
            "encoder.1.bias": (self.encoder,),
            "summary.weight": (self.summary, 2 * self.encoder + len(GlobalRow)),
            "summary.bias": (self.summary,),
        }
        for stage, rows in STAGE_ROWS.items():
            name = stage.name.lower()
            out |= {
                f"{name}.row.weight": (self.hidden, rows),
                f"{name}.row.bias": (self.hidden,),
                f"{name}.summary.weight": (self.hidden, self.summary),
                f"{name}.last.weight": (self.last, self.hidden),
                f"{name}.last.bias": (self.last,),
                f"{name}.score.weight": (1, self.last),
                f"{name}.follow": (1,),
            }
        return out


@dataclass(frozen=True)
class Weights:
    """A network, ready to score.

    Raises:
        ModelError: if an array is missing, too many, of another shape, or not finite.
    """

    shape: Shape
    arrays: Mapping[str, Float[Array, "..."]]
    notes: Mapping[str, Any]
    """How it was made: written into the file, shown on its card."""

    def __post_init__(self) -> None:
        wanted = self.shape.arrays()
        for name in wanted.keys() ^ self.arrays.keys():
            there = "is missing" if name in wanted else "belongs to no part of this network"
            raise ModelError(f'array "{name}" {there}; the weights are for another version, train them anew')
        for name, shape in wanted.items():
            if self.arrays[name].shape != shape:
                raise ModelError(
                    f'array "{name}" has shape {self.arrays[name].shape}, this network wants {shape}; '
                    "the weights are for another version, train them anew"
                )
            if not np.isfinite(self.arrays[name]).all():
                raise ModelError(f'array "{name}" holds values that are not finite; the training diverged, go back')

    def summary(self, context: Context) -> Float[Array, " summary"]:
        """What the cluster looks like, for all choices of a decision."""
        a = self.arrays
        width, nodes = self.shape.encoder, len(context.tokens)
        total, square = np.zeros(width), np.zeros(width)
        for start in range(0, nodes, _BLOCK):
            h = np.maximum(context.tokens[start : start + _BLOCK] @ a["encoder.0.weight"].T + a["encoder.0.bias"], 0.0)
            h = np.maximum(h @ a["encoder.1.weight"].T + a["encoder.1.bias"], 0.0)
            total += h.sum(axis=0)
            square += (h * h).sum(axis=0)
        pooled = np.concatenate([total / nodes, np.sqrt(square / nodes + SQUARE_FLOOR), context.whole])
        return np.maximum(a["summary.weight"] @ pooled.astype(np.float32) + a["summary.bias"], 0.0)

    def logits(
        self,
        stage: Stage,
        rows: Float[Array, "options rows"],
        lead: Float[Array, " options"],
        summary: Float[Array, " summary"],
    ) -> Float[Array, " options"]:
        """Score of every option; the chance to be drawn is their softmax."""
        a, name = self.arrays, stage.name.lower()
        shared = a[f"{name}.row.bias"] + a[f"{name}.summary.weight"] @ summary
        h = np.maximum(rows @ a[f"{name}.row.weight"].T + shared, 0.0)
        h = np.maximum(h @ a[f"{name}.last.weight"].T + a[f"{name}.last.bias"], 0.0)
        return (h @ a[f"{name}.score.weight"][0]) + a[f"{name}.follow"][0] * lead

    @property
    def digest(self) -> str:
        """A hash of all arrays: two sets of weights with the same digest decide alike."""
        found = hashlib.blake2b(digest_size=8)
        for name in sorted(self.arrays):
            found.update(name.encode() + b"\0" + np.ascontiguousarray(self.arrays[name], np.float32).tobytes())
        return found.hexdigest()


def softmax(logits: Float[Array, " options"]) -> Float[Array, " options"]:
    """Chances of options, in float64: they sum to 1."""
    grown = np.exp((logits - logits.max()).astype(np.float64))
    return grown / grown.sum()


def save_weights(path: Path, weights: Weights) -> None:
    """Write weights to one file, with their version, their hash and how they were made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "format": _FORMAT,
        "encoding_version": str(ENCODING_VERSION),
        "shape": json.dumps(asdict(weights.shape)),
        "digest": weights.digest,
        "notes": json.dumps(dict(weights.notes), sort_keys=True),
    }
    partial = path.with_suffix(path.suffix + ".part")
    save_file({k: np.ascontiguousarray(v, np.float32) for k, v in weights.arrays.items()}, partial, metadata=about)
    partial.replace(path)


def load_weights(path: Path) -> Weights:
    """The weights of a file.

    Raises:
        ModelError: if it cannot be read, is for another version of the encoding, or is not what was written.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            about = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dictionary
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path} cannot be read as a checkpoint ({error}); give a file that training wrote") from error
    if about.get("format") != _FORMAT:
        raise ModelError(f"{path} holds no policy of fogfold; give a file that training wrote")
    if about.get("encoding_version") != str(ENCODING_VERSION):
        raise ModelError(
            f"{path} is for version {about.get('encoding_version')} of the encoding, this is version "
            f"{ENCODING_VERSION}; train it anew, or use the release that made it"
        )
    weights = Weights(Shape(**json.loads(about["shape"])), arrays, json.loads(about.get("notes", "{}")))
    if weights.digest != about.get("digest"):
        raise ModelError(f"{path} is damaged: its hash is {weights.digest}, written was {about.get('digest')}")
    return weights
