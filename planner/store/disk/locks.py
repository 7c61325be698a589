"""Who waits for whom: a lock on a folder, which dies with its process.

Writers and readers need none, for files are never rewritten and names never reused. Only files
that go away need care. A directory is not read in one instant: a reader may pass the place of the
merged file before it is linked and reach the place of an original after it is removed. So a
compaction removes originals under an exclusive lock of the results folder, and a reader that
misses a file looks again under a shared one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of `folder`; where the disk or the system knows no locks, go on without."""
    handle = None
    try:
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        if handle is not None:
            os.close(handle)
