"""The control plane: looks, guards, plans, and lets nodes sleep and wake, on a cluster that is not forgiving.

Here stand the pure stages, which take values and give values, and the ports behind which everything real lives.
"""
