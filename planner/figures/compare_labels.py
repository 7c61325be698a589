"""Places of names beside their markers, without overlap of error bars or other names.

Every name is tried at places around its marker, the nearest first; the first free one is used. A
name without a free place is not drawn, but shown on hover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LETTER: Final = 6.4
"""Width of a letter [px]."""
LINE: Final = 15.0
"""Height of a name [px]."""
_AWAY: Final = ((8.0, 12.0), (8.0, 26.0), (26.0, 12.0), (8.0, 42.0), (44.0, 26.0), (8.0, 58.0),
                (62.0, 12.0), (62.0, 42.0), (8.0, 74.0), (90.0, 26.0), (8.0, 90.0))  # fmt: skip
"""Distances from the marker across and up [px], nearest first."""
_SIDES: Final = ((1, 1), (1, -1), (-1, 1), (-1, -1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle in the chart [px], `y` counted upwards."""

    left: float
    right: float
    low: float
    high: float

    def meets(self, other: Box) -> bool:
        """Return whether the two overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.low < other.high and other.low < self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Cross:
    """A marker with its error bars [px]: centre, and how far the bars reach."""

    x: float
    y: float
    left: float
    right: float
    low: float
    high: float

    def boxes(self) -> tuple[Box, Box, Box]:
        """Return the covered boxes: two bars and the marker."""
        return (
            Box(left=self.left - 2, right=self.right + 2, low=self.y - 3, high=self.y + 3),
            Box(left=self.x - 3, right=self.x + 3, low=self.low - 2, high=self.high + 2),
            Box(left=self.x - 7, right=self.x + 7, low=self.y - 7, high=self.y + 7),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a name begins (`side` 1), ends (-1) or has its middle (0), from its marker [px]."""

    across: float
    up: float
    side: int


def places(
    names: Sequence[str], crosses: Sequence[Cross], width: float, height: float
) -> list[Place | None]:
    """Return a place for each name in turn, the first ones first; None where there is no room.

    Args:
        names: of each marker.
        crosses: the markers with their bars.
        width: of the chart's inside [px].
        height: of the chart's inside [px].
    """
    occupied = [box for cross in crosses for box in cross.boxes()]
    chosen: list[Place | None] = []
    for name, cross in zip(names, crosses, strict=True):
        free = next(
            (
                (place, box)
                for place, box in _tries(name, cross)
                if _inside(box, width, height) and not any(box.meets(t) for t in occupied)
            ),
            None,
        )
        if free is not None:
            occupied.append(free[1])
        chosen.append(free[0] if free else None)
    return chosen


def _tries(name: str, cross: Cross) -> list[tuple[Place, Box]]:
    near = [(side * across, above * up, side) for across, up in _AWAY for side, above in _SIDES]
    ends = [
        (0.0, cross.high - cross.y + LINE / 2 + 3, 0),
        (0.0, cross.low - cross.y - LINE / 2 - 3, 0),
        (cross.right - cross.x + 5, 0.0, 1),
        (cross.left - cross.x - 5, 0.0, -1),
    ]
    tried = [*near[:8], *ends, *near[8:]]
    return [(Place(across=x, up=y, side=side), _box(name, cross, x, y, side))
            for x, y, side in tried]  # fmt: skip


def _box(name: str, cross: Cross, across: float, up: float, side: int) -> Box:
    wide, x, y = LETTER * len(name), cross.x + across, cross.y + up
    left = x - wide * (1 - side) / 2
    return Box(left=left, right=left + wide, low=y - LINE / 2, high=y + LINE / 2)


def _inside(box: Box, width: float, height: float) -> bool:
    return box.left >= 0 and box.right <= width and box.low >= 0 and box.high <= height
