"""Memory of published rows compared with our estimate, and the share of false refusals.

    rows       rows that state memory, and state or imply the inputs of our estimate
    error      |estimate / stated - 1|, median and mean
    refused    configurations that ran although our estimate says that they do not fit; they state
               their accelerator count

The estimate is that of `planner.networks`: state on each device under the row's sharding, the
activations of the samples that each device processes at once, and the framework's own memory.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from backtest.published.described import OPERATIONS, DescribedAnswer
from planner.job import Hardware, Job, fit_of
from planner.networks import STAGES, Stage, Training, activations_of, state_of
from planner.published import Configuration, NamedWorkload, PublishedRow, workload_of

FRAMEWORK_BYTES: Final = 1.5e9
"""Context, libraries and workspaces of a framework on one device [bytes]."""
NODE: Final = 8
FACTOR: Final = 2.4
"""The estimate is within this factor of the truth in 90 of 100 published rows."""
_HALF: Final = re.compile(r"amp|bf16|bfloat|fp16|float16|fp8|mixed", re.IGNORECASE)
_BEFORE_AMPERE: Final = re.compile(r"[vp]100|1080|20[678]0|k80|rx ", re.IGNORECASE)
"""Older cards; on newer ones mixed precision is usual if a row states no precision."""
_STAGE: Final = re.compile(r"zero[ -]?([123])", re.IGNORECASE)
_WHOLE: Final = re.compile(r"fsdp|full[_ ]shard|shard_grad", re.IGNORECASE)
_CUT: Final = re.compile(r"(?:tp|pp)[ =]?(\d+)", re.IGNORECASE)
_QLORA: Final = re.compile(r"qlora", re.IGNORECASE)
_IMAGES: Final = frozenset({"cnn", "vit"})
_LANGUAGE: Final = frozenset({"dense", "moe", "lora", "encoder", "encoder-decoder"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCase:
    """One published memory [bytes per device] with our estimate of it."""

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


def memory_cases(rows: Iterable[PublishedRow]) -> list[MemoryCase]:
    """Return the rows that state memory and the inputs of an estimate, each with its estimate."""
    cases = []
    for row in rows:
        work = workload_of(row) if row.memory_gb and row.n_accelerators else None
        samples = _samples(row)
        if not isinstance(work, NamedWorkload) or samples is None or row.memory_gb is None:
            continue
        estimate = _estimate(row, work, samples)
        if estimate is None:
            continue
        cases.append(
            MemoryCase(
                place=row.place,
                source=row.source_id or row.file,
                model=row.model or "",
                family=work.family,
                stated_bytes=row.memory_gb * 1e9,
                estimated_bytes=estimate,
            )
        )
    return cases


def memory_answers(rows: Iterable[PublishedRow]) -> list[DescribedAnswer]:
    """Return the published memories as questions of the back-test, with intervals."""
    return [
        DescribedAnswer(
            source=c.source,
            name=c.model,
            truth=c.stated_bytes,
            value=c.estimated_bytes,
            low=c.estimated_bytes / FACTOR,
            high=c.estimated_bytes * FACTOR,
        )
        for c in memory_cases(rows)
    ]


def fit_answers(configurations: Iterable[Configuration]) -> list[DescribedAnswer]:
    """Return whether each configuration that ran is estimated to fit; a refusal is false.

    Rows without an accelerator count say nothing of the memory they had.
    """
    answers = []
    for run in (c for c in configurations if c.stated_devices):
        fit = fit_of(_job(run), _hardware(run), None)
        value = math.nan if fit.fits is False else 1.0
        name = f"{run.model}, {run.devices} x {run.accelerator.name}"
        answers.append(
            DescribedAnswer(source=run.source, name=name, truth=1.0, value=value, low=1.0, high=1.0,
                   why=fit.sentence)
        )  # fmt: skip
    return answers


def _job(run: Configuration) -> Job:
    return Job(
        workload=run.model,
        precision=run.precision,
        samples_per_epoch=None,
        params=run.params,
        train_flops_per_sample=run.train_flops_per_sample,
        tokens_per_sample=run.sequence,
        family="dense" if run.family == "lora" else run.family,
        active_params=run.active_params or run.params,
        training="lora" if run.family == "lora" else "full",
        optimizer="AdamW" if run.family in _LANGUAGE else "SGD momentum",
    )


def _hardware(run: Configuration) -> Hardware:
    return Hardware(
        label=f"{run.devices} x {run.accelerator.name}",
        accelerator=run.accelerator,
        count=run.devices,
        nodes=max(run.devices // NODE, 1),
    )


def _samples(row: PublishedRow) -> float | None:
    """Return the samples on one device at once; None if not stated."""
    if row.micro_batch:
        return float(row.micro_batch)
    if row.global_batch and row.n_accelerators:
        return max(row.global_batch / row.n_accelerators, 1.0)
    return None


def _estimate(row: PublishedRow, work: NamedWorkload, samples: float) -> float | None:
    """Return the bytes on one device; None if activations are unknown."""
    language = work.family in _LANGUAGE
    half = bool(_HALF.search(row.precision or ""))
    if not row.precision:
        half = language or not _BEFORE_AMPERE.search(row.accelerator or "")
    activations = activations_of(
        "dense" if work.family == "lora" else work.family,
        train_flops_per_sample=work.train_flops_per_sample,
        tokens=work.sequence,
        active_params=work.active_params or work.params,
        half=half,
    )
    if activations is None:
        return None
    adapters: Training = "qlora" if _QLORA.search(row.model or "") else "lora"
    training: Training = adapters if work.family == "lora" else "full"
    state = state_of(work.params or 0.0, 2 if language else 1, half=half, training=training)
    layout = row.parallelism or ""
    cut = int(np.prod([int(n) for n in _CUT.findall(layout)] or [1]))
    kept = activations.recomputed if row.recomputes else activations.kept
    shards = max((row.n_accelerators or 1) // cut, 1)
    return FRAMEWORK_BYTES + state.on_each(shards, _stage(layout)) / cut + samples * kept / cut


def image_memory(rows: Iterable[PublishedRow]) -> list[tuple[str, float, float]]:
    """Return source, multiply-adds and bytes of activations of a sample in half precision.

    Rows of image networks with stated memory, of which activations are the larger part.
    """
    rows_kept = []
    for row in rows:
        work = workload_of(row) if row.memory_gb and row.n_accelerators else None
        samples = _samples(row)
        if not isinstance(work, NamedWorkload) or work.family not in _IMAGES or samples is None:
            continue
        half = bool(_HALF.search(row.precision or "")) or not row.precision
        state = state_of(work.params or 0.0, 1, half=half, training="full").on_each(1, 0)
        stated = (row.memory_gb or 0.0) * 1e9
        kept = (stated - FRAMEWORK_BYTES - state) / (1.0 if half else 2.0)
        if kept > 0.5 * stated / (1.0 if half else 2.0):
            adds = work.train_flops_per_sample / OPERATIONS
            rows_kept.append((row.source_id or row.file, adds, kept / samples))
    return rows_kept


def _stage(layout: str) -> Stage:
    """Return the stage of ZeRO in a row's layout; 0 if none."""
    if _WHOLE.search(layout):
        return 3
    match = _STAGE.search(layout)
    return 0 if match is None else STAGES[int(match[1])]
