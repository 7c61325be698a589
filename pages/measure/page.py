"""Measure: plan, start, follow, stop, resume and repeat sweeps."""

from datetime import UTC, datetime
from typing import Any

import streamlit as st

from pages.common import widgets
from pages.common.kept import store
from pages.common.link import Link
from pages.measure import limits, measuring, plan_card, sweep_card
from pages.measure.measuring import FOLLOW_S, NotDoneError, is_active
from pages.visitor.permission import Action, Permission, permission
from planner.store.disk.sweeps import TICKET, Condition, SweepStatus

Sweep = tuple[SweepStatus, Condition]


def show() -> None:
    """Draw the page."""
    link = Link(sweep_card.PAGE)
    st.title("Measure")
    may, sweeps = permission(Action.MEASURE), measuring.shown(store())
    opened = _opened(link, sweeps)
    names = plan_card.choose(link) if may.allowed else {}
    limits.declare(link)
    if not names or isinstance(names, NotDoneError):
        link.keep("sweep")
    link.write()
    link.warn()
    if not may.allowed:
        _off(may)
    busy = {s.sweep: s for s, c in sweeps if is_active(c)}
    ended = opened if opened and not is_active(opened[1]) else None
    if may.allowed and (ended or busy):  # some fields may not be drawn
        limits.hold(link)
        if names and not isinstance(names, NotDoneError):
            link.hold("sweep")
    with st.container():  # a fixed place, so that the rest of the page does not move
        _follow(link, sweeps, may)
        if ended:
            sweep_card.draw_ended(link, *ended, allowed=may.allowed, alone=not busy)
        elif may.allowed and not busy:
            plan_card.draw(link, names, store(), busy)
    if may.allowed and busy:
        _another(link, names, busy)
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


def _another(
    link: Link, names: dict[str, str] | NotDoneError, busy: dict[str, SweepStatus]
) -> None:
    """Draw the plan of another sweep in a folded box, while one is measured."""
    box = widgets.folded("Plan another sweep", "add", "measure.another")
    if box.open:
        with box:
            plan_card.draw(link, names, store(), busy)


# -- following ---------------------------------------------------------------------------------


def _follow(link: Link, sweeps: list[Sweep], may: Permission) -> None:
    """Draw the card of the active sweeps, updated while there are any."""
    tickets = [s.ticket for s, c in sweeps if is_active(c)]
    if tickets:
        st.fragment(_active, run_every=FOLLOW_S)(link, tickets, allowed=may.allowed)


def _active(link: Link, tickets: list[str], *, allowed: bool) -> None:
    sweeps = measuring.shown(store())
    now = [s.ticket for s, c in sweeps if is_active(c)]
    if now != tickets:  # one ended or started: redraw the page
        for ended in set(tickets) - set(now):
            st.session_state[sweep_card.OPENED] = ended
        st.rerun()
    first, *others = sorted((t for t in sweeps if t[0].ticket in now), key=_turn)
    sweep_card.draw_active(link, first, others, allowed=allowed)


def _turn(sweep: Sweep) -> tuple[bool, float]:
    """Return the sort key: running sweeps first, then waiting ones in their order."""
    return sweep[0].phase == "waiting", sweep[0].asked_at


# -- earlier -----------------------------------------------------------------------------------


def _earlier(link: Link, sweeps: list[Sweep], may: Permission) -> None:
    ended = [(s, c) for s, c in sweeps if not is_active(c)]
    with st.container(border=True):
        widgets.heading("Earlier sweeps on this machine")
        if not ended:
            st.caption("None yet. Finished sweeps are listed here.")
            return
        st.caption(
            "Choose a row to see its result, to resume, repeat or remove it."
            if may.allowed
            else "Choose a row to see its result."
        )
        _table(link, ended, allowed=may.allowed)


def _table(link: Link, ended: list[Sweep], *, allowed: bool) -> None:
    def opened() -> None:
        rows = st.session_state["measure.earlier"].selection.rows
        if rows:
            st.session_state[link.key("ticket")] = ended[rows[0]][0].ticket

    rows = [_row(s, c, allowed=allowed) for s, c in ended]
    alt = "Sweeps on this machine that have ended"
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


def _row(status: SweepStatus, of: Condition, *, allowed: bool) -> dict[str, Any]:
    place = {"Installation": sweep_card.installation(status)} if allowed else {}
    return {
        "Sweep": status.title or status.sweep,
        "State": sweep_card.BADGES[of][0],
        "Measured": f"{status.finished:,} of {status.planned:,}",
        "Failed": status.failed,
        "Requested": datetime.fromtimestamp(status.asked_at, UTC).replace(tzinfo=None),
        "Result set": status.result_set or None,
    } | place


if __name__ == "__main__":
    show()
