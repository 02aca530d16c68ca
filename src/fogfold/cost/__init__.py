"""What things cost: pure functions on arrays, and the catalogue of machines that the figures come from."""
