"""Search for the largest batch that fits: doubling, then bisection, from a memory line.

Two small runs give a line of memory against batch. The search starts where this line reaches
the memory limit. Every probe is a run and becomes a row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from planner.core import Text
from planner.runs import Row
from runners.plan.cases import Case, design_batches, groups
from runners.plan.expand import Automatic
from runners.sweep import plans, sweep
from runners.sweep.context import Context, measurer
from runners.sweep.plans import memory_line
from runners.sweep.rows import done_in, outgrown
from runners.sweep.sweep import Journal, Progress
from runners.workloads import DATASETS

SMALL: Final = (8, 64)
"""Batch sizes of the two runs that give the memory line [samples]."""
GUESSES: Final = 4
"""Number of times the line is fitted again through all probes; two small runs can mislead."""
FARTHEST: Final = 64
"""Largest jump along that line, as a factor. At small batches the weights fill most of the memory
of a GPU: batches 8 and 64 put the limit of WideResNet-103M on an H100 at 62,225, not near 5,000."""
RESOLUTION: Final = 16
"""The search ends when the smallest failing batch is within 1/16 of the largest that fits."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a batch size fitted, and its peak memory [bytes] if measured."""

    fits: bool
    peak_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of a search: the largest batch that fits and the smallest that does not."""

    largest: int | None
    fails: int | None
    """None if the search ended at its bound."""
    probes: tuple[int, ...]
    """Batch sizes in the order they were tried."""


Bracket = tuple[int | None, int | None]
"""The largest batch that fits and the smallest that does not, so far."""


class UndecidedError(RuntimeError):
    """A probe ended for a reason other than memory; the message states it."""


def search(
    probe: Callable[[int], Probe],
    *,
    bound: int,
    memory_bytes: float | None = None,
    earlier: Mapping[int, Probe] = MappingProxyType({}),
) -> Result:
    """Return the largest batch from 1 to `bound` that fits according to `probe`.

    `memory_bytes` is the memory limit, if known; without it the search doubles from the second
    small batch. `earlier` are probes of an earlier search, which this one continues. Smaller
    batches are assumed to fit if a larger one does.
    """
    seen = {batch: result for batch, result in earlier.items() if batch <= bound}

    def fits(batch: int) -> bool:
        if batch not in seen:
            seen[batch] = probe(batch)
        return seen[batch].fits

    good, bad = _bracket(seen)
    if good is None or bad is None:
        good, bad = _widely(fits, seen, (bound, memory_bytes))
    good, bad = _bisect(fits, good, bad)
    return Result(largest=good, fails=bad, probes=tuple(seen))


def _bracket(seen: Mapping[int, Probe]) -> Bracket:
    """Return the bracket from earlier probes: fitting batches above a failing one are ignored."""
    bad = min((b for b, p in seen.items() if not p.fits), default=None)
    good = max((b for b, p in seen.items() if p.fits and (bad is None or b < bad)), default=None)
    return good, bad


def _widely(
    fits: Callable[[int], bool], seen: dict[int, Probe], limits: tuple[int, float | None]
) -> Bracket:
    """Return a bracket: try two small batches, jump along their memory line, then double."""
    bound, _ = limits
    good, bad = _small(fits, bound)
    step = good or 1
    if good is not None and bad is None:
        good, bad = _from_line(fits, seen, good, limits)
        # Near the line's end, doubling would waste a probe.
        step = good or 1 if good in SMALL else max((good or 1) // 8, 1)
    return _gallop(fits, (good, bad), step, bound)


def _small(fits: Callable[[int], bool], bound: int) -> Bracket:
    good: int | None = None
    for batch in sorted({min(b, bound) for b in SMALL}):
        if not fits(batch):
            return good, batch
        good = batch
    return good, None


def _from_line(
    fits: Callable[[int], bool], seen: dict[int, Probe], good: int, limits: tuple[int, float | None]
) -> Bracket:
    """Return a bracket from probes just below the limit of the memory line."""
    for _ in range(GUESSES):
        guess = _guess(seen, limits)
        if guess is None or guess - good <= good // RESOLUTION:
            break
        guess = min(guess, FARTHEST * good)
        if not fits(guess):
            return good, guess
        good = guess
    return good, None


def _guess(seen: Mapping[int, Probe], limits: tuple[int, float | None]) -> int | None:
    """Return a batch just below the point where the memory line reaches the limit."""
    bound, memory_bytes = limits
    points = [(float(b), p.peak_bytes) for b, p in seen.items() if p.peak_bytes and p.fits]
    line = memory_line(points) if memory_bytes else None
    if not line or not line[1] or memory_bytes is None:
        return None
    return min(int((memory_bytes - line[0]) / line[1] * (1 - 1 / RESOLUTION)), bound)


def _gallop(fits: Callable[[int], bool], bracket: Bracket, step: int, bound: int) -> Bracket:
    """Return a bracket: go up in doubling steps until a batch fails; halve if none fits."""
    good, bad = bracket
    while good is not None and bad is None and good < bound:
        further = min(good + step, bound)
        good, bad = (further, None) if fits(further) else (good, further)
        step *= 2
    while good is None and bad is not None and bad > 1:
        good, bad = (bad // 2, bad) if fits(bad // 2) else (None, bad // 2)
    return good, bad


def _bisect(fits: Callable[[int], bool], good: int | None, bad: int | None) -> Bracket:
    while good is not None and bad is not None and bad - good > max(1, good // RESOLUTION):
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good, bad


Stop = Callable[[], bool]


def searched(context: Context, book: Journal, shown: Progress, stop: Stop) -> list[Case]:
    """Return the cases of groups with automatic batch: search, then the smallest design."""
    cases: list[Case] = []
    for group in context.expanded.automatic:
        result = search_group(context, group, book, shown, stop)
        if result.largest:
            sizes = design_batches(min(SMALL[0], result.largest), result.largest)
            cases += [group.at(b) for b in sizes]
    return cases


def search_group(
    context: Context, group: Automatic, book: Journal, shown: Progress, stop: Stop
) -> Result:
    """Return the largest batch of a group; every probe is a row of the result set.

    Probes of an earlier search are reused, so that a resume finds the same batches.
    """

    def probe(batch: int) -> Probe:
        case = probe_case(context, group, batch)
        row = sweep.probe(case, context.folder, measurer(context), book,
                          attempts=context.spec.limits.attempts, stop=stop,
                          memory_bytes=plans.memory_end(context))  # fmt: skip
        shown.row(row)
        return as_probe(row)

    data = DATASETS[group.case.dataset]
    bound = context.spec.limits.max_batch
    return search(
        probe,
        bound=bound if data.synthetic else min(bound, group.case.train_samples),
        memory_bytes=plans.memory_end(context),
        earlier=earlier_probes(context, group),
    )


_PROBES: Final = " max-batch"
"""Ending of the sweep of a trial."""


def probe_case(context: Context, group: Automatic, batch: int) -> Case:
    """Return the case that tries a batch size."""
    return replace(plans.two_steps(group.at(batch)), sweep=context.spec.name + _PROBES)


def as_probe(row: Row, memory_bytes: float | None = None) -> Probe:
    """Return whether a run fitted and its peak memory; a NaN loss still fits.

    A run of an earlier search does not fit if its peak exceeds `memory_bytes`.

    Raises:
        UndecidedError: the run ended in another way, which says nothing of memory.
    """
    if row["status"] not in {"ok", "nan", "oom"}:
        text = Text(
            "batch {global_batch_size} ended as {status}",
            global_batch_size=row["global_batch_size"],
            status=row["status"],
        )
        raise UndecidedError(f"{text}: {row.get('status_reason')}")
    peak = row.get("peak_memory_bytes")
    too_much = memory_bytes is not None and peak is not None and peak > memory_bytes
    return Probe(row["status"] != "oom" and not too_much, peak)


def earlier_probes(context: Context, group: Automatic) -> dict[int, Probe]:
    """Return the probes of an earlier search of this group, by batch size."""
    probes: dict[int, Probe] = {}
    for case_id, rows in done_in(context.folder).rows.items():
        batch = int(rows[-1].get("global_batch_size") or 0)
        decided = batch > 0 and rows[-1]["status"] in {"ok", "nan", "oom"}
        decided = decided and not outgrown(rows[-1], plans.memory_end(context))
        if decided and probe_case(context, group, batch).case_id == case_id:
            # Free memory varies: only a limit that the user set overrules a run that fitted.
            probes[batch] = as_probe(rows[-1], context.memory_bytes)
    return probes


def measured(context: Context, group: Automatic) -> list[Row]:
    """Return the last row of each run of a group, at any batch size."""
    rows = []
    for case_id, attempts in done_in(context.folder).rows.items():
        batch = int(attempts[-1].get("global_batch_size") or 0)
        if batch > 0 and group.at(batch).case_id == case_id:
            rows.append(attempts[-1])
    return rows


def planned_groups(context: Context) -> list[Automatic]:
    """Return one group for each combination of factors other than batch size."""
    steps = [(g[0], g[0].train_samples // g[0].batch) for g in groups(context.expanded.cases)]
    synthetic = [DATASETS[c.dataset].synthetic for c, _ in steps]
    return [Automatic(case=c, steps_per_epoch=n if s else None)
            for (c, n), s in zip(steps, synthetic, strict=True)]  # fmt: skip


def largest_words(group: Automatic, result: Result) -> str:
    """Return the result of a search as one line."""
    name = group.case.words_at_any_batch
    if result.largest is None:
        return Text(
            "{name}: nothing fits, not even a batch of {fails}.", name=name, fails=result.fails
        )
    end = Text("{fails} does not", fails=result.fails) if result.fails else "the search ended there"
    return Text(
        "{name}: {largest} fits, {end} ({probes} probes).",
        name=name,
        largest=result.largest,
        end=end,
        probes=len(result.probes),
    )
