"""The command `converge`: steps to a target, in turn with the sweeps of this machine."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from planner.core import in_words
from planner.store.disk.files import write_once
from planner.store.disk.queue import Turn
from planner.store.disk.sweeps import new_ticket, state_folder
from planner.store.sealed.commit import CommitError
from runners.commands.console import (
    OK,
    STOPPED,
    Stop,
    refuse,
    say,
)
from runners.converge import groups
from runners.converge import spec as target_spec
from runners.converge.children import supervised
from runners.converge.measure import converge
from runners.machine import facts as machine
from runners.machine.identity import identity
from runners.plan import spec
from runners.plan.host import pythons
from runners.plan.spec import SpecError
from runners.process.supervise import Stopped
from runners.sweep import sweep
from runners.sweep.context import named_pythons, results_folder
from runners.sweep.sweep import Journal


def converge_command(asked: argparse.Namespace, stop: Stop) -> int:
    """Steps to a target against batch size, in turn with the sweeps of this machine."""
    path = spec.find(asked.spec)
    asked_for = target_spec.read(path)
    python = pythons(named_pythons(asked.python), os.environ).get("tensorflow")
    if python is None:
        text = "Steps to a target need TensorFlow here. Install it (requirements.txt)."
        return refuse(asked, [text], text)
    facts = {**machine.facts("cpu", devices=1), "licence": asked.licence}
    results = results_folder(asked)
    pairs = len(groups.first(asked_for))
    ticket = asked.ticket or new_ticket(asked_for.name)
    state = state_folder(os.environ)
    facts |= identity(state)
    write_once(state / ticket / path.name, path.read_bytes())
    book = sweep.journal(
        state, ticket, sweep=asked_for.name, title=asked_for.title, planned=pairs,
        result_set=sweep.slug(asked.name or f"{asked_for.name} {facts['system_name']}"),
        folder=str(results), command="converge",
        options={"name": asked.name, "licence": asked.licence},
    )  # fmt: skip
    return _converge(asked, book, python.path, facts, stop)


def converge_plan(asked: argparse.Namespace) -> int:
    """How many trials a sweep of steps to a target has, and which are there."""
    told = _told(asked)
    if asked.json:
        say(json.dumps(told))
        return OK
    say(f"{told['title']}: {told['trials']:,} trials of {told['planned']} pairs of optimiser and "
        f"batch size; {told['finished']} pairs are done. A grid is widened where the best rate "
        "lies at its edge.")  # fmt: skip
    say(f"How long it takes is known while it runs: python -m runners converge {asked.spec}")
    return OK


def converge_status(asked: argparse.Namespace) -> int:
    """What is done of a sweep of steps to a target."""
    told = _told(asked)
    if asked.json:
        say(json.dumps(told))
        return OK
    say(f"{told['result_set']}: {told['finished']} of {told['planned']} pairs of optimiser and "
        "batch size are begun or done.")  # fmt: skip
    for words, status, reason in told["failed"]:
        say(f"  {words}: {status}, {reason}")
    for words in told["left"][:20]:
        say(f"  to do: {words}")
    return OK


def _told(asked: argparse.Namespace) -> dict[str, Any]:
    plan = target_spec.read(spec.find(asked.spec))
    name = asked.name or f"{plan.name} {machine.facts('cpu', devices=1)['system_name']}"
    folder = results_folder(asked) / sweep.slug(name)
    kept = groups.kept_in(folder, plan.name)
    settled = {
        g: kept.settled(groups.key_of(groups.request_of(plan, g))) for g in groups.first(plan)
    }
    bad = [(g.words, r[0]["status"], r[0].get("status_reason")) for g, r in settled.items()
           if r and r[0]["status"] not in {"ok", "nan"}]  # fmt: skip
    return {
        "title": plan.title, "result_set": folder.name, "planned": len(settled),
        "finished": sum(bool(r) for r in settled.values()),
        "trials": len(settled) * plan.learning_rates.count * plan.seeds,
        "left": [g.words for g, r in settled.items() if not r], "failed": bad,
    }  # fmt: skip


def _converge(
    asked: argparse.Namespace,
    book: Journal,
    python: str,
    facts: Mapping[str, Any],
    stop: Stop,
) -> int:
    turn = Turn(book.state)
    limit = int(asked.memory_limit * 1e9) if asked.memory_limit else None
    run_child = supervised(
        os.environ, timeout_s=target_spec.read(spec.find(asked.spec)).limits.timeout_s,
        memory_bytes=limit, python=python, beat=book.beat, stop=stop,
    )  # fmt: skip

    def told(text: str) -> None:
        say(text)
        book.update(current=text[:200])

    try:
        sweep.wait_for_turn(turn, book, stop)
        began_s = time.perf_counter()
        code = converge(spec.find(asked.spec), Path(book.status.folder), facts, run_child, told,
                        name=book.status.result_set, on_size=_counter(book))  # fmt: skip
        book.update(phase="finished", ended_at=time.time(), current=None)
        say(f"Took {in_words(time.perf_counter() - began_s)}.")
    except Stopped:
        text = "Stopped: every group that was finished is saved, none is half."
        book.update(phase="stopped", ended_at=time.time(), current=None, message=text)
        say(f"{text} The same command goes on with the first that is missing.")
        return STOPPED
    except (CommitError, SpecError) as error:
        book.update(phase="failed", ended_at=time.time(), message=str(error)[:500])
        raise
    finally:
        turn.give_back()
    return code


def _counter(book: Journal) -> Callable[[int, int], None]:
    """Tells how many batch sizes are done, and the time left from those measured just now."""
    last_s = time.perf_counter()

    def count(done: int, failed: int) -> None:
        nonlocal last_s
        now_s = time.perf_counter()
        if now_s - last_s > 1.0:  # one that was there already takes no time
            book.taken_s.append(now_s - last_s)
        last_s = now_s
        book.update(finished=done, failed=failed, left_s=book.left_s(book.status.planned - done))

    return count
