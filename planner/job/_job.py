"""Jobs, made from rows of the run table or from a description."""

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
    """One timed step as the user typed it: seconds at a global batch [samples], and where."""

    accelerator: str
    count: int
    batch: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """An unmeasured workload, as the user describes it.

    The work of a sample is `flops_per_sample` (forward and backward), or `params` and
    `tokens_per_sample`; a position of an image is not a token.
    `samples_per_epoch` and `precision` are required. With `total_tokens` the run is one pass over
    that many tokens. `step` was timed by hand; its accelerator is looked up later
    (`planner.compare._timed_step`). For the other fields see
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


def job_described(description: Described) -> Job:
    """Return the job of a description.

    Raises:
        ValueError: a number is not above 0, or the work of a sample is missing; names all.
    """
    wrong = [f"{name} is {value:g}" for name, value in _numbers(description) if not value > 0.0]
    if description.flops_per_sample is None and description.params is None:
        wrong.append("neither FLOPs per sample nor parameters are stated")
    elif description.flops_per_sample is None and description.tokens_per_sample is None:
        wrong.append("parameters are stated without tokens per sample")
    if wrong:
        raise ValueError(
            f"{description.name or 'The workload'}: {', '.join(wrong)}. Numbers must be above 0; "
            "state FLOPs per sample (forward and backward), or parameters and tokens per sample."
        )
    tokens = description.tokens_per_sample if (description.tokens_per_sample or 0.0) > 1.0 else None
    return Job(
        workload=description.name or "described workload",
        precision=description.precision,
        samples_per_epoch=description.samples_per_epoch,
        params=description.params,
        train_flops_per_sample=_flops(description),
        tokens_per_sample=tokens,
        network=description.network,
        family=description.family or _family(description, tokens),
        active_params=description.active_params or description.params,
        layers_width=description.layers_width,
        image_px=description.image_px,
        training=description.training,
        recompute=description.recompute,
        assumed_mfu=description.assumed_mfu,
        total_tokens=description.total_tokens,
        optimizer=description.optimizer,
        batch=description.batch,
    )


def _flops(description: Described) -> float:
    """Return the work of a sample [FLOP]: as stated, else by parameters and tokens."""
    if description.flops_per_sample is not None:
        return description.flops_per_sample
    return transformer_operations(
        description.active_params or description.params or 0.0,
        description.tokens_per_sample or 0.0,
        layers_width=description.layers_width,
        training=description.training,
        halves=2 if description.family == "encoder-decoder" else 1,
    ).model


def _family(description: Described, tokens: float | None) -> str:
    """Return the family implied by parameters and tokens; "" where they are missing."""
    if tokens is None or description.params is None or description.flops_per_sample is not None:
        return ""
    return (
        "moe" if (description.active_params or description.params) < description.params else "dense"
    )


def job_measured(
    workload: str,
    rows: Iterable[Mapping[str, Any]],
    measured: Sequence[MeasuredRun],
    catalog: Catalog,
    size: EpochSize | None = None,
) -> Job:
    """Return the job of a measured workload.

    Args:
        workload: its name in the store.
        rows: summary columns of its good training runs, of every input pattern.
        measured: its runs that can be projected, under one pattern.
        catalog: accelerators, to place the runs.
        size: of an epoch (`planner.epochs.epoch_size`); None derives it from rows and runs.

    Raises:
        ValueError: there is no row.
    """
    by_id = {str(r["run_id"]): r for r in rows}
    if not by_id:
        raise ValueError(f"{workload} has no runs. Choose a measured workload.")
    every = list(by_id.values())
    size = size or epoch_size(
        [m.run for m in measured], stated={s for r in every if (s := r["train_samples"])}
    )
    kept = tuple(
        m for m in with_sizes(measured, size) if m.run.run_id in by_id and m.run.mode == "training"
    )
    hardware = {m.run.run_id: _there(catalog, by_id[m.run.run_id], m) for m in kept}
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
    """Return pairs of samples on one device and bytes there, without host memory."""
    pairs = set()
    for row in rows:
        method = str(row.get("peak_memory_method") or "")
        if row["peak_memory_bytes"] and row["global_batch_size"] and "resident" not in method:
            devices = placed(catalog, row).devices
            pairs.add((row["global_batch_size"] / devices, float(row["peak_memory_bytes"])))
    return pairs


def _best_batch(measured: Sequence[MeasuredRun]) -> float | None:
    """Return the batch with the most samples/s."""
    timed = [m.run for m in measured if m.run.samples_per_s and m.run.global_batch_size]
    best = max(timed, key=lambda r: r.samples_per_s or 0.0, default=None)
    return None if best is None else float(best.global_batch_size or 0)


def _most(rows: Iterable[Mapping[str, Any]], name: str) -> float | None:
    return max((float(r[name]) for r in rows if r[name]), default=None)


def _middle(rows: Iterable[Mapping[str, Any]], name: str) -> float:
    values = [float(r[name]) for r in rows if r[name] is not None]
    return statistics.median(values) if values else 0.0


def _first(rows: Iterable[Mapping[str, Any]], name: str) -> str:
    return next((str(r[name]) for r in rows if r[name]), "")


def _numbers(description: Described) -> list[tuple[str, float]]:
    every = {
        "samples per epoch": description.samples_per_epoch,
        "parameters": description.params,
        "tokens per sample": description.tokens_per_sample,
        "FLOPs per sample": description.flops_per_sample,
        "batch": description.batch,
        "active parameters": description.active_params,
        "layers x width": description.layers_width,
        "image size": description.image_px,
        "total tokens": description.total_tokens,
        "assumed MFU": description.assumed_mfu,
        "seconds of the timed step": description.step.seconds if description.step else None,
        "batch of the timed step": description.step.batch if description.step else None,
    }
    return [(name, value) for name, value in every.items() if value is not None]
