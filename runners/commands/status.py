"""The command `status`: finished runs of a sweep, or all sweeps of this machine."""

from __future__ import annotations

import argparse
import json
import os

from planner.store.disk.sweeps import condition, read_statuses, state_folder
from runners.commands.console import OK, Stop, say
from runners.commands.converge import converge_status
from runners.plan import spec
from runners.sweep import begun, largest, plans
from runners.sweep.context import read_context, results_folder


def status_command(args: argparse.Namespace, _: Stop) -> int:
    """Print the finished runs of a sweep; without a sweep, all sweeps of this machine."""
    if args.spec is None:
        return _all_statuses(args)
    if spec.has_target(spec.table(spec.find(args.spec))):
        return converge_status(args)
    stem, results = spec.find(args.spec).stem, results_folder(args)
    if last := begun.newest(state_folder(os.environ), stem, results, args.name):
        begun.fill(args, last.options)
    context = read_context(args)
    done = plans.done_of(context)
    attempts = context.spec.limits.attempts
    rows = [rows[-1] for c in context.expanded.cases if (rows := done.rows.get(c.case_id, ()))]
    left = [c for c in context.expanded.cases if not done.settled(c, attempts)]
    searched = [r for g in context.expanded.automatic for r in largest.measured(context, g)]
    probes = sum(len(largest.earlier_probes(context, g)) for g in context.expanded.automatic)
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
    say(f"{status['result_set']}: {status['finished']} of {status['planned']} runs are done.")
    for group in context.expanded.automatic:
        runs = len(largest.measured(context, group))
        say(f"  {group.case.workload}: batch sizes are being searched; {runs} runs and "
            f"{len(largest.earlier_probes(context, group))} probes so far")  # fmt: skip
    for r in bad:
        say(f"  {r['model']}, batch {r.get('global_batch_size')}: {r['status']}, "
            f"{r.get('status_reason')}")  # fmt: skip
    for words in status["left"][:20] if isinstance(status["left"], list) else []:
        say(f"  to do: {words}")
    return OK


def _all_statuses(args: argparse.Namespace) -> int:
    statuses = read_statuses(state_folder(os.environ))
    if args.json:
        rows = [{"ticket": s.ticket, "sweep": s.sweep, "condition": condition(s),
                 "finished": s.finished, "planned": s.planned} for s in statuses]  # fmt: skip
        say(json.dumps(rows))
        return OK
    if not statuses:
        say("No sweep has been started on this machine.")
    for s in statuses:
        how = f"{condition(s):<12} {s.finished} of {s.planned} runs"
        say(f"{s.sweep:<18} {how}  {s.message or ''}")
    return OK
