"""What a result set says of itself in its set.toml: title, basis, licence, source, citation."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FIELDS: Final = ("title", "about", "basis", "licence", "source", "source_url", "citation", "author")
NAME: Final = "set.toml"


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


def read_set(path: Path, folder: str) -> tuple[ResultSet, str | None]:
    """The set in folder `path`, and what is wrong with its set.toml (None where all is well).

    A set without a readable set.toml is still shown: its runs are facts, only its name is not.
    """
    fallback = ResultSet(slug=path.name, folder=folder, title=path.name)
    try:
        if not stat.S_ISREG((path / NAME).lstat().st_mode):  # a pipe would wait for ever
            return fallback, "is not a plain file. Write one."
        body = tomllib.loads((path / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return fallback, "is missing: title, licence and source are not known. Write one."
    except (OSError, ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        return fallback, f"cannot be read ({error}). Mend it."
    return _from_toml(fallback, body)


def _from_toml(fallback: ResultSet, body: dict[str, Any]) -> tuple[ResultSet, str | None]:
    texts = {n: body[n] for n in FIELDS if isinstance(body.get(n), str) and body[n].strip()}
    wrong = [n for n in body if n not in FIELDS or not isinstance(body[n], str)]
    missing = [name for name in ("title", "licence", "source") if name not in texts]
    problem = None
    if wrong:
        problem = f"has unknown or non-text fields: {', '.join(wrong)}. Use {', '.join(FIELDS)}."
    elif missing:
        problem = f"does not say {', '.join(missing)}. Add it."
    named = {"title": fallback.title} | texts
    return ResultSet(slug=fallback.slug, folder=fallback.folder, **named), problem


def set_text(told: Mapping[str, str]) -> str:
    """A set.toml that says so; the standard library reads TOML and writes none."""
    return "".join(f"{name} = {_quoted(text)}\n" for name, text in told.items())


def _quoted(text: str) -> str:
    """A TOML basic string; what cannot be printed becomes a blank."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else " " for c in escaped) + '"'
