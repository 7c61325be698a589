"""Measure: what a sweep would cost, start it, follow it, stop and resume it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import streamlit as st

from pages.common.link import Link
from pages.common.permission import Permission, permission
from pages.common.store import store
from pages.measure import measuring, plan_card, sweep_card
from pages.measure.measuring import FOLLOW_S, NotDoneError, is_active
from planner.store.disk.sweeps import TICKET, Condition, SweepStatus

Sweep = tuple[SweepStatus, Condition]


def show() -> None:
    """Draw the page."""
    link = Link(sweep_card.PAGE)
    st.title("Measure")
    may, known = permission(), measuring.statuses()
    opened = _opened(link, known)
    names = plan_card.choose(link) if may.allowed else {}
    if not names or isinstance(names, NotDoneError):
        link.keep("sweep")
    link.write()
    link.tell()
    if not may.allowed:
        _off(may)
    with st.container():  # a place of their own: what is below stays where it is
        _follow(known, may)
        if opened and not is_active(opened[1]):
            sweep_card.draw(*opened, allowed=may.allowed)
    if may.allowed:
        plan_card.draw(link, names, store().generation, _busy(known))
    _earlier(link, known, may)


def _opened(link: Link, known: list[Sweep]) -> Sweep | None:
    """The sweep the link names."""
    ticket = link.text("ticket", TICKET)
    found = next((told for told in known if told[0].ticket == ticket), None)
    if ticket and found is None:
        link.problems.append("ticket: the sweep this link names is not known on this machine now.")
        link.forget_now("ticket")
    return found


def _off(may: Permission) -> None:
    """Why nothing can be started here, and what to do about it."""
    with st.container(border=True, key="measure.off"):
        st.markdown("#### Measuring is switched off here.")
        st.markdown(may.why)
        st.caption(
            "It is on by itself where the app is reached from its own machine only, as `make app` "
            "starts it. `EPOCHWISE_MEASURE=on` switches it on for everybody who can open this "
            "page. In a terminal `python -m runners run quick` measures in any case."
        )


# -- following ---------------------------------------------------------------------------------


def _follow(known: list[Sweep], may: Permission) -> None:
    """The sweeps that are active, looked at again and again only while there are any."""
    tickets = [s.ticket for s, c in known if is_active(c)]
    if tickets:
        st.fragment(_active, run_every=FOLLOW_S)(tickets, allowed=may.allowed)


def _active(tickets: list[str], *, allowed: bool) -> None:
    known = measuring.statuses()
    now = [s.ticket for s, c in known if is_active(c)]
    if now != tickets:  # one ended or came: the rest of the page has to know
        for ended in set(tickets) - set(now):
            st.session_state[sweep_card.OPENED] = ended
        st.rerun()
    for status, of in sorted((t for t in known if t[0].ticket in now), key=_turn):
        sweep_card.draw(status, of, allowed=allowed)


def _turn(told: Sweep) -> tuple[bool, float]:
    """The one that measures first, then those that wait, in their order."""
    return told[0].phase == "waiting", told[0].asked_at


def _busy(known: list[Sweep]) -> dict[str, SweepStatus]:
    """Sweeps that are active, by name."""
    return {s.sweep: s for s, c in known if is_active(c)}


# -- earlier -----------------------------------------------------------------------------------


def _earlier(link: Link, known: list[Sweep], may: Permission) -> None:
    ended = [(s, c) for s, c in known if not is_active(c)]
    with st.container(border=True):
        st.markdown("**Earlier sweeps on this machine**")
        if not ended:
            st.caption("None yet. Finished sweeps are listed here.")
            return
        further = ", to resume or to remove it" if may.allowed else ""
        st.caption(f"Choose a row to see what came of it{further}.")
        _table(link, ended)


def _table(link: Link, ended: list[Sweep]) -> None:
    def opened() -> None:
        rows = st.session_state["measure.earlier"].selection.rows
        if rows:
            st.session_state[link.key("ticket")] = ended[rows[0]][0].ticket

    st.dataframe(
        [_row(s, c) for s, c in ended],
        hide_index=True,
        placeholder="–",
        key="measure.earlier",
        on_select=opened,
        selection_mode="single-row",
        alt="Sweeps on this machine that have ended",
        column_config={
            "Requested": st.column_config.DatetimeColumn("Requested (UTC)"),
        },
    )


def _row(status: SweepStatus, of: Condition) -> dict[str, Any]:
    return {
        "Sweep": status.title or status.sweep,
        "State": sweep_card.BADGES[of][0],
        "Measured": f"{status.finished:,} of {status.planned:,}",
        "Failed": status.failed,
        "Requested": datetime.fromtimestamp(status.asked_at, UTC).replace(tzinfo=None),
        "Result set": status.result_set or None,
    }


if __name__ == "__main__":
    show()
