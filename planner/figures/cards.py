"""Rows of a table as cards, for a narrow page: a name, its rank, values with intervals, a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.figures.frame import Theme
from planner.figures.tiles import Markup, escaped


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One row: `title` with a dot in the colour of its `slot`, and `end` at the right of it.

    `values` are a value with its unit, and words beside it, such as its interval; `note` is one
    quiet line below them. `link` is the address that the title opens.
    """

    title: str
    values: Sequence[tuple[str, str]]
    end: str = ""
    note: str = ""
    slot: int | None = None
    link: str = ""


def cards(rows: Sequence[Card], theme: Theme) -> Markup:
    """Return the rows as a list, one below another."""
    items = "".join(_card(row, theme) for row in rows)
    return Markup(
        '<div role="list" class="epochwise-cards" '
        f'style="color:{theme.text};border-bottom:1px solid {theme.grid}">{items}</div>'
    )


def _card(row: Card, theme: Theme) -> str:
    dot = (
        ""
        if row.slot is None
        else '<span aria-hidden="true" style="flex:none;width:10px;height:10px;border-radius:5px;'
        f'background:{theme.colour(row.slot)}"></span>'
    )
    values = "".join(
        f'<span><span style="font-weight:600">{escaped(value)}</span> '
        f'<span style="color:{theme.quiet};font-size:0.875rem">{escaped(words)}</span></span>'
        for value, words in row.values
        if value
    )
    title = escaped(row.title)
    if row.link:
        title = f'<a href="{escaped(row.link)}" target="_self" style="color:inherit">{title}</a>'
    note = (
        f'<div style="font-size:0.875rem;color:{theme.quiet};margin-top:2px">'
        f"{escaped(row.note)}</div>"
        if row.note
        else ""
    )
    return (
        f'<div role="listitem" style="border-top:1px solid {theme.grid};padding:10px 2px">'
        '<div style="display:flex;align-items:center;gap:8px">'
        f'{dot}<span style="font-weight:600;flex:1;min-width:0;overflow-wrap:anywhere">'
        f'{title}</span><span style="color:{theme.quiet}">{escaped(row.end)}</span>'
        '</div><div style="display:flex;flex-wrap:wrap;gap:2px 18px;margin-top:4px">'
        f"{values}</div>{note}</div>"
    )
