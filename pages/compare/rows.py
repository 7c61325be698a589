"""Adding rows to the catalogue: by a form, from a file; and taking one's own out again."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence, Sized
from typing import Final

import streamlit as st

from pages.common import widgets
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

_SAID: Final = "compare-catalog-said"
_WRONG: Final = "compare-catalog-wrong"
_REPLACED: Final = "compare-catalog-replaced"
_MOST_TOLD: Final = 20
_MOST_SHOWN: Final = 200
_DAY: Final = "YYYY-MM-DD"


def outcome() -> None:
    """What the last change did, or why it was not made."""
    if said := st.session_state.pop(_SAID, ""):
        st.success(as_text(said))
    _tell_replaced(st.session_state.pop(_REPLACED, []), "In place of what was there before")
    if wrong := st.session_state.pop(_WRONG, []):
        st.warning("Nothing was added:\n" + "\n".join(f"- {as_text(w)}" for w in wrong))


def replaced(catalog: Catalog, found: Catalog) -> list[str]:
    """What rows of the catalogue say before and after these rows: a line each that differs."""
    return [line for line in merged(catalog, found).overridden if not line.endswith(f": {SAME}")]


def _tell_replaced(lines: Sequence[str], title: str) -> None:
    """Rows that are replaced, with their numbers before and after."""
    if not lines:
        return
    more = len(lines) - _MOST_TOLD
    told = [as_text(line) for line in lines[:_MOST_TOLD]]
    told += [f"and {more:,} more rows."] if more > 0 else []
    st.warning(f"{title}:\n" + "\n".join(f"- {t}" for t in told), icon=":material/swap_horiz:")


# -- a form ----------------------------------------------------------------------------------------


def form(table: TableName, catalog: Catalog, chosen: Sequence[Candidate]) -> None:
    """One row, begun with one there is; an unchanged name replaces that row."""
    known = _beginnings(table, catalog, chosen)
    start = st.selectbox(
        "Begin with",
        ["", *known],
        key=f"compare.rows.{table}.start",
        format_func=lambda i: known[i][0] if i in known else "an empty row",
        help="With the same name it replaces that row; with another it is one more",
    )
    cells = _own(table, _cells(table, known[start][1])) if start in known else {}
    if table == "prices" and "currency" not in cells:
        cells |= {"currency": "USD", "terms": "on demand", "region": "any"}
    with st.form(f"compare.rows.{table}.{start}", border=False):
        with st.grid(3, min_column_width=200):
            for column in TABLES[table]:
                _field(table, column, cells.get(column.name, ""), start)
        st.form_submit_button(
            "Keep this row", key=f"compare.rows.{table}.keep", icon=":material/save:",
            on_click=_keep, args=(table, start),
        )  # fmt: skip


def _beginnings(
    table: TableName, catalog: Catalog, chosen: Sequence[Candidate]
) -> dict[str, tuple[str, Accelerator | Offer]]:
    """Rows to begin with, those of the chosen options first."""
    if table == "hardware":
        mine = [c.hardware.accelerator for c in chosen if c.hardware.accelerator]
        return {a.id: (a.name, a) for a in (*mine, *catalog.accelerators)}
    offers = [c.offer for c in chosen if c.offer]
    return {o.id: (o.id, o) for o in (*offers, *catalog.offers)}


def _cells(table: TableName, entry: Accelerator | Offer) -> dict[str, str]:
    return dict(next(csv.DictReader(io.StringIO(csv_of(table, [entry])))))


def _own(table: TableName, cells: dict[str, str]) -> dict[str, str]:
    """A price to change: another one is of today, and its source and note are not the stranger's.

    A source is asked for anew; a data sheet stays the one it was.
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
    told = f"{column.meaning[:1].upper()}{column.meaning[1:]}"
    key = _key(table, column.name, start)
    if column.choices:
        options = ["", *column.choices]
        st.selectbox(
            label, options, index=options.index(value) if value in options else 0, key=key,
            help=told,
        )  # fmt: skip
        return
    hint = _DAY if column.kind == "date" else column.example
    st.text_input(label, value, key=key, help=told, placeholder=hint, max_chars=1000)


def _keep(table: TableName, start: str) -> None:
    out = io.StringIO()
    names = [c.name for c in TABLES[table]]
    writer = csv.writer(out)
    writer.writerow(names)
    writer.writerow([st.session_state.get(_key(table, n, start)) or "" for n in names])
    catalog = state.catalog().catalog
    found, problems = rows_on_disk.import_csv(table, out.getvalue().encode(), catalog)
    told = [str(p).replace(f"Row 2 of {table}.csv: ", "") for p in problems]
    _add(found, told)


def _add(found: Catalog, problems: Sequence[str] = ()) -> None:
    """Rows into this machine's own files, where that is allowed; says what they replace."""
    allowed, before = permission(), replaced(state.catalog().catalog, found)
    wrong = list(problems) if allowed.allowed else [allowed.why]
    count = len(found.accelerators) + len(found.offers) + len(found.tariffs)
    if not wrong and not count:
        wrong = ["There is no row."]
    if not wrong:
        try:
            rows_on_disk.add_rows(state.folder(), found)
        except OSError as error:
            wrong = [str(error)]
        else:
            st.session_state[_SAID] = f"{count:,} {'row is' if count == 1 else 'rows are'} kept."
            st.session_state[_REPLACED] = before
    st.session_state[_WRONG] = wrong


def add_offers(offers: Sequence[Offer]) -> None:
    """Offers into this machine's own prices."""
    _add(Catalog(offers=tuple(offers)))


# -- a file ----------------------------------------------------------------------------------------


def import_file(catalog: Catalog) -> None:
    """A CSV of hardware, prices or electricity: rows and problems first, then the button."""
    given = st.file_uploader(
        "CSV with the columns of docs/catalog.md", type="csv", key="compare.rows.file",
        max_upload_size=max(LIMITS["file"].value // 1_000_000, 1),
    )  # fmt: skip
    if given is None:
        return
    content = given.getvalue()
    table = table_of(content)
    if table is None:
        needed = "; ".join(
            f"{t}: {', '.join(c.name for c in TABLES[t] if c.required)}" for t in TABLE_NAMES
        )
        st.warning(as_text(f"Its header is that of no table. Every row needs, by table: {needed}."))
        return
    found, problems = rows_on_disk.import_csv(table, content, catalog, file=given.name[:80])
    records = listed(found)
    st.caption(f"{_several(records, 'sound row')} of {table}, {_several(problems, 'problem')}.")
    if records:
        widgets.table(
            records[:_MOST_SHOWN], key="compare.rows.preview",
            alt="Sound rows of the file",
        )  # fmt: skip
    before = replaced(catalog, found)
    rows = "row that is" if len(before) == 1 else "rows that are"
    _tell_replaced(before, f"It replaces {len(before):,} {rows} there already, before -> after")
    for problem in problems[:20]:
        st.caption(as_text(str(problem)))
    if len(problems) > 20:
        st.caption(f"and {len(problems) - 20:,} more problems.")
    st.button(
        f"Add {_several(records, 'row')}",
        key="compare.rows.import", disabled=not records, icon=":material/add:",
        on_click=lambda: _add(found),
    )  # fmt: skip


def listed(found: Catalog) -> list[Record]:
    """Rows of a catalogue as one table."""
    entries: list[Accelerator | Offer | Tariff]
    entries = [*found.accelerators, *found.offers, *found.tariffs]
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


# -- one's own -------------------------------------------------------------------------------------


def own(catalog: Catalog) -> None:
    """This machine's own rows, and a way to take some out so that shipped ones count again."""
    mine = Catalog(
        accelerators=tuple(a for a in catalog.accelerators if a.origin == "yours"),
        offers=tuple(o for o in catalog.offers if o.origin == "yours"),
        tariffs=tuple(t for t in catalog.tariffs if t.origin == "yours"),
    )
    records = listed(mine)
    if not records:
        where = f" They would lie in {state.folder()}." if permission().allowed else ""
        st.caption(as_text(f"No row is yours yet.{where}"))
        return
    widgets.table(
        records[:_MOST_SHOWN], key="compare.rows.own",
        alt="Rows of your own",
    )  # fmt: skip
    names = [f"{r['Table']}: {r['Row']}" for r in records]
    st.multiselect("Take out", names, key="compare.rows.gone", placeholder="Choose rows")
    st.button(
        "Take these rows out", key="compare.rows.remove", icon=":material/delete:",
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
            count += rows_on_disk.remove_rows(state.folder(), table, ids) if ids else 0
    except OSError as error:
        st.session_state[_WRONG] = [str(error)]
        return
    st.session_state["compare.rows.gone"] = []
    st.session_state[_SAID] = f"{count:,} {'row is' if count == 1 else 'rows are'} taken out."


def _several(found: Sized, what: str) -> str:
    """'1 sound row', '2 sound rows'."""
    return f"{len(found):,} {what}{'' if len(found) == 1 else 's'}"
