"""How policies are run, measured, compared and reported."""
