"""One consolidation decision under a magnifying glass: drawn snapshots, a proven bound, and a referee."""
