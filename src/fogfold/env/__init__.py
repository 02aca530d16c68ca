"""The environment in which anyone's agent may learn to fold, by Gymnasium's interface.

Importing this package registers it: `gymnasium.make("fogfold.env:fogfold/Consolidation-v0", scenario="city-20")`.
"""

from __future__ import annotations

import gymnasium

from fogfold.env.consolidation import ConsolidationEnv
from fogfold.env.reward import RewardWeights

__all__ = ["ENVIRONMENT_ID", "ConsolidationEnv", "RewardWeights"]

ENVIRONMENT_ID = "fogfold/Consolidation-v0"
"""The name by which Gymnasium makes it; `fogfold.env:` before it imports this package first."""

gymnasium.register(
    ENVIRONMENT_ID,
    entry_point="fogfold.env.consolidation:ConsolidationEnv",
    vector_entry_point="fogfold.env.batch:ConsolidationVector",
)
