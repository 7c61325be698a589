"""The accelerator of the catalogue for a published row.

Sources name one card in many ways ("DGX-H100", "NVIDIA Blackwell GPU (B200-SXM-180GB)", "A100
400W"). The words that state a model must be those of a catalogue entry; form and memory then
choose among its variants. If a row states neither, the SXM form with the least memory is used: its
peak is that of the larger variant. A text without a model of the catalogue has no match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from planner.catalog import Accelerator, Catalog, Words, accelerators_alike, words_of
from planner.core import shown
from planner.published._rows import PublishedRow

FORMS: Final = ("sxm", "pcie", "nvl")
"""Words that state the form of a card, the likeliest first; an NVL card is a PCIe card too."""
CLOSE: Final = 0.1
"""Memory within this share of the catalogue's is the same memory: drivers show less, GiB or GB."""
_OWN_SERIES: Final = "Only tasks within its own series use it."
_NOISE: Final = re.compile(
    r"\b(?:tensor core|dgx|hgx|no opt|graphics|cts|dlc|\d+w|\d+[- ]?(?:c|cores?)|\d+ ?x|x ?\d+)\b"
)
"""Parts of a text outside the model's name: servers, power limits, cores of a chip, counts."""
_GB: Final = re.compile(r"(\d{1,3})\s*(?:gib|gb|g)\b")
_INSIDE: Final = re.compile(r"\(([^()]*)\)")
_FOREIGN: Final = re.compile(r"[^\x20-\x7e].*")
_SLICE: Final = re.compile(r"\bTPU[- ]?v\d\w*", re.IGNORECASE)


def accelerator_of(row: PublishedRow, catalog: Catalog) -> Accelerator | None:
    """Return the accelerator a row was measured on; None where it states none of the catalogue."""
    return next(iter(accelerators_of([row], catalog)))


def accelerators_of(rows: Iterable[PublishedRow], catalog: Catalog) -> list[Accelerator | None]:
    """Return the accelerator of each row, as `accelerator_of`; equal names are found once."""
    by_name: dict[tuple[str, float | None], Accelerator | None] = {}
    accelerators = []
    for row in rows:
        key = _text(row), _memory_gb(row)
        if key not in by_name:
            by_name[key] = _found(*key, catalog)
        accelerators.append(by_name[key])
    return accelerators


def unknown_accelerators(rows: Sequence[PublishedRow], catalog: Catalog) -> list[str]:
    """Return a line for each name of a file that no accelerator of the catalogue has."""
    places: dict[tuple[str, str], list[int]] = {}
    for row, accelerator in zip(rows, accelerators_of(rows, catalog), strict=True):
        if accelerator is None:
            places.setdefault((row.file, row.accelerator or ""), []).append(row.line)
    return [
        f"{file}, line {lines[0]}{f' and {len(lines) - 1:,} more' if lines[1:] else ''}: "
        + (f"{shown(name)} is not in the catalogue. {_OWN_SERIES}" if name else
           f"no accelerator is named. {_OWN_SERIES}")
        for (file, name), lines in places.items()
    ]  # fmt: skip


def _text(row: PublishedRow) -> str:
    """Return the row's name of its accelerator; a bare "TPU" is named by its path."""
    text = _FOREIGN.sub("", row.accelerator or "").split("@")[0].strip()
    if text.casefold() in {"tpu", "google tpu"}:
        named = _SLICE.search((row.path or "").replace("/", " "))
        return named[0] if named else text
    return text.removeprefix("CPU only:").strip()


def _memory_gb(row: PublishedRow) -> float | None:
    """Return the memory of one accelerator by its name, its column or the note [GB]."""
    name = _GB.search((row.accelerator or "").casefold())
    if name:
        return float(name[1])
    if row.accelerator_memory_gb is not None:
        return row.accelerator_memory_gb
    first = re.split(r"[\s(-]", (row.accelerator or "").strip())[0]
    if not first or not row.note:
        return None
    noted = re.search(
        rf"\b{re.escape(first)}[\w -]{{0,12}}?\b(\d{{2,3}}) ?GB?\b", row.note, re.IGNORECASE
    )
    return float(noted[1]) if noted else None


def _found(text: str, memory_gb: float | None, catalog: Catalog) -> Accelerator | None:
    for name in _spellings(text):
        alike = accelerators_alike(catalog, name)
        if alike:
            return _variant(alike, words_of(text.replace("(", " ").replace(")", " ")), memory_gb)
    return None


def _spellings(text: str) -> Iterator[str]:
    """Yield the text unchanged and cleaned, then the parts in brackets."""
    yield text
    yield _clean(text)
    for inside in _INSIDE.findall(text):
        yield inside
        yield _clean(inside)


def _clean(text: str) -> str:
    plain = re.sub(r"[-_/]", " ", text.casefold())
    return _NOISE.sub(" ", _GB.sub(r" \1gb ", plain))


def _variant(alike: Sequence[Accelerator], words: Words, memory_gb: float | None) -> Accelerator:
    """Return the variant of the stated form and memory."""

    def rank(known: Accelerator) -> tuple[bool, bool, int, float]:
        name = words_of(known.id) | words_of(known.name)
        stated = [form for form in FORMS if form in words][-1:]
        size = (known.memory_bytes or 0.0) / 1e9
        other = memory_gb is None or abs(size / memory_gb - 1.0) > CLOSE
        form = next((i for i, form in enumerate(FORMS) if form in name), 0)
        return not any(form in name for form in stated), other, form, size

    return min(alike, key=rank)
