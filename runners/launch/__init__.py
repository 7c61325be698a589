"""Launchers: they start the processes of one run and hand out addresses, nothing more.

`python -m runners.launch [--server] [--slow SHARE] WORKERS COMMAND...` starts all workers on this
machine, and with `--server` a parameter server and a chief beside them. Every process gets the
request on its standard input and the addresses of all in TF_CONFIG; the events of the first one
are those of the run. docs/decisions/0044-launchers.md has the reasons.
"""

from typing import Final

LOCAL: Final = ("-m", "runners.launch")
"""Arguments that start the local launcher in an interpreter; the number of workers follows."""

SERVER: Final = "--server"
"""Start a parameter server and a chief, too: the workers update asynchronously."""

SLOW: Final = "--slow"
"""Stop the last worker for a share of the time, which follows."""

__all__ = ["LOCAL", "SERVER", "SLOW"]
