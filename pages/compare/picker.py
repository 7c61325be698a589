"""The table to choose options from: a dialog with search, filters and tick boxes.

The dialog draws itself anew at each click, and the page behind it once, when it closes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import streamlit as st

from pages.common import widgets
from pages.common.link import Link
from planner.answers.comparison import (
    MOST_OPTIONS,
    TERMS,
    ChoiceFilter,
    OfferedOption,
    narrowed_choices,
)
from planner.core import Text

_OPEN: Final = "compare.picker.open"
_NOW: Final = "compare.picker.now"
_FULL: Final = "compare.picker.full"
_WORDS: Final = "compare.picker.words"
_CHIPS: Final = "compare.picker.chosen"
_FIELDS: Final = ("count", "terms", "maker", "memory", "provider", "fits")
_TICK: Final = "chosen"
_BEGUN: Final = "compare.picker.begun"
_HEIGHT_PX: Final = 420
_USUAL_COUNTS: Final = (1, 2, 4, 8, 16)
_GIGABYTE: Final = 1e9
_NO_CENTS: Final = 1_000.0
"""An hour's price from which cents are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """The table as it began: its number and rows; the options chosen then and now."""

    number: int
    ids: tuple[str, ...]
    first: frozenset[str]
    now: frozenset[str]


def taken(link: Link) -> bool:
    """Put the options of the dialog into the link; return whether one was taken out.

    Before the field of options is drawn: in a run of the dialog alone, the browser would keep what
    that field held.
    """
    now = st.session_state.get(_NOW)
    if now is None:
        return False
    if not is_open():
        del st.session_state[_NOW]
    before = list(st.session_state.get(link.key("options")) or [])
    if now != before:
        link.put("options", list(now))
    return not {*before} <= {*now}


def ask(words: str = "") -> None:
    """Open the dialog at the end of this run, with these words in its search field (callback)."""
    st.session_state[_OPEN] = True
    st.session_state[_WORDS] = words
    st.session_state.pop(_NOW, None)
    for name in _FIELDS:
        st.session_state.pop(_key(name), None)


def is_open() -> bool:
    """Return whether the dialog is to be drawn."""
    return bool(st.session_state.get(_OPEN))


def draw(link: Link, choices: Sequence[OfferedOption], currency: str) -> None:
    """Draw the dialog.

    Args:
        link: holds the chosen options, which it begins with.
        choices: all options as rows.
        currency: that of the prices.
    """
    st.session_state.setdefault(_NOW, list(st.session_state[link.key("options")]))

    @st.dialog("Choose options", width="large", on_dismiss=_close)
    def dialog() -> None:
        _dialog(choices, currency)

    dialog()


def _close() -> None:
    st.session_state[_OPEN] = False


def _key(name: str) -> str:
    return f"compare.picker.{name}"


def _dialog(choices: Sequence[OfferedOption], currency: str) -> None:
    labels = {c.id: c.label for c in choices}
    chosen = [o for o in st.session_state[_NOW] if o in labels]
    conditions = _filters(choices)
    rows = narrowed_choices(choices, conditions)
    if rows:
        _table(rows, chosen, currency)
    else:
        widgets.nothing(
            "No option meets all filters.",
            Text("There are {choices:,} options without them.", choices=len(choices)),
            "Clear all filters",
            _clear,
            key=_key("clear"),
        )
    _chips(chosen, labels)  # below the table, so that its rows stay in place
    with widgets.spread():
        full = st.session_state.pop(_FULL, False)
        st.caption(
            Text(
                "At most {most_options} options are compared. Remove one first.",
                most_options=MOST_OPTIONS,
            )
            if full
            else Text(
                "{rows:,} of {choices:,} options · {chosen} chosen. Click a column title to sort.",
                rows=len(rows),
                choices=len(choices),
                chosen=len(chosen),
            ),
            width="content",
        )
        if st.button("Compare these", type="primary", key=_key("done"), icon=":material/check:"):
            _close()
            st.rerun()


def _clear() -> None:
    st.session_state[_WORDS] = ""
    for name in _FIELDS:
        st.session_state.pop(_key(name), None)


def _filters(choices: Sequence[OfferedOption]) -> ChoiceFilter:
    """Draw search and filters; return what a row must have."""
    makers, providers = (
        sorted({v for v in values if v})
        for values in ([c.maker for c in choices], [c.provider for c in choices])
    )
    counts = sorted({c.count for c in choices})
    sizes = sorted({c.memory_bytes for c in choices if c.memory_bytes})
    offered = {c.terms for c in choices}
    terms = [t for t in TERMS if t in offered]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input(
            "Search", key=_WORDS, placeholder="8 x H100, Lambda, spot ...", live=True,
            icon=":material/search:", type="search", max_chars=80, width=300,
        )  # fmt: skip
        count = st.pills(
            "Accelerators", [n for n in _USUAL_COUNTS if n in counts], selection_mode="multi",
            key=_key("count"),
        )  # fmt: skip
        way = st.pills("Terms", terms, selection_mode="multi", key=_key("terms"))
    with st.grid(4, min_column_width=180):
        maker = st.multiselect("Maker", makers, key=_key("maker"), placeholder="Any")
        memory = st.selectbox(
            "Memory at least", [0.0, *sizes], key=_key("memory"),
            format_func=lambda size: f"{size / _GIGABYTE:,.4g} GB" if size else "Any",
            help="Memory of one accelerator",
        )  # fmt: skip
        provider = st.multiselect("Provider", providers, key=_key("provider"), placeholder="Any")
        fits = st.toggle(
            "Only where the job fits", key=_key("fits"), help="Or where its memory is unknown"
        )
    return ChoiceFilter(
        words=words or "",
        makers=tuple(maker),
        terms=tuple(way),
        providers=tuple(provider),
        counts=tuple(count),
        memory_bytes=float(memory or 0.0),
        fits=bool(fits),
    )


def _chips(chosen: Sequence[str], labels: dict[str, str]) -> None:
    """Draw the chosen options, each with a cross to take it out."""

    def taken_out() -> None:
        left = list(st.session_state[_CHIPS])
        st.session_state[_NOW] = [o for o in st.session_state[_NOW] if o in left]

    if st.session_state.get(_CHIPS) != list(chosen):
        st.session_state[_CHIPS] = list(chosen)
    st.multiselect(
        "Chosen", list(chosen), key=_CHIPS, format_func=lambda o: labels.get(o, o),
        on_change=taken_out, placeholder="None: tick a row", max_selections=max(len(chosen), 1),
    )  # fmt: skip


def _table(rows: Sequence[OfferedOption], chosen: Sequence[str], currency: str) -> None:
    """Draw the rows with tick boxes.

    The table keeps its own ticks while the same rows are shown; it begins anew where an option was
    taken out elsewhere.
    """
    ids = tuple(c.id for c in rows)
    begun = st.session_state.get(_BEGUN)
    if begun is None or begun.ids != ids or begun.now != frozenset(chosen):
        number = 0 if begun is None else begun.number + 1
        begun = _Begun(number=number, ids=ids, first=frozenset(chosen), now=frozenset(chosen))
        st.session_state[_BEGUN] = begun
    key = _key(f"table.{begun.number}")

    def ticked() -> None:
        edits = st.session_state[key]["edited_rows"]
        marks = {ids[int(row)]: bool(cells[_TICK]) for row, cells in edits.items()}
        before = list(st.session_state[_NOW])
        left = [o for o in before if marks.get(o, True)]
        every = [*left, *(o for o, mark in marks.items() if mark and o not in left)]
        st.session_state[_FULL] = len(every) > MOST_OPTIONS
        st.session_state[_NOW] = every[:MOST_OPTIONS]
        if len(every) <= MOST_OPTIONS:
            st.session_state[_BEGUN] = replace(begun, now=frozenset(every))

    st.data_editor(
        widgets.columns_of([{_TICK: c.id in begun.first, **_cells(c)} for c in rows]),
        key=key,
        on_change=ticked,
        disabled=list(_cells(rows[0])),
        hide_index=True,
        height=_HEIGHT_PX,
        placeholder="–",
        alt="Options to choose: tick a row, or press Space on its box",
        column_config=_columns(rows, currency),
    )


def _cells(choice: OfferedOption) -> dict[str, object]:
    return {
        "accelerator": choice.accelerator,
        "count": choice.count,
        "terms": choice.terms,
        "provider": choice.provider or None,
        "per_hour": choice.per_hour,
        "per_hour_each": choice.per_hour_each,
        "to_buy": None if choice.to_buy is None else round(choice.to_buy),
        "to_buy_each": None if choice.to_buy_each is None else round(choice.to_buy_each),
        "memory": choice.memory_bytes / _GIGABYTE if choice.memory_bytes else None,
        "memory_of_all": (
            choice.memory_of_all_bytes / _GIGABYTE if choice.memory_of_all_bytes else None
        ),
        "fits": "fits" if choice.fits else "too small",
        "maker": choice.maker or None,
        "region": choice.region or None,
        "as_of": f"{choice.as_of:%Y-%m}{', stale' if choice.stale else ''}"
        if choice.as_of
        else None,
        "label": choice.label,
    }


def _columns(rows: Sequence[OfferedOption], currency: str) -> dict[str, Any]:
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    hourly = [c.per_hour for c in rows if c.per_hour is not None]
    money = "%.2f" if max(hourly, default=0.0) < _NO_CENTS else "localized"
    bought, rented = any(c.to_buy is not None for c in rows), bool(hourly)
    return {
        _TICK: st.column_config.CheckboxColumn("", pinned=True, width=36),
        "accelerator": text("Accelerator", pinned=True, width=190),
        "count": number("Count", width=60),
        "terms": text("Terms", width=80),
        "provider": text("Provider", width=110),
        "per_hour": number(f"{currency}/h", format=money, width=76) if rented else None,
        "per_hour_each": number(f"{currency}/h each", format=money, width=92) if rented else None,
        "to_buy": number(
            Text("{currency} to buy", currency=currency), format="localized", width=100
        )
        if bought
        else None,
        "to_buy_each": number(f"{currency} each", format="localized", width=88) if bought else None,
        "memory": number("GB each", format="localized", width=76),
        "memory_of_all": number("GB in all", format="localized", width=82),
        "fits": text("Job", width=76),
        "maker": text("Maker", width=80),
        "region": text("Region", width=110),
        "as_of": text("Price of", width=110),
        "label": text("In full", width=320),
    }
