"""The simulated world fitted to what was measured on a real one, and judged by measurements it was not fitted to."""
