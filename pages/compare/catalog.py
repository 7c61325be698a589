"""Prices and hardware behind the chosen options, and this machine's own rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import streamlit as st

from pages.common import hardware, widgets
from pages.common.link import as_text
from pages.common.permission import permission
from pages.compare import rows, state
from pages.compare.state import Reply
from planner.catalog import Accelerator, Catalog, LiveOffers, Offer, has_library, is_stale
from planner.catalog.live_offers import live_offers
from planner.core import Record, Refusal
from planner.job import Candidate

_BOX: Final = "compare.catalog"
_ACTIONS: Final = {
    "price": "Price",
    "hardware": "Accelerator",
    "import": "Import a CSV",
    "own": "Your rows",
    "live": "Live offers",
}
_LINKS: Final[Mapping[str, Any]] = {
    name: st.column_config.LinkColumn(name, display_text="open")
    for name in ("Price from", "Data sheet")
}


def draw(reply: Reply | None) -> None:
    """Draw the folded box of prices and hardware."""
    box = widgets.folded("Prices and hardware", "sell", _BOX)
    if not box.open:
        return
    read = hardware.catalog()
    with box:
        _behind(reply)
        for problem in read.problems[:10]:
            st.caption(as_text(f"Left out: {problem}"))
        if len(read.problems) > 10:
            st.caption(f"{len(read.problems) - 10:,} more rows are left out.")
        st.caption(
            "To change one price for this link only, use *Add an option by hand*, *Instead of*. "
            "Rows added here count in every comparison on this machine."
        )
        allowed = permission()
        if not allowed.allowed:
            st.caption(f"Rows can only be added on the machine that runs this app. {allowed.why}")
            return
        _actions(reply, read.catalog)
        rows.outcome()


def _actions(reply: Reply | None, catalog: Catalog) -> None:
    st.segmented_control(
        "Add or change", list(_ACTIONS), key="compare.catalog.do", format_func=_ACTIONS.__getitem__
    )
    comparison = reply.answered.comparison if reply else None
    chosen = [r.candidate for r in comparison.rows] if comparison else []
    draw_one: dict[str, Callable[[], None]] = {
        "price": lambda: rows.form("prices", catalog, chosen),
        "hardware": lambda: rows.form("hardware", catalog, chosen),
        "import": lambda: rows.import_file(catalog),
        "own": lambda: rows.own(catalog),
        "live": lambda: draw_live(catalog, chosen),
    }
    do = st.session_state.get("compare.catalog.do")
    if do in draw_one:
        draw_one[do]()


def _behind(reply: Reply | None) -> None:
    """Draw the rows of the catalogue behind the chosen options."""
    comparison = reply.answered.comparison if reply else None
    if comparison is None:
        st.caption("No option is chosen, so no row is in use.")
        return
    widgets.table(
        [row_of(r.candidate) for r in comparison.rows],
        key="compare.catalog.rows",
        alt="Price, date, source and data sheet of every option",
        column_config=_LINKS,
    )


def row_of(candidate: Candidate) -> Record:
    """Return the catalogue's data on an option, with dates and sources."""
    sheet, offer = candidate.hardware.accelerator, candidate.offer
    as_of = offer.as_of if offer else sheet.list_price_as_of if sheet else None
    memory = sheet.memory_bytes if sheet else None
    return {
        "Option": candidate.label,
        "Price": candidate.price,
        "As of": f"{as_of:%Y-%m-%d}" if as_of and candidate.way != "own" else None,
        "Stale": _stale(candidate),
        "Price from": candidate.source if candidate.source.startswith("http") else None,
        "Whose row": _whose(candidate, sheet, offer),
        "Accelerator": sheet.name if sheet else None,
        "Memory (GB)": memory / 1e9 if memory else None,
        "Board power (W)": sheet.board_power_watts if sheet else None,
        "Data sheet": sheet.source_url if sheet else None,
        "Sheet as of": f"{sheet.as_of:%Y-%m-%d}" if sheet else None,
        "Note": (offer.note if offer else sheet.note if sheet else "") or None,
    }


def _stale(candidate: Candidate) -> str | None:
    old = candidate.offer is not None and is_stale(candidate.offer.as_of, state.today())
    return "older than 12 months" if candidate.stale or old else None


def _whose(candidate: Candidate, sheet: Accelerator | None, offer: Offer | None) -> str:
    if not candidate.source.startswith("http"):
        return candidate.source
    row = offer or sheet
    return "yours" if row is not None and row.origin == "yours" else "shipped"


_FOUND: Final = "compare-live"
_MOST_LINES: Final = 5


def draw_live(catalog: Catalog, chosen: Sequence[Candidate]) -> None:
    """Draw the button, or a sentence where the library is missing."""
    if not has_library():
        st.caption(
            "Live offers need the library gpuhunt, which is not installed: "
            "`pip install -r requirements/live-prices.txt`. Shipped prices have their dates."
        )
        return
    st.button(
        "Read live offers", key="compare.live.read", icon=":material/cloud_download:",
        on_click=lambda: _read(catalog),
        help="Reads the providers' price lists over the network",
    )  # fmt: skip
    live = st.session_state.get(_FOUND)
    if isinstance(live, Refusal):
        st.warning(as_text(f"{live.reason}. {live.measure_next}"))
    elif isinstance(live, LiveOffers):
        _offers(live, chosen)


def _read(catalog: Catalog) -> None:
    st.session_state[_FOUND] = live_offers(catalog, state.today())


def _offers(live: LiveOffers, chosen: Sequence[Candidate]) -> None:
    """Draw live offers of the compared accelerators; all where none is compared."""
    compared = {c.hardware.accelerator.id for c in chosen if c.hardware.accelerator}
    kept = [o for o in live.offers if not compared or o.accelerator in compared]
    every = _several(len(live.offers))
    st.caption(f"{every}, {len(kept):,} of the accelerators compared here.")
    widgets.table(
        rows.listed(Catalog(offers=tuple(kept[:200]))),
        key="compare.live.table", alt="Live offers of the accelerators that are compared",
    )  # fmt: skip
    st.button(
        f"Save {_several(len(kept))}", key="compare.live.keep", disabled=not kept,
        icon=":material/save:", on_click=lambda: rows.add_offers(kept),
    )  # fmt: skip
    for line in live.left_out[:_MOST_LINES]:
        st.caption(as_text(line))
    if live.left_out:
        st.caption(_left_out(len(live.left_out) - _MOST_LINES))


def _left_out(more: int) -> str:
    """Return why offers are left out, and what to do."""
    others = f"{more:,} more reasons. " if more > 1 else "1 more reason. " if more == 1 else ""
    return (
        f"{others}Only offers that match one accelerator of the catalogue can be compared. To "
        "compare another, add it under Accelerator or its price under Price."
    )


def _several(count: int) -> str:
    return f"{count:,} offer{'' if count == 1 else 's'}"
