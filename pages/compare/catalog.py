"""Prices and hardware behind the chosen options, and the rows that are this machine's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import streamlit as st

from pages.common import widgets
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
    "own": "Rows of yours",
    "live": "Live offers",
}
_LINKS: Final[Mapping[str, Any]] = {
    name: st.column_config.LinkColumn(name, display_text="open")
    for name in ("Price from", "Data sheet")
}


def draw(reply: Reply | None) -> None:
    """The folded box."""
    box = widgets.folded("Prices and hardware", "sell", _BOX)
    if not box.open:
        return
    read = state.catalog()
    with box:
        _behind(reply)
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
    """The rows of the catalogue that the chosen options rest on."""
    comparison = reply.answered.comparison if reply else None
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
    old = one.offer is not None and is_stale(one.offer.as_of, state.today())
    return "older than 12 months" if one.stale or old else None


def _whose(one: Candidate, sheet: Accelerator | None, offer: Offer | None) -> str:
    if not one.source.startswith("http"):
        return one.source
    row = offer or sheet
    return "yours" if row is not None and row.origin == "yours" else "shipped"


_FOUND: Final = "compare-live"
_MOST_LINES: Final = 5


def draw_live(catalog: Catalog, chosen: Sequence[Candidate]) -> None:
    """The button where the library is there, a sentence where it is not."""
    if not has_library():
        st.caption(
            "Live offers need the library gpuhunt, which is not installed: "
            "`pip install -r requirements/live-prices.txt`. Shipped prices have their dates."
        )
        return
    st.button(
        "Read live offers", key="compare.live.read", icon=":material/cloud_download:",
        on_click=lambda: _read(catalog),
        help="Asks the providers' price lists over the network",
    )  # fmt: skip
    found = st.session_state.get(_FOUND)
    if isinstance(found, Refusal):
        st.warning(as_text(f"{found.reason}. {found.measure_next}"))
    elif isinstance(found, LiveOffers):
        _offers(found, chosen)


def _read(catalog: Catalog) -> None:
    st.session_state[_FOUND] = live_offers(catalog, state.today())


def _offers(found: LiveOffers, chosen: Sequence[Candidate]) -> None:
    """Those of the accelerators that are being compared, or all where none is."""
    wanted = {c.hardware.accelerator.id for c in chosen if c.hardware.accelerator}
    kept = [o for o in found.offers if not wanted or o.accelerator in wanted]
    every = _several(len(found.offers))
    st.caption(f"{every}, {len(kept):,} of the accelerators compared here.")
    widgets.table(
        rows.listed(Catalog(offers=tuple(kept[:200]))),
        key="compare.live.table", alt="Live offers of the accelerators that are compared",
    )  # fmt: skip
    st.button(
        f"Keep {_several(len(kept))}", key="compare.live.keep", disabled=not kept,
        icon=":material/save:", on_click=lambda: rows.add_offers(kept),
    )  # fmt: skip
    for line in found.left_out[:_MOST_LINES]:
        st.caption(as_text(line))
    if found.left_out:
        st.caption(_left_out(len(found.left_out) - _MOST_LINES))


def _left_out(more: int) -> str:
    """Why offers are left out, and what to do."""
    others = f"{more:,} more reasons. " if more > 1 else "1 more reason. " if more == 1 else ""
    return (
        f"{others}Only offers of accelerators that the catalogue knows for certain can be compared."
        " To compare another, add it under Accelerator or its price under Price."
    )


def _several(count: int) -> str:
    return f"{count:,} offer{'' if count == 1 else 's'}"
