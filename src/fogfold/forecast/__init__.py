"""What comes next: forecasts of every container's load, how sure they are, and when a node's load will turn."""
