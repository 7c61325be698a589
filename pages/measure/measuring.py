"""Actions of the Measure page: plans of the runners; start, stop and resume of sweeps.

Nothing imports `runners`: a page uses it through processes. The state of a sweep is its status on
disk, never this server's memory, so a restart of the server changes nothing.
"""

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import streamlit as st

from pages.common.kept import ROOT, store
from pages.visitor.permission import Action, allow
from planner.core import Text
from planner.store import Store, folders_from_environment
from planner.store.disk import sweeps
from planner.store.disk.sweeps import ACTIVE, Condition, SweepStatus

COMMAND: tuple[str, ...] = (sys.executable, "-m", "runners")
FOLLOW_S: Final = 2.0
"""Interval between updates of a page that follows a sweep [s]: that of the sweep's reports."""
_ANSWER_S: Final = 60.0
_PROBE_S: Final = 600.0


class NotDoneError(Exception):
    """An action failed; the message for the user has the reason and the next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """A sweep that comes with the program."""

    name: str
    title: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """Runs, time and cost of a sweep; None is unknown. Memory in bytes, energy in kWh."""

    name: str
    title: str = ""
    about: str = ""
    result_set: str = ""
    planned: int = 0
    finished: int = 0
    left: int = 0
    hours: float | None = None
    hours_low: float | None = None
    hours_high: float | None = None
    hours_basis: str | None = None
    rough: int = 0
    priced: bool = True
    memory_bytes: float | None = None
    energy_kwh: float | None = None
    cost: float | None = None
    currency: str | None = None
    smallest: Mapping[str, Any] | None = None
    full: Mapping[str, Any] | None = None
    runs: Sequence[Mapping[str, Any]] = ()
    problems: Sequence[str] = ()


def shipped() -> list[Shipped]:
    """Return the shipped sweeps; NotDoneError where they cannot be listed."""
    runnable = [s for s in _cached_answer(COMMAND, ("sweeps", "--json")) if s["command"] == "run"]
    return [Shipped(name=s["name"], title=s["title"], about=s["about"]) for s in runnable]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLimits:
    """Limits at which a sweep stops, and the price of this machine; None is not set."""

    hours: float | None = None
    cost: float | None = None
    price_per_hour: float | None = None

    def options(self) -> tuple[str, ...]:
        """Return the options of `runners run`."""
        named = {
            "--max-hours": self.hours,
            "--max-cost": self.cost,
            "--price-per-hour": self.price_per_hour,
        }
        return tuple(t for n, v in named.items() if v is not None for t in (n, f"{v:.10g}"))


NO_LIMITS: Final = StartLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """What a plan depends on; its price is that of an hour of this machine."""

    spec: str
    price_per_hour: float | None
    without: tuple[str, ...]
    """Options that leave out the sets that the visitor may not see."""
    data: tuple[int, int]
    """Serial number and generation of the visitor's store."""

    def words(self, *further: str) -> tuple[str, ...]:
        """Return the arguments of the runners."""
        priced = StartLimits(price_per_hour=self.price_per_hour).options()
        named = ("plan", self.spec, "--json", *further, "--results", str(results()))
        return (*named, *self.without, *priced)


def question_of(spec: str, shared: Store, price_per_hour: float | None) -> PlanQuestion:
    """Return the question of the plan of `spec` for the viewer of the store."""
    return PlanQuestion(
        spec=spec,
        price_per_hour=price_per_hour,
        without=_without(shared),
        data=(shared.serial, shared.generation),
    )


def plan(question: PlanQuestion) -> SweepPlan:
    """Return the plan, without measured runs."""
    return _plan(_cached_answer(COMMAND, question.words(), question.data))


def probe(question: PlanQuestion) -> SweepPlan:
    """Return the plan from two timed steps per network; takes seconds to minutes."""
    require(question.spec)
    return _plan(_answer([*COMMAND, *question.words("--probe")], _PROBE_S))


def _without(shared: Store) -> tuple[str, ...]:
    """Return the options that leave out the sets that the viewer of the store may not see."""
    return tuple(word for slug in sorted(shared.hidden) for word in ("--without", slug))


def results() -> Path:
    """Return the folder of new runs: the user's own."""
    folders = folders_from_environment(ROOT, os.environ)
    return next(f.path for f in folders if f.kind == "own")


def state() -> Path:
    """Return the folder of the statuses of this machine's sweeps."""
    return sweeps.state_folder(os.environ)


def statuses() -> list[tuple[SweepStatus, Condition]]:
    """Return all sweeps of this machine, newest first, each with its actual condition."""
    return [(s, sweeps.condition(s)) for s in sweeps.read_statuses(state())]


def shown(shared: Store) -> list[tuple[SweepStatus, Condition]]:
    """Return `statuses` without sweeps into sets that the viewer of the store may not see."""
    seen, everything = [], statuses()
    for status, of in everything:
        if shared.hides(status.result_set):
            continue
        # A waiting sweep's message says how far the one before it is.
        quiet = of == "waiting" and any(shared.hides(s.result_set) for s, _ in everything)
        seen.append((replace(status, message=None) if quiet else status, of))
    return seen


def is_active(of: Condition) -> bool:
    """Return whether a sweep runs, waits or is stalled."""
    return of in {*ACTIVE, "stalled"}


# -- actions: each checks the permission -------------------------------------------------------


def require(about: str) -> None:
    """Raise NotDoneError where measuring is off; `about` is the sweep, for the audit log."""
    if not (allowed := allow(Action.MEASURE, about)).allowed:
        raise NotDoneError(allowed.why)


def start(planned: SweepPlan, limits: StartLimits = NO_LIMITS) -> str:
    """Start a shipped sweep as a process of its own; return its ticket."""
    require(planned.name)
    if planned.name not in {s.name for s in shipped()}:
        raise NotDoneError(Text("No sweep is called {planned}.", planned=planned.name))
    _not_twice(planned.result_set, results())
    ticket = sweeps.new_ticket(planned.name)
    status = _waiting(ticket, planned)
    _launch(status, ("run", planned.name, "--yes", *limits.options(), *_without(store())))
    return ticket


def resume(ticket: str, limits: StartLimits = NO_LIMITS) -> None:
    """Resume a stopped sweep; its limits count from now."""
    require(ticket)
    status = _status(ticket)
    if not is_of_this_program(status):
        raise NotDoneError(
            Text(
                "It belongs to the installation in {installation}.",
                installation=status.installation,
            )
        )
    _not_twice(status.result_set, Path(status.folder))
    _launch(status, ("resume", _spec_of(status), "--yes", *limits.options(), *_without(store())))


def repeat(ticket: str) -> str:
    """Measure a sweep again as a new result set, with its settings; return the new ticket."""
    require(ticket)
    old = _status(ticket)
    if not is_repeatable(old):
        raise NotDoneError("Only a sweep of this installation can be repeated.")
    again = replace(
        old, ticket=sweeps.new_ticket(old.sweep), result_set=_free_name(old.result_set),
        folder=str(results()), installation=str(ROOT), phase="waiting", finished=0, failed=0,
        nodes=(), started_at=None,
    )  # fmt: skip
    confirmed = () if old.command == "converge" else ("--yes", *_without(store()))
    named = (_spec_of(old), "--name", again.result_set, *confirmed)
    _launch(again, (old.command, *named, *_settings(old.options)))
    return again.ticket


_SETTINGS: Final = MappingProxyType(
    {
        name: f"--{name.replace('_', '-')}"
        for name in (
            "python", "memory_limit", "licence", "price_per_hour", "launcher", "hosts",
            "server_host", "prefix", "ports", "host_directory", "host_python", "backend",
            "device", "engine", "address",
        )
    }
)  # fmt: skip
"""Options of the command line by the settings that a sweep's status keeps."""


def _settings(kept: Mapping[str, Any]) -> list[str]:
    """Return the options of a sweep's start, to start it again."""
    words = []
    for name, option in _SETTINGS.items():
        value = kept.get(name)
        for each in value if isinstance(value, list) else [value]:
            words += [option, str(each)] if each else []
    return words


def _free_name(result_set: str) -> str:
    """Return the name of a new result set: that of the old one with the next free number."""
    base = re.sub(r"-repeat-\d+$", "", result_set)
    taken = {s.result_set for s, _ in statuses()}
    names = (f"{base}-repeat-{n}" for n in itertools.count(2))
    return next(n for n in names if n not in taken and not (results() / n).exists())


def is_of_this_program(status: SweepStatus) -> bool:
    """Return whether this installation started the sweep; older statuses do not say."""
    return status.installation in {"", str(ROOT)}


def is_repeatable(status: SweepStatus) -> bool:
    """Return whether the sweep can be measured again as a new set from here."""
    return is_of_this_program(status) and status.command in {"run", "converge"}


def is_shown(status: SweepStatus) -> bool:
    """Return whether the sweep's results are in a folder that this app shows."""
    shown = {f.path for f in folders_from_environment(ROOT, os.environ)}
    return Path(status.folder) in shown


def _spec_of(status: SweepStatus) -> str:
    """Return the spec to resume: the file saved at the start, or the shipped sweep's name."""
    if kept := sweeps.kept_spec(state(), status):
        return str(kept)
    if status.sweep in {s.name for s in shipped()}:
        return status.sweep
    raise NotDoneError("Its spec is not saved here. Resume it in the terminal that started it.")


def stop(ticket: str) -> None:
    """Stop a sweep: the current run is discarded, finished runs stay."""
    require(ticket)
    if not sweeps.ask_to_stop(_status(ticket)):
        raise NotDoneError("Its process has ended, or runs on another machine.")


def forget(ticket: str) -> None:
    """Remove an ended sweep from the list; its results stay."""
    require(ticket)
    if is_active(sweeps.condition(_status(ticket))):
        raise NotDoneError("It is still running. Stop it first.")
    sweeps.remove_status(state(), ticket)


def _status(ticket: str) -> SweepStatus:
    status = sweeps.read_status(state(), ticket)
    if status and not store().hides(status.result_set):
        return status
    raise NotDoneError("This sweep is no longer on this machine.")


def _not_twice(result_set: str, folder: Path) -> None:
    """Raise NotDoneError if its sweep is active: two processes would measure the same runs."""
    busy = [s for s, c in statuses() if is_active(c) and s.result_set == result_set]
    if any(Path(s.folder) == folder for s in busy):
        raise NotDoneError("This sweep is already running or waiting.")


def _waiting(ticket: str, planned: SweepPlan) -> SweepStatus:
    """Return the status of a sweep before its process starts; `launch` completes it."""
    return SweepStatus(
        ticket=ticket,
        sweep=planned.name,
        title=planned.title,
        result_set=planned.result_set,
        folder=str(results()),
        installation=str(ROOT),
        phase="waiting",
        planned=planned.planned,
        finished=planned.finished,
        pid=0,
        pid_started=0.0,
        asked_at=0.0,
        heartbeat_at=0.0,
    )


def _launch(status: SweepStatus, what: Sequence[str]) -> None:
    command = [*COMMAND, *what, "--results", status.folder, "--ticket", status.ticket]
    try:
        sweeps.launch(state(), status, command, ROOT, os.environ)
    except OSError as error:
        raise NotDoneError(
            Text("It could not be started: {reason}.", reason=error.strerror)
        ) from error


# -- answers of the runners --------------------------------------------------------------------


@st.cache_data(ttl=600, max_entries=64, show_spinner="Working out the plan")
def _cached_answer(
    command: Sequence[str],
    question: Sequence[str],
    data: tuple[int, ...] = (),  # noqa: ARG001 - a part of the cache key
) -> Any:  # noqa: ANN401 - any JSON
    return _answer([*command, *question], _ANSWER_S)


def _answer(command: Sequence[str], patience_s: float) -> Any:  # noqa: ANN401 - any JSON
    """Return a command's JSON output; NotDoneError without one. A bad plan holds its reason."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=patience_s,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise NotDoneError(
            Text("The runners gave no answer within {patience_s:g} s.", patience_s=patience_s)
        ) from error
    except OSError as error:
        raise NotDoneError(
            Text("The runners could not be started: {reason}.", reason=error.strerror)
        ) from error
    except ValueError as error:
        last = next(reversed(done.stderr.strip().splitlines()), "nothing")
        raise NotDoneError(
            Text("The runners gave no answer. Last line: {last}", last=last)
        ) from error


def _plan(body: Mapping[str, Any]) -> SweepPlan:
    values = {k: v for k, v in body.items() if k in SweepPlan.__dataclass_fields__}
    return SweepPlan(**{"name": "", **values})
