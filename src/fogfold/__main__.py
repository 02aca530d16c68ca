"""Lets `python -m fogfold` be the command `fogfold`."""

from __future__ import annotations

import sys

from fogfold.cli import app

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(app.main())


if __name__ == "__main__":
    main()
