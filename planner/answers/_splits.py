"""Does a network fit, over how many stages, and what does that cost? A part of Scaling out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.answers.records import SplitOut, SplitRow, rows_of
from planner.catalog import Accelerator, Catalog, accelerator_named
from planner.core import Problem, Record, Refusal, Text, paragraph, plain
from planner.job import Job
from planner.networks import Network, network_named, operations_of
from planner.splits import Split, advice, batched_cuts, split_sentences, splits
from planner.throughput import cell


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAnswer:
    """The cuts of a network over accelerators, fewest shards first; `chosen` is our advice."""

    job: Job
    accelerator: Accelerator
    count: int
    batch: float
    found: tuple[Split, ...]
    chosen: Split | None


def split_answered(
    catalog: Catalog, values: Mapping[str, Any], problems: list[Problem]
) -> SplitAnswer | None:
    """Return the cuts of the requested network; None with a problem added where there is none."""
    network = network_named(values["network"])
    accelerator = accelerator_named(catalog, values["accelerator"])
    for name, named in (("network", network), ("accelerator", accelerator)):
        if isinstance(named, Refusal):
            message: str = paragraph(named.reason, named.measure_next)
            problems.append(Problem(parameter=name, message=message))
    if isinstance(network, Refusal) or isinstance(accelerator, Refusal):
        return None
    job = _job(network, values["precision"])
    if job is None:
        message = Text(
            "{network} is no transformer of tokens. Choose a language model.", network=network.name
        )
        problems.append(Problem(parameter="network", message=message))
        return None
    if network.family == "moe":
        message = Text(
            "{network} is a mixture of experts; cuts are those of dense "
            "transformers. Choose a dense language model.",
            network=network.name,
        )
        problems.append(Problem(parameter="network", message=message))
        return None
    batch, micro = values["network_batch"], values["micro_batch"]
    count = values["count"]
    if not batched_cuts(count, batch=batch, micro_batch=micro, layers=network.layers):
        message = Text(
            "No cut of {count:,} devices has a micro-batch of {micro} for each copy "
            "in a step of {batch}. Enter a larger batch, or another count.",
            count=count,
            micro=plain(micro, 4),
            batch=plain(batch, 7),
        )
        name = "micro_batch" if micro > batch else "count"
        problems.append(Problem(parameter=name, message=message))
        return None
    found = tuple(
        splits(
            job,
            accelerator,
            count,
            batch=batch,
            micro_batch=micro,
            layers=network.layers,
        )
    )
    if not found:
        message = Text(
            "{accelerator} has no stated memory or peak for {precision}.",
            accelerator=accelerator.name,
            precision=job.precision,
        )
        problems.append(
            Problem(
                parameter="accelerator",
                message=Text("{message} Choose another one.", message=message),
            )
        )
        return None
    return SplitAnswer(
        job=job,
        accelerator=accelerator,
        count=count,
        batch=batch,
        found=found,
        chosen=advice(found),
    )


def _job(network: Network, precision: str) -> Job | None:
    """Return the training of a network with Adam, of one sequence a sample; None for others."""
    work = operations_of(network)
    if not network.of_tokens or work is None or not network.sequence:
        return None
    return Job(
        workload=network.name,
        precision=precision,
        samples_per_epoch=None,
        params=network.params,
        train_flops_per_sample=work.model,
        tokens_per_sample=float(network.sequence),
        network=network.id,
        family=network.family,
        active_params=network.active_params,
        layers_width=network.layers_width,
        optimizer="AdamW",
    )


def split_out(answer: SplitAnswer) -> SplitOut:
    """Return the cuts as a record."""
    return SplitOut(
        network=answer.job.workload,
        accelerator=answer.accelerator.name,
        count=answer.count,
        sequence=answer.job.tokens_per_sample or 0.0,
        global_batch_size=answer.batch,
        sentences=tuple(
            split_sentences(answer.job, answer.accelerator, answer.count, answer.found)
        ),
        rows=rows_of(SplitRow, [_row(s, s is answer.chosen) for s in answer.found]),
    )


def _row(split: Split, chosen: bool) -> Record:  # noqa: FBT001 - one of two columns
    return {
        "tensor": split.cut.tensor,
        "pipeline": split.cut.pipeline,
        "data": split.cut.data,
        "micro_batches": split.micro_batches,
        "state_gb": cell(split.state_bytes / 1e9),
        "activations_gb": cell(split.activation_bytes / 1e9),
        "memory_gb": cell(split.have_bytes / 1e9),
        "fits": split.fits,
        "recomputes": split.recomputes,
        "bubble": cell(split.bubble),
        "tensor_share": cell(split.tensor_share),
        "data_share": cell(split.data_share),
        "step_s": cell(split.step_s),
        "samples_per_s": cell(split.samples_per_s),
        "advised": chosen,
    }
