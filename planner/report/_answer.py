"""The report of an answer: question, answer, charts and tables of any page, in the same frame.

Heights of what fits on the first printed page are those of print on A4, rounded up: fonts differ
between machines, and a summary that spills leaves a nearly empty second page.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planner.core import Record, Text, cell_text, joined, paragraph
from planner.figures import ChartSpec, Tile, card, svg
from planner.figures.frame import LIGHT_THEME
from planner.report._page import (
    MOST_NAME,
    MOST_TEXT,
    NO_LETTERHEAD,
    Letterhead,
    document,
    escaped,
    free_text,
    head,
    items,
    linked,
    paragraphs,
    section,
    table,
)

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
_LEAST_CHART_MM: Final = 50.0
_MOST_CHART_MM: Final = 85.0
"""Height of a chart as wide as the page."""
_CHART_MM: Final = _LEAST_CHART_MM + 16.0
"""A chart with its title and margins."""
_BOX_MM: Final = 8.0
"""Border and margins of the box with the free text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """What stands on the first page, and what is left for the appendix.

    chart_mm: height of the first chart; 0 where it does not fit [mm].
    """

    text: str
    later_text: str
    notes: tuple[str, ...]
    later_notes: tuple[str, ...]
    chart_mm: float


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
    room = min(_LEAST_CHART_MM + max(left, 0.0), _MOST_CHART_MM)
    return FirstPage(
        text="\n\n".join(texts), later_text="\n\n".join(more_text),
        notes=tuple(few), later_notes=tuple(more_notes), chart_mm=room if chart else 0.0,
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


OPEN: Final = "open it in Epochwise"
_DIGITS: Final = 5
_COLUMNS: Final = 8
_LONG: Final = 80
"""Of a table with more columns, one with a text longer than this is a list below the table."""
_ROWS: Final = 4
"""Of a table with so many rows, a column with equal cells is in its caption."""
_ON_ONE_LINE: Final = 9
"""Letters of a cell that is not broken, such as `1.7 %`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart of a report: its title, its specification in the light theme, what it shows."""

    title: str
    spec: ChartSpec
    alt: str
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a report: rows with the heads as they are printed."""

    title: str
    rows: Sequence[Mapping[str, object]]
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReport:
    """The content of a report: first a page of summary, then an appendix.

    Args:
        title: the question.
        sentence: the answer.
        made: date of the page, in words.
        link: the address of this view, or "".
        notes: sentences that qualify the answer.
        tiles: the answer's largest values.
        charts: charts in order; the first is on the page of summary.
        tables: tables of the appendix, the answer's own first.
        sources: where the numbers come from.
        letterhead: who hands it out, and to whom.
    """

    title: str
    sentence: str
    made: str = ""
    link: str = ""
    notes: Sequence[str] = ()
    tiles: Sequence[Tile] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    sources: Sequence[Record] = ()
    letterhead: Letterhead = NO_LETTERHEAD


def answer_page(report: AnswerReport) -> str:
    """Return the report as one HTML file, without scripts or external files.

    Raises:
        ValueError: the logo is invalid or unsafe; the message has the next step.
    """
    fits = first_page(
        report.title, report.sentence, report.notes, report.letterhead,
        tiles=bool(report.tiles), caption=report.charts[0].caption if report.charts else None,
    )  # fmt: skip
    first = int(fits.chart_mm > 0.0)
    summary = [
        f"<h1>{escaped(report.title)}</h1>",
        f'<p class="answer">{escaped(report.sentence)}</p>',
        str(card("", report.tiles, LIGHT_THEME)) if report.tiles else "",
        free_text(fits.text),
        paragraphs(fits.notes),
        *(figure(chart, fits.chart_mm) for chart in report.charts[:first]),
    ]
    appendix = [
        further(fits),
        *(figure(chart) for chart in report.charts[first:1]),
        *(_table(of_report) for of_report in report.tables),
        *(figure(chart) for chart in report.charts[1:]),
    ]
    sources = section("Where these numbers come from", _rows(_together(report.sources), ""))
    return document(
        f"{report.title} · Epochwise",
        head(report.letterhead, report.made),
        summarised(*summary) + appended(*appendix),
        foot(report.link, report.made),
        sources,
    )


def summarised(*parts: str) -> str:
    """Return the page of summary."""
    return f'<div class="summary">{"".join(parts)}</div>'


def appended(*parts: str) -> str:
    """Return the appendix, on a page of its own in print; "" where empty."""
    body = "".join(parts)
    return f'<div class="appendix"><h2 class="part">Appendix</h2>{body}</div>' if body else ""


def further(fits: FirstPage) -> str:
    """Return the sentences that have no room on the first page."""
    return free_text(fits.later_text) + section("Notes", paragraphs(fits.later_notes))


def foot(link: str, made: str) -> str:
    """Return the foot of a report: the way to the live view, and the date."""
    view = f"<p>This question, live: {linked(link, OPEN)}</p>" if link else ""
    return f"{view}<p>Made by Epochwise on {escaped(made)}.</p>"


def figure(chart: Chart, most_mm: float = 0.0) -> str:
    """Return the section of a chart, in print at most so high if it is on the first page."""
    caption = f"<figcaption>{escaped(chart.caption)}</figcaption>" if chart.caption else ""
    height = f' style="--most:{most_mm:.0f}mm"' if most_mm else ""
    picture = f'<div class="chart"{height}>{svg(chart.spec, chart.alt)}</div>{caption}'
    return section(chart.title, f"<figure>{picture}</figure>")


def _table(table: Table) -> str:
    return section(table.title, _rows(table.rows, table.caption))


def _rows(records: Sequence[Mapping[str, object]], caption: str) -> str:
    """Return records as a table, without columns that are empty in every row."""
    names = list(dict.fromkeys(name for r in records for name in r))
    names = [n for n in names if any(r.get(n) not in (None, "") for r in records)]
    if not names:
        return '<p class="note">Nothing to list.</p>'
    equal = [n for n in names[1:] if len(records) >= _ROWS
             and len({cell_text(r.get(n)) for r in records}) == 1]  # fmt: skip
    names = [n for n in names if n not in equal]
    same = [Text("{name}: {text}", name=n, text=cell_text(records[0].get(n))) for n in equal]
    caption = paragraph(caption, joined(" · ", same))
    below = [n for n in names if len(names) > _COLUMNS
             and any(len(cell_text(r.get(n))) > _LONG for r in records)]  # fmt: skip
    beside = [n for n in names if n not in below]
    notes = [
        Text("{name}: {text}", name=cell_text(r.get(names[0])), text=cell_text(r.get(n)))
        for r in records
        for n in below
        if r.get(n) not in (None, "")
    ]
    return table(beside, [[_cell(r.get(n)) for n in beside] for r in records], caption) + items(
        notes
    )


def _together(sources: Sequence[Record]) -> list[Record]:
    """Return sources that differ in their first column only as one row."""
    names: dict[tuple[object, ...], list[str]] = {}
    rows: dict[tuple[object, ...], Record] = {}
    for row in sources:
        key = tuple(row.items())[1:]
        names.setdefault(key, []).append(str(next(iter(row.values()), "")))
        rows.setdefault(key, row)
    return [
        {**row, next(iter(row), ""): ", ".join(dict.fromkeys(names[key]))}
        for key, row in rows.items()
    ]


def _cell(cell: object) -> str:
    text = cell_text(None if cell == "" else cell, _DIGITS)
    if text.startswith(("https://", "http://")):
        return linked(text)
    return escaped(text).replace(" ", "&nbsp;") if len(text) <= _ON_ONE_LINE else escaped(text)
