"""The plan of a sweep on the Measure page: runs, time, energy, cost, limits, the start."""

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from pages.common import narrow, widgets
from pages.common.link import Link, as_text
from pages.measure import limits, measuring
from pages.measure.measuring import NotDoneError, PlanQuestion, SweepPlan
from planner.core import Text, about, in_one_unit, interval, plain, several
from planner.store import Store
from planner.store.disk.sweeps import SweepStatus

USUAL: Final = "quick"
"""The default sweep: it takes minutes, others may take hours."""
UNKNOWN: Final = "unknown"
_PROBED: Final = "measure.probed"


def choose(link: Link) -> dict[str, str] | NotDoneError:
    """Return titles of the shipped sweeps by name and declare the choice; or the error."""
    try:
        names = {s.name: s.title for s in measuring.shipped()}
    except NotDoneError as why:
        return why
    if names:
        link.choice("sweep", list(names), USUAL if USUAL in names else next(iter(names)))
    return names


def draw(
    link: Link,
    names: dict[str, str] | NotDoneError,
    shared: Store,
    busy: Mapping[str, SweepStatus],
) -> None:
    """Draw the choice of a sweep, its plan and the start button.

    `busy` are the running and waiting sweeps by name.
    """
    if isinstance(names, NotDoneError):
        _failed("The list of sweeps could not be read.", names)
        return
    with st.container(border=True, key="measure.plan"):
        st.selectbox("Sweep", list(names), format_func=names.__getitem__, key=link.key("sweep"))
        name = str(st.session_state[link.key("sweep")])
        question = measuring.question_of(name, shared, limits.of(link).price_per_hour)
        try:
            planned = _probed(question) or measuring.plan(question)
        except NotDoneError as why:
            _failed("This sweep could not be planned.", why)
            return
        _plan(link, planned, question, busy)


def _failed(what: str, why: NotDoneError) -> None:
    with st.container(border=True):
        widgets.heading(f"{what}")
        st.caption(as_text(str(why)))
        st.button("Try again", key="measure.again", icon=":material/refresh:")


def _plan(
    link: Link, planned: SweepPlan, question: PlanQuestion, busy: Mapping[str, SweepStatus]
) -> None:
    if planned.problems:
        widgets.heading("This sweep cannot be measured here.")
        st.markdown("\n".join(f"- {as_text(p)}" for p in planned.problems))
        return
    if planned.name in busy:
        st.caption("It is being measured or waits: see above.")
        return
    _figures(planned, limits.watts(link))
    if planned.left:
        limits.draw(link, planned.currency or "USD")
    else:
        limits.hold(link)
    _buttons(link, planned, question, busy)
    _runs(planned)


def _figures(planned: SweepPlan, watts: float | None) -> None:
    """Draw time, energy and cost of the plan, and their basis."""
    st.markdown(f"## {widgets.answer_text(plan_sentence(planned))}")
    if planned.about:
        st.caption(as_text(planned.about))
    if planned.left:
        _numbers(planned, watts)
        st.caption(as_text(designs(planned)))


def plan_sentence(planned: SweepPlan) -> str:
    """Return the plan in one sentence, to paste."""
    if planned.planned and not planned.left:
        return Text(
            "{title}: all {count} are measured.",
            title=planned.title,
            count=several(planned.planned, "run"),
        )
    ends = _ends_s(planned)
    takes = "duration unknown" if ends is None else about(*ends)
    count = several(planned.left, "run")
    if not planned.finished:
        return Text(
            "{title}: {count} to measure, {takes}.", title=planned.title, count=count, takes=takes
        )
    return Text(
        "{title}: {count} to measure ({finished:,} of {planned:,} are measured), {takes}.",
        title=planned.title,
        count=count,
        finished=planned.finished,
        planned=planned.planned,
        takes=takes,
    )


def designs(planned: SweepPlan) -> str:
    """Return the smallest sufficient design against the full one, in words."""
    small, full = planned.smallest, planned.full
    if not small or not full or small.get("runs") == full.get("runs"):
        return ""
    batches = ", ".join(f"{b:,}" for b in small.get("batches") or ())
    at = f" (batch {batches})" if batches else ""
    return Text(
        "The smallest design that gives a curve: {count}{at}{takes}. "
        "In full: {full_count}{full_takes}.",
        count=several(small["runs"], "run"),
        at=at,
        takes=_takes(small),
        full_count=several(full["runs"], "run"),
        full_takes=_takes(full),
    )


def _takes(design: Mapping[str, Any]) -> str:
    hours = design.get("hours")
    return "" if hours is None else f", {in_one_unit(3600.0 * hours, 2)}"


def _numbers(planned: SweepPlan, watts: float | None) -> None:
    ends = _ends_s(planned)
    shown = {
        "Runs to measure": f"{planned.left:,} of {planned.planned:,}",
        "Time": UNKNOWN if ends is None else interval(*ends),
        "Memory at most": _memory(planned.memory_bytes),
        "Energy": _energy(planned, watts),
        "Cost": _cost(planned),
    }
    with st.grid(5, min_column_width=140):
        for name, value in shown.items():
            with st.container(gap=None):
                st.caption(name)
                st.markdown(f"**{as_text(value)}**")
    st.caption(as_text(basis(planned)))


def basis(planned: SweepPlan) -> str:
    """Return the basis of the time."""
    if planned.hours is None:
        return (
            "No run of this sweep or of its networks is measured on this machine yet. Time two "
            "steps of each network for an estimate; it takes seconds to minutes."
        )
    return Text(
        "Time predicted from {hours_basis}.",
        hours_basis=planned.hours_basis or "an unstated source",
    )


def _ends_s(planned: SweepPlan) -> tuple[float, float, float] | None:
    """Return the time left and the ends of its interval [s]; None where it is unknown."""
    if planned.hours is None:
        return None
    low, high = planned.hours_low, planned.hours_high
    if low is None or high is None:
        low = high = planned.hours
    return 3600.0 * planned.hours, 3600.0 * low, 3600.0 * high


def _energy(planned: SweepPlan, watts: float | None) -> str:
    """Return the energy in words: of measured power, else of the entered one."""
    if planned.energy_kwh is not None:
        return f"{plain(planned.energy_kwh, 2)} kWh"
    if planned.hours is None:
        return UNKNOWN
    if watts is None:
        return "enter a power"
    return Text("about {energy} kWh", energy=plain(planned.hours * watts / 1000.0, 2))


def _memory(size: float | None) -> str:
    return UNKNOWN if size is None else f"{plain(size / 1e9, 2)} GB"


def _cost(planned: SweepPlan) -> str:
    if planned.cost is None:
        return UNKNOWN if planned.priced else "enter a price"
    money = "below 0.01" if 0 < planned.cost < 0.01 else plain(planned.cost, 2)
    return f"{money} {planned.currency or ''}".strip()


# -- buttons -----------------------------------------------------------------------------------


def _buttons(
    link: Link, planned: SweepPlan, question: PlanQuestion, busy: Mapping[str, SweepStatus]
) -> None:
    priced = limits.of(link)
    unpriced = priced.cost is not None and priced.price_per_hour is None and not planned.priced
    with widgets.actions():
        st.button(
            "Start", type="primary", icon=":material/play_arrow:", key="measure.start",
            disabled=unpriced or not planned.left, on_click=_start, args=(link, planned),
        )  # fmt: skip
        guessed = planned.hours is None or planned.rough > 0
        probe = bool(guessed and planned.left) and st.button(
            "Time two steps", icon=":material/speed:", key="measure.probe", disabled=bool(busy),
            help="Seconds to minutes, for an estimate on this machine",
        )  # fmt: skip
        widgets.share(link, plan_sentence(planned), "content")
    if probe:
        _probe(question)
    if unpriced:
        st.caption("A cost limit needs the machine's price.")
    elif busy:
        st.caption("A machine measures one sweep at a time. This one will wait for its turn.")


def _start(link: Link, planned: SweepPlan) -> None:
    try:
        ticket = measuring.start(planned, limits.of(link))
    except NotDoneError as why:
        st.toast(as_text(Text("Not started. {why}", why=why)), icon=":material/block:")
        return
    st.session_state[link.key("ticket")] = ticket
    st.toast("Started. It continues when you close this page.", icon=":material/check:")


def _probe(question: PlanQuestion) -> None:
    try:
        with st.spinner("Timing two steps of each network: seconds to minutes", show_time=True):
            probed = measuring.probe(question)
    except NotDoneError as why:
        st.toast(as_text(Text("Not timed. {why}", why=why)), icon=":material/block:")
        return
    st.session_state[_PROBED] = (question, probed)
    st.rerun()


def _probed(question: PlanQuestion) -> SweepPlan | None:
    """Return this session's probed plan; None after new results, or for another question."""
    probed: tuple[PlanQuestion, SweepPlan] | None = st.session_state.get(_PROBED)
    return probed[1] if probed and probed[0] == question else None


def _runs(planned: SweepPlan) -> None:
    box = widgets.folded(f"The {several(len(planned.runs), 'run')}", "table_rows", "measure.runs")
    if box.open:
        with box:
            narrow.table(
                [_row(r) for r in planned.runs], key="measure.table", alt="The runs of the plan"
            )


def _row(run: Mapping[str, Any]) -> dict[str, Any]:
    seconds, size = run.get("seconds"), run.get("memory_bytes")
    return {
        "Run": run.get("words"),
        "Batch": run.get("batch"),
        "Backend": run.get("backend"),
        "Engine": run.get("engine"),
        "Time": None if seconds is None else in_one_unit(seconds, 2),
        "Memory": None if size is None else _memory(size),
        "State": "measured" if run.get("done") else "to measure",
    }
