"""Who sees each set that is not shipped: listed and changed by the command `set` and the page."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from planner.core import Text
from planner.store.disk.access import (
    ACCESS,
    Access,
    group_problem,
    read_access,
    set_access,
    stamp_of_text,
    stamp_text,
    strictest,
)
from planner.store.disk.folders import Folder
from planner.store.disk.mirrors import bring
from planner.store.pushed import SLUG
from planner.store.sealed.accept import fetch
from planner.store.sealed.result_set import NAME, read_set

Seen = Literal["everyone", "groups", "embargo"]
"""Who sees a set: everyone, its groups for ever, or its groups until a day."""


class VisibilityError(ValueError):
    """Words that say of no set who sees it; `problems` has all that is wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """A set, and who sees it: None is everyone."""

    slug: str
    access: Access | None
    references: tuple[str, ...] = ()
    """What share links name the sets of that name by."""


def visible_sets(folders: Iterable[Folder]) -> list[Visible]:
    """Return all sets that are not shipped, by slug; OSError where a bucket cannot be read.

    Sets of one name in several folders are one: whoever may not see one of them sees none.
    """
    places: dict[str, list[Path]] = {}
    for folder in folders:
        if folder.kind == "shipped":
            continue
        fetch(folder.path)
        if folder.path.is_dir():
            for place in folder.path.iterdir():
                if place.is_dir() and not place.name.startswith("."):
                    places.setdefault(place.name, []).append(place)
    now_s = time.time()
    return [
        Visible(
            slug=slug,
            access=strictest(map(access_of, each), now_s),
            references=tuple(sorted({read_set(place, "")[0].reference for place in each})),
        )
        for slug, each in sorted(places.items())
    ]


def access_of(place: Path) -> Access | None:
    """Return who sees the set of a folder; None where everyone does.

    OSError where it is in a bucket that cannot be read.
    """
    bring(place / ACCESS)
    try:
        return read_access(place)
    except (FileNotFoundError, NotADirectoryError):
        return None


def reference_of(place: Path) -> str | None:
    """Return what names the set of a folder for ever; None if it has no set.toml yet.

    OSError where it is in a bucket that cannot be read.
    """
    bring(place / NAME)
    return read_set(place, "")[0].reference if (place / NAME).exists() else None


def access_from(
    slug: str, groups: Iterable[str], until: str = "", *, is_open: bool = False
) -> Access | None:
    """Return who sees a set, from words; None where everyone does.

    Args:
        slug: of the set.
        groups: groups and verified addresses that see it.
        until: UTC day or time from which everyone does, "" for never.
        is_open: everyone sees it; then there are neither groups nor a day.

    Raises:
        VisibilityError: with all problems.
    """
    names = list(groups)
    stamp_s: float | None = None
    wrong: list[str] = []
    if not SLUG.fullmatch(slug):
        wrong.append(Text("{name!r} is no set's name.", name=slug[:80]))
    if problem := group_problem(names):
        wrong.append(Text("group: {problem}", problem=problem))
    if is_open and (names or until):
        wrong.append("A set that everyone sees has neither groups nor a day.")
    if until:
        try:
            stamp_s = stamp_of_text(until)
        except ValueError as error:
            wrong.append(Text("until {until!r}: {error}.", until=until[:40], error=error))
    if stamp_s is not None and stamp_s <= time.time():
        text = Text(
            "until {until!r}: is past, so everyone would see the set. Give a later day, or open "
            "it.",
            until=until[:40],
        )
        wrong.append(text)
    if wrong:
        raise VisibilityError(wrong)
    if is_open:
        return None
    return Access(groups=frozenset(n.lower() if "@" in n else n for n in names), until=stamp_s)


def change(folders: Iterable[Folder], slug: str, access: Access | None) -> None:
    """Set who sees the sets of a name in every folder, or the one that will be made.

    OSError where a disk or a bucket refuses.
    """
    ours = [f for f in folders if f.kind != "shipped"]
    for folder in ours:
        fetch(folder.path)
    places = [f.path / slug for f in ours if (f.path / slug).is_dir()]
    for place in places or [next(f.path for f in ours if f.kind == "own") / slug]:
        set_access(place, access)


def about(slug: str, access: Access | None) -> str:
    """Return what the audit log says about a change."""
    if access is None:
        return slug
    groups = ", ".join(sorted(access.groups)) or "administrators"
    return f"{slug}: {groups}" + ("" if access.until is None else f" until {day(access.until)}")


def seen_by(access: Access | None, now_s: float) -> str:
    """Return who sees a set, in words."""
    if access is None or access.is_open(now_s):
        return "everyone"
    groups = ", ".join(sorted(access.groups)) or "administrators only"
    if access.until is None:
        return groups
    return Text("{groups}; everyone from {day}", groups=groups, day=day(access.until))


def day(stamp_s: float) -> str:
    """Return a stamp [s since 1970] in UTC, as a day where it is midnight."""
    return stamp_text(stamp_s).replace("T00:00:00Z", "")
