"""Small worlds over a rolling day: what a policy costs, what hindsight would have cost, and the room between."""
