"""Rows of the run table become a job, and so does a description by hand."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.catalog import Catalog
from planner.epochs import EpochSize, with_sizes
from planner.epochs import Option as MeasuredRun
from planner.epochs.epoch_size import epoch_size
from planner.job._batches import speeds_of
from planner.job._placing import placed
from planner.job._records import Hardware, Job
from planner.networks import Training, transformer_operations

ON_ACCELERATOR: Final = "accelerator"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenStep:
    """One timed step as it was typed in: seconds at a global batch [samples], and where."""

    accelerator: str
    count: int
    batch: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A workload nobody measured, as a person describes it.

    Either `flops_per_sample` (forward and backward) or `params` and `tokens_per_sample` say how
    heavy a sample is; a position of an image is no token, so there is no usual number of them.
    `samples_per_epoch` and `precision` are always needed. `total_tokens` are those of the whole
    run, which is then one pass over its samples. `step` was timed by hand; its accelerator is
    looked up later (`planner.compare._timed_step`). The other fields see
    `planner.job._records.Job`.
    """

    name: str
    samples_per_epoch: float
    precision: str = "float32"
    params: float | None = None
    tokens_per_sample: float | None = None
    flops_per_sample: float | None = None
    optimizer: str = ""
    batch: float | None = None
    network: str = ""
    family: str = ""
    active_params: float | None = None
    layers_width: float | None = None
    image_px: float | None = None
    training: Training = "full"
    recompute: bool = False
    assumed_mfu: float | None = None
    total_tokens: float | None = None
    step: GivenStep | None = None


def job_described(told: Described) -> Job:
    """The job of a description.

    Raises:
        ValueError: a number is not above 0, or nothing says how heavy a sample is; names all.
    """
    wrong = [f"{name} is {value:g}" for name, value in _numbers(told) if not value > 0.0]
    if told.flops_per_sample is None and told.params is None:
        wrong.append("neither FLOPs per sample nor parameters are given")
    elif told.flops_per_sample is None and told.tokens_per_sample is None:
        wrong.append("parameters are given without the tokens of a sample")
    if wrong:
        raise ValueError(
            f"{told.name or 'The workload'}: {', '.join(wrong)}. Numbers must be above 0; give the "
            "FLOPs of a sample (forward and backward), or parameters and tokens per sample."
        )
    tokens = told.tokens_per_sample if (told.tokens_per_sample or 0.0) > 1.0 else None
    return Job(
        workload=told.name or "described workload",
        precision=told.precision,
        samples_per_epoch=told.samples_per_epoch,
        params=told.params,
        train_flops_per_sample=_flops(told),
        tokens_per_sample=tokens,
        network=told.network,
        family=told.family or _family(told, tokens),
        active_params=told.active_params or told.params,
        layers_width=told.layers_width,
        image_px=told.image_px,
        training=told.training,
        recompute=told.recompute,
        assumed_mfu=told.assumed_mfu,
        total_tokens=told.total_tokens,
        optimizer=told.optimizer,
        batch=told.batch,
    )


def _flops(told: Described) -> float:
    """Operations of a sample [FLOP]: as stated, else by parameters and tokens."""
    if told.flops_per_sample is not None:
        return told.flops_per_sample
    return transformer_operations(
        told.active_params or told.params or 0.0,
        told.tokens_per_sample or 0.0,
        layers_width=told.layers_width,
        training=told.training,
        halves=2 if told.family == "encoder-decoder" else 1,
    ).model


def _family(told: Described, tokens: float | None) -> str:
    """The family that parameters and tokens speak for; "" where nothing does."""
    if tokens is None or told.params is None or told.flops_per_sample is not None:
        return ""
    return "moe" if (told.active_params or told.params) < told.params else "dense"


def job_measured(
    workload: str,
    rows: Iterable[Mapping[str, Any]],
    measured: Sequence[MeasuredRun],
    catalog: Catalog,
    size: EpochSize | None = None,
) -> Job:
    """The job of a measured workload.

    Args:
        workload: as the store names it.
        rows: summary columns of its good training runs, whatever the input pattern.
        measured: its runs that may be projected, under one pattern.
        catalog: to place them.
        size: what an epoch is (`planner.epochs.epoch_size`); None decides it from these rows and
        runs.

    Raises:
        ValueError: there is no row.
    """
    known = {str(r["run_id"]): r for r in rows}
    if not known:
        raise ValueError(f"{workload} has no run. Choose a workload that was measured.")
    every = list(known.values())
    size = size or epoch_size(
        [m.run for m in measured], stated={s for r in every if (s := r["train_samples"])}
    )
    kept = tuple(
        m for m in with_sizes(measured, size) if m.run.run_id in known and m.run.mode == "training"
    )
    hardware = {m.run.run_id: _there(catalog, known[m.run.run_id], m) for m in kept}
    precision = _first(every, "precision") or "float32"
    return Job(
        workload=workload,
        precision=precision,
        precision_stated=bool(_first(every, "precision")),
        samples_per_epoch=size.samples,
        size_refused=size.sentence if size.source == "unknown" else "",
        pre_train_s=_middle(every, "pre_train_s"),
        params=_most(every, "params"),
        train_flops_per_sample=_most(every, "train_flops_per_sample"),
        optimizer=_first(every, "optimizer") or "",
        batch=_best_batch(kept),
        measured=kept,
        hardware=hardware,
        memory=tuple(sorted(_memory(catalog, every))),
        speeds=speeds_of(catalog, every, precision),
    )


def _there(catalog: Catalog, row: Mapping[str, Any], measured: MeasuredRun) -> Hardware:
    return placed(catalog, {**row, "system": measured.run.system})


def _memory(catalog: Catalog, rows: Iterable[Mapping[str, Any]]) -> set[tuple[float, float]]:
    """Samples on one device and bytes there; the memory of a host's processes is not that."""
    found = set()
    for row in rows:
        method = str(row.get("peak_memory_method") or "")
        if row["peak_memory_bytes"] and row["global_batch_size"] and "resident" not in method:
            devices = placed(catalog, row).devices
            found.add((row["global_batch_size"] / devices, float(row["peak_memory_bytes"])))
    return found


def _best_batch(measured: Sequence[MeasuredRun]) -> float | None:
    """The batch of most samples/s."""
    timed = [m.run for m in measured if m.run.samples_per_s and m.run.global_batch_size]
    best = max(timed, key=lambda r: r.samples_per_s or 0.0, default=None)
    return None if best is None else float(best.global_batch_size or 0)


def _most(rows: Iterable[Mapping[str, Any]], name: str) -> float | None:
    return max((float(r[name]) for r in rows if r[name]), default=None)


def _middle(rows: Iterable[Mapping[str, Any]], name: str) -> float:
    known = [float(r[name]) for r in rows if r[name] is not None]
    return statistics.median(known) if known else 0.0


def _first(rows: Iterable[Mapping[str, Any]], name: str) -> str:
    return next((str(r[name]) for r in rows if r[name]), "")


def _numbers(told: Described) -> list[tuple[str, float]]:
    every = {
        "samples per epoch": told.samples_per_epoch,
        "parameters": told.params,
        "tokens per sample": told.tokens_per_sample,
        "FLOPs per sample": told.flops_per_sample,
        "batch": told.batch,
        "active parameters": told.active_params,
        "layers x width": told.layers_width,
        "image size": told.image_px,
        "total tokens": told.total_tokens,
        "assumed MFU": told.assumed_mfu,
        "seconds of the timed step": told.step.seconds if told.step else None,
        "batch of the timed step": told.step.batch if told.step else None,
    }
    return [(name, value) for name, value in every.items() if value is not None]
