"""The set that runs go to, where they come from, and the button that adds them."""

import time
from pathlib import Path
from typing import Final

import streamlit as st

from pages.add_results import question, sets
from pages.add_results.question import AddedFiles, TargetSet, key
from pages.common import widgets
from pages.common.kept import store
from pages.common.link import as_text, plain
from pages.visitor import identity
from pages.visitor.permission import Action, allow, refused
from planner.answers.parameters import ADD_RESULTS
from planner.core import Text, listed_words, message_of, paragraph, plural
from planner.core.slugs import folder_slug
from planner.importers import Preview, SourceError, commit
from planner.runs import RecordError
from planner.store import CommitError, Store
from planner.store.disk.access import ACCESS
from planner.store.visibility import access_of

_NEW: Final = ""


def draw(shared: Store, added: AddedFiles) -> TargetSet:
    """Draw the set and the provenance of the numbers."""
    open_sets = {s.slug: s for s in sets.unofficial(shared) if not s.withdrawn}
    widgets.heading("Result set")
    chosen = st.selectbox(
        "Set", [_NEW, *open_sets], key=key("set"),
        format_func=lambda slug: open_sets[slug].title if slug else "New set",
        help="Imported runs go to unofficial sets only.",
    )  # fmt: skip
    with st.grid(2, min_column_width=280):
        name = "" if chosen else st.text_input(
            ADD_RESULTS["name"].title(), key=key("name"), max_chars=ADD_RESULTS["name"].longest
        )  # fmt: skip
        licence, citation, address = (
            st.text_input(p.title(), key=key(p.name), max_chars=p.longest)
            for p in map(ADD_RESULTS.__getitem__, ("licence", "citation", "url"))
        )  # fmt: skip
    about = {
        "title": plain(name),
        "basis": added.source.basis,
        "licence": plain(licence),
        "source": Text(
            "Imported from {given} ({title})",
            given=plain(added.files.name),
            title=added.source.title,
        ),
        "source_url": plain(address),
        "citation": plain(citation),
    }
    slug = chosen or (folder_slug(plain(name)) if plain(name) else "")
    return TargetSet(
        name=chosen or plain(name),
        slug=slug,
        is_new=not chosen,
        about={n: text for n, text in about.items() if text},
    )


def add(own: Path, added: AddedFiles, target: TargetSet, preview: Preview) -> None:
    """Draw what is missing, or the button that adds the runs."""
    missing = []
    if not target.slug:
        missing.append("the name of the set")
    if any(not row.get("licence") for row in preview.rows):
        missing.append("the licence")
    if not (target.about.get("citation") or target.about.get("source_url")):
        missing.append("a citation or an address")
    if target.is_new and target.slug and _is_taken(own / target.slug):
        st.warning(as_text(_taken(target)))
        return
    if missing:
        st.caption(Text("To add the runs, give {missing}.", missing=listed_words(missing)))
    if not preview.new:
        st.caption("The set already has every run of the file.")
    st.button(
        plural(preview.new, "Add {count:,} run", "Add {count:,} runs"),
        key="add_results.add",
        type="primary",
        icon=":material/add:",
        disabled=bool(missing) or not preview.new,
        on_click=lambda: _added(own, added, target),
    )


def _taken(target: TargetSet) -> str:
    return Text("A set named {slug} exists. Choose it, or another name.", slug=target.slug)


def _is_taken(place: Path) -> bool:
    """Return whether a folder is a set's, or the visitor may not see a set of that name elsewhere.

    One with nothing but groups of the visitor is free.
    """
    if store(identity.viewer).hides(place.name):
        return True
    try:
        names = {p.name for p in place.iterdir() if not p.name.startswith(".")}
    except NotADirectoryError:
        return True
    except FileNotFoundError:
        return False
    access = access_of(place) if names == {ACCESS} else None
    return access is None or not identity.viewer().sees((place.name,), access, time.time())


def _not_open(own: Path, target: TargetSet) -> str:
    """Return why the set of a click may not be added to, as the sets are now; "" if it may."""
    if target.is_new:
        return _taken(target) if _is_taken(own / target.slug) else ""
    listed = {s.slug for s in sets.unofficial(store()) if not s.withdrawn}
    return "" if target.slug in listed else Text("There is no set {slug}.", slug=target.slug)


def _added(own: Path, added: AddedFiles, target: TargetSet) -> None:
    allowed = allow(Action.ADD, target.slug)
    if not allowed.allowed:
        sets.say(allowed.why, wrong=True)
        return
    rows = question.rows_of(added)
    if reason := _not_open(own, target):
        sets.say(reason, wrong=True)
        return
    try:
        if isinstance(rows, SourceError):
            raise rows
        whole = question.rows_for(added, rows, target)
        done = commit(own / target.slug, whole, target.about)
    except (SourceError, RecordError, CommitError) as error:
        why = message_of(error)
        refused(Action.ADD, Text("{set}, refused: {why}", set=target.slug, why=why))
        sets.say(why, wrong=True)
        return
    question.begin_again()
    new = Text("{new:,} runs are added to {target}.", new=done.new, target=target.name)
    sets.say(paragraph(new, done.left_out), opens=target.slug)
