"""What things are: frozen values that check themselves, without I/O and without arrays."""
