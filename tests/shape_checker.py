"""The type checker that tests put round every function: shapes of arrays, and whole numbers pass for floats (PEP 484)."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
