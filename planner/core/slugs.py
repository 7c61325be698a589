"""Names in links, the same in pages, reports, commands and the HTTP interface.

A slug is the name in small letters and digits, joined by hyphens. If that is ambiguous, six digits
of the name's hash follow: `none~3fa2c1`. The digits depend on the name only, so a link keeps its
meaning when other names come or go (docs/decisions/0029).
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from planner.core._text import Text
from planner.core.parameters import missing, shown

UNOFFICIAL: Final = "unofficial"
"""Standing of a set that was brought in and not checked."""
BADGE: Final = f" ({UNOFFICIAL})"
"""What names of such sets and of their systems end with, wherever they are shown."""
MARK: Final = "~"
"""Separator of a slug and its digits: needs no quoting in an address and is in no plain slug."""
DIGITS: Final = 6
LONGEST_FILE: Final = 60
"""Letters of a file's name, its digits aside: one sign may become eighteen letters."""
MOST_NAMED: Final = 6
"""Names in one message."""
_NAMES: Final = 16_384
"""Cached slugs: a page needs those of all workloads at each rerun."""
_LISTS: Final = 64
"""Lists of names whose slugs are cached."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9 .,()%·×-]*")
"""Names of these signs alone have a slug without digits while no other name shares it."""
_SIGN: Final = re.compile(r"(?:^|[ (,])-|-(?:$|[ ),])")
"""A hyphen that joins nothing may be a minus: the slug of `lr -1` would be that of `lr 1`."""
_RANKED: Final = re.compile(r"(.+)-[0-9]{1,4}")
"""Earlier form of a second name with the same slug: by its place, which changes."""


@lru_cache(_NAMES)
def slug(text: str) -> str:
    """Return the name in lower-case letters and digits joined by hyphens; several may share it."""
    parts = unicodedata.normalize("NFKD", text.replace("×", "x")).lower()
    plain = "".join(c for c in parts if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9.]+", "-", plain).strip("-") or "none"


@lru_cache(_NAMES)
def full_slug(text: str) -> str:
    """Return the slug with the digits of the name's hash, which is unique."""
    return _with_digits(text, DIGITS)


def own_slug(text: str) -> str:
    """Return the slug of a single name: with digits where it loses characters."""
    return slug(text) if _is_plain(text) else full_slug(text)


def folder_slug(text: str) -> str:
    """Return the folder name of a result set: its slug if that is a safe name and says it all.

    Otherwise digits follow, as in `file_slug`; it never begins with a dot and never has a slash.
    """
    plain = own_slug(text)
    safe = plain == plain.strip(".-") and len(plain) <= LONGEST_FILE
    return plain if safe else file_slug(text)


def file_slug(text: str) -> str:
    """Return the slug of a typed name, always with digits, without dots at its ends."""
    base = slug(text)[:LONGEST_FILE].strip(".-") or "none"
    return f"{base}{MARK}{_digest(text)[:DIGITS]}"


def slugs(names: Iterable[str], *, any_ascii: bool = False) -> dict[str, str]:
    """Return slug -> name, with digits where a name is not plain or shares its slug.

    Names that are equal can only be numbered. `any_ascii` takes every ASCII name for plain.
    """
    return dict(_slugs(tuple(names), any_ascii))


@lru_cache(_LISTS)
def _slugs(listed: tuple[str, ...], any_ascii: bool) -> dict[str, str]:  # noqa: FBT001 - one key
    shared = Counter(slug(name) for name in dict.fromkeys(listed))
    by_slug: dict[str, str] = {}
    for name in listed:
        base = slug(name)
        plain = _is_plain(name) or (any_ascii and _keeps_letters(name))
        short = base if plain and shared[base] == 1 else full_slug(name)
        if short in by_slug:  # two equal names, or six digits that two names share
            short = _with_digits(name, 2 * DIGITS)
        n = 2
        while short in by_slug:
            short, n = f"{full_slug(name)}{MARK}{n}", n + 1
        by_slug[short] = name
    return by_slug


def looked_up(text: str, names: Mapping[str, str]) -> str | tuple[str, ...]:
    """Return the slug of a link's text, or all candidates.

    Args:
        text: from a link of this or an earlier version.
        names: slug -> name, of `slugs`.

    Returns:
        The one slug of `names`, else the similar ones, which may be none. A slug without digits
        matches only a name that loses no characters: otherwise (`c` of `C++`, `a-b` of `A/B`)
        another name may have had it when the link was made. A place (`none-2`) matches no name.
    """
    if text in names:
        return text
    if MARK in text:
        same = tuple(s for s, name in names.items() if full_slug(name) == text)
        return same[0] if len(same) == 1 else same
    ranked = _RANKED.fullmatch(text)
    alike = tuple(s for s, name in names.items() if name and slug(name) == text)
    if len(alike) == 1 and _is_plain(names[alike[0]]):
        return alike[0]
    if not alike and ranked:
        shared = tuple(s for s, name in names.items() if slug(name) == ranked[1])
        alike = tuple(s for s in shared if MARK in s)
    return alike or _of_another_standing(text, names)


def _of_another_standing(text: str, names: Mapping[str, str]) -> str | tuple[str, ...]:
    """Return the slug of the name that a link meant before its set was checked, or after."""
    bare = _bare(text)
    same = tuple(
        s for s, name in names.items()
        if (bare != text or BADGE in name) and slug(name.replace(BADGE, "")) == bare
    )  # fmt: skip
    return same[0] if len(same) == 1 else same


def _bare(text: str) -> str:
    return "-".join(part for part in text.split("-") if part != UNOFFICIAL)


def no_match(kind: str, text: str, names: Mapping[str, str]) -> str:
    """Return why a link's text matches nothing in `names`, and what to choose instead."""
    alike = looked_up(text, names)
    if isinstance(alike, str) or not alike:
        return missing(kind, text, names)
    named = [f"{s} ({shown(names[s])})" for s in alike[:MOST_NAMED]]
    end = ", ..." if len(alike) > len(named) else "."
    return Text(
        "{text} may mean {named}{end} Choose one of these.",
        text=shown(text),
        named=" or ".join(named),
        end=end,
    )


@lru_cache(_NAMES)
@lru_cache(_NAMES)
def _is_plain(name: str) -> bool:
    """Return whether the slug loses no characters; "none" is for names without any left."""
    if not _PLAIN.fullmatch(name) or _SIGN.search(name):
        return False
    return slug(name) != "none" or name.lower() == "none"


def _keeps_letters(name: str) -> bool:
    return name.translate({ord("·"): " ", ord("×"): "x"}).isascii() and slug(name) != "none"


def _with_digits(name: str, digits: int) -> str:
    return f"{slug(name)}{MARK}{_digest(name)[:digits]}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
