"""Saved comparisons: a small JSON file each, with the question and its answer.

A file is replaced whole. Files are untrusted: a file that is damaged, too large or of another form
is reported and not used.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner.answers.comparison._parameters import compare_parameters
from planner.answers.comparison._snapshot import KEPT, Snapshot
from planner.core import Record, Text, file_slug, slug
from planner.cost import shown
from planner.store.disk.files import UnfitFileError, bounded_json, write_whole
from planner.store.disk.views import SAVED

FORM: Final = "epochwise comparison 2"
FORM_1: Final = "epochwise comparison 1"
"""The older form: its budget is in USD without tax."""
MOST_FILES: Final = 500
MOST_BYTES: Final = 1_000_000
MOST_NAME: Final = 60
MOST_VALUES: Final = 60
MOST_ROWS: Final = 100
MOST_RUNS: Final = 10_000
_LONGEST: Final = 400


class SavedError(OSError):
    """A comparison was not written or removed; the message has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A question as in a link, and its answer when it was saved (`saved_at`: ISO 8601, UTC).

    `file` is the name of its file without .json; "" for a new comparison.
    """

    name: str
    saved_at: str
    parameters: Mapping[str, list[str]]
    snapshot: Snapshot
    file: str = ""

    @property
    def id(self) -> str:
        """The id in links and the name of the file; two names never share one."""
        return self.file or file_slug(self.name)


def id_for(folder: Path, name: str) -> str:
    """Return the id of a saved name, including ids of earlier versions; else the new id."""
    old = read(folder, slug(name))
    return old.id if isinstance(old, Saved) and old.name == name else file_slug(name)


def save(folder: Path, saved: Saved) -> None:
    """Save a comparison; one of the same id is replaced.

    Raises:
        SavedError: the file cannot be written, or there are too many.
    """
    body = {
        "form": FORM,
        "name": saved.name,
        "saved_at": saved.saved_at,
        "parameters": dict(saved.parameters),
        "rows": [dict(row) for row in saved.snapshot.rows],
        "runs": list(saved.snapshot.runs),
        "fingerprint": saved.snapshot.fingerprint,
    }
    path = folder / f"{saved.id}.json"
    if not path.exists() and len(_files(folder)) >= MOST_FILES:
        raise SavedError(
            Text(
                "There are {most_files} saved comparisons already. Remove one first.",
                most_files=MOST_FILES,
            )
        )
    try:
        write_whole(path, json.dumps(body, indent=1, allow_nan=False, ensure_ascii=False))
    except OSError as error:
        raise SavedError(
            Text(
                "It could not be saved in {folder} ({reason}). Make room or set "
                "{saved} to a writable folder.",
                folder=folder,
                reason=error.strerror or error,
                saved=SAVED,
            )
        ) from error


def remove(folder: Path, which: str) -> bool:
    """Remove a comparison; return whether it existed.

    Raises:
        SavedError: the file cannot be removed.
    """
    files = {path.stem: path for path in _files(folder)}
    try:
        if which in files:
            files[which].unlink()
    except OSError as error:
        raise SavedError(
            Text("It could not be removed ({reason}).", reason=error.strerror or error)
        ) from error
    return which in files


def read(folder: Path, which: str) -> Saved | str:
    """Return a comparison by its id, or a sentence with the reason why it cannot be opened."""
    path = {p.stem: p for p in _files(folder)}.get(which)
    if path is None:
        return Text("No comparison is saved as {which!r}.", which=which[:MOST_NAME])
    try:
        return _saved(bounded_json(path, MOST_BYTES), which)
    except UnfitFileError as error:
        return Text(
            "The saved comparison {path!r} {error}.", path=path.name[:MOST_NAME], error=error
        )


def read_all(folder: Path) -> tuple[list[Saved], list[str]]:
    """Return all readable comparisons, newest first, and a sentence for each unreadable one."""
    results = [read(folder, path.stem) for path in _files(folder)]
    good = sorted((s for s in results if isinstance(s, Saved)), key=lambda s: s.name)
    return sorted(good, key=lambda s: s.saved_at, reverse=True), [
        s for s in results if isinstance(s, str)
    ]


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.name.endswith(".json"))
    except OSError:
        return []
    return [folder / name for name in names][:MOST_FILES]


def _saved(body: object, which: str) -> Saved:
    if not isinstance(body, dict) or body.get("form") not in (FORM, FORM_1):
        raise UnfitFileError("has another format")
    name, saved_at = body.get("name"), body.get("saved_at")
    fits = which in (file_slug(str(name)), slug(str(name)))  # the latter of earlier versions
    if not (_text(name, MOST_NAME) and _text(saved_at, 40) and fits):
        raise UnfitFileError("has no valid name or date")
    parameters = _parameters(body.get("parameters"))
    return Saved(
        name=str(name),
        saved_at=str(saved_at),
        parameters=parameters if body.get("form") == FORM else _as_shown(parameters),
        snapshot=Snapshot(rows=_rows(body.get("rows")), runs=_runs(body.get("runs"))),
        file=which,
    )


def _parameters(body: object) -> dict[str, list[str]]:
    if not isinstance(body, dict) or len(body) > MOST_VALUES:
        raise UnfitFileError("contains no question")
    for name, values in body.items():
        few = isinstance(values, list) and len(values) <= MOST_VALUES
        if not _text(name, 60) or not few or not all(_text(v, _LONGEST) for v in values):
            raise UnfitFileError("contains no question")
    return {str(name): [str(v) for v in values] for name, values in body.items()}


def _as_shown(parameters: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return a question of form 1 with its budget in the current form: as shown, with tax."""
    asking = compare_parameters(parameters)[0]
    budget = asking.values["budget"]
    if budget is None:
        return parameters
    return {**parameters, "budget": [f"{shown(budget, asking.display):.10g}"]}


def _rows(body: object) -> tuple[Record, ...]:
    if not isinstance(body, list) or len(body) > MOST_ROWS:
        raise UnfitFileError("contains no answer")
    if not all(isinstance(row, dict) and _text(row.get("option_id"), _LONGEST) for row in body):
        raise UnfitFileError("contains no answer")
    return tuple({name: _cell(row.get(name)) for name in KEPT} for row in body)


def _runs(body: object) -> tuple[str, ...]:
    few = isinstance(body, list) and len(body) <= MOST_RUNS
    if not isinstance(body, list) or not few or not all(_text(r, 200) for r in body):
        raise UnfitFileError("contains no runs")
    return tuple(str(r) for r in body)


def _cell(value: object) -> str | float | int | bool | None:
    return value[:_LONGEST] if isinstance(value, str) else value if _plain(value) else None  # type: ignore[return-value]


def _plain(value: object) -> bool:
    return value is None or isinstance(value, bool | float | int)


def _text(value: object, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most
