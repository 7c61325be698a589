"""Save the view of a page under a name, and the list of all that were saved."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import streamlit as st

from pages.common.addresses import ADDRESSES
from pages.common.kept import ROOT, still_shown, store
from pages.common.link import Link, Parameters, as_text, page_link, plain
from pages.visitor.permission import Action, allow, permission
from planner.answers import saved
from planner.core import Text, message_of, paragraph
from planner.store.disk import layers as stored
from planner.store.disk import views
from planner.store.disk.views import NameTakenError, View, ViewError, Views

_SAID: Final = "saved-views-said"
"""Session key of what the last action did, and whether it failed."""
_TAKEN: Final = "saved-views-taken"
"""Session key of the name that the next click replaces."""
GONE: Final = "Some results of this page are no longer shown to you, so nothing is saved."
NOT_HERE: Final = "Views can only be saved on the machine that runs this app."


def layers() -> tuple[Path, ...]:
    """Return the folders of saved comparisons that the viewer may read, the one to write first.

    Saved views are in the folder `views` of each. An open shipped set opens no view that
    was saved from a private set of its name: neither may have an id.
    """
    sets = store().sets
    restricted = {s.reference for s in sets if s.access}
    base = views.views_folder(ROOT, os.environ).parent
    shown = {s.reference for s in sets if s.access or s.folder != "shipped"}
    return stored.layers(base, restricted, shown)


def prepared() -> Path:
    """Return the folder to write a comparison to, ready to be written."""
    base = views.views_folder(ROOT, os.environ).parent
    return stored.prepare(base, {s.reference for s in store().sets if s.access})


def folder(which: str = "") -> Path:
    """Return the folder that has the saved view `which`; the one to write for another."""
    for place in layers():
        kept = views.read_all(place / "views") if which else Views()
        if any(v.id == which for v in (*kept.views, *kept.removed)):
            return place / "views"
    return prepared() / "views"


_READ: dict[tuple[Path, ...], tuple[object, Views]] = {}
_MOST_READ: Final = 16
_COMPARISON: Final = "comparison:"
"""What the files of saved comparisons begin with, among those of views."""


def all_views() -> Views:
    """Return all saved views and, as views of their page, saved comparisons; newest first.

    Files are read again when one changes.
    """
    places = layers()
    now = [(views.stamp(place / "views"), views.stamp(place)) for place in places]
    before = _READ.get(places)
    if before is None or before[0] != now:
        layers_of_views = [
            _with_comparisons(views.read_all(place / "views"), place) for place in places
        ]
        before = now, _together(layers_of_views)
        if len(_READ) >= _MOST_READ:
            _READ.clear()
        _READ[places] = before
    return before[1]


def _together(layers_of_views: list[Views]) -> Views:
    """Return the views of several folders; of two with one name the first one's."""
    if len(layers_of_views) == 1:
        return layers_of_views[0]
    every = {v.id: v for each in reversed(layers_of_views) for v in each.views}
    removed = {v.id: v for each in reversed(layers_of_views) for v in each.removed}
    return Views(
        views=tuple(sorted(every.values(), key=lambda v: v.saved_at, reverse=True)),
        removed=tuple(removed.values()),
        problems=tuple(p for each in layers_of_views for p in each.problems),
    )


def _with_comparisons(kept: Views, place: Path) -> Views:
    comparisons, problems = saved.read_all(place)
    also = [
        View(
            name=c.name, page="compare", parameters={"saved": [c.id]}, saved_at=c.saved_at,
            note="with its answer", file=f"{_COMPARISON}{c.id}",
        )
        for c in comparisons
    ]  # fmt: skip
    every = sorted([*kept.views, *also], key=lambda v: v.saved_at, reverse=True)
    return replace(kept, views=tuple(every), problems=(*kept.problems, *problems))


def is_comparison(view: View) -> bool:
    """Return whether a view is a saved comparison: its own page renames and removes it."""
    return view.file.startswith(_COMPARISON)


def open_link(page: str, view: View, label: str = "") -> None:
    """Draw a link from `page` to a view; only text where this version has no such page.

    Without a label it has the name of the view.
    """
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
    page_link(page, address.script, label or as_text(view.name), address.symbol, parameters)


def offer(link: Link) -> None:
    """Draw the button that saves the page as it is now."""
    key = f"{link.page}.save-view"
    box = st.popover(
        "Save view", icon=":material/bookmark_add:", key=key, width="content", on_change="rerun"
    )
    if not box.open:
        return
    with box:
        allowed = permission(Action.SAVE)
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
        parameters, still = link.shared(), still_shown()
        st.button(
            "Save", key=f"{key}.now", type="primary",
            on_click=lambda: _save(link.page, parameters, name, note, still),
        )  # fmt: skip
        said()


def _save(
    page: str, parameters: Parameters, name: str, note: str, still: Callable[[], bool]
) -> None:
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
    if not still():
        _say(GONE, wrong=True)
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

    act(save, view.name)


def act(what: Callable[[], str], about: str = "") -> None:
    """Do what a click asks for, if it may; what happened is drawn by `said`.

    `about` is the name of the view, for the audit log.
    """
    allowed = allow(Action.SAVE, about)
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
