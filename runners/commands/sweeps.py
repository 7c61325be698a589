"""The commands; each prints lines for people or one JSON value for programs."""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from planner.core import Text, encoded, large, paragraph, plain, text_of
from planner.networks import state_of
from planner.store.disk.sweeps import STORERS, Turn, condition, read_statuses, state_folder
from planner.store.sealed.commit import CommitError
from runners.commands.cluster import run_over_cluster
from runners.commands.console import FAILED, OK, REFUSED, Stop, print_plan, refuse, say
from runners.commands.converge import converge_command, converge_plan, converge_status
from runners.commands.journals import (
    LOCAL,
    confirmed,
    ended,
    limited,
    never_started,
    new_book,
    nothing_to_do,
    push_command,
    pushing,
    stopped,
    unpriced,
)
from runners.commands.links import links_command
from runners.machine import environment, facts
from runners.plan import spec
from runners.plan.host import problems, pythons
from runners.process.supervise import ProcessLimits, Stopped, supervise
from runners.sweep import max_batch, plans, sweep
from runners.sweep.context import (
    Context,
    cluster_at_start,
    fill_settings,
    measurer,
    name_result_set,
    newest_start,
    read_context,
    results_folder,
    start_with_ticket,
)
from runners.sweep.sweep import Progress


def status_command(args: argparse.Namespace, _: Stop) -> int:
    """Print the finished runs of a sweep; without a sweep, all sweeps of this machine."""
    if args.spec is None:
        return _all_statuses(args)
    if spec.has_target(spec.table(spec.find(args.spec))):
        return converge_status(args)
    stem, results = spec.find(args.spec).stem, results_folder(args)
    if last := newest_start(state_folder(os.environ), stem, results, args.name):
        fill_settings(args, last.options)
    context = read_context(args, cluster_at_start(args))
    done = plans.done_of(context)
    attempts = context.spec.limits.attempts
    rows = [rows[-1] for c in context.expanded.cases if (rows := done.rows.get(c.case_id, ()))]
    left = [c for c in context.expanded.cases if not done.settled(c, attempts)]
    searched = [r for g in context.expanded.automatic for r in max_batch.measured(context, g)]
    probes = sum(len(max_batch.earlier_probes(context, g)) for g in context.expanded.automatic)
    bad = [r for r in [*rows, *searched] if r["status"] != "ok"]
    status = {
        "result_set": context.folder.name, "planned": len(context.expanded.cases) + len(searched),
        "finished": len(context.expanded.cases) - len(left) + len(searched),
        "left": [c.words for c in left], "probes": probes,
        "failed": [{"batch": r.get("global_batch_size"), "model": r["model"],
                    "status": r["status"], "reason": r.get("status_reason")} for r in bad],
    }  # fmt: skip
    if args.json:
        say(json.dumps(status))
        return OK
    say(
        Text(
            "{result_set}: {finished} of {planned} runs are done.",
            result_set=status["result_set"],
            finished=status["finished"],
            planned=status["planned"],
        )
    )
    for group in context.expanded.automatic:
        runs = len(max_batch.measured(context, group))
        progress = Text(
            "{workload}: batch sizes are being searched; {runs} runs and {probes} probes so far",
            workload=group.case.workload,
            runs=runs,
            probes=len(max_batch.earlier_probes(context, group)),
        )
        say(f"  {progress}")
    for r in bad:
        say(
            f"  {r['model']}, batch {r.get('global_batch_size')}: {r['status']}, "
            f"{r.get('status_reason')}"
        )
    for words in status["left"][:20] if isinstance(status["left"], list) else []:
        to_do = Text("to do: {run}", run=words)
        say(f"  {to_do}")
    return OK


def _all_statuses(args: argparse.Namespace) -> int:
    statuses = read_statuses(state_folder(os.environ))
    if args.json:
        rows = [{"ticket": s.ticket, "sweep": s.sweep, "condition": condition(s),
                 "finished": s.finished, "planned": s.planned,
                 "nodes": [asdict(n) for n in s.nodes]} for s in statuses]  # fmt: skip
        say(json.dumps(rows))
        return OK
    if not statuses:
        say("No sweep has been started on this machine.")
    for s in statuses:
        how = Text(
            "{condition:<12} {finished} of {planned} runs",
            condition=condition(s),
            finished=s.finished,
            planned=s.planned,
        )
        say(f"{s.sweep:<18} {how}  {s.message or ''}")
        for node in s.nodes if s.phase == "running" else ():
            now = "; ".join(node.runs) or node.message or node.state
            if node.stored_by:
                now = f"{now}; {Text('stored by {by}', by=STORERS[node.stored_by])}"
            say(f"  {node.name}: {node.accelerators or node.system}, {node.finished} runs; {now}")
    return OK


CHILD: Final = ("-m", "runners.child.describe")
TIMEOUT_S: Final = 600.0
MEMORY_SHARE: Final = 0.8
BATCHES: Final = (1, 8, 32, 128, 512)
"""Batch sizes whose memory is printed [samples]."""
SAMPLES: Final = 1e6
"""Samples of an epoch in the link, where none are given."""
MOMENTS: Final = 2.0
"""Moment buffers that Adam keeps, in copies of the weights."""
NO_BACKEND: Final = (
    "Keras has no backend here. Install TensorFlow, JAX or PyTorch beside it (README: Install)."
)
APP: Final = "http://127.0.0.1:8501"
_FUNCTION: Final = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")
"""module:function, not a path."""
Description = Mapping[str, Any]


def describe_command(args: argparse.Namespace, stop: Stop) -> int:
    """Print operations, parameters, memory by batch and the link to compare hardware for it."""
    source = args.spec
    named = _FUNCTION.fullmatch(source)
    if not source.endswith((".keras", ".h5")) and not named:
        text = Text(
            "{source} is neither a .keras file nor module:function. Give one of them.",
            source=source,
        )
        return refuse(args, [text], text)
    if not named and not Path(source).is_file():
        text = Text(
            "There is no file {source}. Save the model with model.save('name.keras').",
            source=source,
        )
        return refuse(args, [text], text)
    interpreters = pythons({}, os.environ)
    if messages := problems({}, os.environ, interpreters):
        return refuse(args, messages, messages[0])
    if not interpreters:
        return refuse(args, [NO_BACKEND], NO_BACKEND)
    backend, python = next(iter(interpreters.items()))
    ended = supervise(
        [python.path, *CHILD],
        {"source": source if named else str(Path(source).absolute()),
         "folders": _module_folders(os.environ), "shape": args.shape},
        environment.for_child(os.environ, backend=backend, threads=None, device="cpu"),
        ProcessLimits(timeout_s=TIMEOUT_S,
                      memory_bytes=int(MEMORY_SHARE * facts.memory_limit_bytes())),
        stop=stop,
    )  # fmt: skip
    description = next((e["columns"] for e in ended.events if e["event"] == "result"), None)
    if description is None:
        is_reported = any(e["event"] == "failed" for e in ended.events)
        reason: str = ended.reason or ""
        if ended.status == "crashed" and not is_reported:
            reason = Text("Its process ended too early ({reason}).", reason=reason)
        text = paragraph(Text("{source} cannot be described.", source=source), reason)
        refuse(args, [text], text)
        return FAILED
    body = {
        **description,
        "memory": memory_by_batch(description),
        "compare": compare_link(description, args),
    }
    if args.json:
        say(json.dumps(body))
    else:
        _print(body)
        if args.samples is None:
            say(
                Text(
                    "The link assumes {samples:,.0f} samples per epoch. Change it with --samples.",
                    samples=SAMPLES,
                )
            )
    return OK


def _module_folders(environ: Mapping[str, str]) -> list[str]:
    """Return the folders of the user's modules: the current one, then those of PYTHONPATH."""
    named = environ.get("PYTHONPATH", "").split(os.pathsep)
    return [str(Path.cwd()), *(str(Path(folder).absolute()) for folder in named if folder)]


def memory_by_batch(description: Description) -> list[dict[str, float]]:
    """Return the memory of one device at each batch [bytes]: Adam's state and activations."""
    state = state_of(float(description["params"]), MOMENTS, half=bool(description["half"])).total
    each = float(description["activation_bytes"])
    return [{"batch": float(b), "bytes": state + b * each} for b in BATCHES]


def compare_link(description: Description, args: argparse.Namespace) -> str:
    """Return the URL of Compare hardware with the model as a described workload."""
    values = {
        "workload": "described", "name": str(description["name"])[:80],
        "params": float(description["params"]) or None,
        "flops": float(description["train_flops"]) or None,
        "family": description["family"] or None, "tokens": description["tokens"],
        "image_px": description["image_px"], "samples": args.samples or SAMPLES,
        "epochs": args.epochs,
        "precision": "bfloat16" if description["half"] else "float32",
    }  # fmt: skip
    pairs = [(name, text_of(value)) for name, value in values.items() if value is not None]
    return f"{APP}/compare?{encoded(pairs)}"


def _print(body: Description) -> None:
    shapes = [" x ".join(map(str, shape)) or "1 value" for shape in body["input_shapes"]]
    shape = " and ".join(shapes)
    say(
        Text(
            "{name}: {params:,} parameters ({trainable_params:,} trained), one sample {shape}",
            name=body["name"],
            params=body["params"],
            trainable_params=body["trainable_params"],
            shape=shape,
        )
    )
    say(
        Text(
            "Operations of one sample: forward {forward}, training {training}",
            forward=_flops(body["forward_flops"]),
            training=_flops(body["train_flops"]),
        )
    )
    if body["not_counted"]:
        say(
            Text(
                "Not counted: {not_counted}. Add their operations by hand.",
                not_counted=", ".join(body["not_counted"]),
            )
        )
    say("Memory of one device with Adam (estimated):")
    for row in body["memory"]:
        say(f"  batch {row['batch']:>4.0f}  {_size(row['bytes']):>10}")
    say(Text("Compare hardware: {compare}", compare=body["compare"]))


def _size(value: float) -> str:
    """'12.3 GB', '4.56 MB'."""
    return f"{value / 1e9:.2f} GB" if value >= 1e9 else f"{value / 1e6:.3g} MB"


def _flops(value: float) -> str:
    """'7.8 billion FLOP', '12,300 FLOP'."""
    return f"{large(value, 3, millions=True) if value >= 1e6 else plain(value, 3)} FLOP"


# -- plan and sweeps -----------------------------------------------------------------------------


def sweeps_command(args: argparse.Namespace, _: Stop) -> int:
    """Print the shipped sweeps and the command that measures each."""
    shipped = [_shipped(path) for path in sorted(spec.SWEEPS.glob("*.toml"))]
    if args.json:
        say(json.dumps(shipped))
        return OK
    for command, heading in _HEADINGS.items():
        say(heading)
        for s in shipped:
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


def plan_command(args: argparse.Namespace, stop: Stop) -> int:
    """Print the runs, time and cost of a sweep."""
    if spec.has_target(spec.table(spec.find(args.spec))):
        return converge_plan(args)
    context = read_context(args)
    plan = plans.plan(context, probe=args.probe, stop=stop)
    if args.json:
        say(json.dumps(plans.as_json(context, plan, args.price_per_hour)))
    else:
        print_plan(context, plan, args.price_per_hour)
    return OK


# -- run and resume ------------------------------------------------------------------------------


def run_command(args: argparse.Namespace, stop: Stop) -> int:
    """Measure a sweep; ask for confirmation if it exceeds a limit."""
    if args.engine != LOCAL:
        return run_over_cluster(args, stop)
    context = read_context(args)
    plan = plans.plan(context)
    if plan.planned and not plan.left and not plan.automatic:
        return nothing_to_do(context)
    if (refused := unpriced(args, plans.cost_per_hour(context, args.price_per_hour))) is not None:
        return refused
    if not args.yes and not _allowed(args, context, plan):
        say("Nothing was started.")
        return REFUSED
    with pushing(args, context.folder, stop):
        return _measure(args, context, stop)


def resume_command(args: argparse.Namespace, stop: Stop) -> int:
    """Measure the missing runs of a sweep with the settings it was started with."""
    state, results = state_folder(os.environ), results_folder(args)
    status = (
        start_with_ticket(state, args.ticket)
        if args.ticket
        else newest_start(state, spec.find(args.spec).stem, results, args.name)
    )
    if status:
        fill_settings(args, status.options)
        if status.command != "run":
            return COMMANDS[status.command](args, stop)
    if spec.has_target(spec.table(spec.find(args.spec))):
        return converge_command(args, stop)
    if args.engine != LOCAL:
        return run_over_cluster(args, stop, resumed=True)
    context = read_context(args)
    if not context.folder.is_dir():
        return never_started(args, context)
    return run_command(args, stop)


def _allowed(args: argparse.Namespace, context: Context, plan: plans.Plan) -> bool:
    """Return whether the plan meets --max-hours and --max-cost or the user confirms it."""
    total = plans.totals(context, plan.left, args.price_per_hour)
    currency = Text("cost in {currency}", currency=context.spec.cost.currency)
    if plan.automatic:  # a search adds an unknown number of runs; the clock limits its time
        reasons = [_UNPREDICTABLE.format(what=currency)] if args.max_cost is not None else []
    else:
        checks = [
            _exceeds("hours", total.high_hours or total.hours, args.max_hours),
            _exceeds(currency, total.cost, args.max_cost),
        ]
        reasons = [text for text in checks if text]
    if not reasons:
        return True
    for text in reasons:
        say(text)
    if not sys.stdin.isatty():
        say("Add --yes to run it anyway, or raise the limit.")
        return False
    return confirmed("Run it anyway? [y/N] ")


_UNPREDICTABLE: Final = (
    "Cannot predict the {what}: this sweep searches its batch sizes first. List them in the spec "
    "or set a limit with --max-hours."
)


def _exceeds(what: str, value: float | None, limit: float | None) -> str | None:
    if limit is None:
        return None
    if value is None:
        return Text(
            "Cannot predict the {what} of this sweep yet (`plan --probe`); the limit is {limit:g}.",
            what=what,
            limit=limit,
        )
    return Text(
        "The plan's {what}, {value:.3g}, exceed the limit of {limit:g}.",
        what=what,
        value=value,
        limit=limit,
    ) * (value > limit)


def _measure(args: argparse.Namespace, context: Context, until: Stop) -> int:
    """Queue the sweep, search automatic batch sizes, run it and print how it ended."""
    name_result_set(context)
    book = new_book(args, context)
    turn = Turn(context.state)
    hourly = plans.cost_per_hour(context, args.price_per_hour)
    stop = limited(args, until, hourly, context.spec.cost.currency)
    try:
        with Progress(context.spec.title, context.system_name) as shown:
            book.on_update = shown.update
            book.update(limits=tuple(stop.hours), cost_per_hour=hourly,
                        currency=context.spec.cost.currency)  # fmt: skip
            sweep.wait_for_turn(turn, book, until)
            stop.began_s = time.perf_counter()
            cases = [*context.expanded.cases, *max_batch.searched(context, book, shown, stop)]
            sweep.run(cases, context.folder, measurer(context), book,
                      attempts=context.spec.limits.attempts, memory_bytes=plans.memory_end(context),
                      retry_failed=context.retry_failed, on_row=shown.row, stop=stop)  # fmt: skip
        book.update(phase="finished", ended_at=time.time())
    except Stopped:
        return stopped(args, book, stop.reached)
    except max_batch.UndecidedError as error:
        return undecided(args, book, error)
    except CommitError as error:
        book.update(phase="failed", ended_at=time.time(), message=str(error.strerror))
        raise
    finally:
        turn.give_back()
    return ended(context, book.status)


# -- the largest batch ---------------------------------------------------------------------------


def max_batch_command(args: argparse.Namespace, stop: Stop) -> int:
    """Find the largest batch that fits for each network of a sweep."""
    context = read_context(args)
    name_result_set(context)
    groups = [*context.expanded.automatic, *max_batch.planned_groups(context)]
    book, turn = new_book(args, context, "max-batch"), Turn(context.state)
    try:
        with Progress(context.spec.title, context.system_name) as shown:
            book.on_update = shown.update
            sweep.wait_for_turn(turn, book, stop)
            results = [(g, max_batch.search_group(context, g, book, shown, stop)) for g in groups]
        book.update(phase="finished", ended_at=time.time())
    except Stopped:
        return stopped(args, book)
    except max_batch.UndecidedError as error:
        return undecided(args, book, error)
    finally:
        turn.give_back()
    for group, result in results:
        say(max_batch.largest_words(group, result))
    return OK


def undecided(args: argparse.Namespace, book: sweep.Journal, error: Exception) -> int:
    """Print why a search cannot continue; return the exit code."""
    text = Text("Cannot find the largest batch: {error}. Fix this and try again.", error=error)
    book.update(phase="failed", ended_at=time.time(), current=None, message=text)
    refuse(args, [text], text)
    return FAILED


COMMANDS: Final[MappingProxyType[str, Callable[[Any, Stop], int]]] = MappingProxyType(
    {
        "plan": plan_command, "run": run_command, "resume": resume_command,
        "status": status_command, "max-batch": max_batch_command, "converge": converge_command,
        "sweeps": sweeps_command, "describe": describe_command, "links": links_command,
        "push": push_command,
    }
)  # fmt: skip
