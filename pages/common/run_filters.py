"""The filters of runs on Results and Explore: their titles, options and fields."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

from pages.common import fields, kept
from pages.common.link import Link
from planner.answers import facet_names
from planner.answers.parameters import FILTERS
from planner.core import slug
from planner.core.slugs import slugs
from planner.store import Store
from planner.suspects import ANY, NAMES, NONE, Flag

SUSPECT: Final = "suspect"
_BY_NAME: Final = {p.name: p for p in FILTERS}
TITLES: Final = {name: p.title() for name, p in _BY_NAME.items()}
"""Parameters of the link that are filters, in the order of their fields."""


def options(link: Link, shared: Store) -> dict[str, dict[str, str]]:
    """Return the options of each filter: names by their link text; no flags where none occurs."""
    tables = dict(facet_names(shared))
    flags = kept.suspects(shared).flags
    requested = {text for text in link.initial.get(SUSPECT, []) if text}
    given = shared.once("names of flags", lambda: _names(flags.values()))
    named = [n for n in NAMES if slug(n) in requested or n in given]
    tables[SUSPECT] = slugs([ANY, NONE, *named]) if flags or requested else {}
    return tables


def _names(flags: Iterable[Sequence[Flag]]) -> set[str]:
    return {flag.name for own in flags for flag in own}


def field(
    link: Link,
    name: str,
    names: Sequence[str],
    label: Callable[[str], str],
    width: int | Literal["stretch"] = "stretch",
) -> None:
    """Draw the field of a filter with the link texts `names`."""
    fields.several(
        link,
        _BY_NAME[name],
        names,
        placeholder="All runs" if name == SUSPECT else "Any",
        format_func=label,
        width=width,
    )


def useful(
    tables: Mapping[str, dict[str, str]], chosen: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, str]]:
    """Return the filters that have something to choose, or are in use."""
    return {name: names for name, names in tables.items() if len(names) > 1 or chosen[name]}
