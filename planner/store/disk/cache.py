"""Folders of many small files that can be made again: complete, or not there at all.

They are built in a hidden folder beside their name and renamed at the end, so a reader never sees
half of one. What a killed builder left is removed by the next builder of the same name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from planner.store.disk.locks import locked


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
