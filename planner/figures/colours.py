"""One colour per system, the same on every page, in reports and in PDFs.

    system_slots(["8 x H100 SXM5 80GB", "GeForce RTX 4090"])   {...: 0, ...: 8}

A slot is a hue of the palette (its last digit) and a shade of it (its tens). The hue follows from
the name of the accelerator, whatever its count, form or memory: a table for usual ones, else a
checksum. Where two systems of one chart have the same hue, the later one in the table, then in the
alphabet, takes the next free hue. Options of one system differ in shade.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

HUES: Final = 10
SHADES: Final = 3
_LIGHTER: Final = (0.45, 0.38, 0.31, 0.25)
"""Shares of the background's colour in the lighter shade; the first that stays visible counts."""
_DARKER: Final = 0.55
"""Share of the text's colour in the darker shade."""
_VISIBLE: Final = 3.0
"""Least contrast of a line in the lighter shade (WCAG 2.2, 1.4.11)."""
_TABLE: Final = (
    ("H100", 0), ("MI300X", 1), ("B200", 2), ("A100", 3), ("L40S", 4), ("V100", 5), ("H200", 6),
    ("TPU v2", 2), ("RTX 4090", 8), ("MI325X", 9), ("GB200", 7), ("RTX 3090", 8), ("GPU", 0),
    ("2-core Intel Xeon", 0), ("2-core AMD EPYC", 1), ("TPU v3", 7), ("TPU v4", 4), ("TPU v5p", 6),
    ("TPU v5e", 8), ("TPU v6e", 9), ("T4", 9), ("A10", 1), ("A10G", 6), ("L4", 2), ("A40", 5),
    ("A30", 8), ("RTX 5090", 9), ("RTX A6000", 7), ("RTX 6000", 4), ("GH200", 4), ("GB300", 5),
    ("B300", 9), ("MI250X", 4), ("MI250", 8), ("MI355X", 6), ("MI350X", 7), ("Gaudi 2", 7),
    ("Gaudi 3", 4), ("Gaudi", 8), ("L40", 6), ("P100", 7), ("K80", 9), ("GTX 1080 Ti", 1),
    ("RTX 2080 Ti", 2), ("TITAN Xp", 4), ("TITAN V", 6), ("Trainium", 6),
)  # fmt: skip
"""Hues of usual systems: those that are compared most often differ."""
_HUES: Final = dict(_TABLE)
_PLACES: Final = {name: place for place, (name, _) in enumerate(_TABLE)}
_BEFORE: Final = re.compile(
    r"^(?:(?:Rent|Buy|Own|Renting|Buying|Using|the) )*(?:\d[\d,]* [x×] )?"
    r"(?:(?:NVIDIA|GeForce|AMD|Instinct|Intel|Google|Tesla|Quadro) )*"
)
_AFTER: Final = re.compile(
    r"(?: without P2P| with P2P|, .*| \(.*\)| \d+ ?GB| SXM\d?| PCIe\d?| NVL\d*| HBM\d\w*|-\d+$)+$"
)
_PART: Final = re.compile(r"^(?:replica|stage|branch) on a ")


@lru_cache(maxsize=4096)
def system_key(system: str) -> str:
    """Return the accelerator of a system: 'Rent 8 x H100 SXM5 80GB (Lambda)' -> 'H100'."""
    name = _PART.sub("", _BEFORE.sub("", system.strip()))
    return _AFTER.sub("", name) or system


def system_slots(systems: Iterable[str]) -> dict[str, int]:
    """Return the hue of each system as a slot from 0 to 9, different ones as long as there are any.

    Args:
        systems: all that a page may draw, so that a filter changes no colour.
    """
    names = list(dict.fromkeys(systems))
    keys = sorted(dict.fromkeys(map(system_key, names)), key=_order)
    taken: dict[str, int] = {}
    used: Counter[int] = Counter()
    for key in keys:
        hue = first = _HUES.get(key, zlib.crc32(key.encode()) % HUES)
        least = min(used[h] for h in range(HUES))
        hue = next(h % HUES for h in range(first, first + HUES) if used[h % HUES] <= least)
        taken[key] = hue
        used[hue] += 1
    return {name: taken[system_key(name)] for name in names}


def _order(key: str) -> tuple[int, str]:
    return _PLACES.get(key, len(_PLACES)), key


def option_slots(options: Sequence[tuple[str, str]], systems: Iterable[str] = ()) -> dict[str, int]:
    """Return the slot of each option by its label: the hue of its system, and a shade of its own.

    Args:
        options: label and system of each that is drawn.
        systems: all that the page may draw, so that a filter changes no hue.
    """
    hues = system_slots([*systems, *(system for _, system in options)])
    seen: Counter[int] = Counter()
    slots: dict[str, int] = {}
    for label, system in dict(options).items():
        hue = hues[system]
        slots[label] = hue + HUES * (seen[hue] % SHADES)
        seen[hue] += 1
    return slots


def mixed(colour: str, other: str, share: float) -> str:
    """Return `#RRGGBB` with a share of another colour in it."""
    pairs = zip(_parts(colour), _parts(other), strict=True)
    return "#" + "".join(f"{round((1.0 - share) * a + share * b):02X}" for a, b in pairs)


@lru_cache(maxsize=1024)
def shaded(hue: str, shade: int, text: str, background: str) -> str:
    """Return a further shade of a hue: lighter where that stays visible, else darker."""
    for share in _LIGHTER:
        lighter = mixed(hue, background, share)
        if contrast(lighter, background) >= _VISIBLE:
            return lighter if shade == 1 else mixed(hue, text, _DARKER)
    return mixed(hue, text, _DARKER * shade * 0.75)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours by WCAG 2.2, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@lru_cache(maxsize=1024)
def readable(colour: str, text: str, background: str, least: float = 4.5) -> str:
    """Return a colour, mixed with that of `text` until words in it are readable."""
    steps = (mixed(colour, text, share / 10) for share in range(11))
    return next((c for c in steps if contrast(c, background) >= least), text)


def _parts(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour in sRGB."""
    shares = [part / 255 for part in _parts(colour)]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
