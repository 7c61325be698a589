"""Work in a process apart: messages over pipes, and what such a process may not do.

It imports nothing of the program, so that the limits can be read in two files.
"""

from planner.apart._messages import Pipes, ended, read, started, write
from planner.apart._walls import leave_network, no_more_than
