"""Memory of published rows against our estimate, and the share of false refusals.

    asked      rows that state memory, and state or imply what our estimate needs
    error      |estimate / stated - 1|, median and mean
    refused    configurations that ran, of which we would say that they do not fit

The estimate is that of `planner.networks`: state on each device under the row's sharding, and the
activations of the samples that each device works on at once, beside what a framework itself takes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from backtest.published.answers import Answer
from planner.job import Hardware, Job, fit_of
from planner.networks import STAGES, Stage, Training, activations_of, state_of
from planner.published import Configuration, NamedWorkload, PublishedRow, workload_of

FRAMEWORK_BYTES: Final = 1.5e9
"""Context, libraries and workspaces of a framework on one device [bytes]."""
NODE: Final = 8
FACTOR: Final = 2.4
"""The estimate lies within this factor of the truth in 90 of 100 published rows."""
_HALF: Final = re.compile(r"amp|bf16|bfloat|fp16|float16|fp8|mixed", re.IGNORECASE)
_BEFORE_AMPERE: Final = re.compile(r"[vp]100|1080|20[678]0|k80|rx ", re.IGNORECASE)
"""Where a row states no precision, mixed precision is usual, but on older cards."""
_STAGE: Final = re.compile(r"zero[ -]?([123])", re.IGNORECASE)
_WHOLE: Final = re.compile(r"fsdp|full[_ ]shard|shard_grad", re.IGNORECASE)
_CUT: Final = re.compile(r"(?:tp|pp)[ =]?(\d+)", re.IGNORECASE)
_QLORA: Final = re.compile(r"qlora", re.IGNORECASE)
_LANGUAGE: Final = frozenset({"dense", "moe", "lora", "encoder", "encoder-decoder"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCase:
    """One published memory [bytes a device] with our estimate of it."""

    place: str
    source: str
    model: str
    family: str
    stated_bytes: float
    estimated_bytes: float

    @property
    def error(self) -> float:
        """Relative error of the estimate [share]."""
        return abs(self.estimated_bytes / self.stated_bytes - 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScore:
    """Errors of the estimates of one family [share], and refusals of what ran."""

    family: str
    asked: int
    median: float
    mean: float


def memory_cases(rows: Iterable[PublishedRow]) -> list[MemoryCase]:
    """Return the rows that state memory and what an estimate needs, each with its estimate."""
    found = []
    for row in rows:
        work = workload_of(row) if row.memory_gb and row.n_accelerators else None
        samples = _samples(row)
        if not isinstance(work, NamedWorkload) or samples is None or row.memory_gb is None:
            continue
        estimate = _estimate(row, work, samples)
        if estimate is None:
            continue
        found.append(
            MemoryCase(
                place=row.place,
                source=row.source_id or row.file,
                model=row.model or "",
                family=work.family,
                stated_bytes=row.memory_gb * 1e9,
                estimated_bytes=estimate,
            )
        )
    return found


def memory_scores(cases: Sequence[MemoryCase]) -> list[MemoryScore]:
    """Return the errors by family, all together first."""
    families = ["", *sorted({c.family for c in cases})]
    scores = []
    for family in families:
        errors = [c.error for c in cases if family in ("", c.family)]
        if errors:
            scores.append(
                MemoryScore(
                    family=family or "all",
                    asked=len(errors),
                    median=float(np.median(errors)),
                    mean=float(np.mean(errors)),
                )
            )
    return scores


def memory_answers(rows: Iterable[PublishedRow]) -> list[Answer]:
    """Return the published memories as questions of the back-test, with their interval."""
    return [
        Answer(
            source=c.source,
            name=c.model,
            truth=c.stated_bytes,
            value=c.estimated_bytes,
            low=c.estimated_bytes / FACTOR,
            high=c.estimated_bytes * FACTOR,
        )
        for c in memory_cases(rows)
    ]


def fit_answers(configurations: Iterable[Configuration]) -> list[Answer]:
    """Return whether each configuration that ran is said to fit: a refusal is a false one."""
    found = []
    for one in configurations:
        fit = fit_of(_job(one), _hardware(one), None)
        value = math.nan if fit.fits is False else 1.0
        name = f"{one.model}, {one.devices} x {one.accelerator.name}"
        found.append(
            Answer(source=one.source, name=name, truth=1.0, value=value, low=1.0, high=1.0,
                   why=fit.sentence)
        )  # fmt: skip
    return found


def refused_of(configurations: Iterable[Configuration]) -> list[Configuration]:
    """Return the configurations that ran although we would say that they do not fit."""
    return [c for c in configurations if fit_of(_job(c), _hardware(c), None).fits is False]


def memory_lines(cases: Sequence[MemoryCase], ran: Sequence[Configuration]) -> list[str]:
    """Return the section of docs/accuracy.md about memory, as lines of Markdown."""
    lines = [
        "| family | rows | median error | mean error |",
        "|---|---|---|---|",
        *(
            f"| {s.family} | {s.asked} | {s.median:.0%} | {s.mean:.0%} |".replace("%", " %")
            for s in memory_scores(cases)
        ),
    ]
    refused = refused_of(ran)
    worst = sorted({f"{c.model} on {c.devices} x {c.accelerator.name}" for c in refused})
    share = f"{len(refused) / max(len(ran), 1):.1%}".replace("%", " %")
    lines += [
        "",
        f"Of {len(ran):,} published configurations that ran, {len(refused)} ({share}) would be "
        f"refused for their memory{': ' if worst else '.'}{'; '.join(worst)}",
    ]
    return lines


def _job(one: Configuration) -> Job:
    return Job(
        workload=one.model,
        precision=one.precision,
        samples_per_epoch=None,
        params=one.params,
        train_flops_per_sample=one.train_flops_per_sample,
        tokens_per_sample=one.sequence,
        family="dense" if one.family == "lora" else one.family,
        active_params=one.active_params or one.params,
        training="lora" if one.family == "lora" else "full",
        optimizer="AdamW" if one.family in _LANGUAGE else "SGD momentum",
    )


def _hardware(one: Configuration) -> Hardware:
    return Hardware(
        label=f"{one.devices} x {one.accelerator.name}",
        accelerator=one.accelerator,
        count=one.devices,
        nodes=max(one.devices // NODE, 1),
    )


def _samples(row: PublishedRow) -> float | None:
    """Samples on one device at once; None where the row does not state it."""
    if row.micro_batch:
        return float(row.micro_batch)
    if row.global_batch and row.n_accelerators:
        return max(row.global_batch / row.n_accelerators, 1.0)
    return None


def _estimate(row: PublishedRow, work: NamedWorkload, samples: float) -> float | None:
    """Bytes on one device; None where activations are not known."""
    language = work.family in _LANGUAGE
    half = bool(_HALF.search(row.precision or ""))
    if not row.precision:
        half = language or not _BEFORE_AMPERE.search(row.accelerator or "")
    one = activations_of(
        "dense" if work.family == "lora" else work.family,
        train_flops_per_sample=work.train_flops_per_sample,
        tokens=work.sequence,
        active_params=work.active_params or work.params,
        half=half,
    )
    if one is None:
        return None
    adapters: Training = "qlora" if _QLORA.search(row.model or "") else "lora"
    training: Training = adapters if work.family == "lora" else "full"
    state = state_of(work.params or 0.0, 2 if language else 1, half=half, training=training)
    layout = row.parallelism or ""
    cut = int(np.prod([int(n) for n in _CUT.findall(layout)] or [1]))
    kept = one.recomputed if row.recomputes else one.kept
    shards = max((row.n_accelerators or 1) // cut, 1)
    return FRAMEWORK_BYTES + state.on_each(shards, _stage(layout)) / cut + samples * kept / cut


def _stage(layout: str) -> Stage:
    """The stage of ZeRO that a row's layout names; 0 where it names none."""
    if _WHOLE.search(layout):
        return 3
    found = _STAGE.search(layout)
    return 0 if found is None else STAGES[int(found[1])]
