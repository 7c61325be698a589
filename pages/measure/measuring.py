"""What the Measure page does besides drawing: ask the runners for plans, start, stop, resume.

Nothing imports `runners`: a page talks to it through processes. What a sweep does is told by its
status on disk, never by this server's memory, so a restart of the server changes nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import streamlit as st

from pages.common.permission import permission
from pages.common.store import ROOT
from planner.store import folders_from_environment
from planner.store.disk import sweeps
from planner.store.disk.sweeps import ACTIVE, Condition, SweepStatus

COMMAND: tuple[str, ...] = (sys.executable, "-m", "runners")
FOLLOW_S: Final = 2.0
"""How often a page that follows a sweep looks again [s]: as often as the sweep reports."""
SO_FAR: Final = "the runs of this sweep measured so far"
"""The basis of a plan while its sweep is being measured."""
_ANSWER_S: Final = 60.0
_PROBE_S: Final = 600.0


class NotDoneError(Exception):
    """Why something was not done, and what to do next, in words for the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """A sweep that comes with the program."""

    name: str
    title: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a sweep would measure and cost; None is not known. Memory in bytes, energy in kWh."""

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
    """The sweeps that come with the program; NotDoneError where they cannot be told."""
    found = [s for s in _ask(COMMAND, ("sweeps", "--json")) if s["command"] == "run"]
    return [Shipped(name=s["name"], title=s["title"], about=s["about"]) for s in found]


def plan(spec: str, generation: int) -> Plan:
    """What `spec` would take; `generation` of the store, for what is measured is not planned."""
    return _plan(_ask(COMMAND, ("plan", spec, "--json", "--results", str(results())), generation))


def probe(spec: str) -> Plan:
    """As `plan`, but from two real steps of each network; takes seconds to minutes."""
    require()
    question = ("plan", spec, "--json", "--probe", "--results", str(results()))
    return _plan(_answer([*COMMAND, *question], _PROBE_S))


def so_far(planned: Plan, status: SweepStatus) -> Plan:
    """Return the plan of a sweep that is being measured, with what its runs took so far.

    The time left is that of the status; energy and cost shrink with it. The runners are not asked
    again: their answer would take time from the run that is being measured.
    """
    left = max(0, status.planned - status.finished)
    counted = replace(planned, planned=status.planned, finished=status.finished, left=left)
    if status.left_s is None:  # no run of it has ended
        return counted
    hours = status.left_s / 3600.0
    share = hours / planned.hours if planned.hours else None
    return replace(
        counted, hours=hours, hours_low=None, hours_high=None, hours_basis=SO_FAR, rough=0,
        energy_kwh=_part(planned.energy_kwh, share), cost=_part(planned.cost, share),
    )  # fmt: skip


def _part(whole: float | None, share: float | None) -> float | None:
    return None if whole is None or share is None else whole * share


def status_of(ticket: str) -> SweepStatus | None:
    """The newest status of a sweep; None where this machine has none of that ticket."""
    return sweeps.read_status(state(), ticket)


def results() -> Path:
    """The folder that new runs go to: the person's own."""
    folders = folders_from_environment(ROOT, os.environ)
    return next(f.path for f in folders if f.kind == "own")


def state() -> Path:
    """Where sweeps on this machine tell their state."""
    return sweeps.state_folder(os.environ)


def statuses() -> list[tuple[SweepStatus, Condition]]:
    """All sweeps known here, the newest first, each with the state it is really in."""
    return [(s, sweeps.condition(s)) for s in sweeps.read_statuses(state())]


def is_active(of: Condition) -> bool:
    """Whether somebody measures, waits to, or seems to."""
    return of in {*ACTIVE, "stalled"}


# -- what changes something: each asks for permission itself -----------------------------------


def require() -> None:
    """NotDoneError where measuring is off, whatever the page shows."""
    if not (found := permission()).allowed:
        raise NotDoneError(found.why)


def start(planned: Plan) -> str:
    """Start a shipped sweep as a process of its own; its ticket."""
    require()
    if planned.name not in {s.name for s in shipped()}:
        raise NotDoneError(f"No sweep is called {planned.name}.")
    _not_twice(planned.name, results())
    ticket = sweeps.new_ticket(planned.name)
    asked = _asked(ticket, planned)
    _launch(asked, ("run", planned.name, "--yes"))
    return ticket


def resume(ticket: str) -> None:
    """Measure what a sweep that has stopped left open."""
    require()
    status = _known(ticket)
    _not_twice(status.sweep, Path(status.folder))
    _launch(status, ("resume", _spec_of(status), "--yes"))


def _spec_of(status: SweepStatus) -> str:
    """What to resume: the file kept when it began, or the shipped sweep of that name."""
    if kept := sweeps.kept_spec(state(), status):
        return str(kept)
    if status.sweep in {s.name for s in shipped()}:
        return status.sweep
    raise NotDoneError("Its file is not kept here. Resume it in a terminal, where it was started.")


def stop(ticket: str) -> None:
    """Ask a sweep to stop: the run at hand is given up, finished ones stay."""
    require()
    if not sweeps.ask_to_stop(_known(ticket)):
        raise NotDoneError("Its process is gone already, or runs on another machine.")


def forget(ticket: str) -> None:
    """Take a sweep that has ended off the list; its results stay."""
    require()
    if is_active(sweeps.condition(_known(ticket))):
        raise NotDoneError("It is still being measured. Stop it first.")
    sweeps.remove_status(state(), ticket)


def _known(ticket: str) -> SweepStatus:
    if found := sweeps.read_status(state(), ticket):
        return found
    raise NotDoneError("This machine knows no such sweep any more.")


def _not_twice(sweep: str, folder: Path) -> None:
    """Two supervisors of one sweep would measure the same runs after each other."""
    busy = [s for s, c in statuses() if is_active(c) and s.sweep == sweep]
    if any(Path(s.folder) == folder for s in busy):
        raise NotDoneError("This sweep is being measured already, or waits to be.")


def _asked(ticket: str, planned: Plan) -> SweepStatus:
    """What is known of a sweep before its process is there; `launch` fills in the rest."""
    return SweepStatus(
        ticket=ticket,
        sweep=planned.name,
        title=planned.title,
        result_set=planned.result_set,
        folder=str(results()),
        phase="waiting",
        planned=planned.planned,
        finished=planned.finished,
        pid=0,
        pid_started=0.0,
        asked_at=0.0,
        heartbeat_at=0.0,
    )


def _launch(asked: SweepStatus, what: Sequence[str]) -> None:
    command = [*COMMAND, *what, "--results", asked.folder, "--ticket", asked.ticket]
    try:
        sweeps.launch(state(), asked, command, ROOT, os.environ)
    except OSError as error:
        raise NotDoneError(f"It could not be started: {error.strerror}.") from error


# -- asking the runners ------------------------------------------------------------------------


@st.cache_data(ttl=600, max_entries=64, show_spinner="Working out the plan")
def _ask(command: Sequence[str], question: Sequence[str], generation: int = 0) -> Any:  # noqa: ANN401, ARG001 - any JSON; what is known by then is part of the question
    return _answer([*command, *question], _ANSWER_S)


def _answer(command: Sequence[str], patience_s: float) -> Any:  # noqa: ANN401 - any JSON
    """What a command says as JSON; NotDoneError where it says none. A bad plan says why in it."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=patience_s,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise NotDoneError(f"The runners gave no answer within {patience_s:g} s.") from error
    except OSError as error:
        raise NotDoneError(f"The runners could not be started: {error.strerror}.") from error
    except ValueError as error:
        last = next(reversed(done.stderr.strip().splitlines()), "no word")
        raise NotDoneError(f"The runners gave no answer, but: {last}") from error


def _plan(body: Mapping[str, Any]) -> Plan:
    known = {k: v for k, v in body.items() if k in Plan.__dataclass_fields__}
    return Plan(**{"name": "", **known})
