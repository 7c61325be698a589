"""Folders of many small files that can be made again: complete, or not there at all.

They are built in a hidden folder beside their name and renamed at the end, so a reader never sees
half of one. What a killed builder left is removed by the next builder of the same name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from planner.store.locks import locked


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


def file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """Type of the file system that holds `path` (ext4, tmpfs, nfs ...); None where none tells."""
    try:
        lines = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return None
    holding = [(Path(_plain(p)), kind) for _, p, kind, *_ in lines]
    real = path.resolve()
    found = [(len(p.parts), kind) for p, kind in holding if real.is_relative_to(p)]
    # The deepest mount counts, and of several on one place the last.
    return max(reversed(found), key=lambda item: item[0])[1] if found else None


def _plain(mounted: str) -> str:
    """A path of /proc/mounts, where a blank is written by its octal number."""
    return mounted.encode().decode("unicode_escape")
