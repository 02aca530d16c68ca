"""fogfold's forecasters beside an outside yardstick, on the same series and at the same instants."""
