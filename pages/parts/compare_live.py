"""Today's rental offers, asked over the network, and only when somebody presses the button."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from pages.parts import compare_rows, compare_state, widgets
from pages.parts.links import as_text
from planner.catalog import Catalog
from planner.compare.records import Candidate
from planner.estimate import Refusal
from planner.store.live_offers import LiveOffers, has_library, live_offers

_FOUND: Final = "compare-live"
_MOST_LINES: Final = 5


def draw(catalog: Catalog, chosen: Sequence[Candidate]) -> None:
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
    st.session_state[_FOUND] = live_offers(catalog, compare_state.today())


def _offers(found: LiveOffers, chosen: Sequence[Candidate]) -> None:
    """Those of the accelerators that are being compared, or all where none is."""
    wanted = {c.hardware.accelerator.id for c in chosen if c.hardware.accelerator}
    kept = [o for o in found.offers if not wanted or o.accelerator in wanted]
    every = _several(len(found.offers))
    st.caption(f"{every}, {len(kept):,} of the accelerators compared here.")
    widgets.table(
        compare_rows.listed(Catalog(offers=tuple(kept[:200]))),
        key="compare.live.table", alt="Live offers of the accelerators that are compared",
    )  # fmt: skip
    st.button(
        f"Keep {_several(len(kept))}", key="compare.live.keep", disabled=not kept,
        icon=":material/save:", on_click=lambda: compare_rows.add_offers(kept),
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
