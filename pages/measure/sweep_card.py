"""One sweep on the Measure page: its state in words, failures, and links to its results."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Literal

import streamlit as st

from pages.common import kept, widgets
from pages.common.link import as_text, page_link, slugs
from pages.common.store import ROOT, store
from pages.measure import measuring
from planner.core import in_words
from planner.store import Store, queries
from planner.store.disk import sweeps
from planner.store.disk.sweeps import Condition, SweepStatus

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
PAGE: Final = "measure"
"""The page that shows the card."""
_RESULTS: Final = ROOT / "pages" / "results" / "page.py"
_THROUGHPUT: Final = ROOT / "pages" / "throughput" / "page.py"


def sentence(status: SweepStatus, of: Condition) -> str:
    """Return the state of the sweep in one sentence, to paste."""
    done = f"{status.finished:,} of {_runs(status.planned)} measured{_failed(status)}"
    name = status.title or status.sweep
    if of == "waiting":
        return f"{name}: {_waits(status)}."
    if of == "running":
        return f"{name}: {done}, {_left(status)}."
    if of == "finished":
        took = f" in {in_words(_took(status))}" if status.ended_at and status.started_at else ""
        return f"{name}: {done}{took}."
    return f"{name}: {BADGES[of][0].lower()} after {done}."


def _failed(status: SweepStatus) -> str:
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


def draw(status: SweepStatus, of: Condition, *, allowed: bool) -> None:
    """Draw the card of a sweep: badge, sentence, progress, current run."""
    with st.container(border=True, key=f"measure.card.{status.ticket}"):
        label, icon, colour = BADGES[of]
        st.badge(label, icon=f":material/{icon}:", color=colour)
        st.markdown(f"#### {widgets.answer_text(sentence(status, of))}")
        if of in {"waiting", "running", "stalled"}:
            st.progress(_share(status), text=_progress(status))
        if allowed and (words := explanation(status, of)):  # it may name paths
            st.markdown(words)
        if allowed:
            _actions(status, of)
        _outcome(status)
        if allowed and of in {"interrupted", "failed"}:
            _log(status)


def _progress(status: SweepStatus) -> str:
    done = f"{status.finished:,} of {_runs(status.planned)}"
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


def _waits(status: SweepStatus) -> str:
    message = (status.message or "").rstrip(".")
    if message == "starting":
        return "starting"
    return message[:1].lower() + message[1:] if message else "waits until this machine is free"


def _left(status: SweepStatus) -> str:
    if status.left_s is None:
        return "time left is known after the first run"
    return f"{in_words(status.left_s)} left"


def _took(status: SweepStatus) -> float:
    return max(0.0, (status.ended_at or 0.0) - (status.started_at or 0.0))


def _runs(count: int) -> str:
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
    st.markdown("**Failed attempts**")
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
