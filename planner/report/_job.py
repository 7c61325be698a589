"""The job in a comparison's report: the network, its cost, and its limits."""

from __future__ import annotations

from planner.compare.evaluation import Comparison
from planner.core import large, plain
from planner.report._page import escaped, section, table


def described_job(comparison: Comparison) -> str:
    """Return the section on the job, a line per known property."""
    rows = [[escaped(name), escaped(value)] for name, value in job_lines(comparison) if value]
    caption = "As described; not measured."
    return section("The job", table(["What", "Value"], rows, _caption(comparison, caption)))


def job_lines(comparison: Comparison) -> list[tuple[str, str]]:
    """Return name and value of each property, "" where unknown."""
    job, goal = comparison.question.job, comparison.question.goal
    patterns = sorted({m.run.pattern for m in job.measured if m.run.pattern})
    batch = goal.batch or goal.at_batch or (job.batch if job.described else None)
    fastest = "" if job.described else "the fastest measured one on each system"
    flops = job.train_flops_per_sample
    return [
        ("Workload", job.workload),
        ("Goal", f"{goal.words} with {goal.optimizer}" if goal.optimizer else goal.words),
        ("Input pattern", ", ".join(patterns)),
        ("Samples in an epoch", _counted(job.samples_per_epoch)),
        ("Global batch size", fastest if batch is None else _counted(batch)),
        ("Parameters", _counted(job.params)),
        ("Tokens in a sample", _counted(job.tokens_per_sample)),
        (
            "Work of a sample",
            "" if flops is None else f"{large(flops, 3)} FLOPs, forward and backward",
        ),
        ("Precision", job.precision if job.precision_stated else "not stated"),
        ("Optimiser", job.optimizer),
    ]


def _caption(comparison: Comparison, described: str) -> str:
    job = comparison.question.job
    if job.described:
        return described
    systems = len({m.run.system for m in job.measured})
    return f"Measured on {systems} system{'s' if systems > 1 else ''}."


def _counted(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value < 1e9 else f"{plain(value)} ({large(value)})"
