"""Measurements of what the project promises. Each module has `run(quick)`; `python -m benchmarks` runs them all.

A result is a dict that can be written as JSON. `report` prints its "tables" and "targets" and stores it with the
command, the seed, the duration and the machine under benchmarks/results/.
"""
