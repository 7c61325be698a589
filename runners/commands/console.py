"""Output of commands: lines for people, one JSON value for programs, exit codes."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence

from planner.core import Text, in_words, printable
from runners.sweep import plans
from runners.sweep.context import Context

Stop = Callable[[], bool]
OK, FAILED, REFUSED, STOPPED = 0, 1, 2, 130


def refuse(args: argparse.Namespace, problems: Sequence[str], text: str) -> int:
    """Print why a request is refused; return the exit code."""
    if args.json:
        say(json.dumps({"problems": list(problems)}))
    print(printable(text), file=sys.stderr)  # noqa: T201 - this is the command line
    return REFUSED


def say(text: str) -> None:
    """Print a line on standard output."""
    print(printable(text), flush=True)  # noqa: T201 - this is the command line


def print_plan(context: Context, plan: plans.Plan, price_per_hour: float | None = None) -> None:
    """Print the plan: every run, then the totals, then the smallest design."""
    say(f"{context.spec.title}, on {context.system_name}")
    for p in plan.planned:
        time_text = "done" if p.done else _seconds(p.expected.seconds if p.expected else None)
        memory = p.expected.memory_bytes if p.expected else None
        say(f"  {p.case.words:<58} {time_text:>14} {_bytes(memory):>9}")
    for group in context.expanded.automatic:
        searched = Text(
            "{workload}: a search finds the largest batch that fits (about 6 to 15 runs of "
            "two steps). Then 3 or 4 batch sizes up to it are measured",
            workload=group.case.workload,
        )
        say(f"  {searched}")
    if not plan.planned:
        return
    for name, runs in (("left", plan.left), ("all", plan.planned), ("smallest", plan.smallest)):
        say(f"{name:>9}: {_sum(context, runs, price_per_hour)}")
    if plan.smallest:
        sizes = ", ".join(map(str, sorted({p.case.batch for p in plan.smallest})))
        epochs = max(p.case.epochs for p in plan.smallest)
        say(
            Text(
                "The smallest sufficient design: batches {sizes}; {epochs} epochs.",
                sizes=sizes,
                epochs=epochs,
            )
        )
    say(
        Text("Based on {basis}.", basis=plan.basis)
        if plan.basis
        else "No run times are measured yet: `plan --probe` times two steps of each."
    )


def _sum(context: Context, runs: Sequence[plans.Planned], price_per_hour: float | None) -> str:
    total = plans.totals(context, runs, price_per_hour)
    hours = "time unknown"
    if total.hours is not None:
        low, high = total.low_hours, total.high_hours
        hours = _hours(total.hours)
        if low and high:
            hours = Text("{hours} (between {low} and {high})",
                         hours=hours, low=_hours(low), high=_hours(high))  # fmt: skip
    cost = "cost unknown" if total.cost is None else (
        f"{total.cost:.2f} {context.spec.cost.currency}")  # fmt: skip
    energy = "energy unknown" if total.energy_kwh is None else f"{total.energy_kwh:.3f} kWh"
    return Text(
        "{runs} runs, {hours}, {memory} memory, {energy}, {cost}",
        runs=total.runs,
        hours=hours,
        memory=_bytes(total.memory_bytes),
        energy=energy,
        cost=cost,
    )


def _seconds(seconds: float | None) -> str:
    return "unknown" if seconds is None else in_words(seconds)


def _hours(hours: float | None) -> str:
    return _seconds(None if hours is None else hours * 3600)


def _bytes(size: float | None) -> str:
    return "?" if size is None else f"{size / 1e9:.2f} GB"
