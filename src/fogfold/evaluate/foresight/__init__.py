"""What foresight is worth, taken apart: peaks, a wrong model, the time between decisions, who proposes."""
