"""Prices and hardware behind the chosen options, and the rows that are this machine's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import streamlit as st

from pages.parts import compare_live, compare_rows, compare_state, widgets
from pages.parts.compare_state import Told
from pages.parts.links import as_text
from pages.parts.permission import permission
from planner.catalog import Accelerator, Catalog, Offer, is_stale
from planner.compare.records import Candidate
from planner.export import Record

_BOX: Final = "compare.catalog"
_ACTIONS: Final = {
    "price": "Price",
    "hardware": "Accelerator",
    "import": "Import a CSV",
    "own": "Rows of yours",
    "live": "Live offers",
}
_LINKS: Final[Mapping[str, Any]] = {
    name: st.column_config.LinkColumn(name, display_text="open")
    for name in ("Price from", "Data sheet")
}


def draw(told: Told | None) -> None:
    """The folded box."""
    box = widgets.folded("Prices and hardware", "sell", _BOX)
    if not box.open:
        return
    read = compare_state.catalog()
    with box:
        _behind(told)
        for problem in read.problems[:10]:
            st.caption(as_text(f"Left out: {problem}"))
        if len(read.problems) > 10:
            st.caption(f"{len(read.problems) - 10:,} more rows are left out.")
        st.caption(
            "The price of one option can be changed for this link alone: *Add an option by hand*, "
            "*Instead of*. Rows added here count in every comparison on this machine."
        )
        allowed = permission()
        if not allowed.allowed:
            st.caption(
                "Rows are kept on the machine this app runs on, by whoever sits at it. "
                f"{allowed.why}"
            )
            return
        _actions(told, read.catalog)
        compare_rows.outcome()


def _actions(told: Told | None, catalog: Catalog) -> None:
    st.segmented_control(
        "Add or change", list(_ACTIONS), key="compare.catalog.do", format_func=_ACTIONS.__getitem__
    )
    comparison = told.answered.comparison if told else None
    chosen = [r.candidate for r in comparison.rows] if comparison else []
    draw_one: dict[str, Callable[[], None]] = {
        "price": lambda: compare_rows.form("prices", catalog, chosen),
        "hardware": lambda: compare_rows.form("hardware", catalog, chosen),
        "import": lambda: compare_rows.import_file(catalog),
        "own": lambda: compare_rows.own(catalog),
        "live": lambda: compare_live.draw(catalog, chosen),
    }
    do = st.session_state.get("compare.catalog.do")
    if do in draw_one:
        draw_one[do]()


def _behind(told: Told | None) -> None:
    """The rows of the catalogue that the chosen options rest on."""
    comparison = told.answered.comparison if told else None
    if comparison is None:
        st.caption("No option is chosen: nothing of the catalogue is in use.")
        return
    widgets.table(
        [row_of(r.candidate) for r in comparison.rows],
        key="compare.catalog.rows",
        alt="Price, date, source and data sheet of every option",
        column_config=_LINKS,
    )


def row_of(one: Candidate) -> Record:
    """What the catalogue says about an option, with dates and sources."""
    sheet, offer = one.hardware.accelerator, one.offer
    as_of = offer.as_of if offer else sheet.list_price_as_of if sheet else None
    memory = sheet.memory_bytes if sheet else None
    return {
        "Option": one.label,
        "Price": one.price,
        "As of": f"{as_of:%Y-%m-%d}" if as_of and one.way != "own" else None,
        "Stale": _stale(one),
        "Price from": one.source if one.source.startswith("http") else None,
        "Whose row": _whose(one, sheet, offer),
        "Accelerator": sheet.name if sheet else None,
        "Memory (GB)": memory / 1e9 if memory else None,
        "Board power (W)": sheet.board_power_watts if sheet else None,
        "Data sheet": sheet.source_url if sheet else None,
        "Sheet as of": f"{sheet.as_of:%Y-%m-%d}" if sheet else None,
        "Note": (offer.note if offer else sheet.note if sheet else "") or None,
    }


def _stale(one: Candidate) -> str | None:
    old = one.offer is not None and is_stale(one.offer.as_of, compare_state.today())
    return "older than 12 months" if one.stale or old else None


def _whose(one: Candidate, sheet: Accelerator | None, offer: Offer | None) -> str:
    if not one.source.startswith("http"):
        return one.source
    row = offer or sheet
    return "yours" if row is not None and row.origin == "yours" else "shipped"
