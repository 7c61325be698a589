"""Measured runs that need a second look: wrong units, copies, and runs off their curve.

`_checks` runs all checks over the runs of a workload. Each flag states the anomaly with its
numbers.
"""

from planner.suspects._checks import ANY, NONE, UNLIKE, narrowed, suspects
from planner.suspects._flags import LEFT_OUT, NAMES, Flag, by_run, left_out, named
