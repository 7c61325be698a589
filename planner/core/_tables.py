"""Tables as files other programs open safely: CSV, and one HTML page that needs no network."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Cell = str | float | int | bool | None
Record = Mapping[str, Cell]

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The content of a self-contained page; `figure` is HTML from `planner.figures`."""

    title: str
    sentence: str
    notes: Sequence[str]
    figure: str
    table: Sequence[Record]
    sources: Sequence[Record]
    link: str
    made: str


def csv_text(records: Sequence[Record]) -> str:
    """Return records as CSV (RFC 4180).

    Text that a spreadsheet would run as a formula gets a `'`.
    """
    out = io.StringIO()
    names = list(dict.fromkeys(name for r in records for name in r))
    writer = csv.writer(out)
    writer.writerow([_harmless(n) for n in names])
    for record in records:
        writer.writerow([_harmless(record.get(name)) for name in names])
    return out.getvalue()


def html_page(report: Report) -> str:
    """Return the whole page: question, answer, chart, table, sources; opens from disk, offline."""
    notes = "".join(f"<p class=note>{_e(n)}</p>" for n in report.notes if n)
    link = f'<a href="{_e(report.link)}">{_e(report.link)}</a>' if report.link else "none"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_e(report.title)}</title><style>{_STYLE}</style></head><body><main>
<h1>{_e(report.title)}</h1>
<p class=answer>{_e(report.sentence)}</p>{notes}
<figure>{report.figure}</figure>
{_table(report.table)}
<h2>Where these numbers come from</h2>
{_table(report.sources)}
<footer>Made by Epochwise on {_e(report.made)}. This view, live: {link}</footer>
</main></body></html>
"""


def _harmless(cell: Cell) -> Cell:
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return f"'{cell}"
    return "" if cell is None else cell


def _table(records: Sequence[Record]) -> str:
    if not records:
        return "<p class=note>Nothing to list.</p>"
    names = list(dict.fromkeys(name for r in records for name in r))
    head = "".join(f"<th>{_e(n)}</th>" for n in names)
    rows = "".join("<tr>" + "".join(_cell(r.get(n)) for n in names) + "</tr>" for r in records)
    return (
        f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(cell: Cell) -> str:
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return f"<td class=number>{cell:,.6g}</td>"
    return f"<td>{_e('–' if cell is None else str(cell))}</td>"


def _e(text: str) -> str:
    return html.escape(text, quote=True)


_STYLE: Final = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:2rem 1rem;background:#fff;color:#14212b}
main{max-width:64rem;margin:auto}
h1{font-size:1.6rem;margin:0 0 1rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}
.answer{font-size:1.25rem;font-weight:600}.note,footer{color:#5a6872}
figure{margin:1.5rem 0}.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid #dde3e8;vertical-align:top}
.number{text-align:right;font-variant-numeric:tabular-nums}
footer{margin-top:2rem;overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){body{background:#0f161c;color:#e8eef2}
th,td{border-color:#2c3944}.note,footer{color:#9fb0bc}a{color:#7cc4f0}
figure{background:#fff;border-radius:.5rem;padding:.5rem}}
@media print{body{padding:0}tr,figure{break-inside:avoid}}
"""
