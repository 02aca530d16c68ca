"""Settings become a service that runs: the only place that picks adapters."""
