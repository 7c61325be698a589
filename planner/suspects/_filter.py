"""A choice of flags, as a filter of runs in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from planner.suspects._checks import Flag

ANY: Final = "any"
NONE: Final = "none"
"""Options of the filter on suspect runs, besides the names of the flags."""


def narrowed(flags: Mapping[str, Sequence[Flag]], chosen: Sequence[str]) -> dict[str, list[str]]:
    """Return the runs selected by flags, as a filter for the store."""
    if not chosen:
        return {}
    selected = [r for r, own in flags.items() if ANY in chosen or {f.name for f in own} & {*chosen}]
    if NONE not in chosen:
        return {"only": sorted(selected)}
    return {"but": sorted(set(flags).difference(selected))}
