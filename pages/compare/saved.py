"""Comparisons that were saved: keep one, open one, and say what has changed since."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import streamlit as st

from pages.common.link import (
    Link,
    Parameters,
    as_text,
    plain,
)
from pages.common.permission import permission
from pages.common.store import ROOT
from pages.compare.state import Reply, today
from planner.answers import saved
from planner.answers.comparison import ALWAYS, STATED, Saved, changes, made_text, snapshot_of

VIEW: Final = frozenset({"saved", "view", "show", "chart", "baseline", "made"})
_MADE: Final = "compare-made"
_PROBLEM: Final = "compare-saved-problem"
_DONE: Final = "compare-saved-done"
_REPLACE: Final = "compare-saved-replace"
"""The one that the next press replaces."""
_ID: Final = r"[a-z0-9.~\-]{1,80}"


def folder() -> Path:
    """Where saved comparisons lie."""
    return saved.saved_folder(ROOT, os.environ)


def begin(link: Link) -> None:
    """A link that only names a saved comparison opens it, before any widget is drawn.

    The link of an open comparison holds its whole question, since the default options may change.
    """
    name = link.text("saved", _ID)
    if name is None:
        return
    link.pin(*ALWAYS)
    given = {n: v for n, v in link.given.items() if n not in VIEW}
    if "options" in given or st.session_state.get("compare-opened") == name:
        return
    found = saved.read(folder(), name)
    if isinstance(found, Saved) and all(found.parameters.get(n) == v for n, v in given.items()):
        _open(link, found)
        link.text("saved", _ID)


def _open(link: Link, found: Saved) -> None:
    view = {n: v for n, v in link.given.items() if n in VIEW}
    link.adopt({**found.parameters, **view, "saved": [found.id]})
    st.session_state["compare-opened"] = found.id


def offer(link: Link, reply: Reply) -> None:
    """Save under a name; only from this machine."""
    parameters = question(link)
    box = st.popover("Save", icon=":material/bookmark_add:", key="compare.save", width="content",
                     on_change="rerun")  # fmt: skip
    if not box.open:
        return
    with box:
        allowed = permission()
        if not allowed.allowed:
            st.caption(
                "Comparisons are saved on the machine this app runs on, by whoever sits at it. "
                f"{allowed.why} The link under Share holds the whole question as well."
            )
            return
        st.text_input(
            "Name", key="compare.save.name", max_chars=saved.MOST_NAME,
            placeholder="Offer for Tanaka, autumn",
        )  # fmt: skip
        st.button(
            "Save this comparison", key="compare.save.now", type="primary",
            on_click=lambda: _save(link, reply, parameters),
        )  # fmt: skip
        if problem := st.session_state.pop(_PROBLEM, ""):
            st.warning(as_text(problem))
        if done := st.session_state.pop(_DONE, ""):
            st.success(as_text(done))


def question(link: Link) -> Parameters:
    """What is asked, written out, so that it stays the same when the usual options change."""
    return {n: v for n, v in link.parameters(*ALWAYS).items() if n not in VIEW}


def state(link: Link, reply: Reply) -> None:
    """Write the question into the link to share, with the runs and prices it was made with."""
    comparison, job = reply.answered.comparison, reply.facts.job
    made = made_text(comparison, job, today()) if comparison is not None else ""
    rate = {}
    if reply.display.source:  # the bundled rate changes with its package, the link must not
        rate = {
            "rate": f"{reply.display.per_usd:g}",
            "rate_as_of": f"{reply.display.as_of}",
        }
    precision = job.precision if job.described else ""  # the usual one, where none was chosen
    link.state(*STATED, made=made, precision=precision, **rate)


def made(link: Link) -> None:
    """Take in what a link was made with; forget it once the question has been changed."""
    text, now = link.text("made", r".{1,40}"), question(link)
    if text is None:
        return
    before = st.session_state.setdefault(_MADE, (text, now))
    if before[0] != text:
        st.session_state[_MADE] = (text, now)
    elif not same(before[1], now):
        link.forget_now("made")


def _save(link: Link, reply: Reply, parameters: Parameters) -> None:
    name = plain(str(st.session_state.get("compare.save.name") or ""))[: saved.MOST_NAME]
    if not permission().allowed:
        return
    if not name:
        st.session_state[_PROBLEM] = "Give it a name."
        return
    kept = Saved(
        name=name,
        saved_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        parameters=parameters,
        snapshot=snapshot_of(reply.answered.comparison, reply.facts.job),
        file=saved.id_for(folder(), name),
    )
    again = isinstance(saved.read(folder(), kept.id), Saved)
    if again and st.session_state.get(_REPLACE) != kept.id:
        st.session_state[_REPLACE] = kept.id
        st.session_state[_PROBLEM] = (
            f"{name} is saved already. Save it once more to replace it, or choose another name."
        )
        return
    st.session_state[_REPLACE] = None
    try:
        saved.save(folder(), kept)
    except OSError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    st.session_state[_DONE] = f"{name} is saved{', in place of the one before' if again else ''}."
    st.session_state["compare-opened"] = kept.id
    link.put("saved", kept.id)


def draw(link: Link) -> None:
    """The list of saved comparisons; one that is chosen is opened."""
    known, problems = saved.read_all(folder())
    now = st.session_state.get(link.key("saved"))
    if now and all(s.id != now for s in known):
        problems = [*problems, *([w] if isinstance(w := saved.read(folder(), now), str) else [])]
    if not known and not problems:
        return
    box = st.popover("Saved comparisons", icon=":material/bookmarks:", key="compare.open",
                     on_change="rerun")  # fmt: skip
    if not box.open:
        return
    with box:
        names = {s.id: s for s in known}
        if known:
            st.selectbox(
                "Open",
                list(names),
                index=None,
                key="compare.open.which",
                placeholder=f"{len(known):,} saved",
                format_func=lambda i: f"{names[i].name} · {names[i].saved_at[:10]}",
                on_change=lambda: _chosen(link, names),
            )
        if now in names and permission().allowed:
            st.button(
                f"Remove {as_text(names[now].name)}", key="compare.open.remove",
                icon=":material/delete:", on_click=lambda: _remove(link, now),
            )  # fmt: skip
        for problem in dict.fromkeys(problems):
            st.caption(as_text(problem))


def _chosen(link: Link, names: dict[str, Saved]) -> None:
    which = st.session_state.get("compare.open.which")
    if which in names:
        _open(link, names[which])
        st.session_state["compare.open.which"] = None


def _remove(link: Link, which: str) -> None:
    if permission().allowed:
        try:
            saved.remove(folder(), which)
        except OSError as error:
            st.session_state[_PROBLEM] = str(error)
        link.forget_now("saved")


def since(link: Link, reply: Reply | None) -> None:
    """What has changed since the open comparison was saved, in words."""
    now = st.session_state.get(link.key("saved"))
    if not now:
        return
    found = saved.read(folder(), now)
    if isinstance(found, str):
        st.warning(as_text(found), icon=":material/bookmark:")
        return
    title = f"{found.name}, saved on {found.saved_at[:10]}"
    if not same(found.parameters, question(link)):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(as_text(f"{title}: the question has been changed since it was opened."))
            st.button(
                "As it was saved", key="compare.open.again", icon=":material/undo:",
                on_click=lambda: _open(link, found),
            )  # fmt: skip
        return
    lines: list[str] = []
    if reply is not None:
        now_known = snapshot_of(reply.answered.comparison, reply.facts.job)
        lines = changes(found.snapshot, now_known, reply.display)
    if not lines:
        st.caption(as_text(f"{title}. Nothing has changed since: prices, runs and numbers agree."))
        return
    told_lines = "\n".join(f"- {as_text(line)}" for line in lines)
    st.info(f"**{as_text(title)}.** Changed since:\n{told_lines}", icon=":material/update:")


def same(before: Parameters | object, now: Parameters) -> bool:
    """Whether two questions are one, whatever the order of their parts."""
    return isinstance(before, dict) and {n: list(v) for n, v in before.items()} == now
