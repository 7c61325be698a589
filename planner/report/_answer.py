"""The report of an answer: question, answer, charts and tables of any page, in the same frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planner.core import Record, plain, sentence_case
from planner.figures import ChartSpec, Tile, card, svg
from planner.figures.frame import LIGHT_THEME
from planner.report._first_page import FirstPage, first_page
from planner.report._letterhead import NO_LETTERHEAD, Letterhead, free_text, head
from planner.report._page import document, escaped, linked, paragraphs, section, table

NOT_KNOWN: Final = "–"
OPEN: Final = "open it in Epochwise"
_DIGITS: Final = 5


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
    made: str
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
    first = int(fits.chart)
    summary = [
        f"<h1>{escaped(report.title)}</h1>",
        f'<p class="answer">{escaped(report.sentence)}</p>',
        str(card("", report.tiles, LIGHT_THEME)) if report.tiles else "",
        free_text(fits.text),
        paragraphs(fits.notes),
        *(_figure(chart) for chart in report.charts[:first]),
    ]
    appendix = [
        further(fits),
        *(_figure(chart) for chart in report.charts[first:1]),
        *(_table(one) for one in report.tables),
        *(_figure(chart) for chart in report.charts[1:]),
    ]
    sources = section("Where these numbers come from", _rows(_together(report.sources), ""))
    return document(
        f"{report.title} · Epochwise",
        head(report.letterhead, report.made),
        summarised(*summary) + appended(*appendix),
        foot(report.link, report.made),
        sources,
    )


_UNITS: Final = (("_percent", " (%)"), ("_s", " (s)"))


def headed(records: Sequence[Record]) -> list[Record]:
    """Return records under heads to read: 'median_error_percent' becomes 'Median error (%)'."""
    return [{_head(name): cell for name, cell in record.items()} for record in records]


def _head(name: str) -> str:
    for end, unit in _UNITS:
        if name.endswith(end):
            return f"{sentence_case(name.removesuffix(end).replace('_', ' '))}{unit}"
    return sentence_case(name.replace("_", " "))


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


def _figure(chart: Chart) -> str:
    caption = f"<figcaption>{escaped(chart.caption)}</figcaption>" if chart.caption else ""
    picture = f'<div class="chart">{svg(chart.spec, chart.alt)}</div>{caption}'
    return section(chart.title, f"<figure>{picture}</figure>")


def _table(one: Table) -> str:
    return section(one.title, _rows(one.rows, one.caption))


def _rows(records: Sequence[Mapping[str, object]], caption: str) -> str:
    """Return records as a table, without columns that are empty in every row."""
    names = list(dict.fromkeys(name for r in records for name in r))
    names = [n for n in names if any(r.get(n) not in (None, "") for r in records)]
    if not names:
        return '<p class="note">Nothing to list.</p>'
    return table(names, [[_cell(r.get(n)) for n in names] for r in records], caption)


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
    if cell is None or cell == "":
        return NOT_KNOWN
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int | float):
        return f"{cell:,}" if isinstance(cell, int) else plain(cell, _DIGITS)
    text = str(cell)
    return linked(text) if text.startswith(("https://", "http://")) else escaped(text)
