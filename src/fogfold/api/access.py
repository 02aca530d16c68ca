"""Who may ask for what: bearer tokens with three roles, and what is let through where there are none.

Without tokens only this machine is served, and then a page in its browser must not be able to ask either: the request
has to name this machine, and to come from no other origin.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from urllib.parse import urlsplit

__all__ = ["LOOPBACK", "Access", "Caller", "Denied", "Role", "Token", "is_loopback"]

LOOPBACK = "127.0.0.1"
"""The address of this machine that nobody else can reach."""


class Role(IntEnum):
    """What a caller may do; each includes those before it."""

    READ = 0
    """Look."""
    APPROVE = 1
    """Approve and deny plans, press the stop button, ask for a decision."""
    ADMIN = 2
    """Let the stop button go, wake all nodes."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token, who holds it, and what it is good for."""

    name: str
    role: Role
    secret: str

    def __repr__(self) -> str:
        # What is printed by accident must not open anything.
        return f"Token({self.name!r}, {self.role.name})"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Denied:
    """Why nobody is let through."""

    status: int
    """401 where the caller is not known, 403 where it may not do this."""
    detail: str


class Access:
    """Knows callers by their tokens.

    Args:
        tokens: who may ask; whoever is on this machine may do everything where there are none.
    """

    def __init__(self, tokens: Sequence[Token] = ()) -> None:
        self._known = [(hashlib.sha256(token.secret.encode()).digest(), token) for token in tokens]

    @property
    def is_open(self) -> bool:
        """Whether whoever is on this machine may do everything."""
        return not self._known

    def caller(self, headers: Mapping[str, str]) -> Caller | Denied:
        """Who asks.

        Args:
            headers: of the request, names in lower case.
        """
        if self.is_open:
            return self._of_this_machine(headers)
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            return Denied(401, "this needs a token; send the header Authorization: Bearer TOKEN")
        given = hashlib.sha256(secret.strip().encode()).digest()
        found: Token | None = None
        for digest, token in self._known:
            # All are compared, each in the same time, so that how long it takes tells nothing.
            if hmac.compare_digest(digest, given):
                found = token
        if found is None:
            return Denied(401, "this token is not known here; ask whoever runs the service for one")
        return Caller(found.name, found.role)

    @staticmethod
    def _of_this_machine(headers: Mapping[str, str]) -> Caller | Denied:
        host = headers.get("host", "")
        if not is_loopback(urlsplit(f"//{host}").hostname or ""):
            return Denied(
                403, f"the request is for {host!r}, and without tokens only this machine is served; ask for {LOOPBACK}"
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return Denied(403, f"the request comes from a page of {origin}, which may not ask here")
        return Caller("this machine", Role.ADMIN)


def is_loopback(host: str) -> bool:
    """Whether a name or address can only be reached from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
