"""Adapters: what the control plane's ports are made of in the real world, one folder for each."""
