"""fogfold's world beside two simulators that people use today, on one workload, in one run.

`compare.py` is the way in. The others' code runs in an environment of its own; only `workload.py` is read by all.
"""
