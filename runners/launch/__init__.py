"""Launchers: they start the processes of one run and hand out addresses, nothing more.

`python -m runners.launch WORKERS COMMAND...` starts all workers on this machine. Every worker gets
the request on its standard input and the addresses of all in TF_CONFIG; the events of the first
one are those of the run. docs/decisions/0044-launchers.md has the reasons.
"""

from typing import Final

LOCAL: Final = ("-m", "runners.launch")
"""Arguments that start the local launcher in an interpreter; the number of workers follows."""

__all__ = ["LOCAL"]
