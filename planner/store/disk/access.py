"""Who may see a result set: the file access.json in its folder, and who looks.

Without the file a set is open to everyone. With it, only members of its groups see the set, and
administrators; from `until` on it is open (an embargo). A file that cannot be read hides its set
from all but administrators. Sets of one name in several folders are one: whoever may not see one of
them sees none.

    {"groups": ["vision-team"], "until": "2027-01-31T00:00:00Z"}
"""

import json
import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from planner.core import Text
from planner.store.disk.files import UnfitFileError, bounded_json, remove, write_whole

ACCESS: Final = "access.json"
MOST_GROUPS: Final = 100
MOST_LETTERS: Final = 200
_MOST_BYTES: Final = 100_000
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
_STAMP: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who sees a restricted set; `until` in UTC s since 1970, None for no end."""

    groups: frozenset[str] = frozenset()
    until: float | None = None

    def is_open(self, now_s: float) -> bool:
        """Return whether the embargo is over, so that everyone sees the set."""
        return self.until is not None and now_s >= self.until

    @property
    def note(self) -> str:
        """What the set's title adds."""
        if self.until is None:
            return "private"
        return Text("embargo until {day}", day=stamp_text(self.until)[:10])


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Whoever looks: what decides which restricted sets are shown.

    `sees_all` is the owner of the machine or an administrator, `sets` are references of share
    links (`planner.store.sealed.result_set.ResultSet.reference`).
    """

    sees_all: bool = False
    groups: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()

    def sees(self, references: Collection[str], access: Access, now_s: float) -> bool:
        """Return whether a restricted set is shown; `references` are all those of its name."""
        linked = bool(references) and self.sets.issuperset(references)
        allowed = self.sees_all or linked or bool(self.groups & access.groups)
        return allowed or access.is_open(now_s)


def strictest(accesses: Iterable[Access | None], now_s: float) -> Access | None:
    """Return who sees all sets of several accesses; None if everyone does."""
    closed = [a for a in accesses if a is not None and not a.is_open(now_s)]
    if not closed:
        return None
    ends = [math.inf if a.until is None else a.until for a in closed]
    return Access(
        groups=frozenset.intersection(*(a.groups for a in closed)),
        until=max(ends) if max(ends) < math.inf else None,
    )


EVERYONE: Final = Viewer()
"""A visitor who is not known: open sets only."""
OWNER: Final = Viewer(sees_all=True)
"""The owner of the files: a command, or the browser of a person's own machine."""


def read_access(folder: Path) -> Access:
    """Return the access of a set that has an access.json; administrators only if it is damaged.

    Raises:
        FileNotFoundError: it has none.
    """
    (folder / ACCESS).lstat()
    try:
        if (folder / ACCESS).is_symlink():
            return Access()
        return _access(bounded_json(folder / ACCESS, _MOST_BYTES))
    except (UnfitFileError, ValueError, OverflowError):
        return Access()


def set_access(folder: Path, access: Access | None) -> None:
    """Write who sees a set, whole or not at all; None opens it. OSError where the disk refuses."""
    if access is None:
        remove(folder / ACCESS)
        return
    body: dict[str, Any] = {"groups": sorted(access.groups)}
    if access.until is not None:
        body["until"] = stamp_text(access.until)
    write_whole(folder / ACCESS, json.dumps(body, indent=1, ensure_ascii=False) + "\n")


def stamp_text(stamp_s: float) -> str:
    """Return a stamp [s since 1970] in UTC, as the file has it."""
    return f"{datetime.fromtimestamp(stamp_s, UTC):{_TIME}}"


def stamp_of_text(text: str) -> float:
    """Return the stamp [s since 1970] of a day or a time in UTC; ValueError for another text."""
    full = f"{text}T00:00:00Z" if len(text) == len("2027-01-31") else text
    if not _STAMP.fullmatch(full):
        raise ValueError("use 2027-01-31 or 2027-01-31T12:00:00Z")
    try:
        return datetime.strptime(full, _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise ValueError("the calendar has no such day or time") from None


def group_problem(groups: Iterable[str]) -> Text | None:
    """Return why names of groups cannot be written; None if they can."""
    names = list(groups)
    if len(names) > MOST_GROUPS:
        return Text("at most {most} groups.", most=MOST_GROUPS)
    wrong = [n for n in names if not (0 < len(n) <= MOST_LETTERS and n.isprintable())]
    return Text("{name!r} is no name of a group.", name=wrong[0][:40]) if wrong else None


def _access(body: object) -> Access:
    if not isinstance(body, dict) or not body.keys() <= {"groups", "until"}:
        raise UnfitFileError("has another form")
    groups, until = body.get("groups"), body.get("until")
    if not isinstance(groups, list) or not all(isinstance(g, str) for g in groups):
        raise UnfitFileError("has another form")
    if until is None:
        return Access(groups=frozenset(groups))
    if not isinstance(until, str):
        raise UnfitFileError("has another form")
    return Access(groups=frozenset(groups), until=stamp_of_text(until))
