"""Bytes of a file or folder on disk, for the process that reads them."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

from planner.core import Text
from planner.importers.formats import Source, SourceError, SourceFiles

MOST_FILES: Final = 5_000
"""Files of a folder that are read together."""
MOST_FOLDER_BYTES: Final = 200_000_000


def files_from(path: Path, source: Source) -> SourceFiles:
    """Return the file, with those that belong to it, or the files of a folder.

    Raises:
        SourceError: there is none, it is too large, or the disk refuses.
    """
    if not path.is_dir():
        beside = [path.with_suffix(ending) for ending in source.beside]
        paths = [path, *(p for p in beside if p != path and p.is_file())]
        return SourceFiles(
            name=path.name, data={p.name: _bytes(p, source.most_bytes) for p in paths}
        )
    if not source.endings:
        raise SourceError(path.name, ["it is a folder. Give a file."])
    all_paths = sorted(
        p for p in path.rglob("*") if p.name.lower().endswith(source.endings) and p.is_file()
    )
    files, size = dict[str, bytes](), 0
    for each in all_paths:
        files[str(each.relative_to(path))] = data = _bytes(each, source.most_bytes)
        size += len(data)
        if len(files) > MOST_FILES or size > MOST_FOLDER_BYTES:
            text = Text(
                "it has more than {most_files:,} files or {most_folder_bytes:,} bytes.",
                most_files=MOST_FILES,
                most_folder_bytes=MOST_FOLDER_BYTES,
            )
            raise SourceError(path.name, [Text("{text} Import its parts.", text=text)])
    if not files:
        endings = ", ".join(source.endings)
        raise SourceError(
            path.name, [Text("it has no file that ends in {endings}.", endings=endings)]
        )
    return SourceFiles(name=path.name, data=files)


def _bytes(path: Path, most: int) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for ever
            raise SourceError(path.name, ["it is no regular file. Give the path of a file."])
        with path.open("rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        raise SourceError(path.name, ["there is no such file. Give the path of a file."]) from None
    except OSError as error:
        raise SourceError(
            path.name, [Text("it cannot be read: {reason}.", reason=error.strerror)]
        ) from error
    if len(data) > most:
        raise SourceError(
            path.name, [Text("it is larger than {most:,} bytes. Split it.", most=most)]
        )
    return data
