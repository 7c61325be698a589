"""Proof that a process on another machine has the same folder: a hidden file of random bytes in it.

A folder of that path on another disk has no such file. A copy that was made meanwhile has it, so a
run that was stored under a proof is looked for in the original folder all the same. A new witness
ends the earlier ones of its folder: what still runs for them stores nothing any more.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Witness:
    """A file in a folder, and the bytes that prove it."""

    path: str
    content: str

    @property
    def folder(self) -> Path:
        """The folder that it stands for."""
        return Path(self.path).parent

    def is_seen(self) -> bool:
        """Return whether this process reads the same bytes under that path."""
        try:
            with open(self.path, encoding="ascii") as file:  # noqa: PTH123 - bounded
                return file.read(len(self.content) + 1) == self.content
        except (OSError, ValueError):
            return False

    def renew(self) -> None:
        """Keep others from sweeping it away as the left-over of a writer that is gone."""
        with contextlib.suppress(OSError):
            os.utime(self.path)


@contextlib.contextmanager
def witness(folder: Path) -> Iterator[Witness]:
    """Yield the only witness of a folder, which goes at the end. OSError where the disk refuses."""
    for old in folder.glob(".*.seen.tmp"):
        old.unlink(missing_ok=True)
    path = folder / f".{secrets.token_hex(8)}.{os.getpid()}.seen.tmp"
    content = secrets.token_hex(32)
    try:
        path.write_text(content, encoding="ascii")
        yield Witness(str(path), content)
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
