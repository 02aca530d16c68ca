"""Who chooses: the classic rules, and later the learned policy, behind one interface."""
