"""A disk that is full at a chosen write: for machines where no small disk can be mounted."""

from __future__ import annotations

import contextlib
import errno
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


class FullAt:
    """Counts writes; the one at `position` fails, as does every later one."""

    def __init__(self) -> None:
        self.spent = 0
        self.position: int | None = None
        self.cut = False

    def refill(self, position: int | None, *, cut: bool = False) -> None:
        """Start again, with room for `position` writes (None: without end)."""
        self.spent, self.position, self.cut = 0, position, cut

    def spend(self) -> None:
        """One write; OSError where there is no room for it."""
        if self.position is not None and self.spent >= self.position:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.spent += 1

    @contextlib.contextmanager
    def opened(self, path: Path) -> Iterator[BinaryIO]:
        """The file, to be written in counted writes; without its last bytes where `cut`."""
        file = _Counted(self)
        try:
            yield file
        finally:
            data = file.getvalue()
            path.write_bytes(data[:-9] if self.cut else data)


class _Counted(io.BytesIO):
    def __init__(self, disk: FullAt) -> None:
        super().__init__()
        self._disk = disk

    def write(self, data: object, /) -> int:
        self._disk.spend()
        return super().write(data)  # type: ignore[arg-type]  # bytes or a buffer of Arrow

    def close(self) -> None:
        """Kept open: what was written is looked at once the writer has closed it."""
