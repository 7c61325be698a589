"""The options to compare: chips of the chosen ones, a table of all, or entered by hand."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, cast

import streamlit as st

from pages.common import fields, hardware
from pages.common.link import Link, as_text
from pages.compare import picker
from pages.compare import state as compare_state
from pages.compare.inputs import shown_in
from planner.answers.comparison import (
    BY_NAME,
    MOST_OPTIONS,
    ChoiceFilter,
    Offered,
    OfferedOption,
    narrowed_choices,
    too_many,
    with_own,
)
from planner.catalog import Accelerator
from planner.compare import (
    MOST_COUNT,
    MOST_PRICE,
    OWN_ENTRY,
    Entry,
    Quote,
    entry_id,
    entry_of,
    entry_text,
    entry_words,
    wrong_in_form,
)
from planner.core import Text
from planner.core.slugs import slugs
from planner.cost import Display, in_usd
from planner.job import Candidate, Way
from planner.store import Store

_WAYS: Final = {"rent": "Rent", "buy": "Buy", "own": "Already owned"}
_ALL: Final = "all"
"""The entry of the list that opens the table."""
_USUAL: Final = "compare-usual-options"
"""Session key of the default options when the page was last drawn."""
_PRICES: Final = {"rent": "an hour", "buy": "with host"}


def draw(link: Link, shared: Store, begins: datetime) -> list[str] | None:
    """Draw the chosen options; return their ids, None where there are none to choose."""
    _entries(link)
    if picker.taken(link):
        _taken_out(link)
    offered = compare_state.offered(shared, link.parameters(), begins)
    if offered is None or not offered.candidates:
        link.keep("options", "baseline")
        return None
    by_id = {c.id: c for c in sorted(offered.candidates, key=_place)}
    _follow(link, list(offered.usual))
    named = {o: c.named for o, c in by_id.items()}
    link.choices("options", named, list(offered.usual), MOST_OPTIONS)
    _with_own(link, offered)

    def choices() -> tuple[OfferedOption, ...]:
        return compare_state.choices(shared, link.parameters(), begins)

    chosen = _chips(link, by_id, choices)
    if picker.is_open():
        picker.draw(link, choices(), shown_in(link).currency)
    return chosen


def _chips(
    link: Link, by_id: dict[str, Candidate], choices: Callable[[], Sequence[OfferedOption]]
) -> list[str]:
    """Draw the chosen options as chips, with the way to the table of all; return their ids.

    A text that is typed goes into the search of that table, unless it names one option.
    """
    key = link.key("options")
    chosen = list(st.session_state[key])
    every = Text("Choose from all {by_id:,} options", by_id=len(by_id))
    shown = fields.several(
        link,
        BY_NAME["options"],
        [*chosen, _ALL],
        format_func=lambda o: every if o == _ALL else by_id[o].label if o in by_id else o,
        accept_new_options=True,
        placeholder="Type a card, a provider, rent or buy",
        on_change=lambda: _changed(link, by_id, choices),
        max_selections=None,
        wrap=False,
    )
    return [o for o in shown if o in by_id]


def all_button() -> None:
    """Draw the button that opens the table of all options."""
    st.button(
        "All options", key="compare.pick", icon=":material/table_rows:", on_click=picker.ask,
        help="Search, filter and tick options in a table",
    )  # fmt: skip


def _changed(
    link: Link, by_id: dict[str, Candidate], choices: Callable[[], Sequence[OfferedOption]]
) -> None:
    """Take out removed options; add the one that a text names, or open the table to search it."""
    held = list(st.session_state[link.key("options")])
    kept = [o for o in held if o in by_id]
    link.put("options", kept)
    for text in (o for o in held if o not in by_id):
        words = "" if text == _ALL else text[:80]
        exact = [c.id for c in choices() if c.label.casefold() == text.casefold()]
        named = exact or [c.id for c in narrowed_choices(choices(), ChoiceFilter(words=words))]
        if len(named) == 1 and len(kept) < MOST_OPTIONS:
            link.put("options", list(dict.fromkeys([*kept, *named])))
        else:
            picker.ask(words)
    _taken_out(link)


def _entries(link: Link) -> None:
    """Keep one entry per option of those in the link: the first."""
    texts = link.texts("own", MOST_OPTIONS)
    kept: dict[str, str] = {}
    for text in texts:
        kept.setdefault(_id(link, text) or text, text)
    if len(kept) < len(texts):
        link.put("own", list(kept.values()))


def _follow(link: Link, usual: list[str]) -> None:
    """Replace the default options where deadline or workload has changed."""
    key = link.key("options")
    if st.session_state.get(key) == st.session_state.get(_USUAL) is not None:
        st.session_state[key] = usual
    st.session_state[_USUAL] = usual


def _with_own(link: Link, offered: Offered) -> None:
    """Add the link's own options to the chosen ones."""
    chosen = list(st.session_state[link.key("options")])
    ids = {c.id for c in offered.candidates}
    own = [o for o in offered.own if o in ids]
    if not chosen or all(o in chosen for o in own):
        return
    kept, left = with_own(chosen, own)
    if left:
        link.problems.append(f"options: {too_many(left)}")
    st.session_state[link.key("options")] = list(kept)


def _taken_out(link: Link) -> None:
    """Delete own options that were removed from the list."""
    chosen = st.session_state[link.key("options")]
    kept = [t for t in st.session_state[link.key("own")] if _id(link, t) in ("", *chosen)]
    link.put("own", kept)


def _id(link: Link, text: str) -> str:
    """Return the option id of an entry; "" where invalid, which is reported elsewhere."""
    entry = entry_of(text, hardware.catalog().catalog, compare_state.usd_per(link.parameters()))
    return entry_id(entry) if isinstance(entry, Entry) else ""


def _place(candidate: Candidate) -> tuple[int, str, str]:
    """Return the sort key: own entries and owned systems first, then way and label."""
    first = 0 if candidate.source == OWN_ENTRY or candidate.way == "own" else 1
    return first, candidate.way, candidate.label


def own_entry(link: Link, shared: Store, begins: datetime) -> None:
    """Draw a popover that adds an option by hand, at your own price."""
    box = st.popover("Add an option by hand", icon=":material/add:", key="compare.by_hand",
                     on_change="rerun")  # fmt: skip
    if not box.open:
        return
    newest = sorted(hardware.catalog().catalog.accelerators, key=_age)
    accelerators = {a.id: a for a in newest}
    with box:
        if not accelerators:
            st.caption("There is no catalogue of accelerators to choose from.")
            return
        _instead(link, shared, begins)
        st.segmented_control(
            "How", list(_WAYS), key="compare.own.way", default="rent", required=True,
            format_func=_WAYS.__getitem__,
        )  # fmt: skip
        st.selectbox(
            "Accelerator",
            list(accelerators),
            key="compare.own.accelerator",
            format_func=lambda a: accelerators[a].name,
        )
        way = str(st.session_state.get("compare.own.way") or "rent")
        st.number_input("How many", 1, MOST_COUNT, key="compare.own.count")
        currency = shown_in(link).currency
        what = (
            Text("{currency} {prices}, without tax", currency=currency, prices=_PRICES[way])
            if way in _PRICES
            else "no price"
        )
        st.number_input(
            Text("Price of the whole machine ({what})", what=what),
            0.0,
            MOST_PRICE,
            value=None,
            format="%g",
            placeholder="its list price" if way == "buy" else "",
            disabled=way == "own",
            key="compare.own.price",
        )
        _price_each(way, currency)
        st.button(
            "Add", key="compare.own.add", type="primary", on_click=lambda: _add(link),
            icon=":material/add:",
        )  # fmt: skip
        if problem := st.session_state.pop("compare.own.problem", ""):
            st.warning(as_text(problem))
        for name, text in slugs(st.session_state.get(link.key("own"), []), any_ascii=True).items():
            _entry(link, name, text)


def _age(accelerator: Accelerator) -> tuple[bool, int, str]:
    """Return the sort key of accelerators: processors last, the newest first."""
    launched = accelerator.launched.toordinal() if accelerator.launched else 0
    return accelerator.kind == "cpu", -launched, accelerator.name


def _price_each(way: str, currency: str) -> None:
    """Draw the price per accelerator, where there are several."""
    price, count = st.session_state.get("compare.own.price"), st.session_state["compare.own.count"]
    if price and count > 1:
        hour = "/h" if way == "rent" else ""
        st.caption(
            Text(
                "{price:,.2f} {currency}{hour} for each of {count}",
                price=price / count,
                currency=currency,
                hour=hour,
                count=count,
            )
        )


def _instead(link: Link, shared: Store, begins: datetime) -> None:
    """Draw the choice of an option to start from, to change its price."""
    offered = compare_state.offered(shared, link.parameters(), begins)
    every = () if offered is None else offered.candidates
    chosen = st.session_state.get(link.key("options"), [])
    by_id = {c.id: c for c in every if c.id in chosen and c.hardware.accelerator}
    st.selectbox(
        "Instead of",
        ["", *by_id],
        key="compare.own.instead",
        format_func=lambda o: by_id[o].label if o in by_id else "none: one more option",
        on_change=lambda: _fill(by_id),
        help="Give one of the chosen options another price, or another count",
    )


def _fill(by_id: dict[str, Candidate]) -> None:
    candidate = by_id.get(str(st.session_state.get("compare.own.instead")))
    if candidate is not None and candidate.hardware.accelerator is not None:
        st.session_state["compare.own.way"] = candidate.way
        st.session_state["compare.own.accelerator"] = candidate.hardware.accelerator.id
        st.session_state["compare.own.count"] = candidate.hardware.count
        st.session_state["compare.own.price"] = None


def _add(link: Link) -> None:
    """Add the entry to the link and choose it; problems are shown in the popover."""
    state = st.session_state
    way = cast("Way", state.get("compare.own.way") or "rent")
    typed = None if way == "own" else state.get("compare.own.price")
    price, quote = (None, None) if typed is None else _quoted(typed, shown_in(link))
    entry = Entry(
        way=way, accelerator=str(state["compare.own.accelerator"]),
        count=int(state["compare.own.count"]), price=price, quote=quote,
    )  # fmt: skip
    text = entry_text(entry)
    own, chosen = list(state[link.key("own")]), list(state.get(link.key("options"), []))
    instead = str(state.get("compare.own.instead") or "")
    own = [t for t in own if not instead or _id(link, t) != instead]
    left = [o for o in chosen if o != instead]
    problem = wrong_in_form(entry, hardware.catalog().catalog) or _no_room(own, left)
    if problem:
        state["compare.own.problem"] = problem
        return
    name = entry_id(entry)
    link.put("own", list(dict.fromkeys([*own, text])))
    at = chosen.index(instead) if instead in chosen else len(left)
    link.put("options", list(dict.fromkeys([*left[:at], name, *left[at:]])))
    state["compare.own.instead"] = ""


def _quoted(amount: float, display: Display) -> tuple[float, Quote | None]:
    """Return an entered price in USD, and its quote in the currency shown."""
    if display.currency == "USD":
        return amount, None
    quote = Quote(amount=amount, currency=display.currency, per_usd=display.per_usd)
    return in_usd(amount, display), quote


def _no_room(own: Sequence[str], chosen: Sequence[str]) -> str:
    if len(own) >= MOST_OPTIONS:
        return Text(
            "There are {most_options} options by hand. Remove one first.", most_options=MOST_OPTIONS
        )
    if len(chosen) >= MOST_OPTIONS:
        return Text(
            "At most {most_options} options are compared. Remove one first.",
            most_options=MOST_OPTIONS,
        )
    return ""


def _entry(link: Link, name: str, text: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        catalog = hardware.catalog().catalog
        entry = entry_of(text, catalog, compare_state.usd_per(link.parameters()))
        st.caption(as_text(entry_words(entry, catalog) if isinstance(entry, Entry) else text))
        if isinstance(entry, Entry):
            st.button(
                "Edit",
                key=f"compare.own.edit.{name}",
                icon=":material/edit:",
                on_click=lambda: _edit(link, entry),
            )
        st.button(
            "Remove",
            key=f"compare.own.remove.{name}",
            icon=":material/close:",
            on_click=lambda: _remove(link, text),
        )


def _edit(link: Link, entry: Entry) -> None:
    """Fill the form with an entry, which the next one replaces."""
    display, quote = shown_in(link), entry.quote
    price = entry.price
    if price is not None:
        same = quote is not None and quote.currency == display.currency
        price = quote.amount if same and quote else float(f"{price * display.per_usd:.6g}")
    st.session_state["compare.own.way"] = entry.way
    st.session_state["compare.own.accelerator"] = entry.accelerator
    st.session_state["compare.own.count"] = entry.count
    st.session_state["compare.own.price"] = price
    st.session_state["compare.own.instead"] = entry_id(entry)


def _remove(link: Link, text: str) -> None:
    left = [t for t in st.session_state[link.key("own")] if t != text]
    link.put("own", left)
    name = _id(link, text)
    link.put("options", [o for o in st.session_state[link.key("options")] if o != name])
