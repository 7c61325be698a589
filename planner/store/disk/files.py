"""Small files that are replaced whole: a status, a set.toml, a cached sample.

A reader sees the old file or the new one, never half of one: write a hidden temporary in the
same folder, fsync it, rename it over the name.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path


def write_whole(path: Path, content: bytes | str) -> None:
    """Make `path` hold exactly `content`; folders are made. OSError where the disk refuses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
    data = content.encode() if isinstance(content, str) else content
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_once(path: Path, content: bytes | str) -> bool:
    """As `write_whole`, but a file that is there already stays; whether it was written."""
    if path.exists():
        return False
    write_whole(path, content)
    return True
