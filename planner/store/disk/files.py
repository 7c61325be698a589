"""Files and folders that appear under their names whole or not at all, and TOML from strangers.

A small file that is replaced (a status, a set.toml, a cached sample) is written to a hidden
temporary in the same folder, synced and renamed over the name. A folder of many small files is
built in a hidden folder beside its name and renamed at the end; what a killed builder left is
removed by the next one of the same name.

A run file gets its final name once: the first wins and nothing is ever replaced. Not every disk has
hard links (exFAT, many FUSE and SMB mounts). Three ways, the first that the disk knows:

1. `link`: fails where the name exists;
2. `renameat2` with RENAME_NOREPLACE (Linux), `renamex_np` with RENAME_EXCL (macOS): the same;
3. an exclusively created claim beside the final name; its holder checks whether the name is free
   and renames. A claim whose holder is gone is taken over.

Locks on a folder die with their process. Files are never rewritten, so only removals need one. A
directory is not read in one instant: a reader may miss a merged file and then its original. So a
compaction removes originals under an exclusive lock, and a reader that misses a file looks again
under a shared one.

TOML from strangers is refused before it is parsed where parsing could take seconds or gigabytes:
Python's parser needs time and memory in proportion to the square of the dots of a key.

Evidence: docs/evidence.md#files.
"""

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
import stat
import sys
import time
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from planner.core import MAX_SET_BYTES, MAX_SET_DEPTH, MAX_SET_KEYS, MAX_SET_LINE, Text
from planner.store.disk.locks import locked
from planner.store.disk.mirrors import mirror_of


def write_whole(path: Path, content: bytes | str) -> None:
    """Make `path` hold exactly `content`; folders are made. OSError where the disk refuses."""
    data = content.encode() if isinstance(content, str) else content
    if (mirror := mirror_of(path)) is not None:
        mirror.replace(path, data)
        return
    with _written_beside(path, data) as temporary:
        temporary.replace(path)


def write_once(path: Path, content: bytes | str) -> bool:
    """As `write_whole`, but a file that is there already stays; whether it was written."""
    return not path.exists() and write_new(path, content)


def write_new(path: Path, content: bytes | str) -> bool:
    """Make the new file `path` with `content`; False if the name is taken: the first one stays.

    OSError where the disk refuses.
    """
    data = content.encode() if isinstance(content, str) else content
    with _written_beside(path, data) as temporary:
        return publish(temporary, path)


@contextlib.contextmanager
def _written_beside(path: Path, data: bytes) -> Iterator[Path]:
    """Yield a hidden synced file with `data` beside `path`, which goes at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until the disk holds a file, or the names in a folder. OSError where it refuses."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """As `sync`; some disks without hard links know no fsync of a folder either."""
    try:
        sync(folder)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EISDIR}:
            raise


def fill_folder(
    path: Path, files: Iterable[tuple[str, bytes]], *, subfolders: Sequence[str] = ()
) -> bool:
    """Make the folder `path` with `files` (name in it, content); whether it had to be made.

    A folder that is there already stays as it is and `files` is not asked. `subfolders` are made
    even where they stay empty; no file may lie in another. Other processes that want a folder
    beside it wait. OSError where the disk refuses: nothing is left then.
    """
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        if path.exists():  # made while this process waited
            return False
        hidden = path.with_name(f".{path.name}.partial")
        shutil.rmtree(hidden, ignore_errors=True)
        try:
            _fill(hidden, files, subfolders)
            hidden.replace(path)
        except BaseException:
            shutil.rmtree(hidden, ignore_errors=True)
            raise
    return True


def _fill(folder: Path, files: Iterable[tuple[str, bytes]], subfolders: Sequence[str]) -> None:
    folder.mkdir()
    for name in subfolders:
        (folder / name).mkdir()
    for name, content in files:
        (folder / name).write_bytes(content)
    # One sync for all: an fsync for each of 50,000 files takes minutes.
    os.sync()


class UnfitFileError(ValueError):
    """A small file is not usable; the message continues a sentence about it."""


def bounded_json(source: Path | bytes, most_bytes: int) -> Any:  # noqa: ANN401 - whatever it holds
    """Return what JSON from a stranger holds: a file, or its bytes, of at most `most_bytes`.

    Raises:
        UnfitFileError: it is no regular file, too large, or no JSON without NaN.
    """
    try:
        data = _bounded(source, most_bytes)
        return json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except UnfitFileError:
        raise
    except (OSError, ValueError, RecursionError):
        raise UnfitFileError("cannot be read") from None


def _bounded(source: Path | bytes, most_bytes: int) -> bytes:
    data = source if isinstance(source, bytes) else _beginning(source, most_bytes + 1)
    if len(data) > most_bytes:
        raise UnfitFileError(
            Text("is larger than {most_bytes:g} MB", most_bytes=most_bytes / 1000000.0)
        )
    return data


def _beginning(path: Path, size: int) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for ever
        raise UnfitFileError("is not a regular file")
    with path.open("rb") as file:
        return file.read(size)


def _no_constant(_: str) -> float:
    raise UnfitFileError("contains invalid numbers")


_OPENER: Final = re.compile(r"\"\"\"|'''|[\"'#\n]")
_REST: Final = {
    '"""': re.compile(r'(?:\\.|[^\\])*?"""(?!")', re.DOTALL),
    "'''": re.compile(r".*?'''(?!')", re.DOTALL),
    '"': re.compile(r'(?:\\.|[^"\\\n])*"'),
    "'": re.compile(r"[^'\n]*'"),
    "#": re.compile(r"[^\n]*"),
    "\n": re.compile(""),
}
"""What follows each opener up to the end of the text or comment that it opens."""


def bounded_toml(data: bytes) -> dict[str, Any]:
    """The table in `data`.

    Raises:
        ValueError: it is no TOML, or beyond the limits of a set.toml; it says which.
        RecursionError: it is nested deeper than Python goes.
    """
    if len(data) > MAX_SET_BYTES:
        raise ValueError(
            Text("it is longer than {max_set_bytes:,} bytes", max_set_bytes=MAX_SET_BYTES)
        )
    text = data.decode().replace("\r\n", "\n")
    if any(len(line) > MAX_SET_LINE for line in text.split("\n")):
        raise ValueError(
            Text("a line is longer than {max_set_line:,} characters", max_set_line=MAX_SET_LINE)
        )
    bare = _bare(text)
    if any(sum(line.count(c) for c in ".[{") > MAX_SET_DEPTH for line in bare.split("\n")):
        raise ValueError(
            Text(
                "a line has more than {max_set_depth} dots and brackets outside texts",
                max_set_depth=MAX_SET_DEPTH,
            )
        )
    if bare.count("=") + bare.count("[") > MAX_SET_KEYS:
        raise ValueError(Text("it has more than {max_set_keys} keys", max_set_keys=MAX_SET_KEYS))
    return tomllib.loads(text)


def _bare(text: str) -> str:
    """The lines of a TOML text, without comments and with `_` for every text in quotes."""
    parts, at = [], 0
    while opened := _OPENER.search(text, at):
        rest = _REST[opened.group()].match(text, opened.end())
        if rest is None:
            raise ValueError("a text in quotes has no end")
        parts += [text[at : opened.start()], "\n" if opened.group() == "\n" else "_"]
        at = rest.end()
    return "".join([*parts, text[at:]])


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

    The temporary may or may not be there afterwards. OSError where the disk refuses. A folder of
    copies of a bucket writes to the bucket first (`planner.store.disk.mirrors`).
    """
    if (mirror := mirror_of(final)) is not None:
        return mirror.publish(temporary, final)
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


def remove(path: Path) -> None:
    """Delete a result file where it is, in its bucket too."""
    if (mirror := mirror_of(path)) is not None:
        mirror.remove(path)
    else:
        path.unlink(missing_ok=True)


def set_aside(path: Path, aside: Path) -> None:
    """Rename a result file, in its bucket too. FileNotFoundError where there is none."""
    if (mirror := mirror_of(path)) is not None:
        mirror.set_aside(path, aside)
    else:
        path.rename(aside)


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
