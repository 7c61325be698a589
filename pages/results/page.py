"""Results: all runs with filters, and one run with its epochs and provenance."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import pyarrow as pa
import streamlit as st

from pages.common import hardware, kept, narrow, widgets
from pages.common.kept import store
from pages.common.link import Link, as_text
from pages.common.run_filters import TITLES
from pages.results import filters as run_filters
from pages.results import one_run, table
from pages.results.filters import Chosen
from pages.visitor.permission import Action, permission
from planner.answers.parameters import MOST_RUNS_SHOWN
from planner.core import Text, csv_text, slug
from planner.store import Store, exchange, queries
from planner.suspects import ANY

RUN_ID = r"[0-9a-f]{32}"
_PAGE: Final = "results.page"


MOST_LISTED: Final = 500
"""Most refused files and result sets that are listed."""
LONGEST_CELL: Final = 300
"""Most characters of a text in a cell."""


def show() -> None:
    """Draw the list, or the run of the link."""
    link = Link("results")
    shared = store()
    st.title("Results")
    run_id = link.text("run", RUN_ID)
    run = queries.run(shared, run_id) if run_id else None
    if run is not None:
        table.left()
        link.keep(*TITLES, "columns", "runs")
        link.ignore("limit", "cursor")
        link.write()
        link.warn()
        one_run.draw(link, shared, run)
        return
    if run_id:
        link.problems.append("run: this link's run is not in any result folder.")
        link.forget_now("run")
    chosen = run_filters.draw(link, shared)
    if runs := link.texts("runs", MOST_RUNS_SHOWN):
        chosen.filters["only"] = sorted({*runs} & {*chosen.filters.get("only", runs)})
        chosen = replace(chosen, suspects=chosen.suspects & {*runs})
    link.write()
    link.warn()
    with table.watched():
        _list(link, shared, chosen)
        _refused(shared)
        _sets(shared)


def _list(link: Link, shared: Store, chosen: Chosen) -> None:
    filters = chosen.filters
    total, shown = kept.totals(shared).runs, kept.count(shared, filters)
    if not shown:
        link.hold("columns")
        _none_left(link, chosen, total)
        return
    at, catalog = _page(shown), hardware.catalog().catalog
    runs, key = kept.listed(
        shared, filters, (at - 1) * queries.MOST_ROWS, catalog, hardware.stamps()
    )
    suspects = len(chosen.suspects)
    suspect = f", {suspects:,} suspect" if suspects else ""
    counted = Text(
        "{shown:,} of {total:,} runs{suspect}", shown=shown, total=total, suspect=suspect
    )
    with st.container(border=True):
        with widgets.spread():
            with st.container(horizontal=True, width="content", vertical_alignment="center"):
                widgets.heading(f"{counted}", width="content")
                if 0 < suspects < shown:
                    st.button(
                        "Only suspect runs", key="results.only_suspect", type="tertiary",
                        icon=":material/flag:", on_click=lambda: link.put("suspect", [slug(ANY)]),
                    )  # fmt: skip
            with st.container(horizontal=True, width="content"):
                most = min(shown, queries.MOST_FILE)
                every = lambda: kept.every_listed(shared, filters, most, catalog)  # noqa: E731
                _downloads(link, every, counted)
        table.draw(link, runs, key)
        if shown > queries.MOST_ROWS:
            _turn(at, runs.num_rows, shown)
        if kept.suspects(shared).cut_short:
            st.caption(
                Text(
                    "Only the newest {most_checked:,} runs with times are checked for suspects.",
                    most_checked=queries.MOST_CHECKED,
                )
            )


def _page(shown: int) -> int:
    """Return the current page of the table, from 1; reset to 1 where there are fewer pages."""
    if st.session_state.get(_PAGE, 1) > _pages(shown):
        st.session_state[_PAGE] = 1
    return int(st.session_state.get(_PAGE, 1))


def _pages(shown: int) -> int:
    return -(-min(shown, queries.MOST_FILE) // queries.MOST_ROWS)


def _turn(at: int, rows: int, shown: int) -> None:
    """Draw the range of the rows, and the field for another page."""
    first = (at - 1) * queries.MOST_ROWS + 1
    rest = (
        "The downloads contain all."
        if shown <= queries.MOST_FILE
        else Text(
            "Pages and downloads end at {most:,} runs. Filter to see others.",
            most=queries.MOST_FILE,
        )
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.number_input(
            "Page", 1, _pages(shown), at, key=_PAGE, width=120, label_visibility="collapsed"
        )
        st.caption(
            Text(
                "Page {at:,} of {pages:,}. Runs {first:,} to {last:,} of {shown:,}. {rest}",
                at=at,
                pages=_pages(shown),
                first=first,
                last=first + rows - 1,
                shown=shown,
                rest=rest,
            )
        )


def _none_left(link: Link, chosen: Chosen, total: int) -> None:
    if not total:
        widgets.no_run("results")
        return
    active = ", ".join(TITLES[f] for f, v in chosen.by_facet.items() if v) or "runs"
    widgets.nothing(
        "No run to show.",
        Text("The filters on {active} leave none of {total:,} runs.", active=active, total=total),
        "Clear all filters",
        lambda: link.forget(*TITLES, "runs"),
        key="results.clear",
    )


def _downloads(link: Link, every: Callable[[], pa.Table], sentence: str) -> None:
    """Draw share, CSV and parquet of all filtered runs, not only those of the page."""
    widgets.share(link, sentence, "content")
    widgets.download(
        "CSV",
        lambda: csv_text(every().to_pylist()),
        "epochwise-runs.csv",
        key="results.csv",
        width="content",
    )
    widgets.download(
        "Parquet",
        lambda: queries.table_file(every()),
        "epochwise-runs.parquet",
        key="results.parquet",
        width="content",
    )


def _refused(shared: Store) -> None:
    refused = shared.refused
    with st.expander(
        Text("Refused files ({refused:,})", refused=len(refused)),
        icon=":material/block:",
        expanded=bool(refused),
    ):
        if not refused:
            st.caption(
                "None. Every file is verified by its hash; a file that fails is listed here with "
                "the reason."
            )
            return
        listed = refused[:MOST_LISTED]
        if len(refused) > MOST_LISTED:
            st.caption(
                Text(
                    "The first {most_listed:,}; `planner.store verify` lists all.",
                    most_listed=MOST_LISTED,
                )
            )
        narrow.table(
            [
                {
                    "File": _within(r.path, shared),
                    "Folder": r.folder,
                    "Why": _without_paths(r.reason, shared),
                }
                for r in listed
            ],
            key="results.refused",
            alt="Files that are not shown, with the reason",
        )


def _sets(shared: Store) -> None:
    box = widgets.folded(
        Text("Result sets ({sets:,})", sets=len(shared.sets)), "folder_open", "results.sets_box"
    )
    if not box.open:
        return
    with box:
        rows = [
            {
                "Title": _cell(s.title),
                "About": _cell(s.about),
                "Basis": _cell(s.basis),
                "State": f"withdrawn {s.withdrawn}" if s.withdrawn else s.standing or "shown",
                "Licence": _cell(s.licence),
                "Citation": _cell(s.citation or s.source),
                "Author": _cell(s.author),
                "Folder": s.folder,
                "Slug": s.slug,
            }
            for s in shared.sets[:MOST_LISTED]
        ]
        if len(shared.sets) > MOST_LISTED:
            st.caption(Text("The first {most_listed:,} sets.", most_listed=MOST_LISTED))
        narrow.table(rows, key="results.sets", alt="All result sets")
        _export(shared)
        may = permission(Action.MEASURE).allowed  # paths only for the owner
        further = [f for f in shared.folders if f.kind != "shipped"]
        where = ", ".join(f"{f.label}: {f.path}" if may else f.label for f in further)
        st.caption(as_text(Text("Folders read besides the shipped one: {where}.", where=where)))


def _export(shared: Store) -> None:
    sets = {f"{s.folder}/{s.slug}": s for s in shared.sets if not s.withdrawn}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Set to download", list(sets), index=None, key="results.export", width=320,
            format_func=lambda name: sets[name].title, placeholder="–",
        )  # fmt: skip
        if chosen is None:
            return
        of = sets[chosen]
        for label, make in (("Zip", exchange.set_zip), ("mllog", exchange.mllog_zip)):
            name = f"epochwise-{of.slug}{'-mllog' if label == 'mllog' else ''}.zip"
            widgets.download(
                label, partial(make, shared, of), name, key=f"results.{label}", width="content"
            )


def _cell(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]} ..."


def _without_paths(reason: str, shared: Store) -> str:
    for folder in sorted(shared.folders, key=lambda f: -len(str(f.path))):
        reason = reason.replace(str(folder.path), folder.label)
    return reason


def _within(path: str, shared: Store) -> str:
    """Return a file's path inside its folder: visitors do not see the folder's path."""
    for folder in shared.folders:
        if path.startswith(f"{folder.path}/"):
            return path.removeprefix(f"{folder.path}/")
    return path.rsplit("/", 1)[-1]


if __name__ == "__main__":
    show()
