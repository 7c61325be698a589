"""Saved comparisons: save one, open one, and show what has changed since."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import streamlit as st

from pages.common import saving
from pages.common.kept import still_shown
from pages.common.link import (
    Link,
    Parameters,
    as_text,
    plain,
)
from pages.compare.state import CompareReply, drawn, today
from pages.visitor.permission import Action, allow, permission
from planner.answers import saved
from planner.answers.comparison import ALWAYS, STATED, Saved, changes, made_text, snapshot_of
from planner.core import Text, message_of

VIEW: Final = frozenset({"saved", "view", "show", "chart", "baseline", "made"})
_MADE: Final = "compare-made"
_PROBLEM: Final = "compare-saved-problem"
_DONE: Final = "compare-saved-done"
_REPLACE: Final = "compare-saved-replace"
"""Session key of the comparison that the next click replaces."""
_ID: Final = r"[a-z0-9.~\-]{1,80}"


def folder(which: str = "") -> Path:
    """Return the folder that has the comparison `which`; the one to write for another."""
    places = saving.layers()
    return next((p for p in places if isinstance(saved.read(p, which), Saved)), places[0])


def read(which: str) -> Saved | str:
    """Return a comparison that the viewer may see, or a sentence why it cannot be opened."""
    return saved.read(folder(which), which)


def read_all() -> tuple[list[Saved], list[str]]:
    """Return the comparisons that the viewer may see, newest first, and sentences of problems."""
    layers = [saved.read_all(place) for place in reversed(saving.layers())]
    every = {c.id: c for comparisons, _ in layers for c in comparisons}
    problems = [p for _, sentences in layers for p in sentences]
    return sorted(every.values(), key=lambda c: c.saved_at, reverse=True), problems


def begin(link: Link) -> None:
    """Open the saved comparison of a link that names one, before any widget is drawn.

    The link of an open comparison holds its whole question, since the default options may change.
    """
    name = link.text("saved", _ID)
    if name is None:
        return
    link.pin(*ALWAYS)
    parameters = {n: v for n, v in link.initial.items() if n not in VIEW}
    if "options" in parameters or st.session_state.get("compare-opened") == name:
        return
    comparison = read(name)
    if isinstance(comparison, Saved) and all(
        comparison.parameters.get(n) == v for n, v in parameters.items()
    ):
        _open(link, comparison)
        link.text("saved", _ID)


def _open(link: Link, kept: Saved) -> None:
    view = {n: v for n, v in link.initial.items() if n in VIEW}
    link.adopt({**kept.parameters, **view, "saved": [kept.id]})
    st.session_state["compare-opened"] = kept.id


def offer(link: Link, reply: CompareReply) -> None:
    """Draw the button to save a comparison; only on this machine."""
    box = st.popover("Save", icon=":material/bookmark_add:", key="compare.save", width="content",
                     on_change="rerun")  # fmt: skip
    if not box.open:
        return
    parameters, still = question(link), still_shown()
    with box:
        allowed = permission(Action.SAVE)
        if not allowed.allowed:
            st.caption(
                Text(
                    "Comparisons can only be saved on the machine that runs this app. "
                    "{why} The link under Share holds the whole question as well.",
                    why=allowed.why,
                )
            )
            return
        st.text_input(
            "Name", key="compare.save.name", max_chars=saved.MOST_NAME,
            placeholder="Offer for Tanaka, autumn",
        )  # fmt: skip
        st.button(
            "Save this comparison", key="compare.save.now", type="primary",
            on_click=lambda: _save(link, reply, parameters, still),
        )  # fmt: skip
        if problem := st.session_state.pop(_PROBLEM, ""):
            st.warning(as_text(problem))
        if done := st.session_state.pop(_DONE, ""):
            st.success(as_text(done))


def question(link: Link) -> Parameters:
    """Return the question with its defaults written out, so that it stays the same."""
    return {n: v for n, v in link.parameters(*ALWAYS).items() if n not in VIEW}


def state(link: Link, reply: CompareReply) -> None:
    """Write the question into the link to share, with a fingerprint of its runs and prices."""
    comparison, job = reply.answered.comparison, reply.facts.job
    day, made = today(), ""
    if comparison is not None:
        made = drawn(reply, "made", day, lambda: made_text(comparison, job, day))
    rate = {}
    if reply.display.source:  # the bundled rate changes with its package, the link must not
        rate = {
            "rate": f"{reply.display.per_usd:g}",
            "rate_as_of": f"{reply.display.as_of}",
        }
    precision = job.precision if job.described else ""  # the default, where none is chosen
    link.state(*STATED, made=made, precision=precision, **rate)


def made(link: Link) -> None:
    """Read the link's fingerprint of runs and prices; drop it once the question changes."""
    text = link.text("made", r".{1,40}")
    if text is None:
        return
    now = question(link)
    before = st.session_state.setdefault(_MADE, (text, now))
    if before[0] != text:
        st.session_state[_MADE] = (text, now)
    elif not same(before[1], now):
        link.forget_now("made")


def _save(
    link: Link, reply: CompareReply, parameters: Parameters, still: Callable[[], bool]
) -> None:
    name = plain(str(st.session_state.get("compare.save.name") or ""))[: saved.MOST_NAME]
    if not (allowed := allow(Action.SAVE, name)).allowed:
        st.session_state[_PROBLEM] = allowed.why
        return
    if not name:
        st.session_state[_PROBLEM] = "Give it a name."
        return
    if not still():
        st.session_state[_PROBLEM] = saving.GONE
        return
    place = saving.layers()[0]
    kept = Saved(
        name=name,
        saved_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        parameters=parameters,
        snapshot=snapshot_of(reply.answered.comparison, reply.facts.job),
        file=saved.id_for(place, name),
    )
    again = isinstance(saved.read(place, kept.id), Saved)
    if again and st.session_state.get(_REPLACE) != kept.id:
        st.session_state[_REPLACE] = kept.id
        st.session_state[_PROBLEM] = Text(
            "{name} exists. Save again to replace it, or choose another name.", name=name
        )
        return
    st.session_state[_REPLACE] = None
    try:
        saved.save(saving.prepared(), kept)
    except OSError as error:
        st.session_state[_PROBLEM] = message_of(error)
        return
    st.session_state[_DONE] = (
        Text("{name} is replaced.", name=name) if again else Text("{name} is saved.", name=name)
    )
    st.session_state["compare-opened"] = kept.id
    link.put("saved", kept.id)


def draw(link: Link) -> None:
    """Draw the list of saved comparisons; a click opens one."""
    comparisons, problems = read_all()
    now = st.session_state.get(link.key("saved"))
    if now and all(s.id != now for s in comparisons):
        problems = [*problems, *([w] if isinstance(w := read(now), str) else [])]
    if not comparisons and not problems:
        return
    box = st.popover("Saved comparisons", icon=":material/bookmarks:", key="compare.open",
                     on_change="rerun")  # fmt: skip
    if not box.open:
        return
    with box:
        names = {s.id: s for s in comparisons}
        if comparisons:
            st.selectbox(
                "Open",
                list(names),
                index=None,
                key="compare.open.which",
                placeholder=f"{len(comparisons):,} saved",
                format_func=lambda i: f"{names[i].name} · {names[i].saved_at[:10]}",
                on_change=lambda: _chosen(link, names),
            )
        if now in names and permission(Action.SAVE).allowed:
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
    if allow(Action.SAVE, which).allowed:
        try:
            saved.remove(folder(which), which)
        except OSError as error:
            st.session_state[_PROBLEM] = message_of(error)
        link.forget_now("saved")


def since(link: Link, reply: CompareReply | None) -> None:
    """Draw what has changed since the open comparison was saved."""
    now = st.session_state.get(link.key("saved"))
    if not now:
        return
    comparison = read(now)
    if isinstance(comparison, str):
        st.warning(as_text(comparison), icon=":material/bookmark:")
        return
    title = Text(
        "{comparison}, saved on {saved_at}",
        comparison=comparison.name,
        saved_at=comparison.saved_at[:10],
    )
    if not same(comparison.parameters, question(link)):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(as_text(Text("{title}: the question has changed since.", title=title)))
            st.button(
                "Restore", key="compare.open.again", icon=":material/undo:",
                on_click=lambda: _open(link, comparison),
            )  # fmt: skip
        return
    lines: list[str] = []
    if reply is not None:
        snapshot = snapshot_of(reply.answered.comparison, reply.facts.job)
        lines = changes(comparison.snapshot, snapshot, reply.display)
    if not lines:
        st.caption(
            as_text(
                Text(
                    "{title}. Nothing has changed since: prices, runs and numbers agree.",
                    title=title,
                )
            )
        )
        return
    changed = "\n".join(f"- {as_text(line)}" for line in lines)
    st.info(
        Text("**{title}.** Changed since:\n{changed}", title=as_text(title), changed=changed),
        icon=":material/update:",
    )


def same(before: Parameters | object, now: Parameters) -> bool:
    """Return whether two questions are equal, in any order of their parameters."""
    return isinstance(before, dict) and {n: list(v) for n, v in before.items()} == now
