"""Give a whole file its final name, once: the first wins and nothing is ever replaced.

Not every disk has hard links (exFAT, many FUSE and SMB mounts). Three ways, the first that the disk
knows; each shows a whole file under the final name or none, whatever dies in the middle:

1. `link`: fails where the name exists;
2. `renameat2` with RENAME_NOREPLACE (Linux), `renamex_np` with RENAME_EXCL (macOS): the same;
3. an exclusively created claim beside the final name; who holds it looks whether the name is free
   and renames. A claim whose holder is gone is taken over.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Final

STALE_CLAIM_S: Final = 10.0
"""So long a claim of another machine may stay the same [s]; it is held for milliseconds."""
_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS, errno.EINVAL,
     errno.EXDEV, errno.EACCES}
)  # fmt: skip
"""What `link` answers on disks that have none; a disk without permission fails again later."""
_NO_SUCH_RENAME: Final = _NO_LINKS | {errno.ENOTTY}
_AT_FDCWD: Final = -100
_RENAME_NOREPLACE: Final = 1
_RENAME_EXCL: Final = 4
_POLL_S: Final = 0.02


def publish(temporary: Path, final: Path) -> bool:
    """Give `temporary` the name `final` in the same folder; False where that name is taken.

    The temporary may or may not be there afterwards. OSError where the disk refuses.
    """
    try:
        os.link(temporary, final)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        return True
    try:
        return _renamed_once(temporary, final)
    except OSError as error:
        if error.errno not in _NO_SUCH_RENAME:
            raise
    return _claimed(temporary, final)


def _renamed_once(temporary: Path, final: Path) -> bool:
    """Rename in one step that fails where the name exists; OSError where there is no such step."""
    library = ctypes.CDLL(None, use_errno=True)
    old, new = os.fsencode(temporary), os.fsencode(final)
    ctypes.set_errno(0)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        failed = library.renamex_np(old, new, _RENAME_EXCL)
    elif hasattr(library, "renameat2"):
        failed = library.renameat2(_AT_FDCWD, old, _AT_FDCWD, new, _RENAME_NOREPLACE)
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if not failed:
        return True
    code = ctypes.get_errno()
    if code == errno.EEXIST:
        return False
    raise OSError(code, os.strerror(code), os.fspath(final))


def _claimed(temporary: Path, final: Path) -> bool:
    """Rename while holding the claim of the final name, if that name is free."""
    claim, watched = final.with_name(f".{final.stem}.claim.tmp"), _Watched()
    while not _take(claim):
        if os.path.lexists(final):
            return False
        watched.look(claim)
        time.sleep(_POLL_S)
    try:
        if os.path.lexists(final):
            return False
        temporary.rename(final)
        return True
    finally:
        with contextlib.suppress(OSError):
            claim.unlink()


def _take(claim: Path) -> bool:
    try:
        handle = os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    try:
        os.write(handle, _me().encode())
    finally:
        os.close(handle)
    return True


class _Watched:
    """Somebody else's claim while it stays the same; clocks of other machines do not count."""

    def __init__(self) -> None:
        self._seen: tuple[int, int, str] | None = None
        self._since_s = 0.0

    def look(self, claim: Path) -> None:
        """Remove a claim whose holder is gone; of several that try, one removes it."""
        try:
            now = claim.stat()
            seen = now.st_ino, now.st_mtime_ns, claim.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        if seen != self._seen:
            self._seen, self._since_s = seen, time.monotonic()
        if _is_dead(seen[2]) or time.monotonic() - self._since_s > STALE_CLAIM_S:
            aside = claim.with_name(f".{uuid.uuid4().hex}.claim.tmp")
            with contextlib.suppress(OSError):
                claim.rename(aside)
                aside.unlink()


def _me() -> str:
    """This process, for others on this machine: the start of the system, and the process id."""
    return f"{_boot()} {os.getpid()}"


def _boot() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return "unknown"


def _is_dead(holder: str) -> bool:
    """Whether the holder of a claim was a process of this machine that is gone."""
    boot, _, pid = holder.partition(" ")
    if boot != _boot() or boot == "unknown" or not pid.isdecimal() or len(pid) > 9:
        return False
    return not os.path.exists(f"/proc/{pid}")  # noqa: PTH110 - a name, not a path of ours
