"""The entries of the catalogue of machines, by kind, and the rules and assumptions that they share."""
