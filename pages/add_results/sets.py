"""Sets that were brought in: what the last action did, and withdrawing or restoring one."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import streamlit as st

from pages.add_results.question import PAGE
from pages.common import narrow, widgets
from pages.common.addresses import ADDRESSES
from pages.common.link import as_text, page_link, plain
from pages.visitor.permission import Action, allow, permission
from planner.answers.parameters import ADD_RESULTS
from planner.core import Text
from planner.store import Store
from planner.store.sealed.result_set import ResultSet, restore, withdraw

_SAID: Final = "add-results-said"
"""Session key of what the last action did: text, whether it failed, the set that it is about."""
_REASON: Final = "add_results.reason"


def say(text: str, *, wrong: bool = False, opens: str = "") -> None:
    """Keep what an action did, for the next run of the page."""
    st.session_state[_SAID] = (text, wrong, opens)


def said() -> None:
    """Draw what the last action did."""
    text, wrong, opens = st.session_state.pop(_SAID, ("", False, ""))
    if text:
        (st.warning if wrong else st.success)(as_text(text))
    if opens:
        address = ADDRESSES["results"]
        page_link(PAGE, address.script, "Open its runs", address.symbol, {"result_set": [opens]})


def unofficial(shared: Store) -> list[ResultSet]:
    """Return the sets of the user's folder that were imported or pushed."""
    label = next(f.label for f in shared.folders if f.kind == "own")
    return [s for s in shared.sets if s.folder == label and s.is_unofficial]


def draw(shared: Store, own: Path) -> None:
    """Draw the unofficial sets, and the buttons to withdraw and restore one."""
    listed = unofficial(shared)
    if not listed:
        return
    with st.container(border=True):
        widgets.heading("Unofficial sets")
        narrow.table(
            [
                {
                    "Set": s.title,
                    "State": "withdrawn" if s.withdrawn else "shown",
                    "Withdrawn": s.withdrawn or None,
                    "Licence": s.licence,
                    "Source": s.citation or s.source_url or s.source,
                }
                for s in listed
            ],
            key="add_results.sets",
            alt="Unofficial sets",
        )
        by_slug = {s.slug: s for s in listed}
        if not (may := permission(Action.WITHDRAW)).allowed:
            st.caption(Text("Sets cannot be withdrawn or restored from here. {why}", why=may.why))
            return
        chosen = st.selectbox(
            "Set to withdraw or restore", list(by_slug), index=None, key="add_results.which",
            format_func=lambda slug: by_slug[slug].title, placeholder="–",
        )  # fmt: skip
        if chosen is None:
            return
        if by_slug[chosen].withdrawn:
            st.button("Restore", key="add_results.restore", icon=":material/undo:",
                      on_click=lambda: _restore(own, chosen))  # fmt: skip
            return
        st.text_input(
            ADD_RESULTS["reason"].title(), key=_REASON, max_chars=ADD_RESULTS["reason"].longest
        )
        st.button("Withdraw", key="add_results.withdraw", icon=":material/visibility_off:",
                  on_click=lambda: _withdraw(own, chosen))  # fmt: skip


def _withdraw(own: Path, slug: str) -> None:
    reason = plain(str(st.session_state.get(_REASON) or "")) or "no reason given"
    _act(
        slug,
        lambda: withdraw(own / slug, reason, _today()),
        Text("{slug} is withdrawn. Its files stay, and it can be restored.", slug=slug),
    )


def _restore(own: Path, slug: str) -> None:
    _act(slug, lambda: restore(own / slug, _today()), Text("{slug} is shown again.", slug=slug))


def _act(slug: str, what: Callable[[], object], text: str) -> None:
    allowed = allow(Action.WITHDRAW, slug)
    if not allowed.allowed:
        say(allowed.why, wrong=True)
        return
    try:
        what()
    except OSError as error:
        say(Text("Nothing is changed: {reason}.", reason=error.strerror or error), wrong=True)
    else:
        say(text)


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"
