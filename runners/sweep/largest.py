"""Find the largest batch of a group of cases; every probe is stored as a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.runs import Row
from runners.plan import design
from runners.plan.cases import Case
from runners.plan.expand import Automatic
from runners.sweep import max_batch, plans, sweep
from runners.sweep.context import Context, measurer
from runners.sweep.progress import Progress
from runners.sweep.sweep import Journal
from runners.workloads import DATASETS

Stop = Callable[[], bool]


def searched(context: Context, book: Journal, shown: Progress, stop: Stop) -> list[Case]:
    """Return the cases of groups with automatic batch: search, then the smallest design."""
    cases: list[Case] = []
    for group in context.expanded.automatic:
        result = search(context, group, book, shown, stop)
        if result.largest:
            sizes = design.batches(min(max_batch.SMALL[0], result.largest), result.largest)
            cases += [group.at(b) for b in sizes]
    return cases


def search(
    context: Context, group: Automatic, book: Journal, shown: Progress, stop: Stop
) -> max_batch.Result:
    """Return the largest batch of a group; every probe is a row of the result set.

    Probes of an earlier search are reused, so that a resume finds the same batches.
    """

    def probe(batch: int) -> max_batch.Probe:
        case = probe_case(context, group, batch)
        row = sweep.probe(case, context.folder, measurer(context), book,
                          attempts=context.spec.limits.attempts, stop=stop,
                          memory_bytes=plans.memory_end(context))  # fmt: skip
        shown.row(row)
        return as_probe(row)

    data = DATASETS[group.case.dataset]
    bound = context.spec.limits.max_batch
    return max_batch.search(
        probe,
        bound=bound if data.synthetic else min(bound, group.case.train_samples),
        memory_bytes=plans.memory_end(context),
        earlier=earlier_probes(context, group),
    )


def probe_case(context: Context, group: Automatic, batch: int) -> Case:
    """Return the case that tries a batch size."""
    return replace(plans.two_steps(group.at(batch)), sweep=f"{context.spec.name} max-batch")


def as_probe(row: Row, memory_bytes: float | None = None) -> max_batch.Probe:
    """Return whether a run fitted and its peak memory; a NaN loss still fits.

    A run of an earlier search does not fit if its peak exceeds `memory_bytes`.

    Raises:
        UndecidedError: the run ended in another way, which says nothing of memory.
    """
    if row["status"] not in {"ok", "nan", "oom"}:
        text = f"batch {row['global_batch_size']} ended as {row['status']}"
        raise max_batch.UndecidedError(f"{text}: {row.get('status_reason')}")
    peak = row.get("peak_memory_bytes")
    too_much = memory_bytes is not None and peak is not None and peak > memory_bytes
    return max_batch.Probe(row["status"] != "oom" and not too_much, peak)


def earlier_probes(context: Context, group: Automatic) -> dict[int, max_batch.Probe]:
    """Return the probes of an earlier search of this group, by batch size."""
    probes: dict[int, max_batch.Probe] = {}
    for case_id, rows in sweep.done_in(context.folder).rows.items():
        batch = int(rows[-1].get("global_batch_size") or 0)
        decided = batch > 0 and rows[-1]["status"] in {"ok", "nan", "oom"}
        decided = decided and not sweep.outgrown(rows[-1], plans.memory_end(context))
        if decided and probe_case(context, group, batch).case_id == case_id:
            # Free memory varies: only a limit that the user set overrules a run that fitted.
            probes[batch] = as_probe(rows[-1], context.memory_bytes)
    return probes


def measured(context: Context, group: Automatic) -> list[Row]:
    """Return the last row of each run of a group, at any batch size."""
    rows = []
    for case_id, attempts in sweep.done_in(context.folder).rows.items():
        batch = int(attempts[-1].get("global_batch_size") or 0)
        if batch > 0 and group.at(batch).case_id == case_id:
            rows.append(attempts[-1])
    return rows


def planned_groups(context: Context) -> list[Automatic]:
    """Return one group for each combination of factors other than batch size."""
    steps = [
        (g[0], g[0].train_samples // g[0].batch) for g in design.groups(context.expanded.cases)
    ]
    synthetic = [DATASETS[c.dataset].synthetic for c, _ in steps]
    return [Automatic(case=c, steps_per_epoch=n if s else None)
            for (c, n), s in zip(steps, synthetic, strict=True)]  # fmt: skip


def largest_words(group: Automatic, result: max_batch.Result) -> str:
    """Return the result of a search as one line."""
    name = replace(group.case, batch=1).words.replace(", batch 1", "")
    if result.largest is None:
        return f"{name}: nothing fits, not even a batch of {result.fails}."
    end = f"{result.fails} does not" if result.fails else "the search ended there"
    return f"{name}: {result.largest} fits, {end} ({len(result.probes)} probes)."
