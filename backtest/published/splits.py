"""Published splits of language models over tensor, pipeline and data, as a check of our advice.

    fits       published splits that ran and that our memory model lets run
    error      |predicted/published - 1| of the time of a step under the published split
    advised    our split at the same count: its predicted speed over the best published one

Rows of dense decoders that state both cuts, or one with the copies, and the batch. Context and
expert parallelism, and sharded states (FSDP), are other splits and left out. A row that names an
accelerator of several memory sizes without its size says nothing of memory.

The efficiency of the products is the median over the rows of the other sources, so a row's own
source is not in its prediction.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.catalog import Catalog
from planner.job import Job
from planner.networks import layers_width_of
from planner.published import Configuration, PublishedRow, configurations
from planner.splits import SPLIT_EFFICIENCY, Cut, Split, advice, cut_of, splits

_OTHER: Final = re.compile(r"fsdp|hsdp|zero-?[23]|\bcp ?=? ?[2-9]|\bep ?=? ?[2-9]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCase:
    """A published split: its run and job, our prediction for it, and whether memory is stated."""

    row: PublishedRow
    run: Configuration
    job: Job
    split: Split
    memory_stated: bool

    @property
    def ratio(self) -> float:
        """Published over predicted speed."""
        return self.run.samples_per_s / self.split.samples_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """Our advice for a model, accelerator, count and batch, beside its best published split.

    `relative` is the predicted speed over the best published one, `shards` the devices that hold a
    copy of the network.
    """

    name: str
    published: str
    advised: str
    shards: int
    published_shards: int
    relative: float


def split_cases(
    rows: Sequence[PublishedRow], catalog: Catalog
) -> tuple[list[SplitCase], Counter[str]]:
    """Return the published splits with predictions, and how many rows are left out and why."""
    cases: list[SplitCase] = []
    left_out: Counter[str] = Counter()
    sizes = _sizes(catalog)
    for row in rows:
        layout = row.parallelism or ""
        if _number("tp", layout) is None and _number("pp", layout) is None:
            continue
        case = _case(row, catalog, sizes)
        if isinstance(case, str):
            left_out[case] += 1
        else:
            cases.append(case)
    return cases, left_out


def _case(row: PublishedRow, catalog: Catalog, sizes: Counter[str]) -> SplitCase | str:
    found, _ = configurations([row], catalog)
    reason = _unusable(row, found)
    if reason:
        return reason
    run = found[0]
    cut = _cut(row, run)
    if cut is None or run.global_batch is None:
        return "no batch, or cuts that do not divide the count"
    job = _job(run)
    split = cut_of(job, run.accelerator, cut, batch=run.global_batch,
                   micro_batch=run.micro_batch or 1.0)  # fmt: skip
    if not isinstance(split, Split):
        return "unknown memory or peak of the accelerator"
    stated = bool(row.accelerator_memory_gb) or sizes[_family(row.accelerator or "")] < 2
    return SplitCase(row=row, run=run, job=job, split=split, memory_stated=stated)


def _unusable(row: PublishedRow, found: Sequence[Configuration]) -> str:
    """Return why a row is no case, "" where it is one."""
    if _OTHER.search(row.parallelism or ""):
        return "context, expert or sharded parallelism"
    if not found:
        return "no speed, count or known accelerator"
    return "" if found[0].family == "dense" else f"not a dense decoder ({found[0].family})"


def _cut(row: PublishedRow, run: Configuration) -> Cut | None:
    """Return the stated cut; tensor from the count where only stages and copies are stated."""
    layout = row.parallelism or ""
    tensor, pipeline = _number("tp", layout), _number("pp", layout) or 1
    copies = _number("dp", layout)
    if tensor is None:
        tensor = run.devices // (pipeline * copies) if copies else 1
    if not tensor or run.devices % (tensor * pipeline):
        return None
    return Cut(tensor=tensor, pipeline=pipeline, data=run.devices // (tensor * pipeline))


def _job(run: Configuration) -> Job:
    params = run.params or 0.0
    return Job(
        workload=run.model,
        precision=run.precision,
        samples_per_epoch=None,
        params=run.params,
        train_flops_per_sample=run.train_flops_per_sample,
        tokens_per_sample=run.sequence,
        family="dense",
        active_params=run.active_params or run.params,
        layers_width=layers_width_of(params) if params else None,
        optimizer="AdamW",
        recompute=bool(run.recomputes),
    )


def efficiency_without(cases: Sequence[SplitCase], source: str) -> float:
    """Return the efficiency that the rows of other sources have in the median."""
    others = [c.ratio for c in cases if c.run.source != source] or [1.0]
    return SPLIT_EFFICIENCY * float(np.median(others))


def errors_of(cases: Sequence[SplitCase]) -> list[float]:
    """Return |predicted/published - 1| of the step of each row, its own source left out."""
    found = []
    for case in cases:
        split = _again(case, case.split.cut, efficiency_without(cases, case.run.source))
        found.append(abs(case.run.samples_per_s / split.samples_per_s - 1.0))
    return found


def _again(case: SplitCase, cut: Cut, efficiency: float) -> Split:
    split = cut_of(case.job, case.run.accelerator, cut, batch=case.run.global_batch or 1.0,
                   micro_batch=case.run.micro_batch or 1.0, efficiency=efficiency)  # fmt: skip
    if not isinstance(split, Split):
        raise ValueError(f"{case.row.place}: {split.reason}")  # noqa: TRY004 - not a type
    return split


def advised(cases: Sequence[SplitCase]) -> tuple[list[Advised], int]:
    """Return our advice for each model, accelerator and count, and how many have none that fits."""
    groups: dict[tuple[object, ...], list[SplitCase]] = defaultdict(list)
    for case in cases:
        if case.memory_stated:
            run = case.run
            groups[run.model, run.accelerator.id, run.precision, run.devices].append(case)
    found, none = [], 0
    for group in groups.values():
        best = max(group, key=lambda c: c.run.samples_per_s)
        run = best.run
        options = splits(best.job, run.accelerator, run.devices, batch=run.global_batch or 1.0,
                         micro_batch=run.micro_batch or 1.0)  # fmt: skip
        chosen = advice(options)
        if chosen is None:
            none += 1
            continue
        split = _again(best, chosen.cut, efficiency_without(cases, run.source))
        found.append(
            Advised(
                name=f"{run.model}, {run.devices} x {run.accelerator.name}, {run.precision}",
                published=best.split.cut.words,
                advised=chosen.cut.words,
                shards=chosen.cut.shards,
                published_shards=best.split.cut.shards,
                relative=split.samples_per_s / run.samples_per_s,
            )
        )
    return found, none


def _number(name: str, layout: str) -> int | None:
    match = re.search(rf"(?<![a-z]){name}[ =]?(\d+)", layout, re.IGNORECASE)
    return int(match[1]) if match else None


def _sizes(catalog: Catalog) -> Counter[str]:
    """Return how many memory sizes the catalogue has of each family of accelerators."""
    return Counter(
        family for family, _ in {(_family(a.name), a.memory_bytes) for a in catalog.accelerators}
    )


def _family(name: str) -> str:
    """Return the first word of a name with its letters and digits: v100, a100."""
    return re.sub(r"[^a-z0-9 ]", "", name.casefold()).split(" ")[0] if name else ""
