"""Which files are there now? A listing that no compaction can make fall short."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from planner.store.disk.folders import Folder
from planner.store.disk.locks import locked
from planner.store.sealed.accept import SUFFIX
from planner.store.sealed.result_set import NAME

_TRIES = 20


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one version of a file from another without opening it."""

    size: int
    mtime_ns: int
    inode: int
    mode: int
    unreadable: str = ""
    """Why a folder could not be listed; empty for all that could."""


Listing = dict[str, Stamp]


def listing(folders: tuple[Folder, ...], known: Listing | None = None) -> Listing:
    """All parquet files and set.toml files of the folders, as path -> stamp.

    A listing that shows every file of `known` is believed at once. One that misses a file (a
    compaction may have replaced it, see `planner.store.disk.locks`) is made again while no
    compaction removes anything.
    """
    found = _list_once(folders)
    if known is not None and known.keys() <= found.keys():
        return found
    with ExitStack() as locks:
        for folder in folders:
            locks.enter_context(locked(folder.path, shared=True))
        return _settled(folders, found if known is None else known)


def _settled(folders: tuple[Folder, ...], known: Listing) -> Listing:
    """A listing that misses no more files than the one before: for disks that know no locks."""
    missing: set[str] | None = None
    found: Listing = {}
    for _ in range(_TRIES):
        found = _list_once(folders)
        gone = known.keys() - found.keys()
        if gone <= (missing or set()):
            break
        missing = gone
    return found


def _list_once(folders: tuple[Folder, ...]) -> Listing:
    found: Listing = {}
    for folder in folders:
        for entry in _entries(str(folder.path), found):
            if _is_parquet(entry.name) or _is_linked_folder(entry):
                found |= _stamp(entry)
            elif entry.is_dir() and not entry.name.startswith("."):
                for inner in _entries(entry.path, found):
                    if _is_parquet(inner.name) or inner.name == NAME:
                        found |= _stamp(inner)
    return found


def _is_linked_folder(entry: os.DirEntry[str]) -> bool:
    """A link to a folder: listed to be refused, for DuckDB may open only the folders given."""
    return entry.is_symlink() and entry.is_dir() and not entry.name.startswith(".")


def _entries(path: str, found: Listing) -> list[os.DirEntry[str]]:
    """The entries of a folder; none where it is absent or not a folder.

    One that cannot be read is `found` itself, so that it is refused and its runs are missed.
    """
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        found[path] = Stamp(0, 0, 0, stat.S_IFDIR, error.strerror or str(error))
        return []


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(SUFFIX) and name[0] != "."


def _stamp(entry: os.DirEntry[str]) -> Listing:
    """The entry's stamp by its path; nothing where it is gone, so that it counts as missing."""
    try:
        s = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return {}
    except OSError:
        return {entry.path: Stamp(0, 0, 0, 0)}
    return {entry.path: Stamp(s.st_size, s.st_mtime_ns, s.st_ino, s.st_mode)}


def stamp_of(path: str) -> Stamp | None:
    """The stamp of a file as it is now; None where it is gone."""
    try:
        s = Path(path).lstat()
    except OSError:
        return None
    return Stamp(s.st_size, s.st_mtime_ns, s.st_ino, s.st_mode)


def kind_problem(stamp: Stamp) -> str | None:
    """Why something named *.parquet is no file one should open; None for a plain file."""
    if stat.S_ISREG(stamp.mode):
        return None
    if stamp.unreadable:
        why = f"cannot be listed ({stamp.unreadable})"
        return f"{why}, so none of its runs is shown. Allow reading it."
    if stat.S_ISLNK(stamp.mode):
        return (
            "is a symbolic link; only plain files and folders are read. Copy it here, or name "
            "the folder it points to in EPOCHWISE_FURTHER_RESULTS."
        )
    if stat.S_ISDIR(stamp.mode):
        return "is a folder, not a file. Move it out of the result set."
    return "is not a plain file. Remove it."
