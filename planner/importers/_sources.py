"""The list of sources, their files on disk, and the one way to read files of any of them."""

import difflib
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from planner.core import Text
from planner.core.parameters import CONTROL
from planner.core.slugs import folder_slug
from planner.importers.formats import Row, Source, SourceError, SourceFiles, Stated
from planner.importers.formats.benchmarks import (
    dawnbench,
    koshian2,
    lambda_labs,
    milabench,
    mlperf_logs,
    mlperf_rcp,
    optimum_benchmark,
    published_table,
    shallue,
    tf_benchmarks,
)
from planner.importers.formats.logs import (
    keras_history,
    step_log,
    template,
    tensorboard_events,
    trainer_state,
)
from planner.importers.formats.source_files import MOST_CHARACTERS, MOST_ROWS

SOURCES: Final[Mapping[str, Source]] = MappingProxyType(
    {
        source.name: source
        for source in (
            template.SOURCE,
            keras_history.SOURCE,
            trainer_state.SOURCE,
            tensorboard_events.SOURCE,
            dawnbench.SOURCE,
            lambda_labs.SOURCE,
            step_log.SOURCE,
            mlperf_logs.SOURCE,
            mlperf_rcp.SOURCE,
            published_table.SOURCE,
            milabench.SOURCE,
            optimum_benchmark.SOURCE,
            tf_benchmarks.SOURCE,
            shallue.SOURCE,
            koshian2.SOURCE,
        )
    }
)
"""Sources by the name a user types."""


_PROSE: Final = frozenset({"note", "source", "source_path", "source_url", "extra", "licence"})
"""Columns whose texts may be longer than a cell: ours, or sentences of a published table."""


def guess(names: Sequence[str]) -> str | None:
    """Return the source whose files have such names; None where none or several have."""
    names_of = [
        source.name
        for source in SOURCES.values()
        if source.named and any(re.fullmatch(source.named, name) for name in names)
    ]
    return names_of[0] if len(names_of) == 1 else None


def rows_of(
    source: str, files: SourceFiles, stated: Stated, result_set: str
) -> list[dict[str, Any]]:
    """Return the rows of a file, complete but for what the store adds.

    Raises:
        SourceError: the source is unknown, the file is wrong, or a fact is missing; all problems.
    """
    registered = SOURCES.get(source)
    if registered is None:
        close = difflib.get_close_matches(source, SOURCES, 1)
        hint = (
            Text("Did you mean {close}?", close=close[0])
            if close
            else Text("Choose from: {sources}.", sources=", ".join(SOURCES))
        )
        raise SourceError(
            files.name, [Text("source {source}: is unknown. {hint}", source=source, hint=hint)]
        )
    problems: list[str] = [
        Text(
            "option {name}: is unknown. {stated} has: {options}.",
            name=name,
            stated=registered.name,
            options=", ".join(registered.options) or "none",
        )
        for name in stated.options
        if name not in registered.options
    ]
    if not registered.endings and len(files.data) > 1:
        text = Text(
            "it reads one file at a time; {count} were given. Add one after the other.",
            count=len(files.data),
        )
        raise SourceError(files.name, [*problems, text])
    rows: list[Row] = []
    unknown: tuple[str, ...] = ()
    try:
        rows = list(registered.read(files, stated))
    except SourceError as error:
        problems += error.problems
        unknown = error.unknown
    if not rows and not problems:
        problems.append("it holds no run.")
    if len(rows) > MOST_ROWS:
        text = Text("it has more than {most_rows:,} runs. Split it.", most_rows=MOST_ROWS)
        raise SourceError(files.name, [text])
    whole = []
    for number, row in enumerate(rows, 1):
        in_file = {name: value for name, value in row.items() if value is not None}
        problems += [
            Text(
                "run {number}, {name}: has the control character U+{code:04X}. Remove it.",
                number=number,
                name=name,
                code=ord(match[0]),
            )
            for name, value in in_file.items()
            if isinstance(value, str) and (match := CONTROL.search(value))
        ]
        problems += [
            Text(
                "run {number}, {name}: has {letters:,} characters; at most {most} are read. "
                "Shorten it.",
                number=number, name=name, letters=len(value), most=MOST_CHARACTERS,
            )
            for name, value in in_file.items()
            if isinstance(value, str) and len(value) > MOST_CHARACTERS and name not in _PROSE
        ]  # fmt: skip
        problems += [
            Text(
                "run {number}, {name}: the file says {in_file!r}, you state {value!r}. "
                "Leave the fact out.",
                number=number,
                name=name,
                in_file=in_file[name],
                value=value,
            )
            for name, value in stated.facts.items()
            if name in in_file and in_file[name] != value
        ]
        merged = {
            "basis": registered.basis, "mode": "training", "status": "ok",
            **stated.facts, **in_file, "result_set": folder_slug(result_set),
        }  # fmt: skip
        counts = ["number_of_nodes"]
        counts += ["accelerators_per_node"] if registered.basis == "measured" else []
        for name in counts:
            if name not in registered.needs:
                merged.setdefault(name, 1)
        whole.append(merged)
    missing = [n for n in registered.needs if rows and any(n not in row for row in whole)]
    problems += [
        Text("{name}: is not in the file. State it: --fact {name}=...", name=name)
        for name in missing
    ]
    if problems:
        raise SourceError(files.name, problems, unknown)
    return whole


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
