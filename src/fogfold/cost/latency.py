"""How long a request takes: the queue at the node and the way there and back.

A node shares its processor among the requests present (processor sharing), so a request of service time S at
load rho takes S / (1 - rho) on average, whatever the distribution of service times (Kleinrock, Queueing Systems
vol. 2, 1976, section 4.4). The share of requests that take longer than an objective uses the exponential tail
that is exact for one server with exponential service (M/M/1). Loads are capped by the caller, so that latency
stays bounded and an overloaded node shows as unserved demand, not as infinite time.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array, compiled_inline
from fogfold.errors import ModelError

__all__ = ["late_share", "negative_exponential", "queueing_ms", "round_trip_ms"]


@compiled_inline
def queueing_ms(service_ms: float, slack: float) -> float:
    """Mean time of a request at a node, in ms: service time / (1 - load), with slack = 1 - load in ]0, 1]."""
    return service_ms / slack


@compiled_inline
def negative_exponential(x: float) -> float:
    """exp(-x) for x >= 0, at most 3e-6 above it, in a few multiplications that a compiler can run side by side.

    The fourth-order Taylor series of exp at x / 16, inverted and raised to the 16th power. The world asks for this
    value once for each container and tick; a call of the library's exp there would double the time of a step.
    """
    y = x * 0.0625
    grown = 1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y * (1.0 / 24.0))))
    p = 1.0 / grown
    p = p * p
    p = p * p
    p = p * p
    return p * p


@compiled_inline
def late_share(patience: float, slack: float) -> float:
    """Share of requests that miss their objective, in [0, 1].

    P(T > d) = exp(-(d - rtt) (1 - rho) / S) for M/M/1 under processor sharing.

    Args:
        patience: (objective - round trip) / service time; at most 0 where the round trip alone is too long.
        slack: 1 - load of the node, in ]0, 1].
    """
    return negative_exponential(max(patience, 0.0) * slack)


def round_trip_ms(
    km: Float[Array, "sites sites"], *, path_stretch: float, fibre_km_per_ms: float, hop_ms: float
) -> Float[Array, "sites sites"]:
    """Round trip between every two sites on a calm network, in ms: light in fibre over the stretched path, and hops.

    Raises:
        ModelError: if the stretch is under 1, the speed of light is not positive, or a figure is not finite.
    """
    if not (1.0 <= path_stretch < math.inf and 0.0 < fibre_km_per_ms < math.inf):
        raise ModelError(
            f"path_stretch is {path_stretch:g} and fibre_km_per_ms is {fibre_km_per_ms:g}; "
            "a path is at least as long as the great circle, and light has a positive speed"
        )
    trip = 2.0 * km * path_stretch / fibre_km_per_ms
    apart = ~np.eye(len(km), dtype=bool)
    return trip + hop_ms * apart
