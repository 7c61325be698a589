"""Measure: plan, start, follow, stop and resume sweeps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import streamlit as st

from pages.common import widgets
from pages.common.kept import store
from pages.common.link import Link
from pages.common.permission import Permission, permission
from pages.measure import cards, measuring
from pages.measure.measuring import FOLLOW_S, NotDoneError, is_active
from planner.store.disk.sweeps import TICKET, Condition, SweepStatus

Sweep = tuple[SweepStatus, Condition]


def show() -> None:
    """Draw the page."""
    link = Link(cards.PAGE)
    st.title("Measure")
    may, sweeps = permission(), measuring.statuses()
    opened = _opened(link, sweeps)
    names = cards.choose(link) if may.allowed else {}
    if not names or isinstance(names, NotDoneError):
        link.keep("sweep")
    link.write()
    link.warn()
    if not may.allowed:
        _off(may)
    with st.container():  # a fixed place, so that the rest of the page does not move
        _follow(sweeps, may)
        if opened and not is_active(opened[1]):
            cards.draw_sweep(*opened, allowed=may.allowed)
    if may.allowed:
        cards.draw_plan(link, names, store().generation, _busy(sweeps))
    _earlier(link, sweeps, may)


def _opened(link: Link, sweeps: list[Sweep]) -> Sweep | None:
    """Return the sweep of the link; None without one."""
    ticket = link.text("ticket", TICKET)
    opened = next((sweep for sweep in sweeps if sweep[0].ticket == ticket), None)
    if ticket and opened is None:
        link.problems.append("ticket: this link's sweep is not on this machine.")
        link.forget_now("ticket")
    return opened


def _off(may: Permission) -> None:
    """Draw why nothing can be started here, and what to do."""
    with st.container(border=True, key="measure.off"):
        st.markdown("## Measuring is switched off here.")
        st.markdown(may.why)
        st.caption(
            "It is on where only this machine can reach the app, as with `make app`. "
            "`EPOCHWISE_MEASURE=on` switches it on for every visitor. In a terminal, "
            "`python -m runners run quick` always works."
        )


# -- following ---------------------------------------------------------------------------------


def _follow(sweeps: list[Sweep], may: Permission) -> None:
    """Draw the active sweeps, updated while there are any."""
    tickets = [s.ticket for s, c in sweeps if is_active(c)]
    if tickets:
        st.fragment(_active, run_every=FOLLOW_S)(tickets, allowed=may.allowed)


def _active(tickets: list[str], *, allowed: bool) -> None:
    sweeps = measuring.statuses()
    now = [s.ticket for s, c in sweeps if is_active(c)]
    if now != tickets:  # one ended or started: redraw the page
        for ended in set(tickets) - set(now):
            st.session_state[cards.OPENED] = ended
        st.rerun()
    for status, of in sorted((t for t in sweeps if t[0].ticket in now), key=_turn):
        cards.draw_sweep(status, of, allowed=allowed)


def _turn(sweep: Sweep) -> tuple[bool, float]:
    """Return the sort key: running sweeps first, then waiting ones in their order."""
    return sweep[0].phase == "waiting", sweep[0].asked_at


def _busy(sweeps: list[Sweep]) -> dict[str, SweepStatus]:
    """Return active sweeps by name."""
    return {s.sweep: s for s, c in sweeps if is_active(c)}


# -- earlier -----------------------------------------------------------------------------------


def _earlier(link: Link, sweeps: list[Sweep], may: Permission) -> None:
    ended = [(s, c) for s, c in sweeps if not is_active(c)]
    with st.container(border=True):
        widgets.heading("Earlier sweeps on this machine")
        if not ended:
            st.caption("None yet. Finished sweeps are listed here.")
            return
        further = ", to resume or to remove it" if may.allowed else ""
        st.caption(f"Choose a row to see its result{further}.")
        _table(link, ended)


def _table(link: Link, ended: list[Sweep]) -> None:
    def opened() -> None:
        rows = st.session_state["measure.earlier"].selection.rows
        if rows:
            st.session_state[link.key("ticket")] = ended[rows[0]][0].ticket

    rows, alt = [_row(s, c) for s, c in ended], "Sweeps on this machine that have ended"
    columns = {"Requested": st.column_config.DatetimeColumn("Requested (UTC)")}
    st.dataframe(
        rows,
        hide_index=True,
        placeholder="–",
        key="measure.earlier",
        on_select=opened,
        selection_mode="single-row",
        alt=alt,
        column_config=columns,
    )
    widgets.as_text_table(widgets.columns_of(rows), alt, columns)


def _row(status: SweepStatus, of: Condition) -> dict[str, Any]:
    return {
        "Sweep": status.title or status.sweep,
        "State": cards.BADGES[of][0],
        "Measured": f"{status.finished:,} of {status.planned:,}",
        "Failed": status.failed,
        "Requested": datetime.fromtimestamp(status.asked_at, UTC).replace(tzinfo=None),
        "Result set": status.result_set or None,
    }


if __name__ == "__main__":
    show()
