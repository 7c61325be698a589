"""The command `converge`: steps to a target, queued with the sweeps of this machine."""

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from planner.core import Text, in_words
from planner.store.disk.files import write_once
from planner.store.disk.sweeps import Turn, new_ticket, state_folder
from planner.store.sealed.commit import CommitError
from runners.commands.console import OK, STOPPED, Stop, refuse, say
from runners.converge import measure
from runners.converge import spec as target_spec
from runners.converge.measure import converge, supervised
from runners.machine import facts as machine
from runners.machine.identity import identity
from runners.plan import spec
from runners.plan.host import pythons
from runners.plan.spec import SpecError
from runners.process.supervise import Stopped
from runners.sweep import sweep
from runners.sweep.context import named_pythons, results_folder
from runners.sweep.sweep import Journal
from runners.workloads import model_title


def converge_command(args: argparse.Namespace, stop: Stop) -> int:
    """Measure steps to a target against batch size, queued with this machine's sweeps."""
    path = spec.find(args.spec)
    plans = target_spec.read(path)
    plan = plans[0]
    python = pythons(named_pythons(args.python), os.environ).get("tensorflow")
    if python is None:
        text = "Steps to a target need TensorFlow here. Install it (requirements.txt)."
        return refuse(args, [text], text)
    facts = {**machine.facts("cpu", devices=1), "licence": args.licence}
    results = results_folder(args)
    pairs = sum(len(measure.first(plan)) for plan in plans)
    ticket = args.ticket or new_ticket(plan.name)
    state = state_folder(os.environ)
    facts |= identity(state)
    write_once(state / ticket / path.name, path.read_bytes())
    book = sweep.journal(
        state, ticket, sweep=plan.name, title=plan.title, planned=pairs,
        result_set=sweep.slug(args.name or f"{plan.name} {facts['system_name']}"),
        folder=str(results), command="converge",
        options={"name": args.name, "licence": args.licence},
    )  # fmt: skip
    return _converge(args, book, python.path, facts, stop)


def converge_plan(args: argparse.Namespace) -> int:
    """Print how many trials a sweep of steps to a target has and how many are done."""
    status = _status(args)
    if args.json:
        say(json.dumps(status))
        return OK
    say(
        Text(
            "{title}: {trials:,} trials of {planned} pairs of optimiser and batch size; "
            "{finished} pairs are done. A grid is widened where the best rate lies at its edge.",
            title=status["title"],
            trials=status["trials"],
            planned=status["planned"],
            finished=status["finished"],
        )
    )
    say(
        Text(
            "The time left is shown while it runs: python -m runners converge {spec}",
            spec=args.spec,
        )
    )
    return OK


def converge_status(args: argparse.Namespace) -> int:
    """Print what is done of a sweep of steps to a target."""
    status = _status(args)
    if args.json:
        say(json.dumps(status))
        return OK
    say(
        Text(
            "{result_set}: {finished} of {planned} pairs of optimiser and batch size are begun "
            "or done.",
            result_set=status["result_set"],
            finished=status["finished"],
            planned=status["planned"],
        )
    )
    for words, ending, reason in status["failed"]:
        say(f"  {words}: {ending}, {reason}")
    for words in status["left"][:20]:
        to_do = Text("to do: {run}", run=words)
        say(f"  {to_do}")
    return OK


def _status(args: argparse.Namespace) -> dict[str, Any]:
    plans = target_spec.read(spec.find(args.spec))
    plan = plans[0]
    name = args.name or f"{plan.name} {machine.facts('cpu', devices=1)['system_name']}"
    folder = results_folder(args) / sweep.slug(name)
    kept = measure.kept_in(folder, plan.name)
    several = len(plans) > 1
    settled = [
        (_words(p, g, several=several), kept.settled(measure.key_of(measure.request_of(p, g))))
        for p in plans
        for g in measure.first(p)
    ]
    bad = [(words, r[0]["status"], r[0].get("status_reason")) for words, r in settled
           if r and r[0]["status"] not in {"ok", "nan"}]  # fmt: skip
    return {
        "title": plan.title, "result_set": folder.name, "planned": len(settled),
        "finished": sum(bool(r) for _, r in settled),
        "trials": len(settled) * plan.learning_rates.count * plan.seeds,
        "left": [words for words, r in settled if not r], "failed": bad,
    }  # fmt: skip


def _words(plan: target_spec.ConvergePlan, group: measure.Group, *, several: bool) -> str:
    return f"{model_title(plan.workload, plan.options)}, {group.words}" if several else group.words


def _converge(
    args: argparse.Namespace, book: Journal, python: str, facts: Mapping[str, Any], stop: Stop
) -> int:
    turn = Turn(book.state)
    limit = int(args.memory_limit * 1e9) if args.memory_limit else None
    run_child = supervised(
        os.environ, timeout_s=target_spec.read(spec.find(args.spec))[0].limits.timeout_s,
        memory_bytes=limit, python=python, beat=book.beat, stop=stop,
    )  # fmt: skip

    def report(text: str) -> None:
        say(text)
        book.update(current=text[:200])

    try:
        sweep.wait_for_turn(turn, book, stop)
        began_s = time.perf_counter()
        code = converge(spec.find(args.spec), Path(book.status.folder), facts, run_child, report,
                        name=book.status.result_set, on_size=_counter(book))  # fmt: skip
        book.update(phase="finished", ended_at=time.time(), current=None)
        say(f"Took {in_words(time.perf_counter() - began_s)}.")
    except Stopped:
        text = "Stopped: all finished groups are saved whole."
        book.update(phase="stopped", ended_at=time.time(), current=None, message=text)
        say(
            Text("{text} Run the same command to continue with the first missing group.", text=text)
        )
        return STOPPED
    except (CommitError, SpecError) as error:
        book.update(phase="failed", ended_at=time.time(), message=str(error)[:500])
        raise
    finally:
        turn.give_back()
    return code


def _counter(book: Journal) -> Callable[[int, int], None]:
    """Return a callback that reports finished batch sizes and the time left.

    The time left comes from the batch sizes measured by this command.
    """
    last_s = time.perf_counter()

    def count(done: int, failed: int) -> None:
        nonlocal last_s
        now_s = time.perf_counter()
        if now_s - last_s > 1.0:  # a batch size measured earlier takes no time
            book.taken_s.append(now_s - last_s)
        last_s = now_s
        book.update(finished=done, failed=failed, left_s=book.left_s(book.status.planned - done))

    return count
