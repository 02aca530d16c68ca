"""Propose, rehearse, score: what would be done now is first played in the simulator, and the best of it is chosen."""
