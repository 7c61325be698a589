"""Add rows to the catalogue, by a form or from a file, and remove your own."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence, Sized
from typing import Final

import streamlit as st

from pages.common import hardware, widgets
from pages.common.link import as_text
from pages.common.permission import permission
from pages.compare import state
from planner.catalog import (
    LIMITS,
    SAME,
    TABLE_NAMES,
    TABLES,
    Accelerator,
    Catalog,
    Column,
    Offer,
    TableName,
    Tariff,
    csv_of,
    merged,
    table_of,
)
from planner.core import Record
from planner.job import Candidate
from planner.store import catalog as rows_on_disk

_DONE: Final = "compare-catalog-said"
_WRONG: Final = "compare-catalog-wrong"
_REPLACED: Final = "compare-catalog-replaced"
_MOST_LINES: Final = 20
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
    return [line for line in merged(catalog, rows).overridden if not line.endswith(f": {SAME}")]


def _draw_replaced(lines: Sequence[str], title: str) -> None:
    """Draw the replaced rows, with their numbers before and after."""
    if not lines:
        return
    more = len(lines) - _MOST_LINES
    shown = [as_text(line) for line in lines[:_MOST_LINES]]
    shown += [f"and {more:,} more rows."] if more > 0 else []
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


def _field(table: TableName, column: Column, value: str, start: str) -> None:
    unit = f" ({column.unit})" if column.unit else ""
    name = column.name.replace("_", " ")
    label = f"{name[:1].upper()}{name[1:]}{unit}{' *' if column.required else ''}"
    meaning = f"{column.meaning[:1].upper()}{column.meaning[1:]}"
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
    lines = [str(p).replace(f"Row 2 of {table}.csv: ", "") for p in problems]
    _add(rows, lines)


def _add(rows: Catalog, problems: Sequence[str] = ()) -> None:
    """Add rows to this machine's own files, where allowed, and note what they replace."""
    allowed, before = permission(), replaced(hardware.catalog().catalog, rows)
    wrong = list(problems) if allowed.allowed else [allowed.why]
    count = len(rows.accelerators) + len(rows.offers) + len(rows.tariffs)
    if not wrong and not count:
        wrong = ["There is no row to add."]
    if not wrong:
        try:
            rows_on_disk.add_rows(hardware.folder(), rows)
        except OSError as error:
            wrong = [str(error)]
        else:
            st.session_state[_DONE] = f"{count:,} {'row is' if count == 1 else 'rows are'} saved."
            st.session_state[_REPLACED] = before
    st.session_state[_WRONG] = wrong


def add_offers(offers: Sequence[Offer]) -> None:
    """Add offers to this machine's own prices."""
    _add(Catalog(offers=tuple(offers)))


# -- a file ----------------------------------------------------------------------------------------


def import_file(catalog: Catalog) -> None:
    """Draw the import of a CSV of hardware, prices or electricity: rows, problems, button."""
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
        st.warning(as_text(f"The header matches no table. Columns needed, by table: {needed}."))
        return
    new_rows, problems = rows_on_disk.import_csv(table, content, catalog, file=upload.name[:80])
    records = listed(new_rows)
    st.caption(f"{_several(records, 'valid row')} of {table}, {_several(problems, 'problem')}.")
    if records:
        widgets.table(
            records[:_MOST_SHOWN], key="compare.rows.preview",
            alt="Valid rows of the file",
        )  # fmt: skip
    before = replaced(catalog, new_rows)
    rows = "row" if len(before) == 1 else "rows"
    _draw_replaced(before, f"Replaces {len(before):,} existing {rows}, before -> after")
    for problem in problems[:20]:
        st.caption(as_text(str(problem)))
    if len(problems) > 20:
        st.caption(f"and {len(problems) - 20:,} more problems.")
    st.button(
        f"Add {_several(records, 'row')}",
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
        price = f"{entry.list_price_usd:,.0f} USD list" if entry.list_price_usd else entry.maker
        return {"Row": entry.id, "Table": "hardware", "Says": price, "As of": f"{entry.as_of}"}
    price = f"{entry.price_usd_per_kwh} USD/kWh" if entry.price_usd_per_kwh else "carbon"
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
        where = f" They are saved in {hardware.folder()}." if permission().allowed else ""
        st.caption(as_text(f"You have no rows yet.{where}"))
        return
    widgets.table(
        records[:_MOST_SHOWN], key="compare.rows.own",
        alt="Your own rows",
    )  # fmt: skip
    names = [f"{r['Table']}: {r['Row']}" for r in records]
    st.multiselect("Remove", names, key="compare.rows.gone", placeholder="Choose rows")
    st.button(
        "Remove these rows", key="compare.rows.remove", icon=":material/delete:",
        disabled=not st.session_state.get("compare.rows.gone"), on_click=_remove,
    )  # fmt: skip


def _remove() -> None:
    gone = list(st.session_state.get("compare.rows.gone") or [])
    if not permission().allowed:
        return
    count = 0
    try:
        for table in TABLE_NAMES:
            ids = [g.removeprefix(f"{table}: ") for g in gone if g.startswith(f"{table}: ")]
            count += rows_on_disk.remove_rows(hardware.folder(), table, ids) if ids else 0
    except OSError as error:
        st.session_state[_WRONG] = [str(error)]
        return
    st.session_state["compare.rows.gone"] = []
    st.session_state[_DONE] = f"{count:,} {'row is' if count == 1 else 'rows are'} removed."


def _several(items: Sized, what: str) -> str:
    """Return a count in words: '1 valid row', '2 valid rows'."""
    return f"{len(items):,} {what}{'' if len(items) == 1 else 's'}"
