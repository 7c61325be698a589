"""The saved views of Explore: open, rename, remove, restore, download and load them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from pages.common import narrow, saving, widgets
from pages.common.addresses import ADDRESSES
from pages.common.link import Link, as_text, plain
from pages.visitor.permission import Action, permission
from pages.visitor.sending import accept_files
from planner import figures
from planner.core import Text, paragraph
from planner.store import Store
from planner.store.disk import views
from planner.store.disk.views import NameTakenError, View

PARAMETERS: Final = ("saved",)
"""Parameters of the link that this view reads; other views keep them."""
_ID: Final = r"[a-z0-9.:~\-]{1,120}"
_FILE: Final = "epochwise-views.json"


def show(link: Link, shared: Store) -> None:
    """Draw the view."""
    del shared
    all_views = saving.all_views()
    chosen = _chosen(link, all_views.views)
    link.write()
    link.warn()
    saving.said()
    if all_views.views:
        _table(link, all_views.views)
    else:
        widgets.heading("No view is saved yet.")
        st.caption("Save view, beside Share on every page, keeps a page under a name.")
    if chosen is not None:
        _card(link, chosen)
    with widgets.actions():
        _load(link)
        if own := [v for v in all_views.views if not saving.is_comparison(v)]:
            widgets.download(
                "Download all", lambda: views.file_of(own), _FILE, key="explore.views.all",
                width="content",
            )  # fmt: skip
        _removed(all_views.removed)
    for problem in all_views.problems:
        st.caption(as_text(problem))
    if not (allowed := permission(Action.SAVE)).allowed:
        st.caption(paragraph(saving.NOT_HERE, allowed.why))


def _chosen(link: Link, every: tuple[View, ...]) -> View | None:
    """Return the view of the link, by default the newest."""
    which = link.text("saved", _ID)
    view = next((v for v in every if v.id == which), None)
    if which and view is None:
        link.problems.append(Text("saved: no view is saved as “{which}”.", which=as_text(which)))
        link.forget_now("saved")
    return view or next(iter(every), None)


def _table(link: Link, every: tuple[View, ...]) -> None:
    ids = [view.id for view in every]

    def opened() -> None:
        chosen = st.session_state["explore.views.table"].selection.rows
        if chosen:
            st.session_state[link.key("saved")] = ids[chosen[0]]

    rows: list[dict[str, str | None]] = [
        {
            "name": view.name,
            "page": ADDRESSES[view.page].title if view.page in ADDRESSES else view.page,
            "note": view.note or None,
            "saved": view.saved_at[:10],
        }
        for view in every
    ]
    table = widgets.columns_of(rows)
    config = {
        "name": st.column_config.TextColumn("Name", width="large"),
        "page": st.column_config.TextColumn("Page"),
        "note": st.column_config.TextColumn("Note"),
        "saved": st.column_config.TextColumn("Saved"),
    }
    first = narrow.first_cards("explore.views", len(rows))
    made = [
        figures.Card(
            title=view.name,
            values=((row["page"] or "", ""), (row["saved"] or "", "saved")),
            note=view.note,
            link=link.address("saved", view.id),
        )
        for view, row in zip(every[:first], rows[:first], strict=True)
    ]
    with narrow.beside_cards("explore.views", made, len(rows)):
        st.dataframe(
            table,
            hide_index=True,
            placeholder="–",
            key="explore.views.table",
            alt="Saved views",
            on_select=opened,
            selection_mode="single-row",
            height="content" if len(every) <= 10 else 388,
            column_config=config,
        )
        widgets.as_text_table(table, "Saved views", config)


def _card(link: Link, view: View) -> None:
    """Draw one view: its link, and what can be done with it."""
    with st.container(border=True):
        saving.open_link(link.page, view, Text("**Open {name}**", name=as_text(view.name)))
        st.caption(as_text(" · ".join(filter(None, (view.saved_at[:10], view.note)))))
        if saving.is_comparison(view):
            st.caption("Compare hardware renames and removes it.")
            return
        with widgets.actions():
            widgets.download(
                "Download", lambda: views.file_of([view]), f"{view.id}.json",
                key="explore.views.download", width="content",
            )  # fmt: skip
            if not permission(Action.SAVE).allowed:
                return
            _rename(link, view)
            st.button(
                "Remove", key="explore.views.remove", icon=":material/delete:",
                on_click=lambda: saving.act(lambda: _remove(link, view), view.name),
            )  # fmt: skip


def _rename(link: Link, view: View) -> None:
    box = widgets.popover("Rename", "edit", "explore.views.rename")
    if not box.open:
        return
    name, note = f"explore.views.name.{view.id}", f"explore.views.note.{view.id}"
    with box:
        st.text_input("Name", view.name, key=name, max_chars=views.MOST_NAME)
        st.text_input("Note", view.note, key=note, max_chars=views.MOST_NOTE)

        def renamed() -> str:
            new = plain(str(st.session_state.get(name) or ""))
            after = views.rename(
                saving.folder(view.id), view.id, new, plain(str(st.session_state.get(note) or ""))
            )
            link.put("saved", after.id)
            return Text("{after} is saved.", after=after.name)

        st.button(
            "Save", key="explore.views.renamed", type="primary",
            on_click=lambda: saving.act(renamed, view.name),
        )  # fmt: skip


def _remove(link: Link, view: View) -> str:
    views.remove(saving.folder(view.id), view.id)
    link.forget_now("saved")
    return Text("{view} is removed. Removed views can be restored.", view=view.name)


def _removed(removed: tuple[View, ...]) -> None:
    """Draw the removed views, each with a button that restores it."""
    if not removed or not permission(Action.SAVE).allowed:
        return
    box = widgets.popover(f"Removed ({len(removed):,})", "restore_from_trash", "explore.views.bin")
    if not box.open:
        return
    with box:
        for view in removed[:20]:
            st.button(
                f"Restore {as_text(view.name)}", key=f"explore.views.restore.{view.id}",
                icon=":material/undo:", type="tertiary",
                on_click=lambda view=view: saving.act(lambda: _restored(view), view.name),
            )  # fmt: skip


def _restored(view: View) -> str:
    views.restore(saving.folder(view.id), view.id)
    return Text("{view} is restored.", view=view.name)


def _load(link: Link) -> None:
    """Draw the field for a file with views; only on this machine."""
    if not permission(Action.SAVE).allowed:
        return
    box = widgets.popover("Open a file", "folder_open", "explore.views.load")
    if not box.open:
        return
    with box:
        turn = int(st.session_state.get("explore.views.turn", 0))
        accept_files()
        file = st.file_uploader(
            "A file of saved views (JSON)", type="json", key=f"explore.views.file.{turn}",
            max_upload_size=1,
        )  # fmt: skip
        if file is not None:
            data = file.getvalue()
            st.button(
                "Save these views", key="explore.views.take", type="primary",
                on_click=lambda: saving.act(lambda: _taken(link, data)),
            )  # fmt: skip


def _taken(link: Link, data: bytes) -> str:
    """Save the views of a file under their names, or numbered where a name is taken."""
    taken: list[str] = []
    for view in views.views_of(data):
        saved = _saved_under_a_free_name(view)
        link.put("saved", saved.id)
        taken.append(saved.name)
    st.session_state["explore.views.turn"] = st.session_state.get("explore.views.turn", 0) + 1
    return Text("Saved: {taken}.", taken=", ".join(taken))


def _saved_under_a_free_name(view: View) -> View:
    for number in range(1, views.MOST_VIEWS + 2):
        end = "" if number == 1 else f" ({number})"
        numbered = replace(view, name=f"{view.name[: views.MOST_NAME - len(end)]}{end}")
        try:
            views.save(saving.folder(), numbered)
        except NameTakenError:
            continue
        return numbered
    raise NameTakenError(Text("{view} exists too often. Rename one.", view=view.name))
