"""Find the largest batch of a group of cases, every probe kept as a run."""

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


def searched(known: Context, book: Journal, shown: Progress, stop: Stop) -> list[Case]:
    """Cases of the groups whose batch is auto: search first, then the smallest design."""
    found: list[Case] = []
    for group in known.expanded.automatic:
        result = search(known, group, book, shown, stop)
        if result.largest:
            sizes = design.batches(min(max_batch.SMALL[0], result.largest), result.largest)
            found += [group.at(b) for b in sizes]
    return found


def search(
    known: Context, group: Automatic, book: Journal, shown: Progress, stop: Stop
) -> max_batch.Found:
    """Find the largest batch of a group; every probe is a row of the result set.

    Probes of an earlier search are taken as they are, so that a resume finds the same batches.
    """

    def probe(batch: int) -> max_batch.Probe:
        row = sweep.probe(probe_case(known, group, batch), known.folder, measurer(known), book,
                          attempts=known.spec.limits.attempts, stop=stop,
                          memory_bytes=plans.memory_end(known))  # fmt: skip
        shown.row(row)
        return as_probe(row)

    data = DATASETS[group.case.dataset]
    bound = known.spec.limits.max_batch
    return max_batch.search(
        probe,
        bound=bound if data.synthetic else min(bound, group.case.train_samples),
        memory_bytes=plans.memory_end(known),
        known=earlier_probes(known, group),
    )


def probe_case(known: Context, group: Automatic, batch: int) -> Case:
    """The run that tries a batch size."""
    return replace(plans.two_steps(group.at(batch)), sweep=f"{known.spec.name} max-batch")


def as_probe(row: Row, memory_bytes: float | None = None) -> max_batch.Probe:
    """What a run says of its batch size; a lost loss is no lack of memory.

    A run of an earlier search does not fit where it took more than may be used now.
    """
    if row["status"] not in {"ok", "nan", "oom"}:
        text = f"batch {row['global_batch_size']} ended as {row['status']}"
        raise max_batch.UndecidedError(f"{text}: {row.get('status_reason')}")
    peak = row.get("peak_memory_bytes")
    too_much = memory_bytes is not None and peak is not None and peak > memory_bytes
    return max_batch.Probe(row["status"] != "oom" and not too_much, peak)


def earlier_probes(known: Context, group: Automatic) -> dict[int, max_batch.Probe]:
    """Batch sizes that an earlier search of this group has tried."""
    found: dict[int, max_batch.Probe] = {}
    for case_id, rows in sweep.done_in(known.folder).rows.items():
        batch = int(rows[-1].get("global_batch_size") or 0)
        decided = batch > 0 and rows[-1]["status"] in {"ok", "nan", "oom"}
        decided = decided and not sweep.outgrown(rows[-1], plans.memory_end(known))
        if decided and probe_case(known, group, batch).case_id == case_id:
            # Free memory comes and goes: only a limit that was named contradicts what ran.
            found[batch] = as_probe(rows[-1], known.memory_bytes)
    return found


def measured(known: Context, group: Automatic) -> list[Row]:
    """The last rows of a group's runs, whatever batch sizes its search found."""
    found = []
    for case_id, rows in sweep.done_in(known.folder).rows.items():
        batch = int(rows[-1].get("global_batch_size") or 0)
        if batch > 0 and group.at(batch).case_id == case_id:
            found.append(rows[-1])
    return found


def one_of_each(known: Context) -> list[Automatic]:
    """One group for everything a sweep varies but batch size."""
    steps = [(g[0], g[0].train_samples // g[0].batch) for g in design.groups(known.expanded.cases)]
    synthetic = [DATASETS[c.dataset].synthetic for c, _ in steps]
    return [Automatic(case=c, steps_per_epoch=n if s else None)
            for (c, n), s in zip(steps, synthetic, strict=True)]  # fmt: skip


def largest_words(group: Automatic, found: max_batch.Found) -> str:
    """What a search found, as a line."""
    name = replace(group.case, batch=1).words.replace(", batch 1", "")
    if found.largest is None:
        return f"{name}: nothing fits, not even a batch of {found.fails}."
    end = f"{found.fails} does not" if found.fails else "the search ended there"
    return f"{name}: {found.largest} fits, {end} ({len(found.probes)} probes)."
