"""What each command does. They print for people, or one JSON value for programs."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from planner.records import Row
from planner.store.commit import CommitError
from planner.store.files import write_once
from planner.store.queue import Turn
from planner.store.sweeps import SweepStatus, condition, read_statuses, state_folder
from runners import design, max_batch, plans, spec, sweep
from runners.answers import FAILED, OK, REFUSED, STOPPED, Stop, print_plan, refuse, say
from runners.cases import Case
from runners.context import Context, context, measurer, name_result_set
from runners.converge_command import converge_command
from runners.expand import Automatic
from runners.progress import Progress
from runners.supervise import Stopped
from runners.sweep import Journal
from runners.workloads import DATASETS

# -- plan and sweeps -----------------------------------------------------------------------------


def sweeps_command(asked: argparse.Namespace, _: Stop) -> int:
    """List the sweeps that are shipped."""
    found = [(p, spec.read(p)) for p in sorted(spec.SWEEPS.glob("*.toml")) if _is_sweep(p.stem)]
    told = [{"name": s.name, "title": s.title, "about": s.about, "path": p.name} for p, s in found]
    if asked.json:
        say(json.dumps(told))
    else:
        for s in told:
            say(f"{s['name']:<18} {s['title']}")
    return OK


def _is_sweep(name: str) -> bool:
    """Sweeps of steps to a target have a form and a command of their own."""
    return not name.startswith("digits-steps")


def plan_command(asked: argparse.Namespace, _: Stop) -> int:
    """Print what a sweep would measure, take and cost."""
    known = context(asked)
    made = plans.plan(known, probe=asked.probe)
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
        say(f"All {len(made.planned)} runs are in {known.folder.name} already: nothing to do. "
            "To measure again, give the result set another --name.")  # fmt: skip
        return OK
    if not asked.yes and not _allowed(asked, known, made):
        say("Nothing was started.")
        return REFUSED
    return _measure(asked, known, stop)


def resume_command(asked: argparse.Namespace, stop: Stop) -> int:
    """Measure what is missing of a sweep that was begun."""
    if asked.ticket and not asked.name:  # the result set keeps the name it was begun with
        begun = {s.ticket: s for s in read_statuses(state_folder(os.environ))}
        asked.name = begun[asked.ticket].result_set if asked.ticket in begun else None
    known = context(asked)
    if not known.folder.is_dir():
        text = f"{known.folder.name} was never begun in this results folder. Use `run`."
        return refuse(asked, [text], text)
    return run_command(asked, stop)


def _allowed(asked: argparse.Namespace, known: Context, made: plans.Plan) -> bool:
    """Whether the plan stays within --max-hours and --max-cost, or a person says yes."""
    total = plans.totals(known, made.left, asked.price_per_hour)
    if made.automatic:  # how many runs a search will add, nobody knows before
        total = plans.Totals(runs=total.runs)
    found = [
        _exceeds("hours", total.high_hours or total.hours, asked.max_hours),
        _exceeds(f"cost in {known.spec.cost.currency}", total.cost, asked.max_cost),
    ]
    doubts = [text for text in found if text]
    if not doubts:
        return True
    for text in doubts:
        say(text)
    if not sys.stdin.isatty():
        say("Say --yes to run it all the same, or raise the limit.")
        return False
    return input("Run it all the same? [y/N] ").strip().lower() in {"y", "yes"}


def _exceeds(what: str, value: float | None, limit: float | None) -> str | None:
    if limit is None:
        return None
    if value is None:
        return (
            f"The {what} of this sweep cannot be told yet (`plan --probe`); the limit is {limit:g}."
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
            cases = [*known.expanded.cases, *_searched(known, book, shown, stop)]
            sweep.run(cases, known.folder, measurer(known), book,
                      attempts=known.spec.limits.attempts, on_row=shown.row,
                      stop=_limited(asked, stop))  # fmt: skip
        book.update(phase="finished", ended_at=time.time())
    except Stopped:
        return _stopped(asked, book)
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


def _book(asked: argparse.Namespace, known: Context) -> Journal:
    ticket = getattr(asked, "ticket", None) or sweep.new_ticket(known.spec.name)
    path = spec.find(asked.spec)
    with contextlib.suppress(OSError):  # no result depends on it
        write_once(known.state / ticket / f"{known.spec.name}.toml", path.read_bytes())
    return sweep.journal(
        known.state, ticket, sweep=known.spec.name, title=known.spec.title,
        result_set=known.folder.name, folder=str(known.results),
        planned=len(known.expanded.cases),
    )  # fmt: skip


def _stopped(asked: argparse.Namespace, book: Journal) -> int:
    s = book.status
    text = f"Stopped: {s.finished} of {s.planned} runs are saved, none is half."
    book.update(phase="stopped", ended_at=time.time(), current=None, message=text)
    say(f"{text} Go on with: python -m runners resume {asked.spec}")
    return STOPPED


def _ended(known: Context, status: SweepStatus) -> int:
    failed = f", {status.failed} did not end well (see `status`)" if status.failed else ""
    say(f"{status.finished} of {status.planned} runs are in {known.folder}{failed}.")
    return FAILED if status.failed else OK


# -- the largest batch ---------------------------------------------------------------------------


def _searched(known: Context, book: Journal, shown: Progress, stop: Stop) -> list[Case]:
    """Cases of the groups whose batch is auto: search first, then the smallest design."""
    found: list[Case] = []
    for group in known.expanded.automatic:
        result = search(known, group, book, shown, stop)
        if result.largest:
            sizes = design.batches(min(max_batch.SMALL[0], result.largest), result.largest)
            found += [group.at(b) for b in sizes]
    return found


def search(
    known: Context, group: Automatic, book: Journal, shown: Progress, stop: Stop
) -> max_batch.Found:
    """Find the largest batch of a group; every probe is a row of the result set."""

    def probe(batch: int) -> max_batch.Probe:
        case = replace(plans.two_steps(group.at(batch)), sweep=f"{known.spec.name} max-batch")
        row = _row_of_probe(known, case, book, shown, stop)
        fits = row["status"] in {"ok", "nan"}  # a lost loss is no lack of memory
        return max_batch.Probe(fits, row.get("peak_memory_bytes"))

    data = DATASETS[group.case.dataset]
    bound = known.spec.limits.max_batch
    return max_batch.search(
        probe,
        bound=bound if data.synthetic else min(bound, group.case.train_samples),
        memory_bytes=plans.memory_end(known),
    )


def _row_of_probe(known: Context, case: Case, book: Journal, shown: Progress, stop: Stop) -> Row:
    """The row of a probe: the one that is there, or a new one."""
    quiet = replace(book, told=lambda _: None)
    made = sweep.run([case], known.folder, measurer(known), quiet, stop=stop, on_row=shown.row)
    book.status = replace(quiet.status, planned=book.status.planned,
                          finished=book.status.finished, failed=book.status.failed)  # fmt: skip
    return made[-1] if made else sweep.done_in(known.folder).rows[case.case_id][-1]


def max_batch_command(asked: argparse.Namespace, stop: Stop) -> int:
    """Find the largest batch that fits for each network of a sweep."""
    known = context(asked)
    name_result_set(known)
    groups = [*known.expanded.automatic, *_one_of_each(known)]
    book, turn = _book(asked, known), Turn(known.state)
    try:
        with Progress(known.spec.title, known.system_name) as shown:
            book.told = shown.update
            sweep.wait_for_turn(turn, book, stop)
            found = [(g, search(known, g, book, shown, stop)) for g in groups]
        book.update(phase="finished", ended_at=time.time())
    except Stopped:
        return _stopped(asked, book)
    finally:
        turn.give_back()
    for group, result in found:
        say(_largest(group, result))
    return OK


def _one_of_each(known: Context) -> list[Automatic]:
    """One group for everything a sweep varies but batch size."""
    steps = [(g[0], g[0].train_samples // g[0].batch) for g in design.groups(known.expanded.cases)]
    synthetic = [DATASETS[c.dataset].synthetic for c, _ in steps]
    return [Automatic(case=c, steps_per_epoch=n if s else None)
            for (c, n), s in zip(steps, synthetic, strict=True)]  # fmt: skip


def _largest(group: Automatic, found: max_batch.Found) -> str:
    name = replace(group.case, batch=1).words.replace(", batch 1", "")
    if found.largest is None:
        return f"{name}: nothing fits, not even a batch of {found.fails}."
    end = f"{found.fails} does not" if found.fails else "the search ended there"
    return f"{name}: {found.largest} fits, {end} ({len(found.probes)} probes)."


# -- status --------------------------------------------------------------------------------------


def status_command(asked: argparse.Namespace, _: Stop) -> int:
    """What is done of a sweep; without one, what all sweeps of this machine are doing."""
    if asked.spec is None:
        return _all_statuses(asked)
    known = context(asked)
    done = sweep.done_in(known.folder)
    attempts = known.spec.limits.attempts
    rows = [r for c in known.expanded.cases for r in done.rows.get(c.case_id, ())]
    left = [c for c in known.expanded.cases if not done.settled(c, attempts)]
    bad = [r for r in rows if r["status"] != "ok"]
    told = {
        "result_set": known.folder.name, "planned": len(known.expanded.cases),
        "finished": len(known.expanded.cases) - len(left), "left": [c.words for c in left],
        "failed": [{"batch": r.get("global_batch_size"), "model": r["model"],
                    "status": r["status"], "reason": r.get("status_reason")} for r in bad],
    }  # fmt: skip
    if asked.json:
        say(json.dumps(told))
        return OK
    say(f"{told['result_set']}: {told['finished']} of {told['planned']} runs are done.")
    for r in bad:
        say(f"  {r['model']}, batch {r.get('global_batch_size')}: {r['status']}, "
            f"{r.get('status_reason')}")  # fmt: skip
    for words in told["left"][:20] if isinstance(told["left"], list) else []:
        say(f"  to do: {words}")
    return OK


def _all_statuses(asked: argparse.Namespace) -> int:
    found = read_statuses(state_folder(os.environ))
    if asked.json:
        told = [{"ticket": s.ticket, "sweep": s.sweep, "condition": condition(s),
                 "finished": s.finished, "planned": s.planned} for s in found]  # fmt: skip
        say(json.dumps(told))
        return OK
    if not found:
        say("No sweep has been started on this machine.")
    for s in found:
        how = f"{condition(s):<12} {s.finished} of {s.planned} runs"
        say(f"{s.sweep:<18} {how}  {s.message or ''}")
    return OK


COMMANDS: Final[MappingProxyType[str, Callable[[Any, Stop], int]]] = MappingProxyType(
    {
        "plan": plan_command, "run": run_command, "resume": resume_command,
        "status": status_command, "max-batch": max_batch_command, "converge": converge_command,
        "sweeps": sweeps_command,
    }
)  # fmt: skip
