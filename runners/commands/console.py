"""How commands answer: lines for people, one JSON value for programs, exit codes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence

from planner.core import in_words
from runners.sweep import plans
from runners.sweep.context import Context

Stop = Callable[[], bool]
OK, FAILED, REFUSED, STOPPED = 0, 1, 2, 130


def refuse(asked: argparse.Namespace, problems: Sequence[str], text: str) -> int:
    """Say why a request is not carried out."""
    if asked.json:
        say(json.dumps({"problems": list(problems)}))
    print(text, file=sys.stderr)  # noqa: T201 - this is the command line
    return REFUSED


def say(text: str) -> None:
    """A line on standard output."""
    print(text, flush=True)  # noqa: T201 - this is the command line


def print_plan(known: Context, made: plans.Plan, price_per_hour: float | None = None) -> None:
    """The plan for people: every run, then the sums, then the smallest design."""
    say(f"{known.spec.title}, on {known.system_name}")
    for p in made.planned:
        time_text = "done" if p.done else _seconds(p.expected.seconds if p.expected else None)
        memory = p.expected.memory_bytes if p.expected else None
        say(f"  {p.case.words:<58} {time_text:>14} {_bytes(memory):>9}")
    for group in known.expanded.automatic:
        say(f"  {group.case.workload}: the largest batch that fits is searched first (some 6 to 15 "
            "runs of two steps), then 3 or 4 batch sizes up to it are measured")  # fmt: skip
    if not made.planned:
        return
    for name, runs in (("left", made.left), ("all", made.planned), ("smallest", made.smallest)):
        say(f"{name:>9}: {_sum(known, runs, price_per_hour)}")
    if made.smallest:
        sizes = ", ".join(map(str, sorted({p.case.batch for p in made.smallest})))
        epochs = max(p.case.epochs for p in made.smallest)
        say(f"The smallest design that answers: batches {sizes}; {epochs} epochs.")
    say(f"Known from {made.basis}." if made.basis else
        "No results tell of a time yet: `plan --probe` runs two steps of each.")  # fmt: skip


def _sum(known: Context, runs: Sequence[plans.Planned], price_per_hour: float | None) -> str:
    total = plans.totals(known, runs, price_per_hour)
    hours = "time not known"
    if total.hours is not None:
        low, high = total.low_hours, total.high_hours
        between = f" (between {_hours(low)} and {_hours(high)})" if low and high else ""
        hours = _hours(total.hours) + between
    cost = "cost not known" if total.cost is None else (
        f"{total.cost:.2f} {known.spec.cost.currency}")  # fmt: skip
    energy = "energy not known" if total.energy_kwh is None else f"{total.energy_kwh:.3f} kWh"
    return f"{total.runs} runs, {hours}, {_bytes(total.memory_bytes)} memory, {energy}, {cost}"


def _seconds(seconds: float | None) -> str:
    return "not known" if seconds is None else in_words(seconds)


def _hours(hours: float | None) -> str:
    return _seconds(None if hours is None else hours * 3600)


def _bytes(size: float | None) -> str:
    return "?" if size is None else f"{size / 1e9:.2f} GB"
