"""The card of a sweep on the Measure page: what goes on, what is next, its curve and results."""

import time
from collections.abc import Callable, Sequence
from typing import Final, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common import kept, narrow, widgets
from pages.common.curve_lines import lines
from pages.common.kept import ROOT, store
from pages.common.link import Link, as_text, page_link
from pages.measure import limits, measuring
from planner import figures
from planner.core import Text, in_words, joined, paragraph, several
from planner.core.slugs import slugs
from planner.store import Store, queries
from planner.store.disk import sweeps
from planner.store.disk.sweeps import STORERS, Condition, SweepStatus
from planner.throughput import curve_sentence

OPENED: Final = "measure.ticket"
"""Session key of the opened sweep."""
MOST_FAILURES: Final = 50
MOST_LINKS: Final = 3
MOST_CURVES: Final = 10
"""Of the chart: it has as many colours."""
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
    done = Text(
        "{finished:,} of {runs_of_sweep} measured{failed_runs}",
        finished=status.finished,
        runs_of_sweep=several(status.planned, "run"),
        failed_runs=f" ({status.failed:,} failed)" if status.failed else "",
    )
    name = status.title or status.sweep
    if of == "waiting":
        return Text(
            "{name}: {message}.",
            name=name,
            message=status.message or "waits until this machine is free",
        )
    if of == "running":
        return Text("{name}: {done}, {left}.", name=name, done=done, left=_left(status))
    if of == "finished":
        time_s = status.measured_s(time.time())
        took = "" if time_s is None or not status.ended_at else f" in {in_words(time_s)}"
        return Text("{name}: {done}{took}.", name=name, done=done, took=took)
    return Text("{name}: {of} after {done}.", name=name, of=of, done=done)


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
        why = message or "No reason is recorded."
        return Text("{why}\n\nFinished runs are kept; Resume tries the others again.", why=why)
    if of == "stopped":
        limit = Text("Stopped at its limit of {limit}.", limit=as_text(status.limit_reached or ""))
        kept = Text("Finished runs are kept; {resumed}.", resumed=_resumed(status))
        return paragraph(limit if status.limit_reached else "", kept)
    if of == "finished" and measuring.is_repeatable(status):
        return "Repeat measures it again as a new set, which shows the scatter between sessions."
    return ""


def _resumed(status: SweepStatus) -> str:
    """Return what Resume would do, with the time from the runs before."""
    about = "" if status.left_s is None else f", about {in_words(status.left_s)}"
    return Text("Resume measures the other {left:,}{about}", left=status.left, about=about)


def _stalled(status: SweepStatus) -> str:
    age = in_words(max(0.0, time.time() - status.heartbeat_at))
    if not sweeps.here(status):
        return Text(
            "No report for {age} from {host}, where it runs. Check there: its "
            "process is not visible from here.",
            age=age,
            host=as_text(status.host),
        )
    return Text(
        "No report for {age}, though its process {pid} exists. The machine may be "
        "short of memory, asleep or very busy: wait a minute. If that does not help, "
        "stop it. If stopping fails, end the process with `kill -9 {pid}`, then resume. "
        "Finished runs are kept.",
        age=age,
        pid=status.pid,
    )


def draw_active(
    link: Link,
    first: tuple[SweepStatus, Condition],
    others: Sequence[tuple[SweepStatus, Condition]],
    *,
    allowed: bool,
) -> None:
    """Draw the one card of what goes on: the first sweep, its curve, and those behind it."""
    status, of = first
    with _card(status, of):
        st.progress(status.share, text=_progress(status))
        if line := running_line(status):
            st.caption(as_text(line))
        if status.nodes:
            _nodes(status, allowed=allowed)
        _explained(status, of, allowed=allowed)
        if allowed:
            _actions(link, status, of)
        _outcome(status)
        for waiting, condition in others:
            _line(link, waiting, condition, allowed=allowed)


def draw_ended(
    link: Link, status: SweepStatus, of: Condition, *, allowed: bool, alone: bool
) -> None:
    """Draw the card of a sweep that has ended; `alone` where no other card has its fields."""
    with _card(status, of):
        if status.nodes:
            _nodes(status, allowed=allowed)
        _explained(status, of, allowed=allowed)
        if allowed and alone and of != "finished" and measuring.is_of_this_program(status):
            limits.draw(link, status.currency or "USD")
        if allowed:
            _actions(link, status, of)
        _outcome(status)
        if allowed and of in {"interrupted", "failed"}:
            _log(status)


def _card(status: SweepStatus, of: Condition) -> DeltaGenerator:
    card = st.container(border=True, key=f"measure.card.{status.ticket}")
    label, icon, colour = BADGES[of]
    card.badge(label, icon=f":material/{icon}:", color=colour)
    card.markdown(f"## {widgets.answer_text(sweep_sentence(status, of))}")
    return card


def _explained(status: SweepStatus, of: Condition, *, allowed: bool) -> None:
    """Draw what the state means and where it belongs: for the owner, as it may name paths."""
    if allowed and (words := explanation(status, of)):
        st.markdown(words)
    if allowed and (place := foreign(status)):
        st.caption(as_text(place))


def running_line(status: SweepStatus) -> str:
    """Return time and cost so far, what is next, and the limits, on one line."""
    now = time.time()
    so_far, spent = status.measured_s(now), status.spent(now)
    parts = [
        "" if so_far is None else Text("Running for {so_far}", so_far=in_words(so_far)),
        ""
        if spent is None
        else Text(
            "cost so far {spent:,.2f} {currency}", spent=spent, currency=status.currency or ""
        ).strip(),
        status.following and f"next: {status.following}",
        status.limits and Text("stops at {limits}", limits=" or ".join(status.limits)),
    ]
    return " · ".join(str(part) for part in parts if part)


def installation(status: SweepStatus) -> str:
    """Return the installation of a sweep, in words."""
    if measuring.is_of_this_program(status) and measuring.is_shown(status):
        return "this one"
    return status.installation or status.folder


def foreign(status: SweepStatus) -> str:
    """Return where a sweep of another installation belongs; empty for one of this."""
    if measuring.is_of_this_program(status):
        shown = measuring.is_shown(status)
        return (
            ""
            if shown
            else Text(
                "Its results are in {folder}, which this app does not show.", folder=status.folder
            )
        )
    return Text(
        "It belongs to the installation in {installation}. Its results are in "
        "{folder}: open, resume or repeat it there.",
        installation=status.installation,
        folder=status.folder,
    )


def _line(link: Link, status: SweepStatus, of: Condition, *, allowed: bool) -> None:
    label, icon, colour = BADGES[of]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(label, icon=f":material/{icon}:", color=colour)
        st.markdown(widgets.answer_text(sweep_sentence(status, of)), width="content")
        if allowed:
            _actions(link, status, of)
    _explained(status, of, allowed=allowed)


def _nodes(status: SweepStatus, *, allowed: bool) -> None:
    """Draw the nodes of a sweep over a cluster; only those who may measure see their names."""
    widgets.heading("Nodes of the cluster")
    narrow.table(
        [
            {
                "Node": node.name if allowed else f"Node {number}",
                "Accelerators": node.accelerators or None,
                "System": node.system or None,
                "State": NODE_STATES[node.state],
                "Measures now": "; ".join(node.runs) or (node.message if allowed else None),
                "Runs measured": node.finished,
                "Stored by": STORERS[node.stored_by] or None,
            }
            for number, node in enumerate(status.nodes, start=1)
        ],
        key=f"measure.nodes.{status.ticket}",
        alt="Nodes of the cluster, their accelerators and what each measures now",
    )


def _progress(status: SweepStatus) -> str:
    done = f"{status.finished:,} of {several(status.planned, 'run')}"
    if not status.current:
        return done
    epoch = (
        Text("epoch {epoch} of {epochs}", epoch=status.current_epoch, epochs=status.current_epochs)
        if status.current_epoch and status.current_epochs
        else ""
    )
    now = Text("now {run}", run=joined(", ", (as_text(status.current), epoch)))
    return joined(" · ", (done, now))


def _left(status: SweepStatus) -> str:
    if status.left_s is None:
        return "time left is known after the first run"
    return f"{in_words(status.left_s)} left"


# -- buttons -----------------------------------------------------------------------------------


def _actions(link: Link, status: SweepStatus, of: Condition) -> None:
    ticket = status.ticket
    with widgets.actions():
        if measuring.is_active(of):
            _button("Stop", "stop", f"measure.stop.{ticket}", lambda: measuring.stop(ticket),
                    "Stopping: the current run is discarded.")  # fmt: skip
            return
        if of != "finished" and measuring.is_of_this_program(status):
            _button("Resume", "resume", f"measure.resume.{ticket}",
                    lambda: measuring.resume(ticket, limits.of(link)), "Resumed.")  # fmt: skip
        if of == "finished" and measuring.is_repeatable(status):
            _button("Repeat", "replay", f"measure.repeat.{ticket}",
                    lambda: link.put("ticket", measuring.repeat(ticket)),
                    "Started again as a new result set.")  # fmt: skip
        st.button("New sweep", icon=":material/add:", key=f"measure.new.{ticket}",
                  on_click=link.forget_now, args=("ticket",))  # fmt: skip
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
        st.toast(as_text(Text("Not done. {why}", why=why)), icon=":material/block:")
    else:
        st.toast(message, icon=":material/check:")


# -- results -----------------------------------------------------------------------------------


def _outcome(status: SweepStatus) -> None:
    """Draw links to the results, where there are any, and the failed runs."""
    if not measuring.is_shown(status):
        return
    shared = store()
    named = slugs(kept.facets(shared, {})["result_set"])
    short = next((s for s, name in named.items() if name == status.result_set), None)
    if short is None:
        return
    _chart_of(shared, status.result_set)
    with widgets.actions():
        icon = ":material/table_rows:"
        page_link(PAGE, _RESULTS, "Results of this sweep", icon, {"result_set": [short]})
        _curves(shared, status.result_set)
    _failures(shared, status.result_set)


def _chart_of(shared: Store, result_set: str) -> None:
    """Draw the curves of a result set; nothing without a timed run."""
    everything = kept.curves_of_set(shared, result_set)
    if not everything:
        return
    chosen = everything[:MOST_CURVES]
    widgets.heading("Samples per second against batch size")
    narrow.chart_and_table(
        figures.throughput(lines(chosen, {}), widgets.theme(), log=True),
        f"measure.curve.{result_set}",
        " ".join(curve_sentence(curve) for curve in chosen),
    )
    if len(everything) > MOST_CURVES:
        st.caption(
            Text(
                "{most} of {everything} curves. Throughput shows the others.",
                most=MOST_CURVES,
                everything=len(everything),
            )
        )


def _curves(shared: Store, result_set: str) -> None:
    within = kept.facets(shared, {"result_set": [result_set], "status": ["ok"]})
    systems = {name: s for s, name in slugs(kept.facets(shared, {})["system"]).items()}
    here = [systems[name] for name in within["system"]]
    all_of = {name: s for s, name in kept.workload_names(shared).items()}
    names = [n for n in within["workload"] if n in all_of]
    for name, short in list(zip(names, short_labels(names), strict=True))[:MOST_LINKS]:
        parameters = {"workload": [all_of[name]], "systems": here[:1]}
        label = Text("Throughput of {short}", short=as_text(short)) if short else "Throughput curve"
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
    narrow.table(
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
