"""Save the view of a page under a name, and the list of all that were saved."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import streamlit as st

from pages.common.addresses import ADDRESSES
from pages.common.kept import ROOT
from pages.common.link import Link, Parameters, as_text, page_link, plain
from pages.common.permission import permission
from planner.answers import saved
from planner.core import Text, message_of, paragraph
from planner.store.disk import views
from planner.store.disk.views import NameTakenError, View, ViewError, Views

_SAID: Final = "saved-views-said"
"""Session key of what the last action did, and whether it failed."""
_TAKEN: Final = "saved-views-taken"
"""Session key of the name that the next click replaces."""
NOT_HERE: Final = "Views can only be saved on the machine that runs this app."


def folder() -> Path:
    """Return the folder of saved views."""
    return views.views_folder(ROOT, os.environ)


_READ: dict[Path, tuple[object, Views]] = {}
_COMPARISON: Final = "comparison:"
"""What the files of saved comparisons begin with, among those of views."""


def all_views() -> Views:
    """Return all saved views and, as views of their page, saved comparisons; newest first.

    Files are read again when one changes.
    """
    place = folder()
    now = views.stamp(place), views.stamp(place.parent)
    before = _READ.get(place)
    if before is None or before[0] != now:
        before = now, _with_comparisons(views.read_all(place), place.parent)
        _READ.clear()
        _READ[place] = before
    return before[1]


def _with_comparisons(found: Views, place: Path) -> Views:
    comparisons, problems = saved.read_all(place)
    also = [
        View(
            name=c.name, page="compare", parameters={"saved": [c.id]}, saved_at=c.saved_at,
            note="with its answer", file=f"{_COMPARISON}{c.id}",
        )
        for c in comparisons
    ]  # fmt: skip
    every = sorted([*found.views, *also], key=lambda v: v.saved_at, reverse=True)
    return replace(found, views=tuple(every), problems=(*found.problems, *problems))


def is_comparison(view: View) -> bool:
    """Return whether a view is a saved comparison: its own page renames and removes it."""
    return view.file.startswith(_COMPARISON)


def open_link(page: str, view: View) -> None:
    """Draw a link from `page` to a view; only text where this version has no such page."""
    address = ADDRESSES.get(view.page)
    if address is None:
        st.caption(
            Text(
                "{view}: this version has no page “{page}”.",
                view=as_text(view.name),
                page=view.page,
            )
        )
        return
    parameters = {name: list(values) for name, values in view.parameters.items()}
    page_link(page, address.script, as_text(view.name), address.symbol, parameters)


def offer(link: Link) -> None:
    """Draw the button that saves the page as it is now."""
    key = f"{link.page}.save-view"
    box = st.popover(
        "Save view", icon=":material/bookmark_add:", key=key, width="content", on_change="rerun"
    )
    if not box.open:
        return
    with box:
        allowed = permission()
        if not allowed.allowed:
            st.caption(
                Text(
                    "{not_here} {why} The link under Share holds the view as well.",
                    not_here=NOT_HERE,
                    why=allowed.why,
                )
            )
            return
        name, note = f"{key}.name", f"{key}.note"
        st.text_input("Name", key=name, max_chars=views.MOST_NAME, placeholder="Offer, autumn")
        st.text_input("Note (optional)", key=note, max_chars=views.MOST_NOTE)
        parameters = link.shared()
        st.button(
            "Save", key=f"{key}.now", type="primary",
            on_click=lambda: _save(link.page, parameters, name, note),
        )  # fmt: skip
        said()


def _save(page: str, parameters: Parameters, name: str, note: str) -> None:
    view = View(
        name=plain(str(st.session_state.get(name) or "")),
        page=page,
        parameters=parameters,
        note=plain(str(st.session_state.get(note) or "")),
        saved_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )
    if not view.name:
        _say("Give the view a name.", wrong=True)
        return
    replaces = st.session_state.pop(_TAKEN, None) == (page, view.name)

    def save() -> str:
        try:
            views.save(folder(), view, replaces=replaces)
        except NameTakenError:
            st.session_state[_TAKEN] = (page, view.name)
            raise NameTakenError(
                Text(
                    "{view} exists. Save again to replace it, or choose another name.",
                    view=view.name,
                )
            ) from None
        return (
            Text("{view} is replaced. It is on the start page.", view=view.name)
            if replaces
            else Text("{view} is saved. It is on the start page.", view=view.name)
        )

    act(save)


def act(what: Callable[[], str]) -> None:
    """Do what a click asks for, if it may; what happened is drawn by `said`."""
    allowed = permission()
    if not allowed.allowed:
        _say(paragraph(NOT_HERE, allowed.why), wrong=True)
        return
    try:
        _say(what())
    except ViewError as error:
        _say(message_of(error), wrong=True)


def _say(text: str, *, wrong: bool = False) -> None:
    st.session_state[_SAID] = (text, wrong)


def said() -> None:
    """Draw what the last action did."""
    text, wrong = st.session_state.pop(_SAID, ("", False))
    if text:
        (st.warning if wrong else st.success)(as_text(text))
