"""Saved views: a page with its question, a name and a note; a small JSON file each.

Files are untrusted: one that is damaged, too large or of another form is reported and not used. A
new file gets its name once, as a run does; another view of the same name replaces it whole, if the
caller says so. Removing renames the file, so that it can be restored.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from planner.core import Text, file_slug
from planner.store.disk.files import UnfitFileError, bounded_json, write_new, write_whole

SAVED: Final = "EPOCHWISE_SAVED"
"""The setting with the folder; views are in its subfolder `views`."""
FORM: Final = "epochwise views 1"
MOST_VIEWS: Final = 500
MOST_BYTES: Final = 1_000_000
MOST_NAME: Final = 60
MOST_NOTE: Final = 300
MOST_PARAMETERS: Final = 80
MOST_VALUES: Final = 60
LONGEST_VALUE: Final = 4_000
_PAGE: Final = re.compile(r"[a-z][a-z-]{0,39}")
_PARAMETER: Final = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_ENDING: Final = ".json"
_REMOVED: Final = ".removed"


class ViewError(OSError):
    """A view was not written, renamed or removed; the message has the reason."""


class NameTakenError(ViewError):
    """A view of this name exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A page with its question as in a link.

    `page` is its address, `saved_at` ISO 8601 in UTC; `file` is the name of its file without .json,
    "" for a new view.
    """

    name: str
    page: str
    parameters: Mapping[str, Sequence[str]]
    saved_at: str
    note: str = ""
    file: str = ""

    @property
    def id(self) -> str:
        """The name of the file; two names never share one."""
        return self.file or file_slug(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """The views of a folder, the newest first; removed ones; and a sentence per unusable file."""

    views: tuple[View, ...] = ()
    removed: tuple[View, ...] = ()
    problems: tuple[str, ...] = ()


def views_folder(root: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder of saved views: `views` in EPOCHWISE_SAVED, by default in `saved`."""
    place = environment.get(SAVED) or "saved"
    return Path(os.path.abspath(root / Path(place).expanduser() / "views"))  # noqa: PTH100 - links


def save(folder: Path, view: View, *, replaces: bool = False) -> None:
    """Save a view under the name of its file.

    Raises:
        NameTakenError: a view of this name exists and `replaces` is False.
        ViewError: it cannot be written, is no valid view, or there are too many.
    """
    try:
        checked = _view(_body(view), view.id)
    except UnfitFileError as error:
        raise ViewError(Text("The view {error}.", error=error)) from None
    path = folder / f"{checked.id}{_ENDING}"
    if len(_names(folder, _ENDING)) >= MOST_VIEWS and not path.exists():
        raise ViewError(
            Text(
                "There are {most_views} saved views already. Remove one first.",
                most_views=MOST_VIEWS,
            )
        )
    written = True
    try:
        if replaces:
            write_whole(path, _text([checked]))
        else:
            written = write_new(path, _text([checked]))
    except OSError as error:
        raise _not_written(folder, error) from error
    if not written:
        raise NameTakenError(
            Text("{view} exists. Choose another name or replace it.", view=view.name)
        )


def rename(folder: Path, which: str, name: str, note: str) -> View:
    """Give a view another name or note; return it as it is now.

    Raises:
        NameTakenError: another view has that name.
        ViewError: it does not exist or cannot be written.
    """
    before = _view_named(folder, which)
    after = replace(before, name=name, note=note, file="")
    if after.id == before.id:
        save(folder, after, replaces=True)
        return after
    save(folder, after)  # both exist for a moment; none is ever missing
    try:
        (folder / f"{before.id}{_ENDING}").unlink(missing_ok=True)
    except OSError as error:
        raise _not_written(folder, error) from error
    return after


def remove(folder: Path, which: str) -> View:
    """Remove a view, so that `restore` can bring it back; return it.

    Raises:
        ViewError: it does not exist or cannot be removed.
    """
    view = _view_named(folder, which)
    path = folder / f"{view.id}{_ENDING}"
    try:
        path.replace(path.with_name(path.name + _REMOVED))
    except OSError as error:
        raise _not_written(folder, error) from error
    return view


def restore(folder: Path, which: str) -> None:
    """Bring a removed view back.

    Raises:
        NameTakenError: a new view has its name.
        ViewError: it does not exist or cannot be restored.
    """
    if which not in _names(folder, _ENDING + _REMOVED):
        raise ViewError(Text("No removed view is called {which!r}.", which=which[:MOST_NAME]))
    path = folder / f"{which}{_ENDING}"
    if path.exists():
        raise NameTakenError("A view of this name exists. Rename it first.")
    try:
        path.with_name(path.name + _REMOVED).replace(path)
    except OSError as error:
        raise _not_written(folder, error) from error


def read_all(folder: Path) -> Views:
    """Return all views of a folder."""
    problems: list[str] = []
    return Views(
        views=_read(folder, _ENDING, problems),
        removed=_read(folder, _ENDING + _REMOVED, []),
        problems=tuple(problems),
    )


def stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return a key that changes with the views of a folder: names, times and sizes."""
    try:
        with os.scandir(folder) as entries:
            stats = ((e.name, e.stat(follow_symlinks=False)) for e in entries)
            return tuple(sorted((name, s.st_mtime_ns, s.st_size) for name, s in stats))
    except OSError:
        return ()


def file_of(views: Sequence[View]) -> str:
    """Return views as one JSON file, to hand over."""
    return _text(views)


def views_of(data: bytes) -> tuple[View, ...]:
    """Return the views of a file that somebody hands over.

    Raises:
        ViewError: it is no such file; the message has the reason.
    """
    try:
        return tuple(_view(body) for body in _listed(bounded_json(data, MOST_BYTES)))
    except UnfitFileError as error:
        raise ViewError(
            Text("The file {error}. Choose a file from “Download views”.", error=error)
        ) from None


# -- one file --------------------------------------------------------------------------------------


def _text(views: Sequence[View]) -> str:
    body = {"form": FORM, "views": [_body(view) for view in views]}
    return json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _body(view: View) -> dict[str, Any]:
    return {
        "name": view.name,
        "page": view.page,
        "parameters": {name: list(values) for name, values in view.parameters.items()},
        "note": view.note,
        "saved_at": view.saved_at,
    }


def _listed(body: object) -> list[object]:
    if not isinstance(body, dict) or body.get("form") != FORM:
        raise UnfitFileError("has another format")
    views = body.get("views")
    if not isinstance(views, list) or not 0 < len(views) <= MOST_VIEWS:
        raise UnfitFileError("holds no views")
    return views


def _view(body: object, file: str = "") -> View:
    if not isinstance(body, dict):
        raise UnfitFileError("holds no view")
    name, page, note, saved_at = (
        body.get(key) for key in ("name", "page", "note", "saved_at")
    )  # fmt: skip
    if not (_is_text(name, MOST_NAME) and str(name).strip()):
        raise UnfitFileError(
            Text("has no name of 1 to {most_name} printable characters", most_name=MOST_NAME)
        )
    if not (isinstance(page, str) and _PAGE.fullmatch(page)):
        raise UnfitFileError("names no page")
    if not _is_text(note, MOST_NOTE):
        raise UnfitFileError(
            Text(
                "has a note that is not a line of at most {most_note} characters",
                most_note=MOST_NOTE,
            )
        )
    if not (isinstance(saved_at, str) and _TIME.fullmatch(saved_at)):
        raise UnfitFileError("has no valid date")
    if file and file != file_slug(str(name)):
        raise UnfitFileError("has the name of another view")
    return View(
        name=str(name), page=page, note=str(note), saved_at=saved_at, file=file,
        parameters=_parameters(body.get("parameters")),
    )  # fmt: skip


def _parameters(body: object) -> dict[str, list[str]]:
    if not isinstance(body, dict) or len(body) > MOST_PARAMETERS:
        raise UnfitFileError("holds no question")
    for name, values in body.items():
        few = isinstance(values, list) and len(values) <= MOST_VALUES
        if not _PARAMETER.fullmatch(str(name)) or not few:
            raise UnfitFileError("holds no question")
        if not all(_is_value(v) for v in values):
            raise UnfitFileError("holds no question")
    return {str(name): [str(v) for v in values] for name, values in body.items()}


def _is_value(value: object) -> bool:
    """Return whether a value is a text of a link, with lines; half of a character is none."""
    if not isinstance(value, str) or len(value) > LONGEST_VALUE:
        return False
    return value.translate(dict.fromkeys(map(ord, "\r\n\t"))).isprintable()


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and value.isprintable()


def _names(folder: Path, ending: str) -> list[str]:
    """Return the names of files with this ending, without it; hidden ones are unfinished."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.name.endswith(ending))
    except OSError:
        return []
    return [n.removesuffix(ending) for n in names if not n.startswith(".")][:MOST_VIEWS]


def _read(folder: Path, ending: str, problems: list[str]) -> tuple[View, ...]:
    read = []
    for name in _names(folder, ending):
        try:
            [body] = _listed(bounded_json(folder / f"{name}{ending}", MOST_BYTES))
            read.append(_view(body, name))
        except (UnfitFileError, ValueError) as error:
            why = error if isinstance(error, UnfitFileError) else "holds several views"
            shown = name.encode("utf-8", "backslashreplace").decode()[:MOST_NAME]
            problems.append(
                Text(
                    "The saved view {shown!r} {why}. Delete its file or restore it.",
                    shown=shown,
                    why=why,
                )
            )
    by_name = sorted(read, key=lambda v: v.name)
    return tuple(sorted(by_name, key=lambda v: v.saved_at, reverse=True))


def _view_named(folder: Path, which: str) -> View:
    view = next((v for v in _read(folder, _ENDING, []) if v.id == which), None)
    if view is None:
        raise ViewError(Text("No view is saved as {which!r}.", which=which[:MOST_NAME]))
    return view


def _not_written(folder: Path, error: OSError) -> ViewError:
    return ViewError(
        Text(
            "The folder {folder} could not be changed ({reason}). Make room or set "
            "{saved} to a writable folder.",
            folder=folder,
            reason=error.strerror or error,
            saved=SAVED,
        )
    )
