"""For administrators: who sees each set, share links, tokens and the audit log."""

import math
import os
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, get_args

import streamlit as st

from pages.add_results import sets
from pages.common import narrow, widgets
from pages.common.link import as_text
from pages.visitor.permission import Action, allow, permission
from planner.answers.parameters import ADD_RESULTS, SHARE_DAYS
from planner.core import Text, csv_text
from planner.core.parameters import bounds
from planner.core.slugs import UNOFFICIAL
from planner.report import public_url
from planner.store import Store
from planner.store.disk.access import Access, stamp_text
from planner.store.disk.audit import AuditEntry, audit_folder, entries
from planner.store.disk.secrets import ANY_SET, PARAMETER, SHARES, TOKENS
from planner.store.disk.team import team_folder
from planner.store.visibility import (
    Seen,
    VisibilityError,
    Visible,
    about,
    access_from,
    change,
    seen_by,
    visible_sets,
)

MOST_ENTRIES: Final = 200
"""Entries of the audit log that are shown, the newest."""
_KEY: Final = "add_results.access"
_LINK: Final = "add-results-share-link"
"""Session key of the address of a new share link: it is shown once."""
_PARTS: Final = ("Sets", "Share links", "Tokens", "Audit log")


def draw(shared: Store) -> None:
    """Draw the folded box; nothing for those who may change nothing in it."""
    if not permission(Action.ACCESS).allowed:
        return
    box = widgets.folded("Who sees each set", "lock", _KEY)
    if not box.open:
        return
    with box:
        part = st.segmented_control(
            "Part", _PARTS, default=_PARTS[0], key=f"{_KEY}.part", required=True,
            label_visibility="collapsed",
        )  # fmt: skip
        parts: dict[str, Callable[[], None]] = {
            "Sets": lambda: _sets(shared), "Share links": lambda: _links(shared),
            "Tokens": _tokens, "Audit log": _log,
        }  # fmt: skip
        try:
            parts[part or _PARTS[0]]()
        except OSError as error:
            st.warning(as_text(Text("This cannot be read: {why}.", why=error.strerror or error)))


# -- sets ------------------------------------------------------------------------------------------


def _sets(shared: Store) -> None:
    by_slug = {s.slug: s for s in visible_sets(shared.folders)}
    now_s = time.time()
    narrow.table(
        [{"Set": s.slug, "Seen by": seen_by(s.access, now_s)} for s in by_slug.values()],
        key=f"{_KEY}.sets", alt="Sets, and who sees each",
    )  # fmt: skip
    chosen = st.selectbox("Set", list(by_slug), index=None, key=f"{_KEY}.set", placeholder="–")
    if chosen is not None:
        _change(shared, by_slug[chosen])


def _change(shared: Store, of: Visible) -> None:
    """Draw the fields of one set, filled with what holds now."""
    kinds = get_args(Seen)
    now = "everyone" if of.access is None else "groups" if of.access.until is None else "embargo"
    groups = sorted(of.access.groups) if of.access else []
    names = {"everyone": "Everyone", "groups": "Groups", "embargo": "Groups, everyone from a day"}
    key = f"{_KEY}.{of.slug}"
    seen: Seen = st.radio(
        "Seen by", kinds, index=kinds.index(now), key=f"{key}.seen", horizontal=True,
        format_func=lambda kind: names[kind],
    )  # fmt: skip
    named, until = "", None
    if seen != "everyone":
        named = st.text_input(
            "Groups and addresses, with commas", ", ".join(groups), key=f"{key}.groups",
            help="Administrators see every set",
        )  # fmt: skip
    if seen == "embargo":
        until = st.date_input("Everyone from (UTC)", _first_day(of.access), key=f"{key}.until")
    st.button(
        "Save", key=f"{_KEY}.save", icon=":material/lock:",
        on_click=lambda: _save(shared, of.slug, seen, named, until),
    )  # fmt: skip


def _first_day(access: Access | None) -> date | None:
    if access is None or access.until is None:
        return None
    return datetime.fromtimestamp(access.until, UTC).date()


def _save(shared: Store, slug: str, seen: Seen, named: str, until: object) -> None:
    groups = [name for part in named.split(",") if (name := part.strip())]
    last = until.isoformat() if isinstance(until, date) else ""
    wrong = "Choose the day from which everyone sees it." if seen == "embargo" and not last else ""
    try:
        access = access_from(slug, groups, last, is_open=seen == "everyone")
    except VisibilityError as error:
        access, wrong = None, str(error)

    def save() -> None:
        change(shared.folders, slug, access)

    now = seen_by(access, time.time())
    _act(about(slug, access), save, Text("{slug}: seen by {who}.", slug=slug, who=now), wrong)


# -- share links -----------------------------------------------------------------------------------


def _links(shared: Store) -> None:
    links, now_s = SHARES.all(_links_folder()), time.time()
    narrow.table(
        [
            {
                "Id": s.id, "Set": s.slug, "Made": stamp_text(s.created_at)[:10],
                "State": s.state(now_s),
            }
            for s in links
        ],
        key=f"{_KEY}.links", alt="Share links",
    )  # fmt: skip
    if made := st.session_state.pop(_LINK, ""):
        st.caption("Whoever has the link sees the set. It is not shown again.")
        st.code(made, language=None, wrap_lines=True)
    restricted = [s.slug for s in visible_sets(shared.folders) if s.access is not None]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        slug = st.selectbox(
            "Restricted set",
            restricted,
            index=None,
            key=f"{_KEY}.share",
            placeholder="–",
            width=320,
        )
        days = ADD_RESULTS["days"]
        until = st.number_input(
            days.title(), *bounds(days), SHARE_DAYS, key=f"{_KEY}.days", width=160
        )
        st.button(
            "Make a link", key=f"{_KEY}.make", icon=":material/add_link:", disabled=slug is None,
            on_click=lambda: _share(shared, str(slug), float(until)),
        )  # fmt: skip
    usable = [s.id for s in links if s.usable(now_s)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        gone = st.selectbox(
            "Link to revoke", usable, index=None, key=f"{_KEY}.link", placeholder="–", width=320
        )
        st.button(
            "Revoke", key=f"{_KEY}.revoke", icon=":material/link_off:", disabled=gone is None,
            on_click=lambda: _unshare(str(gone)),
        )  # fmt: skip


def _share(shared: Store, slug: str, days: float) -> None:
    until = days if days > 0 and math.isfinite(days) else None

    def make() -> None:
        secret = SHARES.create(_links_folder(), slug=slug, sets=restricted[slug], days=until)
        base = public_url(os.environ) or str(st.context.url or "").rsplit("/", 1)[0]
        st.session_state[_LINK] = f"{base}/results?{PARAMETER}={secret}"

    restricted = {
        s.slug: s.references for s in visible_sets(shared.folders) if s.access is not None
    }
    wrong = "" if slug in restricted else Text("{slug} is not restricted.", slug=slug)
    _act(Text("share link of {slug}", slug=slug), make, "The link is made.", wrong)


def _unshare(link: str) -> None:
    about_it, done = Text("revoke share link {id}", id=link), Text("{id} is revoked.", id=link)
    _act(about_it, lambda: SHARES.revoke(_links_folder(), link), done)


def _links_folder() -> Path:
    return SHARES.folder(team_folder(os.environ))


# -- tokens and the log ----------------------------------------------------------------------------


def _tokens() -> None:
    now_s = time.time()
    rows = [
        {
            "Id": t.id, "Name": t.name, "Owner": t.owner or None,
            "Adds to": ", ".join("any set" if s == ANY_SET else s for s in t.sets) or None,
            "New sets": ("official" if t.official else UNOFFICIAL) if t.sets else None,
            "Reads groups": ", ".join(t.groups) or None, "Made": stamp_text(t.created_at)[:10],
            "State": t.state(now_s),
        }
        for t in TOKENS.all(TOKENS.folder(team_folder(os.environ)))
    ]  # fmt: skip
    narrow.table(rows, key=f"{_KEY}.tokens", alt="Tokens of programs")
    st.caption("`python -m planner token` makes and revokes them on the server.")


def _log() -> None:
    logged = list(entries(audit_folder(team_folder(os.environ)), MOST_ENTRIES))
    if changed := [name for name in logged if isinstance(name, str)]:
        text = Text("Changed after they were written: {names}.", names=", ".join(changed))
        st.warning(as_text(text), icon=":material/warning:")
    rows = [_line(each) for each in reversed(logged) if isinstance(each, AuditEntry)]
    narrow.table(rows, key=f"{_KEY}.log", alt="The newest entries of the audit log")
    st.caption(Text("The newest {most:,}. `python -m planner audit` has all.", most=MOST_ENTRIES))
    widgets.download(
        "CSV", lambda: csv_text(rows), "epochwise-audit.csv", key=f"{_KEY}.csv", width="content"
    )


def _line(entry: AuditEntry) -> dict[str, str | None]:
    return {
        "Time": entry.at, "Who": entry.who, "Role": entry.role, "Via": entry.via,
        "What": entry.what, "About": entry.about or None,
        "Result": "allowed" if entry.allowed else "refused",
    }  # fmt: skip


def _act(about_it: str, what: Callable[[], object], text: str, wrong: str = "") -> None:
    """Do what a click asks for, where the role allows it and the words are right."""
    if wrong:
        sets.say(wrong, wrong=True)
        return
    allowed = allow(Action.ACCESS, about_it)
    if not allowed.allowed:
        sets.say(allowed.why, wrong=True)
        return
    try:
        what()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        sets.say(Text("Nothing is changed: {why}.", why=why), wrong=True)
    else:
        sets.say(text)
