"""A cluster that is played by the simulator, behind the ports of the control plane: the default of the service."""
