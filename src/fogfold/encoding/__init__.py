"""Cluster to numbers and back: structs of arrays, and what may go where."""
