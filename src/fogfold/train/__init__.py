"""How a policy is learned: rollouts, advantages, losses, the loop, and the judge."""
