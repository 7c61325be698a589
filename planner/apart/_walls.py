"""Limits of the operating system for the process that calls them."""

from __future__ import annotations

import ctypes
import resource
from pathlib import Path
from typing import Final

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_PAGE: Final = resource.getpagesize()


def leave_network() -> bool:
    """Move this process to a network without any link; whether the system allowed it."""
    library = ctypes.CDLL(None, use_errno=True)
    return hasattr(library, "unshare") and not library.unshare(_NEW_USER | _NEW_NETWORK)


def no_more_than(*, seconds: int, memory_bytes: int) -> None:
    """Limit this process, and all that it starts, from now on and for good.

    Processor time [s] and memory beside what it has [bytes]. It opens no further file or socket,
    writes no byte to a file, and leaves no core.
    """
    pages = 0
    statm = Path("/proc/self/statm")
    if statm.exists():
        pages = int(statm.read_text(encoding="ascii").split()[0])
    most = pages * _PAGE + memory_bytes if pages else resource.RLIM_INFINITY
    for what, soft, hard in (
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_AS, most, most),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, 0, 0),
    ):
        resource.setrlimit(what, (soft, hard))
