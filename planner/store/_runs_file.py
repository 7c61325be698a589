"""A DuckDB file with the summary columns of all runs, for stores that outgrow memory.

It is a copy of what the result files say, in `EPOCHWISE_CACHE/runs`: deleting it costs the time of
another first load. Each process and each choice of sets (decision 0061) holds a place of its own, a
folder with a lock that dies with its process; several servers of a machine copy each other's file
instead of reading all results again. A place's name is a hash of everything its contents follow
from besides the result files: the folders, the viewer, this program and DuckDB. The loaded files,
with their hashes, are in the same transactions as their runs, so a killed process leaves the state
of its last transaction.
"""

import contextlib
import hashlib
import os
import shutil
import time
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import duckdb

from planner.store.disk.access import Viewer
from planner.store.disk.files import write_whole
from planner.store.disk.folders import Folder, as_utf8
from planner.store.disk.mirrors import cache_folder

SUFFIX: Final = ".duckdb"
LEAST_FREE_BYTES: Final = 1_000_000_000
"""Room on the disk below which no more runs are loaded [bytes]."""
ANSWERS: Final = "answers"
"""The folder of kept answers, beside the places."""
_MOST_ANSWERS: Final = 64
_MOST_PLACES: Final = 64
_UNUSED_S: Final = 14 * 86_400.0
"""Age at which a place without a holder is removed [s]."""
_STORE: Final = Path(__file__).resolve().parent
_PROGRAM: Final = (
    _STORE,
    _STORE.parent / "runs",
    _STORE.parent / "networks",
    _STORE.parent / "core",
)
"""Packages whose code decides what a summary file holds."""


def places_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of all summary files of this user."""
    return cache_folder(environment) / "runs"


def key_of(folders: Sequence[Folder], viewer: Viewer) -> str:
    """Return the name of places for these folders and viewer under this program."""
    what = (_program(_PROGRAM), repr([(as_utf8(f.path), f.label, f.kind) for f in folders]))
    whose = repr((viewer.sees_all, sorted(viewer.groups), sorted(viewer.sets)))
    return f"{_digest(*what)}-{_digest(whose)}"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "backslashreplace")).hexdigest()[:32]


@lru_cache(maxsize=2)
def _program(rooms: tuple[Path, ...]) -> str:
    digest = hashlib.sha256(duckdb.__version__.encode())
    for path in sorted(p for room in rooms for p in room.rglob("*.*")):
        if path.suffix in (".py", ".csv"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def answer_key(key: str, question: str, files: Sequence[tuple[str, str]]) -> str:
    """Return the name of an answer about all runs of some files, each with its hash."""
    return _digest(key, question, _program((_STORE.parent,)), repr(sorted(files)))


def kept_answer(root: Path, name: str) -> str | None:
    """Return the text of a kept answer; None where there is none, or a damaged one."""
    with contextlib.suppress(OSError, ValueError):
        head, _, text = (root / ANSWERS / name).read_text("utf-8").partition("\n")
        if head == hashlib.sha256(text.encode()).hexdigest():
            return text
    return None


def keep_answer(root: Path, name: str, text: str) -> None:
    """Keep an answer for the next start; where that cannot be, it is computed again then."""
    folder = root / ANSWERS
    with contextlib.suppress(OSError, ValueError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(folder / name, f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")
        answers = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in answers[:-_MOST_ANSWERS]:
            path.unlink(missing_ok=True)


class HeldFolder:
    """A folder for one summary file, held until the object or the process ends."""

    def __init__(self, folder: Path, handle: int) -> None:
        self.folder = folder
        self.file: Path | None = None
        self._end = weakref.finalize(self, os.close, handle)

    @property
    def scratch(self) -> Path:
        """Where DuckDB puts what does not fit into memory."""
        return self.folder / "scratch"

    def free_bytes(self) -> int:
        """Return the room left on the disk [bytes]."""
        return shutil.disk_usage(self.folder).free

    def anew(self) -> Path:
        """Return the name of a new, empty file; earlier ones are removed."""
        self._keep(None)
        self.file = self.folder / f"{uuid.uuid4().hex}{SUFFIX}"
        return self.file

    def again(self) -> Path:
        """Return another copy of the file: a broken instance is never opened again."""
        if self.file is None:
            return self.anew()
        copy = _copied(self.file, self.folder)
        self._keep(copy)
        self.file = copy
        return copy

    def leave(self) -> None:
        """Remove the file and let others take the place."""
        self._keep(None)
        self.file = None
        self._end()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other processes from copying the file."""
        with _locked(self.folder / "writing", shared=False):
            yield

    def take_over(self, key: str) -> Path | None:
        """Return the file that is here, or a copy of another process's; None without any."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        here = sorted(self.folder.glob(f"*{SUFFIX}"))
        self.file = here[0] if len(here) == 1 else None  # a killed process was replacing it
        self._keep(self.file)
        return self.file or self.copy_of(_siblings(self.folder.parent, key))

    def copy_of(self, places: Sequence[Path]) -> Path | None:
        """Return a copy of the file in one of these places; None where no place has any."""
        for other in places:
            with contextlib.suppress(OSError), _locked(other / "writing", shared=True):
                for file in other.glob(f"*{SUFFIX}"):
                    self.file = _copied(file, self.folder)
                    return self.file
        return None

    def _keep(self, file: Path | None) -> None:
        for path in self.folder.glob("*"):
            of_file = file is not None and path.name in (file.name, f"{file.name}.wal")
            if path.is_file() and path.name != "writing" and not of_file:
                path.unlink(missing_ok=True)


def used_place(root: Path, key: str) -> HeldFolder | None:
    """Return a place for a store that had a summary file before; None if it never had one."""
    if not _siblings(root, key):
        return None
    return new_place(root, key)


def others_places(root: Path, key: str) -> list[Path]:
    """Return the places with a file of these folders for any viewer.

    Its runs may be ones that another viewer must not see.
    """
    return _siblings(root, key.partition("-")[0])


def new_place(root: Path, key: str) -> HeldFolder | None:
    """Return a place that no other process holds, one with a file first; None where none can be."""
    with contextlib.suppress(OSError):
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(root)
        names = [root / f"{key}-{n}" for n in range(_MOST_PLACES)]
        for folder in sorted(names, key=lambda f: not any(f.glob(f"*{SUFFIX}"))):
            folder.mkdir(exist_ok=True, mode=0o700)
            if (handle := _held(folder)) is not None:
                os.utime(folder)
                return HeldFolder(folder, handle)
    return None


def _siblings(root: Path, key: str) -> list[Path]:
    return sorted({file.parent for file in root.glob(f"{key}-*/*{SUFFIX}")})


def _copied(file: Path, folder: Path) -> Path:
    """Return a copy of a file at rest; its log is there before it has its name."""
    copy = folder / f"{uuid.uuid4().hex}{SUFFIX}"
    log = file.with_name(f"{file.name}.wal")
    if log.exists():
        shutil.copyfile(log, copy.with_name(f"{copy.name}.wal"))
    part = copy.with_suffix(".part")
    shutil.copyfile(file, part)
    part.rename(copy)
    return copy


def _sweep(root: Path) -> None:
    """Remove places without a holder for long: of another program, or of other folders."""
    for folder in root.iterdir():
        if time.time() - folder.stat().st_mtime < _UNUSED_S:
            continue
        if folder.is_dir() and (handle := _held(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _held(folder: Path) -> int | None:
    """Return the handle that holds a folder; None while another process or store does.

    OSError where the disk knows no locks: two processes would share a file.
    """
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        raise
    return handle


@contextlib.contextmanager
def _locked(path: Path, *, shared: bool) -> Iterator[None]:
    import fcntl

    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
