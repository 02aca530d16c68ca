"""A policy that was learned: what it sees, what it may choose, its weights, and how it decides."""
