"""What the users want over time: generated, or replayed from public traces; one form for both."""
