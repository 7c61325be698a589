"""Tensor x pipeline x data: the memory of a device, the bubble, communication, and the step.

t devices share every layer (tensor), p stages share the layers (pipeline), d copies share the batch
(data): t p d devices. A copy works through m = B/(d b) micro-batches of b samples in a step of B.

    state on a device [bytes]        (weights + gradients)/(t p) + optimiser state/(t p d)
    activations on a device          b x activations of a sample x min(p, m)/(t p)
    bubble, share of a step          (p - 1)/(m + p - 1)
    tensor, a micro-batch [s]        (4 L/p + e) x 2(t - 1)/t x b s v d/link  4 all-reduces a layer
    data, a step [s]                 2(d - 1)/d x v params/(t p)/link         one all-reduce
    micro-batch on a stage [s]       b FLOPs/(t p)/(efficiency x peak) + tensor
    step [s]                         (m + p - 1) x micro-batch + data

with s tokens a sample, L layers of width d and v bytes a value (4 of float32, else 2). At the ends
are e more all-reduces, of the embedding and of the logits: 2 on one stage, 1 on each of the outer
stages, 0 where only L d is known. The optimiser state is sharded over the copies (ZeRO stage 1), as
usual with Megatron; the first stage holds the activations of min(p, m) micro-batches (one forward,
one backward). Recomputed activations add a third of the operations. Tensor parallelism stays within
a machine.

Sources: Huang et al. 2019 (GPipe), section 2.3, and Narayanan et al. 2021, section 2.2 (bubble, one
forward one backward); Shoeybi et al. 2019, section 3 (four all-reduces a layer); Rajbhandari et al.
2020 (ZeRO); Thakur et al. 2005 (ring: 2(n - 1)/n of the bytes). The state and the activations are
those of Compare (`planner.job`, `planner.networks`).

Limits: dense transformers. Interleaved stages shrink the bubble, context and expert parallelism
spread more: neither is counted. Communication overlaps with work in practice and counts in full
here. Errors: docs/accuracy-what-if.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.catalog import Accelerator
from planner.core import GIGA, LEAST_DIGITS, Refusal, Text, paragraph, percent, plain
from planner.job import (
    PER_NODE,
    TIGHT,
    Hardware,
    Job,
    activations_on,
    gigabytes,
    peak_of,
    usable_bytes,
    whole_state,
)

ALL_REDUCES: Final = 4.0
"""Of a transformer layer and micro-batch: two forward, two backward (Shoeybi et al. 2019)."""
ENDS: Final = 2.0
"""The same at the ends of a network: one of its embedding, one of its logits."""
HALF_BYTES: Final = 2.0
"""Bytes of a value on a link; float8 is a format of products and travels in 16 bits."""
FULL_BYTES: Final = 4.0
FULL: Final = frozenset({"float32", "tensorfloat32"})
"""Precisions whose values travel in 32 bits."""
RECOMPUTED_WORK: Final = 4.0 / 3.0
"""Operations with recomputed activations over those without: the forward pass twice."""
NODE_LINK: Final = 25e9
"""Bytes/s of one accelerator to other machines, each direction: 200 Gbit/s."""
PCIE: Final = 16e9
"""Bytes/s between accelerators without links of their own, each direction: PCIe 3.0 x16."""
SPLIT_EFFICIENCY: Final = 0.62
"""Share of the peak that the products of a stage reach, communication and bubble apart."""
USUAL_BATCH: Final = 1024.0
"""Samples of a step where none are stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """How a network is cut: devices that share a layer, stages, and copies."""

    tensor: int
    pipeline: int
    data: int

    @property
    def shards(self) -> int:
        """Devices that hold one copy of the network."""
        return self.tensor * self.pipeline

    @property
    def words(self) -> str:
        """The cut in words: 4 x 2 x 8."""
        return f"{self.tensor} x {self.pipeline} x {self.data}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A cut of a job: memory of a device [bytes], shares of a step [1], step [s], speed.

    `recomputes` is set where activations only fit recomputed. `fits` compares `need_bytes` with the
    part of the memory that a framework gets.
    """

    cut: Cut
    micro_batches: int
    state_bytes: float
    activation_bytes: float
    have_bytes: float
    recomputes: bool
    bubble: float
    tensor_share: float
    data_share: float
    step_s: float
    samples_per_s: float

    @property
    def need_bytes(self) -> float:
        """Memory of a device for the job [bytes]."""
        return self.state_bytes + self.activation_bytes

    @property
    def fits(self) -> bool:
        """Whether it fits."""
        return self.need_bytes <= self.have_bytes


def cuts_of(count: int, node: int = PER_NODE, layers: int | None = None) -> Iterator[Cut]:
    """Yield the cuts of `count` devices: tensor within a node, at least one layer a stage."""
    most = count if layers is None else layers
    for tensor in (n for n in (1, 2, 4, 8, 16, 32, 64) if n <= node and count % n == 0):
        left = count // tensor
        for pipeline in (p for p in range(1, min(left, most) + 1) if left % p == 0):
            yield Cut(tensor=tensor, pipeline=pipeline, data=left // pipeline)


def batched_cuts(
    count: int,
    *,
    batch: float,
    micro_batch: float = 1.0,
    node: int = PER_NODE,
    layers: int | None = None,
) -> list[Cut]:
    """Return the cuts of `count` devices with a micro-batch for each copy."""
    return [c for c in cuts_of(count, node, layers) if c.data * micro_batch <= batch]


def cut_of(
    job: Job,
    accelerator: Accelerator,
    cut: Cut,
    *,
    batch: float,
    micro_batch: float = 1.0,
    node_link: float = NODE_LINK,
    efficiency: float = SPLIT_EFFICIENCY,
    layers: int | None = None,
) -> Split | Refusal:
    """Return the memory and the step of a job under a cut.

    Args:
        job: a described transformer.
        accelerator: of every device.
        cut: of the network.
        batch: samples of a step over all devices.
        micro_batch: samples of a micro-batch, at least 1.
        node_link: bytes/s of one accelerator to other machines, each direction.
        efficiency: share of the peak that the products reach.
        layers: of the network; None where they are unknown.

    Returns:
        The split, or a `Refusal` where memory, peak, operations or activations are unknown.
    """
    sample, peak = activations_on(job), peak_of(accelerator, job.precision)
    have = usable_bytes(Hardware(label=accelerator.name, accelerator=accelerator))
    flops = job.train_flops_per_sample
    if sample is None or peak is None or have is None or flops is None or job.params is None:
        return Refusal(
            reason="Its memory or its operations are unknown on this accelerator.",
            measure_next="Choose a named language model and an accelerator with its memory.",
        )
    shards = cut.shards
    held = sum(state_on_device(job, cut))
    micro = max(round(batch / (cut.data * micro_batch)), 1)
    at_once = micro_batch * min(cut.pipeline, micro) / shards
    recomputes = job.recompute or held + at_once * sample.kept > have
    used = sample.recomputed if recomputes else sample.kept
    work = flops * (RECOMPUTED_WORK if recomputes else 1.0)
    link = (accelerator.link_bytes_per_s or 2.0 * PCIE) / 2.0 if accelerator.linked else PCIE
    products_s = micro_batch * work / shards / (efficiency * peak)
    tensor_s = tensor_bytes(job, cut, micro_batch, layers) / link
    across = link if shards * cut.data <= PER_NODE else node_link
    data_s = data_bytes(job, cut) / across
    turns = micro + cut.pipeline - 1
    step_s = turns * (products_s + tensor_s) + data_s
    return Split(
        cut=cut,
        micro_batches=micro,
        state_bytes=held,
        activation_bytes=at_once * used,
        have_bytes=have,
        recomputes=recomputes,
        bubble=(cut.pipeline - 1) / turns,
        tensor_share=turns * tensor_s / step_s,
        data_share=data_s / step_s,
        step_s=step_s,
        samples_per_s=micro * cut.data * micro_batch / step_s,
    )


def state_on_device(job: Job, cut: Cut) -> tuple[float, float]:
    """Return weights and optimiser state of a device, and its gradients [bytes]."""
    state, shards = whole_state(job), cut.shards
    return state.weights / shards + state.optimizer / (shards * cut.data), state.gradients / shards


def tensor_bytes(job: Job, cut: Cut, samples: float, layers: int | None = None) -> float:
    """Return what a device sends to those of its layers for a micro-batch of `samples` [bytes].

    Of several stages, those with an end of the network send most; without `layers` the ends are
    left out.
    """
    ends = (ENDS if cut.pipeline == 1 else ENDS / 2.0) * cut.pipeline / layers if layers else 0.0
    moved = samples * (job.tokens_per_sample or 1.0) * _value_bytes(job) * (job.layers_width or 0.0)
    return (ALL_REDUCES + ends) * _ring(cut.tensor) * moved / cut.pipeline


def data_bytes(job: Job, cut: Cut) -> float:
    """Return what a device sends to the other copies in a step: its gradients [bytes]."""
    return _ring(cut.data) * _value_bytes(job) * (job.params or 0.0) / cut.shards


def _ring(devices: int) -> float:
    """Return what a device of a ring sends of an all-reduce, over the size of its result."""
    return 2.0 * (devices - 1) / devices


def _value_bytes(job: Job) -> float:
    return FULL_BYTES if job.precision in FULL else HALF_BYTES


def splits(
    job: Job,
    accelerator: Accelerator,
    count: int,
    *,
    batch: float = USUAL_BATCH,
    micro_batch: float = 1.0,
    node_link: float = NODE_LINK,
    node: int = PER_NODE,
    layers: int | None = None,
) -> list[Split]:
    """Return every cut of `count` devices with a micro-batch for each copy, fewest shards first.

    Among cuts with as many shards the fastest is first. Arguments as `cut_of`.
    """
    cuts = batched_cuts(count, batch=batch, micro_batch=micro_batch, node=node, layers=layers)
    every = [
        cut_of(
            job, accelerator, cut, batch=batch, micro_batch=micro_batch, node_link=node_link,
            layers=layers,
        )
        for cut in cuts
    ]  # fmt: skip
    valid = [s for s in every if isinstance(s, Split)]
    return sorted(valid, key=lambda s: (s.cut.shards, -s.samples_per_s))


def advice(options: Sequence[Split]) -> Split | None:
    """Return the smallest cut that fits: fewest shards, of these the fastest; None if none fits."""
    return next((s for s in options if s.fits), None)


def _about(size: float) -> str:
    """Return an estimated size [bytes] in the digits of a value without an interval."""
    return Text("{size} GB", size=plain(size / GIGA, LEAST_DIGITS))


def split_sentences(
    job: Job, accelerator: Accelerator, count: int, options: Sequence[Split]
) -> list[str]:
    """Return whether the job fits, over how many stages, and what that costs."""
    where = f"on {count:,} x {accelerator.name}"
    chosen = advice(options)
    if chosen is None:
        least = min(options, key=lambda s: s.need_bytes, default=None)
        need = (
            ""
            if least is None
            else (
                Text(
                    "The leanest cut, {words}, needs {need_bytes} on each of {have_bytes}.",
                    words=least.cut.words,
                    need_bytes=_about(least.need_bytes),
                    have_bytes=gigabytes(least.have_bytes),
                )
            )
        )
        no = Text("No: {workload} does not fit {where}.", workload=job.workload, where=where)
        return [paragraph(no, need)]
    cut = chosen.cut.words
    if chosen.recomputes:
        cut = Text("{cut}, with recomputed activations", cut=cut)
    texts: list[str] = [
        Text(
            "Yes: {workload} fits {where} as tensor x pipeline x data = {cut}.",
            workload=job.workload,
            where=where,
            cut=cut,
        ),
        Text(
            "A device holds {state_bytes} of state and {activation_bytes} of "
            "activations, of {have_bytes}.",
            state_bytes=_about(chosen.state_bytes),
            activation_bytes=_about(chosen.activation_bytes),
            have_bytes=gigabytes(chosen.have_bytes),
        ),
    ]
    if chosen.need_bytes > TIGHT * chosen.have_bytes:
        texts.append(
            Text(
                "That is {share} of it, and an estimate: try this cut before you rely on it.",
                share=percent(chosen.need_bytes / chosen.have_bytes),
            )
        )
    if chosen.cut.pipeline > 1:
        texts.append(
            Text(
                "The bubble of {pipeline} stages and {micro_batches:,} micro-batches is "
                "{bubble} of a step.",
                pipeline=chosen.cut.pipeline,
                micro_batches=chosen.micro_batches,
                bubble=percent(chosen.bubble, 1),
            )
        )
    else:
        texts.append(Text("One stage: no bubble."))
    if chosen.cut.tensor > 1:
        texts.append(
            Text(
                "Tensor communication is {tensor_share} of a step.",
                tensor_share=f"{plain(100.0 * chosen.tensor_share, LEAST_DIGITS)} %",
            )
        )
    fastest = max((s for s in options if s.fits), key=lambda s: s.samples_per_s)
    if fastest.samples_per_s > 1.02 * chosen.samples_per_s:
        gain = plain(fastest.samples_per_s / chosen.samples_per_s, LEAST_DIGITS)
        texts.append(
            Text(
                "The fastest cut by this model is {words}, {gain} times as fast.",
                words=fastest.cut.words,
                gain=gain,
            )
        )
    return texts
