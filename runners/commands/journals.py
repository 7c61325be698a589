"""Start and end of a sweep on the command line: its journal, its limits, its last lines."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import signal
import time
from typing import Final

from planner.store.disk.files import write_once
from planner.store.disk.sweeps import SweepStatus, new_ticket
from runners.commands.console import FAILED, OK, STOPPED, Stop, refuse, say
from runners.plan import spec
from runners.sweep import begun, plans, sweep
from runners.sweep.context import Context
from runners.sweep.sweep import Journal

LOCAL: Final = "local"
"""Engine of a sweep on this machine; `ray` runs it over a cluster."""


def nothing_to_do(context: Context) -> int:
    """Print that all runs exist; return 1 if some of them failed."""
    cases, done = context.expanded.cases, plans.done_of(context)
    failed = sum(done.rows[c.case_id][-1]["status"] != "ok" for c in cases)
    say(f"All {len(cases)} runs are in {context.folder.name} already: nothing to do. "
        "To measure again, give the result set another --name.")  # fmt: skip
    if failed:
        say(f"{failed} of them failed (see `status`): --retry-failed measures them again.")
    return FAILED if failed else OK


def never_started(args: argparse.Namespace, context: Context) -> int:
    """Print that there is nothing to resume; return the exit code."""
    text = f"{context.folder.name} was never started in this results folder. Use `run`."
    return refuse(args, [text], text)


def limited(args: argparse.Namespace, stop: Stop) -> Stop:
    """Return a stop that also ends the sweep after --max-hours, unless --yes is set."""
    if args.max_hours is None or args.yes:
        return stop
    end_s = time.perf_counter() + args.max_hours * 3600
    return lambda: stop() or time.perf_counter() > end_s


def new_book(args: argparse.Namespace, context: Context, command: str = "run") -> Journal:
    """Return the journal of a sweep; its spec and settings are stored for a resume."""
    ticket = getattr(args, "ticket", None) or new_ticket(context.spec.name)
    path = spec.find(args.spec)
    with contextlib.suppress(OSError):  # results do not depend on this copy
        write_once(context.state / ticket / f"{context.spec.name}.toml", path.read_bytes())
    return sweep.journal(
        context.state, ticket, sweep=context.spec.name, title=context.spec.title,
        result_set=context.folder.name, folder=str(context.results),
        planned=len(context.expanded.cases), command=command, options=begun.options(args, context),
    )  # fmt: skip


def stopped(args: argparse.Namespace, book: Journal) -> int:
    """Report that a sweep was stopped and how to continue it; return the exit code."""
    s = book.status
    text = f"Stopped: {s.finished} of {s.planned} runs are saved whole."
    book.update(phase="stopped", ended_at=time.time(), current=None, message=text)
    say(f"{text} Continue with: {again(args, book.status)}")
    return STOPPED


def again(args: argparse.Namespace, status: SweepStatus) -> str:
    """Return the shell command that continues a sweep."""
    command = {"run": "resume"}.get(status.command, status.command)
    words = ["python", "-m", "runners", command, str(args.spec)]
    if args.results != args.defaults["results"]:
        words += ["--results", str(args.results)]
    if getattr(args, "engine", LOCAL) != LOCAL:
        words += ["--engine", args.engine]
    return shlex.join([*words, "--name", status.result_set])


def ended(context: Context, status: SweepStatus) -> int:
    """Print how a sweep ended; return the exit code."""
    failed = f", {status.failed} failed (see `status`)" if status.failed else ""
    say(f"{status.finished} of {status.planned} runs are in {context.folder}{failed}.")
    return FAILED if status.failed else OK


def confirmed(question: str) -> bool:
    """Return whether the user confirms; Ctrl-C means no."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return input(question).strip().lower() in {"y", "yes"}
    except (KeyboardInterrupt, EOFError):
        return False
    finally:
        signal.signal(signal.SIGINT, before)
