"""Start and end of a sweep on the command line: its journal, its limits, its last lines.

`python -m runners push SET --to URL`, and `run --push URL`, send runs to a server.
"""

import argparse
import contextlib
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planner.core import Text, in_words, joined
from planner.store.disk.files import write_once
from planner.store.disk.mirrors import named
from planner.store.disk.sweeps import SweepStatus, new_ticket, state_folder
from planner.store.pushed import SLUG
from runners.commands.console import FAILED, OK, STOPPED, Stop, refuse, say
from runners.plan import spec
from runners.process.supervise import ROOT
from runners.sweep import plans, sweep
from runners.sweep.context import Context, settings_of_start
from runners.sweep.push import PushRefusedError, push, server, server_problems, waiting
from runners.sweep.sweep import Journal

LOOK_S: Final = 2.0
"""Time between two looks for new runs during a sweep [s]."""


def push_command(args: argparse.Namespace, stop: Stop) -> int:
    """Send a result set; return when the server has acknowledged every run."""
    path = Path(args.spec).expanduser()
    results = (ROOT / Path(args.results).expanduser()).resolve()
    folder = path.resolve() if path.is_dir() and "/" in args.spec else results / args.spec
    problems = [*server_problems(args.to, args.token_file)]
    if not folder.is_dir():
        problems.append(
            Text(
                "there is no result set {spec!r} in {parent}.", spec=args.spec, parent=folder.parent
            )
        )
    elif not SLUG.fullmatch(folder.name):
        problems.append(
            Text("{name}: a set's name has small letters, digits and hyphens.", name=folder.name)
        )
    if problems:
        return refuse(args, problems, "\n".join(problems))
    try:
        sent = push(folder, server(args.to, args.token_file), state_folder(os.environ),
                    stop=stop, say=say)  # fmt: skip
    except PushRefusedError as error:
        say(str(error))
        return FAILED
    say(
        Text(
            "{stored:,} runs are stored there; {already:,} were there already.",
            stored=sent.stored,
            already=sent.already,
        )
    )
    if stop():
        return STOPPED
    return OK


@contextlib.contextmanager
def pushing(args: argparse.Namespace, folder: Path, stop: Stop) -> Iterator[None]:
    """Send runs while they are measured, and the rest at the end; nothing without --push."""
    if getattr(args, "push", None) is None:
        yield
        return
    to, state = server(args.push, args.token_file), state_folder(os.environ)
    over = threading.Event()
    refused: list[str] = []

    def send(until: Stop) -> None:
        try:
            if folder.is_dir() and waiting(folder, to, state):
                push(folder, to, state, stop=until, say=say)
        except PushRefusedError as error:
            refused.append(str(error))

    def follow() -> None:
        while not over.wait(LOOK_S) and not refused:
            send(over.is_set)

    thread = threading.Thread(target=follow, name="push", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        if not refused:
            send(stop)
        for text in refused:
            say(text)
        left = waiting(folder, to, state) if folder.is_dir() else 0
        if left:
            say(
                Text(
                    "{left:,} runs are not sent yet: python -m runners push {name} --to {address}",
                    left=left,
                    name=folder.name,
                    address=args.push,
                )
            )


LOCAL: Final = "local"
"""Engine of a sweep on this machine; `ray` runs it over a cluster."""


def nothing_to_do(context: Context) -> int:
    """Print that all runs exist; return 1 if some of them failed."""
    cases, done = context.expanded.cases, plans.done_of(context)
    failed = sum(done.rows[c.case_id][-1]["status"] != "ok" for c in cases)
    say(
        Text(
            "All {count} runs are in {name} already: nothing to do. To measure again, give the "
            "result set another --name.",
            count=len(cases),
            name=context.folder.name,
        )
    )
    if failed:
        say(
            Text(
                "{failed} of them failed (see `status`): --retry-failed measures them again.",
                failed=failed,
            )
        )
    return FAILED if failed else OK


def never_started(args: argparse.Namespace, context: Context) -> int:
    """Print that there is nothing to resume; return the exit code."""
    text = Text(
        "{name} was never started in this results folder. Use `run`.", name=context.folder.name
    )
    return refuse(args, [text], text)


@dataclass(slots=True, kw_only=True)
class Meter:
    """Cost of a cluster so far: every node that can measure is paid by the hour."""

    most: float
    hourly: float
    """Cost of an hour of one node."""
    currency: str
    nodes: Callable[[], int]
    now: Callable[[], float] = time.perf_counter
    spent: float = 0.0
    _read_s: float | None = None

    @property
    def words(self) -> str:
        """The limit in words: `5 USD`."""
        return f"{self.most:,.10g} {self.currency}"

    def is_spent(self) -> bool:
        """Add the cost since the last call; return whether the limit is passed."""
        now_s = self.now()
        if self._read_s is not None:
            self.spent += self.hourly * self.nodes() * (now_s - self._read_s) / 3600.0
        self._read_s = now_s
        return self.spent > self.most


@dataclass(slots=True)
class LimitedStop:
    """A stop that also ends a sweep at its limits of time and cost, counted from now."""

    stop: Stop
    hours: Mapping[str, float]
    """Hours of each limit, by its words."""
    meter: Meter | None = None
    """A limit of a cost that changes with the nodes of a cluster."""
    began_s: float = field(default_factory=time.perf_counter)
    reached: str | None = None
    """The limit that ended the sweep, in words."""

    def __call__(self) -> bool:
        """Return whether the sweep ends: on a request, or because a limit is reached."""
        hours = (time.perf_counter() - self.began_s) / 3600
        spent = self.meter is not None and self.meter.is_spent()
        if self.reached is None and not self.stop():
            over = [words for words, most in self.hours.items() if hours > most]
            over += [self.meter.words] if self.meter and spent else []
            self.reached = next(iter(over), None)
        return self.reached is not None or self.stop()

    @property
    def words(self) -> tuple[str, ...]:
        """All limits in words."""
        return (*self.hours, *([self.meter.words] if self.meter else ()))


def limited(
    args: argparse.Namespace, stop: Stop, hourly: float | None, currency: str
) -> LimitedStop:
    """Return a stop that ends the sweep at --max-hours and, at `hourly` cost, at --max-cost."""
    hours = {}
    if args.max_hours is not None:
        hours[in_words(3600 * args.max_hours)] = args.max_hours
    if args.max_cost is not None and hourly:
        hours[f"{args.max_cost:,.10g} {currency}"] = args.max_cost / hourly
    return LimitedStop(stop, hours)


def unpriced(args: argparse.Namespace, hourly: float | None) -> int | None:
    """Return the exit code of a cost limit without a price; None where it can be met."""
    if args.max_cost is None or hourly is not None:
        return None
    text = ("A cost limit needs a price of this machine, or of a node of the cluster. Add "
            "--price-per-hour, or a price and power_watts to [cost] of the sweep.")  # fmt: skip
    return refuse(args, [text], text)


def new_book(args: argparse.Namespace, context: Context, command: str = "run") -> Journal:
    """Return the journal of a sweep; its spec and settings are stored for a resume."""
    ticket = getattr(args, "ticket", None) or new_ticket(context.spec.name)
    path = spec.find(args.spec)
    with contextlib.suppress(OSError):  # results do not depend on this copy
        write_once(context.state / ticket / f"{context.spec.name}.toml", path.read_bytes())
    return sweep.journal(
        context.state, ticket, sweep=context.spec.name, title=context.spec.title,
        result_set=context.folder.name, folder=str(context.results),
        planned=len(context.expanded.cases), command=command,
        options=settings_of_start(args, context), installation=str(ROOT),
    )  # fmt: skip


def stopped(args: argparse.Namespace, book: Journal, limit: str | None = None) -> int:
    """Report that a sweep was stopped, by whom and how to continue it; return the exit code."""
    s = book.status
    how = Text("Stopped at the limit of {limit}", limit=limit) if limit else "Stopped"
    text = Text(
        "{how}: {finished} of {planned} runs are saved whole.",
        how=how,
        finished=s.finished,
        planned=s.planned,
    )
    book.update(phase="stopped", ended_at=time.time(), current=None, following=None, message=text,
                limit_reached=limit)  # fmt: skip
    say(Text("{text} Continue with: {command}", text=text, command=again(args, book.status)))
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
    done = Text(
        "{finished} of {planned} runs are in {place}",
        finished=status.finished,
        planned=status.planned,
        place=named(context.folder),
    )
    failed = Text("{failed} failed (see `status`)", failed=status.failed) if status.failed else ""
    say(f"{joined(', ', (done, failed))}.")
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
