"""The type checker round every function in tests: array shapes hold, whole numbers pass for floats (PEP 484)."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
