"""Jobs, made from rows of the run table or from a description, and their batches.

A transferred time has the batch of its source run: the one on the same accelerator if there is
one, else the fastest on any; on fewer devices at most as many samples on each. An estimate from
FLOPs has the same batch, or `USUAL_BATCH` where no run states one. A requested batch selects the
runs at that batch.
"""

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final

from planner.catalog import Catalog
from planner.core import Refusal, Text, large, paragraph, percent, plain
from planner.core.slugs import UNOFFICIAL
from planner.epochs import EpochSize, with_sizes
from planner.epochs import Option as MeasuredRun
from planner.epochs.epoch_size import epoch_size
from planner.job._placing import effective_precision, placed
from planner.job._records import Hardware, Job, Speed, Work
from planner.job.efficiency import octaves_between, per_accelerator
from planner.networks import Training, network_or_none, operations_of, transformer_operations
from planner.transfer import Library, with_speeds


def nearest_measured(
    job: Job, hardware: Hardware, at_batch: float | None = None
) -> tuple[Hardware, MeasuredRun] | None:
    """Return the closest hardware the job was timed on, and its fastest run there.

    Only hardware with the same accelerator counts, and only runs at `at_batch` unless that is None.
    The order: one or several nodes alike, fewest doublings away, fastest. None where the
    accelerator is unknown or was not measured.
    """
    candidates = [
        (job.hardware[option.run.run_id], option)
        for option in job.measured
        if option.run.samples_per_s
        and job.hardware[option.run.run_id].accelerator == hardware.accelerator
        and at_batch in (None, option.run.global_batch_size)
    ]
    if hardware.accelerator is None or not candidates:
        return None
    return min(candidates, key=lambda pair: _distance(hardware, *pair))


def _distance(
    hardware: Hardware, there: Hardware, option: MeasuredRun
) -> tuple[bool, float, float, str]:
    unlike = (there.nodes > 1) is not (hardware.nodes > 1)
    octaves = abs(octaves_between(hardware, there))
    return unlike, octaves, -(option.run.samples_per_s or 0.0), option.run.run_id


USUAL_BATCH: Final = 256.0
"""Batch assumed for a description without one [samples]."""
USUAL_RECORDS: Final = 65_536.0
"""The same for a recommender: between the batches of MLPerf's DLRM, 27,648 to 160,000."""
OTHER_BATCH: Final = (
    "Another batch may be faster there; a larger one needs more epochs for the same target."
)


HALF_SOFTWARE: Final = ("mlperf", "megatron")
"""Parts of the names of software that multiplies in half precision, where runs state none."""


def speeds_of(
    catalog: Catalog, rows: Iterable[Mapping[str, Any]], precision: str
) -> tuple[Speed, ...]:
    """Return the fastest run on each accelerator of the catalogue at each batch.

    Args:
        catalog: to place the runs.
        rows: good training runs of one workload, as `planner.job._placing.library_of`, with
            `global_batch_size` and `device_kind`.
        precision: of the job, and of rows that state none; others are left out.
    """
    effective = effective_precision(precision)
    fastest: dict[tuple[str, float], Speed] = {}
    for row in rows:
        speed = row.get("samples_per_s")
        if row.get("device_kind") == "cpu" or not speed or not math.isfinite(speed):
            continue
        there = placed(catalog, row)
        if there.accelerator is None:
            continue
        if effective_precision(str(row["precision"] or precision)) == effective:
            batch = float(row["global_batch_size"] or 0)
            run = Speed(
                card=there.accelerator.id,
                batch=batch or None,
                samples_per_s=per_accelerator(speed, there),
                devices=there.devices,
                nodes=there.nodes,
                memory_bytes=there.memory_bytes,
            )
            key = (there.accelerator.id, batch)
            fastest[key] = min(run, fastest.get(key, run), key=_order)
    return tuple(speed for _, speed in sorted(fastest.items(), key=lambda item: item[0]))


def _order(speed: Speed) -> tuple[bool, float]:
    """Return the sort key of a source: one machine before several, then the faster one."""
    return speed.nodes > 1, -speed.samples_per_s


def library_at(library: Library | None, job: Job, at_batch: float | None) -> Library | None:
    """Return the library with only the job's runs at a batch; None keeps every batch."""
    if library is None or at_batch is None or not job.speeds:
        return library
    kept = {card: s.samples_per_s for card, s in _sources(job, at_batch).items()}
    return with_speeds(library, (job.workload, effective_precision(job.precision)), kept)


def batch_on(job: Job, hardware: Hardware, at_batch: float | None = None) -> float | None:
    """Return the global batch of a job where it was not timed [samples]; None: no run states it."""
    if at_batch is not None:
        return at_batch
    if job.described:
        return job.batch or usual_batch(job.family)
    source = _source(job, hardware)
    usual = job.batch or usual_batch(job.family)
    return usual if source is None else _within(job, source, hardware)


def usual_batch(family: str) -> float:
    """Return the global batch of a described job that states none [samples], by its family."""
    return USUAL_RECORDS if family == "recommender" else USUAL_BATCH


def _source(job: Job, hardware: Hardware) -> Speed | None:
    """Return the run whose batch is assumed on hardware; None where no run transfers."""
    nearest = nearest_measured(job, hardware)
    if nearest is None:
        return min(_used(job, hardware).values(), key=_order, default=None)
    there, option = nearest
    batch = option.run.global_batch_size
    return Speed(
        card=hardware.accelerator.id if hardware.accelerator else "",
        batch=None if batch is None else float(batch),
        samples_per_s=option.run.samples_per_s or 0.0,
        devices=there.devices,
        nodes=there.nodes,
        memory_bytes=there.memory_bytes,
    )


def _within(job: Job, source: Speed, hardware: Hardware) -> float | None:
    """Return the source's global batch, with at most its samples on each device [samples].

    Less memory has room for fewer samples. Where memory was measured, the fit says what has room.
    """
    if source.batch is None:
        return None
    room = 1.0
    if not job.memory and source.memory_bytes and hardware.memory_bytes:
        room = min(hardware.memory_bytes / source.memory_bytes, 1.0)
    most = source.batch / source.devices * room * hardware.devices
    return min(source.batch, float(max(math.floor(most), 1)))


def batch_sentence(job: Job, hardware: Hardware, at_batch: float | None) -> str:
    """Return which batch is assumed and why, as sentences; "" where the user chose it."""
    batch = batch_on(job, hardware, at_batch)
    if batch is None or at_batch is not None or (job.described and job.batch is not None):
        return ""
    if job.described:
        return Text(
            "Assumes batch {batch}, since none is stated. {other_batch}",
            batch=plain(batch),
            other_batch=OTHER_BATCH,
        )
    if not job.speeds and job.batch is None:
        return Text(
            "Assumes batch {batch}, since no run states one. {other_batch}",
            batch=plain(batch),
            other_batch=OTHER_BATCH,
        )
    source = _source(job, hardware)
    if source is not None and source.batch and batch < source.batch:
        measured = Text("batch {batch}", batch=plain(source.batch))
        if source.devices > 1:
            measured = Text(
                "batch {batch} on {devices:,} devices",
                batch=plain(source.batch),
                devices=source.devices,
            )
        return Text(
            "Assumes batch {batch}, with no more samples on a device than the "
            "fastest measured run had ({measured}). {other_batch}",
            batch=plain(batch),
            measured=measured,
            other_batch=OTHER_BATCH,
        )
    used = {s.batch for s in _used(job, hardware).values() if s.batch}
    if len(used) > 1 and nearest_measured(job, hardware) is None:
        several = " and ".join(f"{plain(b)}" for b in sorted(used))
        return Text(
            "Its fastest runs had batches {several}; the fastest of all is shown. {other_batch}",
            several=several,
            other_batch=OTHER_BATCH,
        )
    return Text(
        "Assumes batch {batch}, that of the fastest measured run. {other_batch}",
        batch=plain(batch),
        other_batch=OTHER_BATCH,
    )


def not_measured_at(job: Job, batch: float) -> Refusal | None:
    """Return why a batch has no time; None where a run has that batch.

    Only runs on accelerators of the catalogue count where there are any: others do not transfer.
    """
    if job.described:
        return None
    sizes = {s.batch for s in job.speeds} or {m.run.global_batch_size for m in job.measured}
    if batch in sizes:
        return None
    size = plain(batch)
    reason = (
        Text("It was not measured at batch {batch} on any accelerator of the catalogue.",
             batch=size)
        if job.speeds
        else Text("It was not measured at batch {batch}.", batch=size)
    )  # fmt: skip
    return Refusal(reason=reason, measure_next=choose_batch(sizes))


def choose_batch(sizes: Iterable[float | None]) -> str:
    """Return the advice to choose a measured batch, or none."""
    measured = ", ".join(plain(b) for b in sorted(b for b in sizes if b))
    if not measured:
        return "Leave the batch open for the fastest."
    return Text(
        "Choose a measured batch ({measured}), or leave it open for the fastest.", measured=measured
    )


def _sources(job: Job, at_batch: float | None = None) -> dict[str, Speed]:
    """Return the fastest run of each accelerator, on one machine if any, at a batch or at any."""
    fastest: dict[str, Speed] = {}
    for speed in job.speeds:
        if at_batch in (None, speed.batch):
            fastest[speed.card] = min(speed, fastest.get(speed.card, speed), key=_order)
    return fastest


def _used(job: Job, hardware: Hardware) -> Mapping[str, Speed]:
    """Return the runs that the time is based on: the accelerator's own, else all."""
    every = _sources(job)
    card = hardware.accelerator.id if hardware.accelerator else ""
    return {card: every[card]} if card in every else every


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenStep:
    """One timed step as the user typed it: seconds at a global batch [samples], and where."""

    accelerator: str
    count: int
    batch: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Described(Work):
    """An unmeasured workload, as the user describes it.

    The work of a sample is `flops_per_sample` (forward and backward), or `params` and
    `tokens_per_sample`; a position of an image is not a token.
    `samples_per_epoch` and `precision` are required. With `total_tokens` the run is one pass over
    that many tokens. `step` was timed by hand; its accelerator is looked up later
    (`planner.compare.undecided`).
    """

    name: str
    samples_per_epoch: float
    precision: str = "float32"
    flops_per_sample: float | None = None
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
            Text(
                "{description}: {wrong}. Numbers must be above 0; state FLOPs per "
                "sample (forward and backward), or parameters and tokens per sample.",
                description=description.name or "The workload",
                wrong=", ".join(wrong),
            )
        )
    tokens = description.tokens_per_sample if (description.tokens_per_sample or 0.0) > 1.0 else None
    stated: dict[str, Any] = {f.name: getattr(description, f.name) for f in fields(Work)}
    stated |= {
        "tokens_per_sample": tokens,
        "family": description.family or _family(description, tokens),
        "active_params": description.active_params or description.params,
    }
    return Job(
        workload=description.name or "your workload",
        precision=description.precision,
        samples_per_epoch=description.samples_per_epoch,
        train_flops_per_sample=_flops(description),
        **stated,
    )


def _flops(description: Described) -> float:
    """Return the work of a sample [FLOP]: as stated, else by parameters and tokens."""
    if description.flops_per_sample is not None:
        return description.flops_per_sample
    tokens = description.tokens_per_sample or 0.0
    named = network_or_none(description.network) if description.network else None
    of_named = named is not None and named.layers_width == description.layers_width
    return transformer_operations(
        description.active_params or description.params or 0.0,
        tokens,
        layers_width=description.layers_width,
        context=named.context(tokens) if named and of_named else None,
        training=description.training,
        halves=2 if description.family == "encoder-decoder" else 1,
    ).model


ADAPTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "lora": "Frozen weights need no gradients of their own (LoRA: arxiv.org/abs/2106.09685).",
        "qlora": "Frozen weights need no gradients of their own and are stored in 4 bits; their "
        "conversion is not counted (QLoRA: arxiv.org/abs/2305.14314).",
    }
)
"""What adapters save, by training, with its source."""
_SAME: Final = 1e-3
"""Operations this close to a network's own are counted from it [share]."""


def work_sentences(job: Job) -> tuple[str, ...]:
    """Return the operations of a sample of a named network as one note: formula, size, source.

    Empty for another workload, and where the user stated other operations or parameters.
    """
    network = network_or_none(job.network) if job.network else None
    if network is None or job.train_flops_per_sample is None:
        return ()
    tokens = job.tokens_per_sample
    work = operations_of(
        network, tokens=tokens, image_px=job.image_px, training=job.training,
        recompute=job.recompute,
    )  # fmt: skip
    if work is None or not math.isclose(work.model, job.train_flops_per_sample, rel_tol=_SAME):
        return ()
    said: list[str] = [
        Text(
            "A sample of {network} takes {model} FLOPs: {formula}.",
            network=network.name,
            model=large(work.model, 3),
            formula=work.formula,
        )
    ]
    if network.of_tokens:
        active = "active parameters" if network.active_params < network.params else "parameters"
        size = f"{large(network.active_params, 3)} {active}"
        if network.layers and network.width:
            size = Text(
                "{size} in {layers} layers of width {width:,}",
                size=size,
                layers=network.layers,
                width=network.width,
            )
        elif network.layers:
            size = Text("{size} in {layers} layers", size=size, layers=network.layers)
        said.append(
            Text("N is {size}, with {tokens:,.0f} tokens a sample.", size=size, tokens=tokens)
            if tokens
            else Text("N is {size}.", size=size)
        )
    elif network.multiply_adds:
        multiply_adds = large(network.multiply_adds, 3)
        said.append(
            Text(
                "The forward pass has {multiply_adds} multiply-adds at {image_px} px.",
                multiply_adds=multiply_adds,
                image_px=network.image_px,
            )
            if network.image_px
            else Text(
                "The forward pass has {multiply_adds} multiply-adds.", multiply_adds=multiply_adds
            )
        )
    if work.attention:
        share = percent(work.attention / work.model)
        causal = network.family in {"dense", "moe"}
        said.append(
            Text(
                "Attention is {share} of them, counted in full; a causal mask needs half of it.",
                share=share,
            )
            if causal
            else Text("Attention is {share} of them, counted in full.", share=share)
        )
    if job.training in ADAPTERS:
        said.append(ADAPTERS[job.training])
    if job.recompute:
        said.append(
            Text(
                "With recomputation the hardware executes {hardware} FLOPs.",
                hardware=large(work.hardware, 3),
            )
        )
    said.append(
        Text(
            "Source: {source} (multiply-adds: {counted}).",
            source=network.source,
            counted=network.counted,
        )
        if network.counted
        else Text("Source: {source}.", source=network.source)
    )
    return (paragraph(*said),)


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
        raise ValueError(
            Text("{workload} has no runs. Choose a measured workload.", workload=workload)
        )
    checked = [r for r in by_id.values() if not r.get("standing")]
    every = checked or list(by_id.values())  # unofficial runs move no estimate beside checked ones
    size = size or epoch_size(
        [m.run for m in measured], stated={s for r in every if (s := r["train_samples"])}
    )
    kept = tuple(
        m for m in with_sizes(measured, size) if m.run.run_id in by_id and m.run.mode == "training"
    )
    hardware = {
        m.run.run_id: placed(catalog, {**by_id[m.run.run_id], "system": m.run.system}) for m in kept
    }
    stated = _first(every, "precision")
    precision = stated or _usual_precision(every)
    return Job(
        workload=workload,
        precision=precision,
        precision_stated=bool(stated),
        samples_per_epoch=size.samples,
        size_refused=size.sentence if size.source == "unknown" else "",
        pre_train_s=_middle(every, "pre_train_s"),
        params=_most(every, "params"),
        train_flops_per_sample=_most(every, "train_flops_per_sample"),
        optimizer=_first(every, "optimizer") or "",
        training=_training(workload),
        batch=_best_batch(kept),
        measured=kept,
        hardware=hardware,
        memory=tuple(sorted(_memory(catalog, every))),
        speeds=speeds_of(catalog, every, precision),
        standing=None if checked else UNOFFICIAL,
    )


def _usual_precision(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the precision of runs that state none: by their software, else float32."""
    names = {str(row.get("framework") or "").casefold() for row in rows}
    return "float16" if any(of in name for name in names for of in HALF_SOFTWARE) else "float32"


def _training(workload: str) -> Training:
    """Return what a measured workload trains, by its variant: all weights unless it says LoRA."""
    words = re.findall(r"q?lora\b", workload.casefold())
    return "qlora" if "qlora" in words else "lora" if words else "full"


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
