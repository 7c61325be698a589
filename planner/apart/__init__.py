"""Work in a process apart: messages over pipes, and what such a process may not do.

It imports nothing of the program, so that the limits can be read in one file.
"""

from planner.apart._process import Pipes, ended, leave_network, no_more_than, read, started, write
