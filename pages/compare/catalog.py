"""Prices and hardware behind the chosen options, and this machine's own rows."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import streamlit as st

from pages.common import hardware, narrow, widgets
from pages.common.link import as_text
from pages.compare import state
from pages.compare.state import CompareReply
from pages.visitor.permission import Action, allow, permission
from pages.visitor.sending import accept_files
from planner.catalog import (
    LIMITS,
    TABLE_NAMES,
    TABLES,
    Accelerator,
    Catalog,
    CatalogColumn,
    LiveOffers,
    Offer,
    TableName,
    Tariff,
    csv_of,
    has_library,
    is_stale,
    merged,
    table_of,
)
from planner.catalog.live_offers import live_offers
from planner.core import (
    Record,
    Refusal,
    Text,
    message_of,
    paragraph,
    plural,
    sentence_case,
    several,
)
from planner.job import Candidate
from planner.store import catalog as rows_on_disk

_DONE: Final = "compare-catalog-said"
_WRONG: Final = "compare-catalog-wrong"
_REPLACED: Final = "compare-catalog-replaced"
_MOST_PROBLEMS: Final = 20
_MOST_SHOWN: Final = 200
_DAY: Final = "YYYY-MM-DD"


def outcome() -> None:
    """Draw the result of the last change, or why it was refused."""
    if message := st.session_state.pop(_DONE, ""):
        st.success(as_text(message))
    _draw_replaced(st.session_state.pop(_REPLACED, []), "Replaced rows, before -> after")
    if wrong := st.session_state.pop(_WRONG, []):
        st.warning("Nothing was added:\n" + "\n".join(f"- {as_text(w)}" for w in wrong))


def replaced(catalog: Catalog, rows: Catalog) -> list[str]:
    """Return a line per catalogue row that these rows change: before and after."""
    return list(merged(catalog, rows).changed)


def _draw_replaced(lines: Sequence[str], title: str) -> None:
    """Draw the replaced rows, with their numbers before and after."""
    if not lines:
        return
    more = len(lines) - _MOST_PROBLEMS
    shown = [as_text(line) for line in lines[:_MOST_PROBLEMS]]
    shown += [Text("and {more:,} more rows.", more=more)] if more > 0 else []
    st.warning(f"{title}:\n" + "\n".join(f"- {t}" for t in shown), icon=":material/swap_horiz:")


# -- a form ----------------------------------------------------------------------------------------


def form(table: TableName, catalog: Catalog, chosen: Sequence[Candidate]) -> None:
    """Draw a form for one row, started from an existing row; the same name replaces that row."""
    starts = _beginnings(table, catalog, chosen)
    start = st.selectbox(
        "Start from",
        ["", *starts],
        key=f"compare.rows.{table}.start",
        format_func=lambda i: starts[i][0] if i in starts else "an empty row",
        help="The same name replaces that row; a new name adds one",
    )
    cells = _own(table, _cells(table, starts[start][1])) if start in starts else {}
    if table == "prices" and "currency" not in cells:
        cells |= {"currency": "USD", "terms": "on demand", "region": "any"}
    with st.form(f"compare.rows.{table}.{start}", border=False):
        with st.grid(3, min_column_width=200):
            for column in TABLES[table]:
                _field(table, column, cells.get(column.name, ""), start)
        st.form_submit_button(
            "Save this row", key=f"compare.rows.{table}.keep", icon=":material/save:",
            on_click=_keep, args=(table, start),
        )  # fmt: skip


def _beginnings(
    table: TableName, catalog: Catalog, chosen: Sequence[Candidate]
) -> dict[str, tuple[str, Accelerator | Offer]]:
    """Return the rows to start from, those of the chosen options first."""
    if table == "hardware":
        mine = [c.hardware.accelerator for c in chosen if c.hardware.accelerator]
        return {a.id: (a.name, a) for a in (*mine, *catalog.accelerators)}
    offers = [c.offer for c in chosen if c.offer]
    return {o.id: (o.id, o) for o in (*offers, *catalog.offers)}


def _cells(table: TableName, entry: Accelerator | Offer) -> dict[str, str]:
    return dict(next(csv.DictReader(io.StringIO(csv_of(table, [entry])))))


def _own(table: TableName, cells: dict[str, str]) -> dict[str, str]:
    """Return the cells of a copied row; a price gets today's date and no source or note.

    A hardware row keeps its data sheet.
    """
    if table != "prices":
        return cells
    today = f"{state.today():%Y-%m-%d}"
    return cells | {"source_url": "", "note": "", "as_of": today}


def _key(table: str, column: str, start: str) -> str:
    return f"compare.rows.{table}.{start}.{column}"


def _field(table: TableName, column: CatalogColumn, value: str, start: str) -> None:
    unit = f" ({column.unit})" if column.unit else ""
    name = sentence_case(column.name.replace("_", " "))
    label = f"{name}{unit}{' *' if column.required else ''}"
    meaning = sentence_case(column.meaning)
    key = _key(table, column.name, start)
    if column.choices:
        options = ["", *column.choices]
        st.selectbox(
            label, options, index=options.index(value) if value in options else 0, key=key,
            help=meaning,
        )  # fmt: skip
        return
    hint = _DAY if column.kind == "date" else column.example
    st.text_input(label, value, key=key, help=meaning, placeholder=hint, max_chars=1000)


def _keep(table: TableName, start: str) -> None:
    out = io.StringIO()
    names = [c.name for c in TABLES[table]]
    writer = csv.writer(out)
    writer.writerow(names)
    writer.writerow([st.session_state.get(_key(table, n, start)) or "" for n in names])
    catalog = hardware.catalog().catalog
    rows, problems = rows_on_disk.import_csv(table, out.getvalue().encode(), catalog)
    lines = [f"{p.column} {p.message}" if p.column else p.message for p in problems]
    _add(rows, lines)


def _add(rows: Catalog, problems: Sequence[str] = ()) -> None:
    """Add rows to this machine's own files, where allowed, and note what they replace."""
    allowed, before = allow(Action.CATALOG), replaced(hardware.catalog().catalog, rows)
    wrong = list(problems) if allowed.allowed else [allowed.why]
    count = len(rows.accelerators) + len(rows.offers) + len(rows.tariffs)
    if not wrong and not count:
        wrong = ["There is no row to add."]
    if not wrong:
        try:
            rows_on_disk.add_rows(hardware.folder(), rows)
        except OSError as error:
            wrong = [message_of(error)]
        else:
            st.session_state[_DONE] = plural(
                count, "{count:,} row is saved.", "{count:,} rows are saved."
            )
            st.session_state[_REPLACED] = before
    st.session_state[_WRONG] = wrong


def add_offers(offers: Sequence[Offer]) -> None:
    """Add offers to this machine's own prices."""
    _add(Catalog(offers=tuple(offers)))


# -- a file ----------------------------------------------------------------------------------------


def import_file(catalog: Catalog) -> None:
    """Draw the import of a CSV of hardware, prices or electricity: rows, problems, button."""
    accept_files()
    upload = st.file_uploader(
        "CSV with the columns of docs/catalog.md", type="csv", key="compare.rows.file",
        max_upload_size=max(LIMITS["file"].value // 1_000_000, 1),
    )  # fmt: skip
    if upload is None:
        return
    content = upload.getvalue()
    table = table_of(content)
    if table is None:
        needed = "; ".join(
            f"{t}: {', '.join(c.name for c in TABLES[t] if c.required)}" for t in TABLE_NAMES
        )
        st.warning(
            as_text(
                Text(
                    "The header matches no table. Columns needed, by table: {needed}.",
                    needed=needed,
                )
            )
        )
        return
    new_rows, problems = rows_on_disk.import_csv(table, content, catalog, file=upload.name[:80])
    records = listed(new_rows)
    st.caption(
        Text(
            "{named} of {table}, {others}.",
            named=several(len(records), "valid row"),
            table=table,
            others=several(len(problems), "problem"),
        )
    )
    if records:
        narrow.table(
            records[:_MOST_SHOWN], key="compare.rows.preview",
            alt="Valid rows of the file",
        )  # fmt: skip
    before = replaced(catalog, new_rows)
    _draw_replaced(
        before,
        plural(
            len(before),
            "Replaces {count:,} existing row, before -> after",
            "Replaces {count:,} existing rows, before -> after",
        ),
    )
    for problem in problems[:20]:
        st.caption(as_text(str(problem)))
    if len(problems) > 20:
        st.caption(Text("and {problems:,} more problems.", problems=len(problems) - 20))
    st.button(
        f"Add {several(len(records), 'row')}",
        key="compare.rows.import", disabled=not records, icon=":material/add:",
        on_click=lambda: _add(new_rows),
    )  # fmt: skip


def listed(rows: Catalog) -> list[Record]:
    """Return the rows of a catalogue as one table."""
    entries: list[Accelerator | Offer | Tariff]
    entries = [*rows.accelerators, *rows.offers, *rows.tariffs]
    return [_listed(e) for e in entries]


def _listed(entry: Accelerator | Offer | Tariff) -> Record:
    if isinstance(entry, Offer):
        price = f"{entry.price_per_hour:,.4g} {entry.currency}/h"
        return {"Row": entry.id, "Table": "prices", "Says": price, "As of": f"{entry.as_of}"}
    if isinstance(entry, Accelerator):
        price = (
            Text("{list_price_usd:,.0f} USD list", list_price_usd=entry.list_price_usd)
            if entry.list_price_usd
            else entry.maker
        )
        return {"Row": entry.id, "Table": "hardware", "Says": price, "As of": f"{entry.as_of}"}
    price = (
        Text("{price_usd_per_kwh} USD/kWh", price_usd_per_kwh=entry.price_usd_per_kwh)
        if entry.price_usd_per_kwh
        else "carbon"
    )
    return {"Row": entry.id, "Table": "electricity", "Says": price,
            "As of": f"{entry.price_as_of or entry.carbon_as_of}"}  # fmt: skip


# -- your own --------------------------------------------------------------------------------------


def own(catalog: Catalog) -> None:
    """Draw this machine's own rows, and a button to remove some; shipped rows then count again."""
    mine = Catalog(
        accelerators=tuple(a for a in catalog.accelerators if a.origin == "yours"),
        offers=tuple(o for o in catalog.offers if o.origin == "yours"),
        tariffs=tuple(t for t in catalog.tariffs if t.origin == "yours"),
    )
    records = listed(mine)
    if not records:
        where = (
            Text("They are saved in {folder}.", folder=hardware.folder())
            if permission(Action.CATALOG).allowed
            else ""
        )
        st.caption(as_text(paragraph("You have no rows yet.", where)))
        return
    narrow.table(
        records[:_MOST_SHOWN], key="compare.rows.own",
        alt="Your own rows",
    )  # fmt: skip
    rows = [(r["Table"], r["Row"]) for r in records]
    st.multiselect(
        "Remove", rows, key="compare.rows.gone", placeholder="Choose rows", format_func=": ".join
    )
    st.button(
        "Remove these rows", key="compare.rows.remove", icon=":material/delete:",
        disabled=not st.session_state.get("compare.rows.gone"), on_click=_remove,
    )  # fmt: skip


def _remove() -> None:
    gone = list(st.session_state.get("compare.rows.gone") or [])
    if not allow(Action.CATALOG, ", ".join(row for _, row in gone)).allowed:
        return
    count = 0
    try:
        for table in TABLE_NAMES:
            ids = [row for of, row in gone if of == table]
            count += rows_on_disk.remove_rows(hardware.folder(), table, ids) if ids else 0
    except OSError as error:
        st.session_state[_WRONG] = [message_of(error)]
        return
    st.session_state["compare.rows.gone"] = []
    st.session_state[_DONE] = plural(
        count, "{count:,} row is removed.", "{count:,} rows are removed."
    )


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


def draw(reply: CompareReply | None) -> None:
    """Draw the folded box of prices and hardware."""
    box = widgets.folded("Prices and hardware", "sell", _BOX)
    if not box.open:
        return
    read = hardware.catalog()
    with box:
        _behind(reply)
        for problem in read.problems[:10]:
            st.caption(as_text(Text("Left out: {problem}", problem=problem)))
        if len(read.problems) > 10:
            st.caption(
                Text("{problems:,} more rows are left out.", problems=len(read.problems) - 10)
            )
        st.caption(
            "To change one price for this link only, use *Add an option by hand*, *Instead of*. "
            "Rows added here count in every comparison on this machine."
        )
        allowed = permission(Action.CATALOG)
        if not allowed.allowed:
            st.caption(
                Text(
                    "Rows can only be added on the machine that runs this app. {why}",
                    why=allowed.why,
                )
            )
            return
        _actions(reply, read.catalog)
        outcome()


def _actions(reply: CompareReply | None, catalog: Catalog) -> None:
    st.segmented_control(
        "Add or change", list(_ACTIONS), key="compare.catalog.do", format_func=_ACTIONS.__getitem__
    )
    comparison = reply.answered.comparison if reply else None
    chosen = [r.candidate for r in comparison.rows] if comparison else []
    draw_one: dict[str, Callable[[], None]] = {
        "price": lambda: form("prices", catalog, chosen),
        "hardware": lambda: form("hardware", catalog, chosen),
        "import": lambda: import_file(catalog),
        "own": lambda: own(catalog),
        "live": lambda: draw_live(catalog, chosen),
    }
    do = st.session_state.get("compare.catalog.do")
    if do in draw_one:
        draw_one[do]()


def _behind(reply: CompareReply | None) -> None:
    comparison = reply.answered.comparison if reply else None
    if comparison is None:
        st.caption("No option is chosen, so no row is in use.")
        return
    narrow.table(
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


_LIVE: Final = "compare-live"
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
    live = st.session_state.get(_LIVE)
    if isinstance(live, Refusal):
        st.warning(as_text(paragraph(live.reason, live.measure_next)))
    elif isinstance(live, LiveOffers):
        _offers(live, chosen)


def _read(catalog: Catalog) -> None:
    st.session_state[_LIVE] = live_offers(catalog, state.today())


def _offers(live: LiveOffers, chosen: Sequence[Candidate]) -> None:
    """Draw live offers of the compared accelerators; all where none is compared."""
    compared = {c.hardware.accelerator.id for c in chosen if c.hardware.accelerator}
    kept = [o for o in live.offers if not compared or o.accelerator in compared]
    every = several(len(live.offers), "offer")
    st.caption(
        Text("{every}, {kept:,} of the accelerators compared here.", every=every, kept=len(kept))
    )
    narrow.table(
        listed(Catalog(offers=tuple(kept[:200]))),
        key="compare.live.table", alt="Live offers of the accelerators that are compared",
    )  # fmt: skip
    st.button(
        f"Save {several(len(kept), 'offer')}", key="compare.live.keep", disabled=not kept,
        icon=":material/save:", on_click=lambda: add_offers(kept),
    )  # fmt: skip
    for line in live.left_out[:_MOST_LINES]:
        st.caption(as_text(line))
    if live.left_out:
        st.caption(_left_out(len(live.left_out) - _MOST_LINES))


def _left_out(more: int) -> str:
    """Return why offers are left out, and what to do."""
    return paragraph(
        plural(more, "{count:,} more reason.", "{count:,} more reasons.") if more > 0 else "",
        "Only offers that match one accelerator of the catalogue can be compared. To compare "
        "another, add it under Accelerator or its price under Price.",
    )
