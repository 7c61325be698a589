"""What a result set says of itself in its set.toml: title, basis, licence, source, citation."""

import json
import os
import re
import stat
import uuid
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from planner.core import MAX_SET_BYTES, MAX_SET_TEXT, MAX_SET_UNKNOWN, Text
from planner.core.slugs import BADGE, UNOFFICIAL
from planner.store.disk.files import bounded_json, bounded_toml, set_aside, write_new
from planner.store.sealed.seal import open_plain

FIELDS: Final = (
    "title", "about", "basis", "licence", "source", "source_url", "citation", "author", "standing",
)  # fmt: skip
ID: Final = "id"
"""Field of what names a set for ever; neither pushed nor exported, so that no other set has it."""
_ID: Final = re.compile(r"[0-9a-f]{32}")
NAME: Final = "set.toml"
WITHDRAWN: Final = "withdrawn.json"
"""A set's record of its withdrawal: its runs stay on disk and are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSet:
    """A folder of runs; an empty text where set.toml does not say."""

    slug: str
    folder: str
    title: str
    about: str = ""
    basis: str = ""
    licence: str = ""
    source: str = ""
    source_url: str = ""
    citation: str = ""
    author: str = ""
    standing: str = ""
    withdrawn: str = ""
    """Day and reason of its withdrawal; empty for a set whose runs are shown."""
    access: str = ""
    """`private` or the end of its embargo; empty for a set that everyone sees."""
    id: str = ""
    """What no other set has, of this name or another; empty for shipped and older sets."""

    @property
    def reference(self) -> str:
        """What saved views and share links name it by: a later set of the name has another."""
        return f"{self.slug}/{self.id}" if self.id else self.slug

    @property
    def is_unofficial(self) -> bool:
        """Whether the set was brought in and not checked."""
        return self.standing == UNOFFICIAL


def read_set(path: Path, folder: str) -> tuple[ResultSet, str | None]:
    """The set in folder `path`, and what is wrong with its set.toml (None where all is well).

    A set without a readable set.toml is still shown: its runs are facts, only its name is not.
    """
    fallback = ResultSet(slug=path.name, folder=folder, title=path.name)
    try:
        if not stat.S_ISREG((path / NAME).lstat().st_mode):  # a pipe would wait for ever
            return fallback, "is not a plain file. Write one."
        with open_plain(path / NAME) as file:
            body = bounded_toml(file.read(MAX_SET_BYTES + 1))
    except FileNotFoundError:
        return fallback, "is missing: title, licence and source are not known. Write one."
    except (OSError, ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        return fallback, Text("cannot be read ({error}). Correct it.", error=error)
    return _from_toml(fallback, body)


def _from_toml(fallback: ResultSet, body: dict[str, Any]) -> tuple[ResultSet, str | None]:
    texts = {n: _cut(body[n]) for n in FIELDS if isinstance(body.get(n), str) and body[n].strip()}
    if isinstance(body.get(ID), str) and _ID.fullmatch(body[ID]):
        texts[ID] = body.pop(ID)
    wrong = [n for n in body if n not in FIELDS or not isinstance(body[n], str)]
    missing = [name for name in ("title", "licence", "source") if name not in texts]
    problem = None
    if wrong:
        named = ", ".join(name[:40] for name in wrong[:MAX_SET_UNKNOWN])
        more = (
            Text(" and {wrong:,} more", wrong=len(wrong) - MAX_SET_UNKNOWN)
            if wrong[MAX_SET_UNKNOWN:]
            else ""
        )
        problem = Text(
            "has unknown or non-text fields: {named}{more}. Use {fields}.",
            named=named,
            more=more,
            fields=", ".join(FIELDS),
        )
    elif missing:
        problem = Text("does not say {missing}. Add it.", missing=", ".join(missing))
    said = {"title": fallback.title} | texts
    if said.get("standing") == UNOFFICIAL:
        said["title"] = f"{said['title']}{BADGE}"
    return ResultSet(slug=fallback.slug, folder=fallback.folder, **said), problem


def withdraw(folder: Path, reason: str, day: str) -> bool:
    """Record that a set is withdrawn: its runs stay on disk and are not shown; False if it is."""
    return write_new(folder / WITHDRAWN, json.dumps({"withdrawn": day, "reason": _cut(reason)}))


def restore(folder: Path, day: str) -> bool:
    """Show the runs of a withdrawn set again; the record is kept under another name."""
    kept = folder / f".withdrawn-{day}-{uuid.uuid4().hex[:8]}.json"
    try:
        set_aside(folder / WITHDRAWN, kept)
    except FileNotFoundError:
        return False
    return True


def withdrawal(folder: Path) -> str:
    """Return day and reason of a set's withdrawal; empty if it is not withdrawn."""
    try:
        if not stat.S_ISREG((folder / WITHDRAWN).lstat().st_mode):
            return "withdrawn"
        body = bounded_json(folder / WITHDRAWN, MAX_SET_BYTES)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError):
        return "withdrawn"
    if not isinstance(body, dict):
        return "withdrawn"
    return _cut(f"{body.get('withdrawn', '')}: {body.get('reason', '')}")


@dataclass(frozen=True, slots=True)
class SetFiles:
    """The sets as they were read: a set.toml is read again only when its own stamp changes."""

    _read_sets: dict[Path, tuple[Hashable, ResultSet, str | None]] = field(default_factory=dict)

    def read(self, path: Path, folder: str, stamp: Hashable) -> tuple[ResultSet, str | None]:
        """As `read_set`; `stamp` is that of its set.toml, None where there is none."""
        kept = self._read_sets.get(path)
        if kept is None or kept[0] != stamp or kept[1].folder != folder:
            kept = self._read_sets[path] = (stamp, *read_set(path, folder))
        return kept[1:]

    def forget(self, but: set[str]) -> None:
        """Keep the sets of these folders only."""
        for path in [p for p in self._read_sets if os.fspath(p) not in but]:
            del self._read_sets[path]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SET_TEXT else f"{text[: MAX_SET_TEXT - 4]} ..."


def new_set_text(fields: Mapping[str, str]) -> str:
    """Return the set.toml of a new set: with these fields and an id of its own."""
    return set_text({**fields, ID: uuid.uuid4().hex})


def set_text(fields: Mapping[str, str]) -> str:
    """Return a set.toml with these fields; the standard library cannot write TOML."""
    return "".join(f"{name} = {_quoted(_cut(text))}\n" for name, text in fields.items())


def _quoted(text: str) -> str:
    """A TOML basic string; what cannot be printed becomes a blank."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else " " for c in escaped) + '"'
