"""Ten colours for light and ten for dark; an entity keeps its colour under any filter."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

LIGHT: Final = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#B8860B",
    "#56B4E9",
    "#8C510A",
    "#01665E",
    "#762A83",
    "#A50026",
)
DARK: Final = (
    "#56B4E9",
    "#E69F00",
    "#2FBF96",
    "#E7A0C9",
    "#F0E442",
    "#7FB3FF",
    "#DFC27D",
    "#80CDC1",
    "#C2A5CF",
    "#FF8A80",
)
SYMBOLS: Final = {"gpu": "square", "tpu": "circle", "cpu": "diamond", "other": "cross"}
DASHES: Final = {"gpu": "dot", "tpu": "solid", "cpu": "dash", "other": "dashdot"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """The colours of a page for its figures."""

    colours: tuple[str, ...]
    text: str
    quiet: str
    grid: str
    background: str


LIGHT_THEME: Final = Theme(
    colours=LIGHT, text="#14212B", quiet="#5A6872", grid="#DDE3E8", background="#FFFFFF"
)
DARK_THEME: Final = Theme(
    colours=DARK, text="#E8EEF2", quiet="#9FB0BC", grid="#2C3944", background="#0F161C"
)


def slots(names: Iterable[str], everything: Iterable[str]) -> dict[str, int]:
    """Return the colour slot of each name, by its place among `everything` available.

    So a filter does not change colours. Above ten entities slots repeat; marker and dash also
    distinguish device kinds.
    """
    order = {name: i % len(LIGHT) for i, name in enumerate(dict.fromkeys(everything))}
    return {n: order.get(n, zlib.crc32(n.encode()) % len(LIGHT)) for n in names}


def rgba(colour: str, share: float) -> str:
    """Return `#RRGGBB` with opacity `share`; without an explicit colour Plotly picks one."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {share})"
