"""Several worlds in one call: the environment in Gymnasium's vector form.

The worlds have seeds of their own and their chains end when they end, so each goes on by itself. A world whose time is
up begins anew with the next step, whose action is not heard (Gymnasium's next-step autoreset).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from jaxtyping import Bool

from fogfold.compiled import Array
from fogfold.env.consolidation import ConsolidationEnv
from fogfold.errors import ModelError

__all__ = ["ConsolidationVector"]


class ConsolidationVector(SyncVectorEnv[Any, Any]):
    """As many worlds as asked for, all of one scenario.

    Args:
        num_envs: how many.
        options: of each, as `ConsolidationEnv` takes them.

    Raises:
        ModelError: if there is to be no world at all.
    """

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        if num_envs < 1:
            raise ModelError(f"num_envs is {num_envs}; at least one world is needed")
        super().__init__(
            [lambda: ConsolidationEnv(**options) for _ in range(num_envs)], autoreset_mode=AutoresetMode.NEXT_STEP
        )

    def action_masks(self) -> Bool[Array, "worlds actions"]:
        """Which actions are legal now in each world."""
        return np.stack(self.call("action_masks"))
