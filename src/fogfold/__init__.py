"""fogfold folds the containers of a fog or edge cluster onto fewer nodes, so that the rest can sleep.

Importing the package opens nothing and starts nothing.
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
