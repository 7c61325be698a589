"""What fits on the first printed page of a report: the rest is moved to the appendix.

Heights are those of print on A4 by `planner.report._page`, rounded up: fonts differ between
machines, and a summary that spills leaves a nearly empty second page.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.report._letterhead import MOST_NAME, MOST_TEXT, Letterhead

PAGE_MM: Final = 263.0
"""Height between the margins of a page."""
_LOGO_MM: Final = 28.0
_FACT_LETTERS: Final = 46
_FACT_MM: Final = 4.6
_HEAD_MM: Final = 12.0
_WIDE: Final = frozenset("WF")


@dataclass(frozen=True, slots=True)
class _Font:
    """Letters of a line at most, height of a line and of the gap after a paragraph [mm]."""

    letters: int
    line_mm: float
    gap_mm: float

    def height_mm(self, text: str) -> float:
        """Return the height of a paragraph; a wide letter counts as two."""
        size = sum(2 if unicodedata.east_asian_width(c) in _WIDE else 1 for c in text)
        return self.gap_mm + self.line_mm * max(math.ceil(size / self.letters), 1)


_TITLE: Final = _Font(54, 7.2, 4.5)
_ANSWER: Final = _Font(68, 6.0, 5.0)
_NOTE: Final = _Font(96, 4.8, 3.5)
_OWN: Final = _Font(88, 4.8, 2.6)
_CAPTION: Final = _Font(108, 4.1, 2.0)
_TILES_MM: Final = 50.0
_CHART_MM: Final = 66.0
_BOX_MM: Final = 8.0
"""Border and margins of the box with the free text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """What stands on the first page, and what is left for the appendix.

    chart: whether the first chart fits.
    """

    text: str
    later_text: str
    notes: tuple[str, ...]
    later_notes: tuple[str, ...]
    chart: bool


def first_page(
    title: str,
    sentence: str,
    notes: Sequence[str],
    letterhead: Letterhead,
    *,
    tiles: bool,
    caption: str | None = None,
    other_mm: float = 0.0,
) -> FirstPage:
    """Return what fits on the first page, in this order: answer, own text, chart, notes.

    Args:
        title: the question.
        sentence: the answer.
        notes: sentences that qualify it, the most important first.
        letterhead: with the text of the one who hands the report out.
        tiles: whether values stand below the answer as tiles.
        caption: that of the first chart; None without a chart.
        other_mm: height of what else stands on the page [mm].
    """
    left = PAGE_MM - _head_mm(letterhead) - other_mm
    left -= _TITLE.height_mm(title) + _ANSWER.height_mm(sentence) + (_TILES_MM if tiles else 0.0)
    whole = [part for part in _parts(letterhead.text) if part.strip()]
    texts, more_text, left = _fitting(whole, _OWN, left - (_BOX_MM if whole else 0.0))
    needed = _CHART_MM + (_CAPTION.height_mm(caption) if caption else 0.0)
    chart = caption is not None and not more_text and needed <= left
    few, more_notes, left = _fitting([n for n in notes if n], _NOTE,
                                     left - (needed if chart else 0.0))  # fmt: skip
    return FirstPage(
        text="\n\n".join(texts), later_text="\n\n".join(more_text),
        notes=tuple(few), later_notes=tuple(more_notes), chart=chart,
    )  # fmt: skip


def _parts(text: str) -> list[str]:
    """Return the paragraphs of the free text, as `free_text` draws them."""
    return text[:MOST_TEXT].replace("\r\n", "\n").split("\n\n")


def _fitting(
    texts: Sequence[str], font: _Font, left_mm: float
) -> tuple[list[str], list[str], float]:
    """Return the paragraphs that fit, the others, and the height that is left [mm]."""
    for n, text in enumerate(texts):
        height = font.height_mm(text)
        if height > left_mm:
            return list(texts[:n]), list(texts[n:]), left_mm
        left_mm -= height
    return list(texts), [], left_mm


def _head_mm(of: Letterhead) -> float:
    """Return the height of logo, company, customer and reference [mm]."""
    facts = sum(
        _FACT_MM * math.ceil(len(text[:MOST_NAME]) / _FACT_LETTERS)
        for text in (of.customer, of.reference)
        if text.strip()
    )
    company = 7.0 * math.ceil(len(of.company[:MOST_NAME]) / 18) if of.company else 0.0
    return _HEAD_MM + max(facts + _FACT_MM, company, _LOGO_MM if of.logo is not None else 0.0)
