"""Days on which everything goes wrong at once, played on a simulated cluster to see what the service makes of it."""
