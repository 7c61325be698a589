"""What is done of a sweep, or what all sweeps of this machine are doing: the command `status`."""

from __future__ import annotations

import argparse
import json
import os

from planner.store.disk.sweeps import condition, read_statuses, state_folder
from runners.commands.console import OK, Stop, say
from runners.commands.converge import converge_status
from runners.plan import spec
from runners.sweep import begun, largest, plans
from runners.sweep.context import context, results_folder


def status_command(asked: argparse.Namespace, _: Stop) -> int:
    """What is done of a sweep; without one, what all sweeps of this machine are doing."""
    if asked.spec is None:
        return _all_statuses(asked)
    if spec.has_target(spec.table(spec.find(asked.spec))):
        return converge_status(asked)
    stem, results = spec.find(asked.spec).stem, results_folder(asked)
    if last := begun.newest(state_folder(os.environ), stem, results, asked.name):
        begun.fill(asked, last.options)
    known = context(asked)
    done = plans.done_of(known)
    attempts = known.spec.limits.attempts
    rows = [rows[-1] for c in known.expanded.cases if (rows := done.rows.get(c.case_id, ()))]
    left = [c for c in known.expanded.cases if not done.settled(c, attempts)]
    searched = [r for g in known.expanded.automatic for r in largest.measured(known, g)]
    probes = sum(len(largest.earlier_probes(known, g)) for g in known.expanded.automatic)
    bad = [r for r in [*rows, *searched] if r["status"] != "ok"]
    told = {
        "result_set": known.folder.name, "planned": len(known.expanded.cases) + len(searched),
        "finished": len(known.expanded.cases) - len(left) + len(searched),
        "left": [c.words for c in left], "probes": probes,
        "failed": [{"batch": r.get("global_batch_size"), "model": r["model"],
                    "status": r["status"], "reason": r.get("status_reason")} for r in bad],
    }  # fmt: skip
    if asked.json:
        say(json.dumps(told))
        return OK
    say(f"{told['result_set']}: {told['finished']} of {told['planned']} runs are done.")
    for group in known.expanded.automatic:
        found = len(largest.measured(known, group))
        say(f"  {group.case.workload}: batch sizes are searched; {found} runs and "
            f"{len(largest.earlier_probes(known, group))} probes so far")  # fmt: skip
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
