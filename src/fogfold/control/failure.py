"""What can go wrong in the control plane, as types; whether trying again can help is part of the type."""

from __future__ import annotations

from fogfold.errors import FogfoldError, InvariantError

__all__ = ["IllegalTransitionError", "LeaseLostError", "PortError", "PortTimeoutError"]


class IllegalTransitionError(InvariantError):
    """A migration or a node was to go from one state to another that may not follow it."""


class PortError(FogfoldError):
    """The other side of a port refused, and will refuse again: the request itself is wrong or not supported."""


class PortTimeoutError(PortError):
    """The other side of a port did not answer in time, or is not there; trying again may help.

    What was asked may have been done all the same: look before you ask again.
    """

    retryable = True


class LeaseLostError(FogfoldError):
    """Another instance holds the lease by now: whoever gets this must not act any more."""
