"""Where torch computes: the processor, or a graphics card where there is one.

Worlds are always played on the processor; only the network's updates move. Two kinds of device round differently, so
the same seed gives the same curve on the same kind of device only.
"""

from __future__ import annotations

import torch

from fogfold.errors import ModelError, UnknownNameError, did_you_mean

__all__ = ["device_named"]

_KINDS = ("auto", "cpu", "cuda")


def device_named(name: str) -> torch.device:
    """The device of that name: `cpu`, `cuda`, `cuda:1`, or `auto` for a card where there is one, else the processor.

    Raises:
        UnknownNameError: if the name is none of these.
        ModelError: if torch finds no such device.
    """
    kind, colon, number = name.partition(":")
    if kind not in _KINDS or (colon and not (kind == "cuda" and number.isdecimal())):
        raise UnknownNameError(f'device "{name}" is unknown; {did_you_mean(kind, _KINDS)}')
    if kind == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise ModelError(
            f"--device is {name}, and torch finds no such device here; leave it out to train on the processor"
        )
    return torch.device(name)
