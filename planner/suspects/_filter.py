"""A choice of flags, as a filter of runs in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from planner.suspects._checks import Flag

ANY: Final = "any"
NONE: Final = "none"
"""What a filter on suspect runs offers beside the names of the flags."""


def narrowed(flags: Mapping[str, Sequence[Flag]], chosen: Sequence[str]) -> dict[str, list[str]]:
    """Which runs the choice of flags leaves, as the store is asked for them."""
    if not chosen:
        return {}
    wanted = [r for r, own in flags.items() if ANY in chosen or {f.name for f in own} & {*chosen}]
    if NONE not in chosen:
        return {"only": sorted(wanted)}
    return {"but": sorted(set(flags).difference(wanted))}
