"""One sweep on the Measure page: its state in words, failures, and links to its results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import streamlit as st

from pages.common import kept, widgets
from pages.common.kept import ROOT, store
from pages.common.link import Link, as_text, page_link, slugs
from pages.measure import measuring
from pages.measure.measuring import NotDoneError, Plan
from planner.core import in_words
from planner.store import Store, queries
from planner.store.disk import sweeps
from planner.store.disk.sweeps import Condition, SweepStatus

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


def draw_plan(
    link: Link,
    names: dict[str, str] | NotDoneError,
    generation: int,
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
        try:
            planned = _probed(name, generation) or measuring.plan(name, generation)
        except NotDoneError as why:
            _failed("This sweep could not be planned.", why)
            return
        _plan(link, planned, generation, busy)


def _failed(what: str, why: NotDoneError) -> None:
    with st.container(border=True):
        widgets.heading(what)
        st.caption(as_text(str(why)))
        st.button("Try again", key="measure.again", icon=":material/refresh:")


def _plan(link: Link, planned: Plan, generation: int, busy: Mapping[str, SweepStatus]) -> None:
    if planned.problems:
        widgets.heading("This sweep cannot be measured here.")
        st.markdown("\n".join(f"- {as_text(p)}" for p in planned.problems))
        return
    if status := busy.get(planned.name):
        st.fragment(_followed, run_every=measuring.FOLLOW_S)(planned, status.ticket)
        planned = measuring.so_far(planned, status)
    else:
        _figures(planned)
    _buttons(link, planned, generation, busy)
    _runs(planned)


def _figures(planned: Plan) -> None:
    """Draw time and cost of the plan, and their basis."""
    st.markdown(f"## {widgets.answer_text(plan_sentence(planned))}")
    if planned.about:
        st.caption(as_text(planned.about))
    if planned.left:
        _numbers(planned)
        st.caption(as_text(designs(planned)))


def _followed(planned: Plan, ticket: str) -> None:
    """Draw the figures of a running sweep, updated."""
    status = measuring.status_of(ticket)
    _figures(measuring.so_far(planned, status) if status else planned)


def plan_sentence(planned: Plan) -> str:
    """Return the plan in one sentence, to paste."""
    if planned.planned and not planned.left:
        return f"{planned.title}: all {_count(planned.planned)} are measured."
    done = (
        f" ({planned.finished:,} of {planned.planned:,} are measured)" if planned.finished else ""
    )
    takes = "duration unknown" if planned.hours is None else f"about {_time(planned.hours)}"
    return f"{planned.title}: {_count(planned.left)} to measure{done}, {takes}."


def designs(planned: Plan) -> str:
    """Return the smallest sufficient design against the full one, in words."""
    small, full = planned.smallest, planned.full
    if not small or not full or small.get("runs") == full.get("runs"):
        return ""
    batches = ", ".join(f"{b:,}" for b in small.get("batches") or ())
    at = f" (batch {batches})" if batches else ""
    return (
        f"The smallest design that gives a curve: {_count(small['runs'])}{at}"
        f"{_takes(small)}. In full: {_count(full['runs'])}{_takes(full)}."
    )


def _takes(design: Mapping[str, Any]) -> str:
    return "" if design.get("hours") is None else f", {_time(design['hours'])}"


def _numbers(planned: Plan) -> None:
    shown = {
        "Runs to measure": f"{planned.left:,} of {planned.planned:,}",
        "Time": UNKNOWN if planned.hours is None else _time(planned.hours),
        "Memory at most": _memory(planned.memory_bytes),
        "Energy": _energy(planned),
        "Cost": _cost(planned),
    }
    with st.grid(5, min_column_width=140):
        for name, value in shown.items():
            with st.container(gap=None):
                st.caption(name)
                st.markdown(f"**{as_text(value)}**")
    st.caption(as_text(basis(planned)))


def basis(planned: Plan) -> str:
    """Return the basis of the time, and its range."""
    if planned.hours is None:
        return (
            "No run of this sweep or of its networks is measured on this machine yet. Time two "
            "steps of each network for an estimate; it takes seconds to minutes."
        )
    low, high = planned.hours_low, planned.hours_high
    limits = f", between {_time(low)} and {_time(high)}" if low is not None and high else ""
    return f"Time predicted from {planned.hours_basis or 'an unstated source'}{limits}."


def _time(hours: float) -> str:
    return in_words(3600.0 * hours)


def _energy(planned: Plan) -> str:
    """Return the energy in words; a known time without energy had no power measurement."""
    if planned.energy_kwh is not None:
        return f"{planned.energy_kwh:.2g} kWh"
    unknown = planned.hours is None or planned.hours_basis == measuring.SO_FAR
    return UNKNOWN if unknown else "not measured here"


def _memory(size: float | None) -> str:
    return UNKNOWN if size is None else f"{size / 1e9:.1f} GB"


def _cost(planned: Plan) -> str:
    if planned.cost is None:
        return UNKNOWN if planned.priced else "no price in the sweep"
    money = "below 0.01" if 0 < planned.cost < 0.01 else f"{planned.cost:,.2f}"
    return f"{money} {planned.currency or ''}".strip()


def _count(runs: int) -> str:
    return f"{runs:,} {'run' if runs == 1 else 'runs'}"


# -- buttons -----------------------------------------------------------------------------------


def _buttons(link: Link, planned: Plan, generation: int, busy: Mapping[str, SweepStatus]) -> None:
    mine = planned.name in busy
    with widgets.actions():
        st.button(
            "Start", type="primary", icon=":material/play_arrow:", key="measure.start",
            disabled=mine or not planned.left, on_click=_start, args=(link, planned),
        )  # fmt: skip
        guessed = planned.hours is None or planned.rough > 0
        probe = bool(guessed and planned.left) and st.button(
            "Time two steps", icon=":material/speed:", key="measure.probe", disabled=bool(busy)
        )
        widgets.share(link, plan_sentence(planned), "content")
    if probe:
        _probe(planned.name, generation)
    if mine:
        st.caption("It is running or waiting: see above.")
    elif busy:
        st.caption("A machine measures one sweep at a time. This one will wait for its turn.")


def _start(link: Link, planned: Plan) -> None:
    try:
        ticket = measuring.start(planned)
    except NotDoneError as why:
        st.toast(as_text(f"Not started. {why}"), icon=":material/block:")
        return
    st.session_state[link.key("ticket")] = ticket
    st.toast("Started. It continues when you close this page.", icon=":material/check:")


def _probe(name: str, generation: int) -> None:
    try:
        with st.spinner("Timing two steps of each network: seconds to minutes", show_time=True):
            probed = measuring.probe(name)
    except NotDoneError as why:
        st.toast(as_text(f"Not timed. {why}"), icon=":material/block:")
        return
    st.session_state[_PROBED] = (name, generation, probed)
    st.rerun()


def _probed(name: str, generation: int) -> Plan | None:
    """Return this session's probed plan of a sweep; None after new results."""
    probed: tuple[str, int, Plan] | None = st.session_state.get(_PROBED)
    return probed[2] if probed and probed[:2] == (name, generation) else None


def _runs(planned: Plan) -> None:
    box = widgets.folded(f"The {_count(len(planned.runs))}", "table_rows", "measure.runs")
    if box.open:
        with box:
            widgets.table(
                [_row(r) for r in planned.runs],
                key="measure.table",
                alt="The runs of the plan",
            )


def _row(run: Mapping[str, Any]) -> dict[str, Any]:
    seconds, size = run.get("seconds"), run.get("memory_bytes")
    return {
        "Run": run.get("words"),
        "Batch": run.get("batch"),
        "Backend": run.get("backend"),
        "Engine": run.get("engine"),
        "Time": None if seconds is None else in_words(seconds),
        "Memory": None if size is None else _memory(size),
        "State": "measured" if run.get("done") else "to measure",
    }


OPENED: Final = "measure.ticket"
"""Session key of the opened sweep."""
MOST_FAILURES: Final = 50
MOST_LINKS: Final = 3
_COLOURS = Literal["blue", "green", "orange", "red", "gray"]
BADGES: Final[dict[Condition, tuple[str, str, _COLOURS]]] = {
    "waiting": ("Waiting", "hourglass_empty", "gray"),
    "running": ("Running", "play_arrow", "blue"),
    "stalled": ("Stalled", "warning", "orange"),
    "interrupted": ("Interrupted", "power_off", "orange"),
    "stopped": ("Stopped", "stop", "gray"),
    "finished": ("Finished", "check", "green"),
    "failed": ("Failed", "error", "red"),
}
NODE_STATES: Final = {
    "free": "Free",
    "running": "Measuring",
    "lost": "Lost",
    "unusable": "Cannot measure",
}
PAGE: Final = "measure"
"""The page that shows the card."""
_RESULTS: Final = ROOT / "pages" / "results" / "page.py"
_THROUGHPUT: Final = ROOT / "pages" / "throughput" / "page.py"


def sweep_sentence(status: SweepStatus, of: Condition) -> str:
    """Return the state of the sweep in one sentence, to paste."""
    done = f"{status.finished:,} of {_runs_of_sweep(status.planned)} measured{_failed_runs(status)}"
    name = status.title or status.sweep
    if of == "waiting":
        return f"{name}: {status.message or 'waits until this machine is free'}."
    if of == "running":
        return f"{name}: {done}, {_left(status)}."
    if of == "finished":
        took = f" in {in_words(_took(status))}" if status.ended_at and status.started_at else ""
        return f"{name}: {done}{took}."
    return f"{name}: {of} after {done}."


def _failed_runs(status: SweepStatus) -> str:
    return f" ({status.failed:,} failed)" if status.failed else ""


def explanation(status: SweepStatus, of: Condition) -> str:
    """Return what the state means and what to do next, as Markdown; may be empty."""
    message = as_text(status.message or "")
    if of == "stalled":
        return _stalled(status)
    if of == "interrupted":
        return (
            "Its process ended unexpectedly: the machine was restarted, ran out of memory, or "
            "someone ended it. Finished runs are kept; Resume measures the others."
        )
    if of == "failed":
        why = message or "No reason is recorded"
        return f"{why.rstrip('.')}. Finished runs are kept; Resume tries the others again."
    if of == "stopped":
        return "Finished runs are kept; Resume measures the others."
    return ""


def _stalled(status: SweepStatus) -> str:
    age = in_words(max(0.0, time.time() - status.heartbeat_at))
    if not sweeps.here(status):
        return (
            f"No report for {age} from {as_text(status.host)}, where it runs. Check there: its "
            "process is not visible from here."
        )
    return (
        f"No report for {age}, though its process {status.pid} exists. The machine may be short of "
        "memory, asleep or very busy: wait a minute. Else stop it; if that fails, end the process "
        f"with `kill -9 {status.pid}`, then resume. Finished runs are kept."
    )


def draw_sweep(status: SweepStatus, of: Condition, *, allowed: bool) -> None:
    """Draw the card of a sweep: badge, sentence, progress, current run."""
    with st.container(border=True, key=f"measure.card.{status.ticket}"):
        label, icon, colour = BADGES[of]
        st.badge(label, icon=f":material/{icon}:", color=colour)
        st.markdown(f"## {widgets.answer_text(sweep_sentence(status, of))}")
        if of in {"waiting", "running", "stalled"}:
            st.progress(_share(status), text=_progress(status))
        if status.nodes:
            _nodes(status, allowed=allowed)
        if allowed and (words := explanation(status, of)):  # it may name paths
            st.markdown(words)
        if allowed:
            _actions(status, of)
        _outcome(status)
        if allowed and of in {"interrupted", "failed"}:
            _log(status)


def _nodes(status: SweepStatus, *, allowed: bool) -> None:
    """Draw the nodes of a sweep over a cluster; only those who may measure see their names."""
    widgets.heading("Nodes of the cluster")
    widgets.table(
        [
            {
                "Node": node.name if allowed else f"Node {number}",
                "Accelerators": node.accelerators or None,
                "System": node.system or None,
                "State": NODE_STATES[node.state],
                "Measures now": "; ".join(node.runs) or (node.message if allowed else None),
                "Runs measured": node.finished,
            }
            for number, node in enumerate(status.nodes, start=1)
        ],
        key=f"measure.nodes.{status.ticket}",
        alt="Nodes of the cluster, their accelerators and what each measures now",
    )


def _progress(status: SweepStatus) -> str:
    done = f"{status.finished:,} of {_runs_of_sweep(status.planned)}"
    if not status.current:
        return done
    epoch = (
        f", epoch {status.current_epoch} of {status.current_epochs}"
        if status.current_epoch and status.current_epochs
        else ""
    )
    return f"{done} · now {as_text(status.current)}{epoch}"


def _share(status: SweepStatus) -> float:
    """Return finished runs over planned runs [0..1]."""
    return min(1.0, status.finished / status.planned) if status.planned > 0 else 0.0


def _left(status: SweepStatus) -> str:
    if status.left_s is None:
        return "time left is known after the first run"
    return f"{in_words(status.left_s)} left"


def _took(status: SweepStatus) -> float:
    return max(0.0, (status.ended_at or 0.0) - (status.started_at or 0.0))


def _runs_of_sweep(count: int) -> str:
    return f"{count:,} {'run' if count == 1 else 'runs'}"


# -- buttons -----------------------------------------------------------------------------------


def _actions(status: SweepStatus, of: Condition) -> None:
    ticket = status.ticket
    with widgets.actions():
        if measuring.is_active(of):
            _button("Stop", "stop", f"measure.stop.{ticket}", lambda: measuring.stop(ticket),
                    "Stopping: the current run is discarded.")  # fmt: skip
            return
        if of != "finished":
            _button("Resume", "resume", f"measure.resume.{ticket}",
                    lambda: measuring.resume(ticket), "Resumed.")  # fmt: skip
        _button("Remove from list", "delete", f"measure.forget.{ticket}",
                lambda: _forget(ticket), "Removed; its results stay.")  # fmt: skip


def _forget(ticket: str) -> None:
    measuring.forget(ticket)
    st.session_state[OPENED] = None


def _button(label: str, icon: str, key: str, do: Callable[[], None], message: str) -> None:
    st.button(label, icon=f":material/{icon}:", key=key, on_click=_tried, args=(do, message))


def _tried(do: Callable[[], None], message: str) -> None:
    """Run a button's action, and report the outcome."""
    try:
        do()
    except measuring.NotDoneError as why:
        st.toast(as_text(f"Not done. {why}"), icon=":material/block:")
    else:
        st.toast(message, icon=":material/check:")


# -- results -----------------------------------------------------------------------------------


def _outcome(status: SweepStatus) -> None:
    """Draw links to the results, where there are any, and the failed runs."""
    shared = store()
    named = slugs(kept.facets(shared, {})["result_set"])
    short = next((s for s, name in named.items() if name == status.result_set), None)
    if short is None:
        return
    with widgets.actions():
        icon = ":material/table_rows:"
        page_link(PAGE, _RESULTS, "Results of this sweep", icon, {"result_set": [short]})
        _curves(shared, status.result_set)
    _failures(shared, status.result_set)


def _curves(shared: Store, result_set: str) -> None:
    """Draw a link to the curve of each workload on the Throughput page."""
    within = kept.facets(shared, {"result_set": [result_set], "status": ["ok"]})
    systems = {name: s for s, name in slugs(kept.facets(shared, {})["system"]).items()}
    here = [systems[name] for name in within["system"]]
    all_of = {name: s for s, name in kept.workload_names(shared).items()}
    names = [n for n in within["workload"] if n in all_of]
    for name, short in list(zip(names, short_labels(names), strict=True))[:MOST_LINKS]:
        parameters = {"workload": [all_of[name]], "systems": here[:1]}
        label = f"Throughput of {as_text(short)}" if short else "Throughput curve"
        page_link(PAGE, _THROUGHPUT, label, ":material/show_chart:", parameters)


def short_labels(names: list[str]) -> list[str]:
    """Return workload names without their common parts; "" for a single one."""
    parts = [name.split(" · ") for name in names]
    shared = set(parts[0]).intersection(*parts) if parts else set()
    return [" · ".join(p for p in of if p not in shared) for of in parts]


def _failures(shared: Store, result_set: str) -> None:
    bad = [s for s in kept.facets(shared, {"result_set": [result_set]})["status"] if s != "ok"]
    if not bad:
        return
    ids = queries.table(shared, {"result_set": [result_set], "status": bad}, MOST_FAILURES)
    failed = [run for i in ids["run_id"].to_pylist() if (run := queries.run(shared, i))]
    widgets.heading("Failed attempts")
    widgets.table(
        [
            {
                "Workload": r.workload,
                "Batch": r.global_batch_size,
                "Software": r.software,
                "Ended as": r.status,
                "Why": r.status_reason,
            }
            for r in failed
        ],
        key=f"measure.failures.{result_set}",
        alt="Runs of this sweep that failed, with the reason",
    )


def _log(status: SweepStatus) -> None:
    if output := sweeps.log_tail(measuring.state(), status.ticket):
        with st.expander("Last output", icon=":material/notes:"):
            st.code(output, language=None, wrap_lines=True)
