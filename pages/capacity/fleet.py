"""The fleet of a plan, owned, to buy, to rent or to be found; and what the plan assumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import streamlit as st

from pages.capacity import state
from pages.common import fields, hardware, money, narrow, widgets
from pages.common.link import Link
from planner.answers import parameters
from planner.answers.capacity_jobs import Line, line_of, line_text
from planner.capacity import MOST_MACHINES, MOST_STOCKS
from planner.catalog import Accelerator
from planner.compare import ASSUMPTION_TEXTS
from planner.core import Parameter, Text, several

_BY_NAME: Final[Mapping[str, Parameter]] = {p.name: p for p in parameters.CAPACITY}
_ASSUMED: Final = tuple(n for n in _BY_NAME if n in ASSUMPTION_TEXTS)
_OF_PLAN: Final = ("variation", "seed")
WAYS: Final = {
    "own": "already owned",
    "buy": "to buy",
    "reserved-1": "reserved for 1 year",
    "reserved-3": "reserved for 3 years",
    "rent": "rent by the hour",
    "spot": "spot",
}
"""Ways of a machine of a fleet, in words."""
_OFFER: Final = "offer"
"""A line that names an option of Compare hardware."""
_FIND: Final = {True: "Find it", False: "As entered"}
_EMPTY: Final = {"utilisation": "of the fleet"}
"""What an empty field means, where it is not "none"."""
_COLUMNS: Final = ("way", "accelerator", "each", "machines", "price", "from_month")


def draw(link: Link) -> None:
    """Draw the card of the fleet, the horizon and its limits."""
    with st.container(border=True):
        with widgets.spread():
            widgets.heading("Fleet", width="content")
            find = link.flag(_BY_NAME["find"])
            fields.segments(link, "find", _BY_NAME["find"].title(), _FIND)
        with st.grid(4, min_column_width=150):
            for name in ("months", "probability", *(("purchases", "rent_most") if find else ())):
                number(link, name)
        texts = [*(f"own:{t}" for t in link.texts("owned", MOST_STOCKS)),
                 *link.texts("fleet", MOST_STOCKS)]  # fmt: skip
        _editor(link, texts, find=find)


def declare(link: Link, *names: str) -> None:
    """Declare parameters without a field of their own."""
    for name in names:
        _value(link, name)


def _value(link: Link, name: str) -> float | int | None:
    """Declare a number and return it; an empty field with a default returns to that."""
    parameter = _BY_NAME[name]
    default: Any = parameter.default
    if parameter.kind == "whole" and default is not None:
        return link.number(parameter)
    value = link.decimal(parameter, default)
    if value is None and default is not None:
        st.session_state[link.key(name)] = value = default
    return value


def number(link: Link, name: str, empty: str = "") -> None:
    """Declare and draw the field of a number; `empty` is what an empty field stands for."""
    _value(link, name)
    optional = _BY_NAME[name].default is None
    shown = (empty or _EMPTY.get(name, "none")) if optional else None
    fields.number(link, _BY_NAME[name], empty=shown)


def draw_assumed(link: Link) -> None:
    """Draw the folded box; its values count whether it is open or not."""
    _declare_assumed(link)
    box = widgets.folded("Assumed: electricity, machines, currency", "tune", "capacity.assumed")
    if not box.open:
        link.hold(*_ASSUMED, *_OF_PLAN, *money.NAMES)
        return
    with box:
        money.draw(link)
        with st.grid(3, min_column_width=220):
            for parameter in (_BY_NAME[name] for name in (*_ASSUMED, *_OF_PLAN)):
                usual = parameter.default
                fields.number(
                    link, parameter, empty="of the country" if usual is None else f"{usual:g}"
                )
        st.button(
            "Back to the defaults", key="capacity.defaults", icon=":material/undo:",
            on_click=lambda: link.forget(*_ASSUMED, *_OF_PLAN),
        )  # fmt: skip


def _declare_assumed(link: Link) -> None:
    """Declare all values; an empty field is the default."""
    for name in (*_ASSUMED, *_OF_PLAN):
        (link.whole if _BY_NAME[name].kind == "whole" else link.decimal)(_BY_NAME[name])
    money.declare(link)
    link.decimal(_BY_NAME["tax"])


# -- the table -----------------------------------------------------------------------------------


def _editor(link: Link, texts: Sequence[str], *, find: bool) -> None:
    """Draw the machines; an empty table with `find` leaves the choice to the catalogue."""
    memory = state.session()
    begun = memory.get("fleet")
    if begun is None or begun["texts"] != list(texts):
        place = 0 if begun is None else begun["number"] + 1
        begun = memory["fleet"] = {
            "number": place, "first": list(texts), "texts": list(texts),
        }  # fmt: skip
    first: list[str] = begun["first"]
    lines = [line_of(t) for t in first]
    key = f"capacity.fleet.{begun['number']}"

    def edited() -> None:
        now = edited_lines(first, st.session_state[key])
        begun["texts"] = now
        link.put("owned", [t.removeprefix("own:") for t in now if t.startswith("own:")])
        link.put("fleet", [t for t in now if not t.startswith("own:")])

    box = widgets.folded(_title(lines, find=find), "dns", "capacity.machines")
    if not box.open:
        return
    with box:
        rows = [line.cells() for line in lines]
        st.data_editor(
            pa.table({n: _column(n, [row[n] for row in rows]) for n in _COLUMNS}),
            key=key, on_change=edited, num_rows="dynamic", hide_index=True, placeholder="",
            column_config=_config(lines), alt="Machines: owned, to buy, to rent",
        )  # fmt: skip
        widgets.as_text_table(widgets.columns_of(rows), "Machines as they were last loaded", {})
        st.caption(_PRICES)
        _servers(link)


def _title(lines: Sequence[Line], *, find: bool) -> str:
    if not lines:
        return "Machines: chosen from the catalogue" if find else "Machines: none yet"
    lines_text = several(len(lines), "line")
    return (
        Text("Machines: {lines}, each up to its count", lines=lines_text)
        if find
        else Text("Machines: {lines}", lines=lines_text)
    )


def _servers(link: Link) -> None:
    """Draw the ready servers of the catalogue with price, date and source, and a button each."""
    servers = [a for a in hardware.catalog().catalog.accelerators if a.server_price_usd is not None]
    if not servers:
        return
    widgets.heading("Ready servers")
    rows = [
        {
            "Server": server_name(a), "Price (USD)": f"{a.server_price_usd:,.0f}",
            "Kind": "estimate" if a.server_price_range else "price",
            "Price of": None if a.server_price_as_of is None else f"{a.server_price_as_of:%b %Y}",
            "Source": a.server_price_source_url,
        }
        for a in servers
    ]  # fmt: skip
    narrow.table(
        rows, key="capacity.servers", alt="Ready servers with price, date and source",
        column_config={"Source": st.column_config.LinkColumn("Source")},
    )  # fmt: skip
    with st.container(horizontal=True):
        for a in servers:
            st.button(
                Text("Add {server}", server=server_name(a)), key=f"capacity.server.{a.id}",
                icon=":material/add:", on_click=_add, args=(link, server_line(a)),
            )  # fmt: skip


def _add(link: Link, line: str) -> None:
    """Add a line to the fleet."""
    link.put("fleet", [*(link.held("fleet") or []), line][:MOST_STOCKS])


def server_name(accelerator: Accelerator) -> str:
    """Return a ready server in words: '8 x H100 SXM5 80GB'."""
    return f"{accelerator.server_accelerators} x {accelerator.name}"


def server_line(accelerator: Accelerator) -> str:
    """Return the purchase of a ready server as a line of a fleet, at the catalogue's price."""
    return f"1 x buy|{accelerator.id}|{accelerator.server_accelerators}"


_PRICES: Final = (
    "A price is that of the whole machine in USD without tax, of a rented one per hour. Left "
    "empty, it is that of the catalogue."
)


def edited_lines(texts: Sequence[str], edits: Mapping[str, Any]) -> list[str]:
    """Return the lines of a fleet after edits of its table, as texts; unfinished ones left out."""
    edited = list(texts)
    for place, cells in edits.get("edited_rows", {}).items():
        edited[int(place)] = line_text(line_of(texts[int(place)]).cells() | cells)
    gone = {int(n) for n in edits.get("deleted_rows", [])}
    kept = [text for n, text in enumerate(edited) if n not in gone]
    return [text for text in [*kept, *map(line_text, edits.get("added_rows", []))] if text]


def _column(name: str, cells: Sequence[Any]) -> pa.Array:
    if name in ("each", "machines", "from_month"):
        return pa.array(cells, pa.int64())
    if name == "price":
        return pa.array(cells, pa.float64())
    return pa.array(cells, pa.string())


def _config(lines: Sequence[Line]) -> dict[str, Any]:
    columns = st.column_config
    cards = hardware.catalog().catalog.accelerators
    names = list(dict.fromkeys([*(a.id for a in cards if a.kind != "cpu"),
                                *(x.accelerator for x in lines)]))  # fmt: skip
    ways = [*WAYS, *([_OFFER] if any(x.way == _OFFER for x in lines) else [])]
    return {
        "way": columns.SelectboxColumn(
            "How", options=ways, width=150, required=True, default="buy",
            format_func=lambda way: WAYS.get(str(way), "an option of Compare hardware"),
        ),
        "accelerator": columns.SelectboxColumn("Accelerator", options=names, width=240),
        "each": columns.NumberColumn("In one machine", min_value=1, max_value=1024, step=1,
                                     width=90, default=8),
        "machines": columns.NumberColumn("Machines", min_value=0, max_value=MOST_MACHINES, step=1,
                                         width=80, default=1),
        "price": columns.NumberColumn("Price (USD, or USD/h)", min_value=0.0, format="%.2f",
                                      width=120),
        "from_month": columns.NumberColumn("From month", min_value=1, max_value=36, step=1,
                                           width=80, default=1),
    }  # fmt: skip
