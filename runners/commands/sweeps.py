"""What each command does. They print for people, or one JSON value for programs."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from planner.store.disk.files import write_once
from planner.store.disk.queue import Turn
from planner.store.disk.sweeps import SweepStatus, new_ticket, state_folder
from planner.store.sealed.commit import CommitError
from runners.commands.console import (
    FAILED,
    OK,
    REFUSED,
    STOPPED,
    Stop,
    print_plan,
    refuse,
    say,
)
from runners.commands.converge import converge_command, converge_plan
from runners.commands.describe import describe_command
from runners.commands.status import status_command
from runners.plan import spec
from runners.process.supervise import Stopped
from runners.sweep import (
    begun,
    largest,
    max_batch,
    plans,
    sweep,
)
from runners.sweep.context import (
    Context,
    context,
    measurer,
    name_result_set,
    results_folder,
)
from runners.sweep.progress import Progress
from runners.sweep.sweep import Journal

# -- plan and sweeps -----------------------------------------------------------------------------


def sweeps_command(asked: argparse.Namespace, _: Stop) -> int:
    """List the sweeps that are shipped, with the command that measures each."""
    told = [_shipped(path) for path in sorted(spec.SWEEPS.glob("*.toml"))]
    if asked.json:
        say(json.dumps(told))
        return OK
    for command, heading in _HEADINGS.items():
        say(heading)
        for s in told:
            if s["command"] == command:
                say(f"  {s['name']:<22} {s['title']}")
    return OK


_HEADINGS: Final = {
    "run": "python -m runners plan|run NAME",
    "converge": "python -m runners converge NAME",
}


def _shipped(path: Path) -> dict[str, str]:
    body = spec.table(path)
    return {
        "name": path.stem,
        "title": body["title"],
        "about": body.get("about", ""),
        "path": path.name,
        "command": "converge" if spec.has_target(body) else "run",
    }


def plan_command(asked: argparse.Namespace, stop: Stop) -> int:
    """Print what a sweep would measure, take and cost."""
    if spec.has_target(spec.table(spec.find(asked.spec))):
        return converge_plan(asked)
    known = context(asked)
    made = plans.plan(known, probe=asked.probe, stop=stop)
    if asked.json:
        say(json.dumps(plans.as_json(known, made, asked.price_per_hour)))
    else:
        print_plan(known, made, asked.price_per_hour)
    return OK


# -- run and resume ------------------------------------------------------------------------------


def run_command(asked: argparse.Namespace, stop: Stop) -> int:
    """Measure a sweep, after asking where it would exceed what was allowed."""
    known = context(asked)
    made = plans.plan(known)
    if made.planned and not made.left and not made.automatic:
        return _nothing_to_do(known)
    if not asked.yes and not _allowed(asked, known, made):
        say("Nothing was started.")
        return REFUSED
    return _measure(asked, known, stop)


def _nothing_to_do(known: Context) -> int:
    """Everything is there; whether it ended well decides the exit code."""
    cases, done = known.expanded.cases, plans.done_of(known)
    failed = sum(done.rows[c.case_id][-1]["status"] != "ok" for c in cases)
    say(f"All {len(cases)} runs are in {known.folder.name} already: nothing to do. "
        "To measure again, give the result set another --name.")  # fmt: skip
    if failed:
        say(f"{failed} of them did not end well (see `status`): --retry-failed tries them again.")
    return FAILED if failed else OK


def resume_command(asked: argparse.Namespace, stop: Stop) -> int:
    """Measure what is missing of a sweep that was begun, with what it was begun with."""
    state, results = state_folder(os.environ), results_folder(asked)
    status = (
        begun.of_ticket(state, asked.ticket)
        if asked.ticket
        else begun.newest(state, spec.find(asked.spec).stem, results, asked.name)
    )
    if status:
        begun.fill(asked, status.options)
        if status.command != "run":
            return COMMANDS[status.command](asked, stop)
    if spec.has_target(spec.table(spec.find(asked.spec))):
        return converge_command(asked, stop)
    known = context(asked)
    if not known.folder.is_dir():
        text = f"{known.folder.name} was never begun in this results folder. Use `run`."
        return refuse(asked, [text], text)
    return run_command(asked, stop)


def _allowed(asked: argparse.Namespace, known: Context, made: plans.Plan) -> bool:
    """Whether the plan stays within --max-hours and --max-cost, or a person says yes."""
    total = plans.totals(known, made.left, asked.price_per_hour)
    currency = f"cost in {known.spec.cost.currency}"
    if made.automatic:  # how many runs a search will add, nobody knows; the clock ends it in time
        doubts = [_UNTELLABLE.format(what=currency)] if asked.max_cost is not None else []
    else:
        found = [
            _exceeds("hours", total.high_hours or total.hours, asked.max_hours),
            _exceeds(currency, total.cost, asked.max_cost),
        ]
        doubts = [text for text in found if text]
    if not doubts:
        return True
    for text in doubts:
        say(text)
    if not sys.stdin.isatty():
        say("Say --yes to run it all the same, or raise the limit.")
        return False
    return _yes("Run it all the same? [y/N] ")


_UNTELLABLE: Final = (
    "Cannot predict the {what}: this sweep searches its batch sizes first. List them in the spec, "
    "or set a limit with --max-hours."
)


def _yes(question: str) -> bool:
    """A person's answer; Ctrl-C at the question is a no."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return input(question).strip().lower() in {"y", "yes"}
    except (KeyboardInterrupt, EOFError):
        return False
    finally:
        signal.signal(signal.SIGINT, before)


def _exceeds(what: str, value: float | None, limit: float | None) -> str | None:
    if limit is None:
        return None
    if value is None:
        return (
            f"Cannot predict the {what} of this sweep yet (`plan --probe`); the limit is {limit:g}."
        )
    return f"The plan's {what}, {value:.3g}, exceed the limit of {limit:g}." * (value > limit)


def _measure(asked: argparse.Namespace, known: Context, stop: Stop) -> int:
    """Queue, search batch sizes where asked for, run, and say how it ended."""
    name_result_set(known)
    book = _book(asked, known)
    turn = Turn(known.state)
    try:
        with Progress(known.spec.title, known.system_name) as shown:
            book.told = shown.update
            sweep.wait_for_turn(turn, book, stop)
            stop = _limited(asked, stop)
            cases = [*known.expanded.cases, *largest.searched(known, book, shown, stop)]
            sweep.run(cases, known.folder, measurer(known), book,
                      attempts=known.spec.limits.attempts, memory_bytes=plans.memory_end(known),
                      retry_failed=known.retry_failed, on_row=shown.row, stop=stop)  # fmt: skip
        book.update(phase="finished", ended_at=time.time())
    except Stopped:
        return _stopped(asked, book)
    except max_batch.UndecidedError as error:
        return undecided(asked, book, error)
    except CommitError as error:
        book.update(phase="failed", ended_at=time.time(), message=str(error.strerror))
        raise
    finally:
        turn.give_back()
    return _ended(known, book.status)


def _limited(asked: argparse.Namespace, stop: Stop) -> Stop:
    """Also stop where the clock says that --max-hours are over and nobody said --yes."""
    if asked.max_hours is None or asked.yes:
        return stop
    end_s = time.perf_counter() + asked.max_hours * 3600
    return lambda: stop() or time.perf_counter() > end_s


def _book(asked: argparse.Namespace, known: Context, command: str = "run") -> Journal:
    ticket = getattr(asked, "ticket", None) or new_ticket(known.spec.name)
    path = spec.find(asked.spec)
    with contextlib.suppress(OSError):  # no result depends on it
        write_once(known.state / ticket / f"{known.spec.name}.toml", path.read_bytes())
    return sweep.journal(
        known.state, ticket, sweep=known.spec.name, title=known.spec.title,
        result_set=known.folder.name, folder=str(known.results),
        planned=len(known.expanded.cases), command=command, options=begun.options(asked, known),
    )  # fmt: skip


def _stopped(asked: argparse.Namespace, book: Journal) -> int:
    s = book.status
    text = f"Stopped: {s.finished} of {s.planned} runs are saved, none is half."
    book.update(phase="stopped", ended_at=time.time(), current=None, message=text)
    say(f"{text} Go on with: {again(asked, book.status)}")
    return STOPPED


def again(asked: argparse.Namespace, status: SweepStatus) -> str:
    """The command that goes on with a sweep, as one would type it."""
    command = {"run": "resume"}.get(status.command, status.command)
    words = ["python", "-m", "runners", command, str(asked.spec)]
    if asked.results != asked.defaults["results"]:
        words += ["--results", str(asked.results)]
    return shlex.join([*words, "--name", status.result_set])


def _ended(known: Context, status: SweepStatus) -> int:
    failed = f", {status.failed} did not end well (see `status`)" if status.failed else ""
    say(f"{status.finished} of {status.planned} runs are in {known.folder}{failed}.")
    return FAILED if status.failed else OK


# -- the largest batch ---------------------------------------------------------------------------


def max_batch_command(asked: argparse.Namespace, stop: Stop) -> int:
    """Find the largest batch that fits for each network of a sweep."""
    known = context(asked)
    name_result_set(known)
    groups = [*known.expanded.automatic, *largest.one_of_each(known)]
    book, turn = _book(asked, known, "max-batch"), Turn(known.state)
    try:
        with Progress(known.spec.title, known.system_name) as shown:
            book.told = shown.update
            sweep.wait_for_turn(turn, book, stop)
            found = [(g, largest.search(known, g, book, shown, stop)) for g in groups]
        book.update(phase="finished", ended_at=time.time())
    except Stopped:
        return _stopped(asked, book)
    except max_batch.UndecidedError as error:
        return undecided(asked, book, error)
    finally:
        turn.give_back()
    for group, result in found:
        say(largest.largest_words(group, result))
    return OK


def undecided(asked: argparse.Namespace, book: Journal, error: Exception) -> int:
    """A search that cannot go on: nothing is known of memory, and nothing is guessed."""
    text = f"Cannot find the largest batch: {error}. Fix this and try again."
    book.update(phase="failed", ended_at=time.time(), current=None, message=text)
    refuse(asked, [text], text)
    return FAILED


COMMANDS: Final[MappingProxyType[str, Callable[[Any, Stop], int]]] = MappingProxyType(
    {
        "plan": plan_command, "run": run_command, "resume": resume_command,
        "status": status_command, "max-batch": max_batch_command, "converge": converge_command,
        "sweeps": sweeps_command, "describe": describe_command,
    }
)  # fmt: skip
