"""Names as they stand in links, the same in pages, reports, commands and the HTTP interface.

A slug is the name in small letters and digits, joined by hyphens. Where that loses what tells names
apart, six digits of the name's hash follow: `none~3fa2c1`. The digits depend on the name only, so a
link names the same thing whatever else arrives or leaves (docs/decisions/0029).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from planner.core.parameters import missing, shown

MARK: Final = "~"
"""Between a slug and its digits: needs no quoting in an address and stands in no plain slug."""
DIGITS: Final = 6
LONGEST_FILE: Final = 60
"""Letters of a file's name, its digits aside: one sign may become eighteen letters."""
MOST_NAMED: Final = 6
"""Names in one message."""
_NAMES: Final = 16_384
"""Names whose slugs are remembered: a page asks for the slugs of all workloads at each rerun."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9 .,()%·×-]*")
"""Names of these signs alone have a slug without digits while no other name shares it."""
_SIGN: Final = re.compile(r"(?:^|[ (,])-|-(?:$|[ ),])")
"""A hyphen that joins nothing may be a minus: the slug of `lr -1` would be that of `lr 1`."""
_RANKED: Final = re.compile(r"(.+)-[0-9]{1,4}")
"""How a second name with the same slug was written before: by its place, which changes."""


@lru_cache(_NAMES)
def slug(text: str) -> str:
    """Return the name in lower-case letters and digits joined by hyphens; several may share it."""
    parts = unicodedata.normalize("NFKD", text.replace("×", "x")).lower()
    plain = "".join(c for c in parts if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9.]+", "-", plain).strip("-") or "none"


@lru_cache(_NAMES)
def full_slug(text: str) -> str:
    """Return the slug with the digits of the name's hash, which always finds this very name."""
    return _with_digits(text, DIGITS)


def own_slug(text: str) -> str:
    """Return the slug of a name that stands alone: with digits where signs of it are lost."""
    return slug(text) if _is_plain(text) else full_slug(text)


def file_slug(text: str) -> str:
    """Return the slug of a name somebody types, with digits always, without dots at its ends."""
    base = slug(text)[:LONGEST_FILE].strip(".-") or "none"
    return f"{base}{MARK}{_digest(text)[:DIGITS]}"


def slugs(names: Iterable[str], *, any_ascii: bool = False) -> dict[str, str]:
    """Return slug -> name, with digits where a name is not plain or shares its slug.

    Names that are equal can only be numbered. `any_ascii` takes every ASCII name for plain.
    """
    listed = list(names)
    shared = Counter(slug(name) for name in dict.fromkeys(listed))
    found: dict[str, str] = {}
    for name in listed:
        base = slug(name)
        plain = _is_plain(name) or (any_ascii and _keeps_letters(name))
        short = base if plain and shared[base] == 1 else full_slug(name)
        if short in found:  # two equal names, or six digits that two names share
            short = _with_digits(name, 2 * DIGITS)
        n = 2
        while short in found:
            short, n = f"{full_slug(name)}{MARK}{n}", n + 1
        found[short] = name
    return found


def looked_up(text: str, known: Mapping[str, str]) -> str | tuple[str, ...]:
    """Return the slug that a link's text means, or all that it may mean.

    Args:
        text: as it stands in a link, of today or of an earlier version.
        known: slug -> name, of `slugs`.

    Returns:
        The one slug of `known`; else those it may mean, none where nothing is like it. A slug
        without digits means only a name whose plain slug it is: where signs were lost (`c` of
        `C++`, `a-b` of `A/B`) another name may have had it when the link was made. A place
        (`none-2`) means no name.
    """
    if text in known:
        return text
    if MARK in text:
        same = tuple(s for s, name in known.items() if full_slug(name) == text)
        return same[0] if len(same) == 1 else same
    ranked = _RANKED.fullmatch(text)
    alike = tuple(s for s, name in known.items() if name and slug(name) == text)
    if len(alike) == 1 and _is_plain(known[alike[0]]):
        return alike[0]
    if not alike and ranked:
        shared = tuple(s for s, name in known.items() if slug(name) == ranked[1])
        return tuple(s for s in shared if MARK in s)
    return alike


def not_found(kind: str, text: str, known: Mapping[str, str]) -> str:
    """Return why a text of a link names nothing of `known`, and what to choose instead."""
    alike = looked_up(text, known)
    if isinstance(alike, str) or not alike:
        return missing(kind, text, known)
    named = [f"{s} ({shown(known[s])})" for s in alike[:MOST_NAMED]]
    end = ", ..." if len(alike) > len(named) else "."
    return f"{shown(text)} may mean {' or '.join(named)}{end} Choose one of these."


@lru_cache(_NAMES)
@lru_cache(_NAMES)
def _is_plain(name: str) -> bool:
    """Whether its slug says as much as the name; "none" stands for names without any sign left."""
    if not _PLAIN.fullmatch(name) or _SIGN.search(name):
        return False
    return slug(name) != "none" or name.lower() == "none"


def _keeps_letters(name: str) -> bool:
    return name.translate({ord("·"): " ", ord("×"): "x"}).isascii() and slug(name) != "none"


def _with_digits(name: str, digits: int) -> str:
    return f"{slug(name)}{MARK}{_digest(name)[:digits]}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
