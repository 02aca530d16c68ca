"""Units and the factors between them: SI inside, readable units at the border.

Inside fogfold everything is in seconds, watts, joules, bytes, bit/s, cores, kilometres and milliseconds of
latency; the suffix of a name says which. These constants are the only place where a factor stands.
"""

from __future__ import annotations

__all__ = [
    "BITS_PER_BYTE",
    "DAY_S",
    "GIB",
    "HOUR_S",
    "J_PER_KWH",
    "J_PER_WH",
    "KIB",
    "MBIT",
    "MIB",
    "MINUTE_S",
    "MS_PER_S",
    "TICK_S",
    "WEEK_S",
]

KIB = 1024.0
MIB = 1024.0**2
GIB = 1024.0**3
MBIT = 1e6
BITS_PER_BYTE = 8.0

MINUTE_S = 60.0
HOUR_S = 3600.0
DAY_S = 86400.0
WEEK_S = 7 * DAY_S
MS_PER_S = 1000.0

J_PER_WH = 3600.0
J_PER_KWH = 3.6e6

TICK_S = 30.0
"""One tick of world time, in seconds."""
