"""A described workload on hardware, as the efficiency model sees it: terms and labels.

    terms     numbers with one coefficient each, 0 for the reference job
    labels    names whose effects were pooled: maker, generation, accelerator, network ...

The reference of language models is a dense model of at least 3e9 parameters in half precision on
8 accelerators with at least 16,384 tokens a step on each; of encoders BERT-large; of image networks
24e9 operations a sample, of speech 100e9, of recommenders those of the dense layers of DLRM.

Accelerators of one generation share an instruction set and kernels, so their efficiencies are
correlated. Consumer and data-centre cards are separate where their memory and tensor units differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from planner.catalog import Accelerator
from planner.core import Text, sentence_case
from planner.mfu._images import LOADING_SD, USUAL_SHARE, share_of_parts
from planner.networks import attention_flops, layers_width_of
from planner.published import group_of, half_peak, own_peak

UNKNOWN: Final = ""
OF_PARTS: Final = frozenset({"cnn", "vit"})
"""Families whose step is a sum of parts (`_images`), not terms."""
NODE: Final = 8
"""Accelerators of a usual server."""
TPU_SLICE: Final = 256
"""Chips of a TPU slice that one network of links joins (v5e, v6e: 256; others more)."""
_MACHINES: Final = ((r"gb200|gb300", 72), (r"trainium", 16))
"""Accelerators of one machine where that is not 8."""
_CHIPS: Final[Mapping[str, str]] = {
    "a800-pcie-80gb": "a100-pcie-80gb",
    "a800-sxm-80gb": "a100-sxm-80gb",
    "gh200-96gb": "h100-sxm",
    "h800-sxm": "h100-sxm",
    "v100-sxm-32gb": "v100-sxm-16gb",
}
"""Accelerators with chip, peaks and about the memory bandwidth of another one, by data sheet."""
_GENERATIONS: Final = (
    (r"k80|k40", "kepler"),
    (r"p100|gtx-10|titan-xp|p40", "pascal"),
    (r"v100|titan-v\b|v100s", "volta"),
    (r"rtx-20|titan-rtx|t4|quadro-rtx", "turing"),
    (r"a100|a800|a30\b", "ampere"),
    (r"rtx-30|a10\b|a10g|a40|rtx-a\d", "ampere consumer"),
    (r"h100|h800|h200|gh200", "hopper"),
    (r"l4\b|l40|rtx-40|rtx-6000-ada", "ada"),
    (r"b200|b300", "blackwell"),
    (r"rtx-50|rtx-pro-6000", "blackwell consumer"),
    (r"mi\d", "cdna"),
    (r"rx-|radeon", "rdna"),
    (r"apple", "apple"),
    (r"gaudi", "gaudi"),
    (r"tpu", "tpu"),
    (r"trainium", "trainium"),
    (r"ascend", "ascend"),
    (r"bi-v", "iluvatar"),
    (r"ipu", "ipu"),
)
"""Parts of the catalogue's ids and the generation they mean, the first that fits."""


def generation_of(accelerator: Accelerator) -> str:
    """Return the generation of an accelerator, "" where it is none of the list."""
    for pattern, name in _GENERATIONS:
        if re.match(rf"g?(?:{pattern})", accelerator.id):
            return name
    return UNKNOWN


def chip_of(accelerator: Accelerator) -> str:
    """Return the id of the accelerator whose chip it has: its own, unless it is listed."""
    return _CHIPS.get(accelerator.id, accelerator.id)


def node_size(accelerator: Accelerator) -> int:
    """Return how many accelerators one machine of fast links usually holds."""
    if accelerator.kind == "tpu":
        return TPU_SLICE
    sizes = (size for pattern, size in _MACHINES if re.match(pattern, accelerator.id))
    return next(sizes, NODE)


Domain = Literal["language", "encoder", "vision", "speech", "recommender"]
DOMAINS: Final[tuple[Domain, ...]] = get_args(Domain)
DOMAIN_OF: Final[Mapping[str, Domain]] = {
    "dense": "language",
    "moe": "language",
    "lora": "language",
    "encoder-decoder": "language",
    "encoder": "encoder",
    "cnn": "vision",
    "vit": "vision",
    "detection": "vision",
    "segmentation": "vision",
    "diffusion": "vision",
    "speech": "speech",
    "recommender": "recommender",
}
LARGE_MODEL: Final = 3e9
MOST_ATTENTION: Final = 0.95
"""Largest share of the attention in the operations of a sample [1]."""
ENOUGH_TOKENS: Final = 16384.0
VERY_LONG: Final = 32768.0
"""Tokens of a context above which attention kernels dominate and few runs are published."""
VERY_LONG_SD: Final = 0.5
ENOUGH_SAMPLES: Final = 64.0
USUAL_UTTERANCES: Final = 32.0
"""Utterances on a device where a question about speech states no batch [samples]."""
REFERENCE_OPERATIONS: Final[Mapping[Domain, float]] = {
    "vision": 24e9,
    "speech": 100e9,
    "recommender": 15e6,
}
"""Training operations of a sample of the reference job [FLOP]."""
USUAL_DOUBLINGS: Final = 5.0
"""Doublings of machines for which the loss of a language model is fitted: 256 accelerators. It
grows with their power of 1.5: between a few machines nothing is lost.
"""
EXPERT_DOUBLINGS: Final = 3.0
"""Doublings of machines that experts are spread over at most: 8 machines. Further ones repeat
these groups, each with other samples.
"""
SPARSITY_LOSS: Final = 0.25
"""Expected loss of a mixture of experts for each unit of ln(parameters / active parameters). Few
large experts multiply larger matrices than many small ones and exchange fewer tokens. [ln]"""
LARGE_MIXTURE: Final = 10e9
"""Active parameters of the reference mixture of experts. Its layers are as wide as those of a dense
model of a third of them, so that small ones wait for launches and exchanges more."""
USUAL_SPARSITY: Final = 2.0
"""ln(parameters / active parameters) of a mixture of experts without that loss: about 1 in 7."""
LINKED_LOSS: Final = 0.03
"""Expected loss for each doubling of devices in a machine with links between them [ln]."""
UNLINKED_LOSS: Final = 0.10
"""The same without links of their own [ln]."""
USUAL_INTENSITY: Final = 156.0
SHORT_STEP_S: Final = 1e-3
SHORT_ENCODER_S: Final = 3e-3
LEAST_STEP_S: Final = 1e-6
BENCHMARK_GAIN: Final = 0.4
"""Expected gain of a submission to MLPerf over ordinary software: images and detection [ln]."""
OWN_PEAK_POWER: Final = 0.6
"""How the efficiency in single precision of language models grows with its own peak."""
ENCODER_PEAK_POWER: Final = 0.75
"""The same of encoders: chosen with sources left out, the best of 0.6, 0.7, 0.75, 0.8 and 0.9."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MfuQuestion:
    """A described workload on a number of accelerators.

    `family` is one of `planner.networks.FAMILIES` or "lora". `flops_per_sample` counts forward and
    backward pass [FLOP]; `params`, `active_params` [parameters] and `sequence` [tokens] are of
    transformers. `batch` is the global batch [samples], None where not stated. `network` is the
    key of `planner.published._named_workloads.network_key`. `devices` are in `nodes` machines.
    `benchmark` says that its software is tuned like a submission to MLPerf Training. `image_px` is
    the side of an image [px]; `loads` says that a host reads the images, that none are made up.
    """

    family: str
    accelerator: Accelerator
    flops_per_sample: float
    precision: str
    devices: int = 1
    nodes: int = 1
    params: float | None = None
    active_params: float | None = None
    sequence: float | None = None
    batch: float | None = None
    network: str = ""
    recomputes: bool = False
    benchmark: bool = False
    image_px: float | None = None
    loads: bool = True

    @property
    def domain(self) -> Domain | None:
        """The fit to use; None without a family or a fit for it."""
        return DOMAIN_OF.get(self.family)


@dataclass(frozen=True, slots=True)
class Traits:
    """Terms by name, and the label of each pooled effect.

    `offset` is added without a coefficient; `more_sd` is an sd more, of very long contexts and of
    images that a host loads.
    """

    terms: Mapping[str, float]
    labels: Mapping[str, str]
    offset: float = 0.0
    more_sd: float = 0.0


def traits_of(question: MfuQuestion) -> Traits:
    """Return terms and labels of a question whose family has a fit.

    Raises:
        ValueError: no fit has its family.
    """
    domain = question.domain
    if domain is None:
        raise ValueError(
            Text(
                "No efficiency of the family {family!r} is fitted. Give one of {domain_of}.",
                family=question.family,
                domain_of=", ".join(DOMAIN_OF),
            )
        )
    build = {"language": _language, "encoder": _encoder, "vision": _vision}.get(domain, _fixed)
    offset = _machine_loss(question) - _sparsity_loss(question)
    offset += question.benchmark * benchmark_gain(question.family)
    if domain in {"language", "encoder"}:
        offset += _offset(question)
    more_sd = VERY_LONG_SD if (question.sequence or 0.0) > VERY_LONG else 0.0
    if question.family in OF_PARTS:
        share, slower = share_of_parts(question)
        offset += math.log(share / USUAL_SHARE)
        more_sd = LOADING_SD * slower
    return Traits(build(question), _labels(question, domain), offset, more_sd)


def generation_label(accelerator: Accelerator) -> str:
    """Return the generation of an accelerator, that of other ones of its maker where unlisted."""
    return generation_of(accelerator) or f"other {accelerator.maker}"


_OWN_SPELLING: Final = {
    "cdna": "AMD Instinct", "rdna": "AMD Radeon", "apple": "Apple", "gaudi": "Intel Gaudi",
    "tpu": "TPU", "trainium": "AWS Trainium", "ascend": "Huawei Ascend",
    "iluvatar": "Iluvatar", "ipu": "Graphcore IPU",
}  # fmt: skip


def generation_name(accelerator: Accelerator) -> str:
    """Return `generation_label` as its maker writes it: 'Hopper', 'AMD Instinct'."""
    label = generation_label(accelerator)
    words = label.split(" ")
    return _OWN_SPELLING.get(label, " ".join((sentence_case(words[0]), *words[1:])))


def format_class(precision: str) -> str:
    """Return "8", "tf32", "32" or "16": how a number format multiplies.

    float4 counts as float8, as mixed recipes use both; of language models it has a term beside it.
    """
    return {
        "float8": "8",
        "int8": "8",
        "float4": "8",
        "tensorfloat32": "tf32",
        "float32": "32",
    }.get(precision, "16")


def benchmark_gain(family: str) -> float:
    """Return what submissions to MLPerf are expected to gain before the fit, in ln."""
    return BENCHMARK_GAIN if family in {"cnn", "detection"} else 0.0


def _offset(question: MfuQuestion) -> float:
    """Return, for TF32 and float32, a power of their peak over that of half precision, in ln."""
    if format_class(question.precision) not in {"32", "tf32"}:
        return 0.0
    half, own = half_peak(question.accelerator), own_peak(question.accelerator, question.precision)
    power = ENCODER_PEAK_POWER if question.domain == "encoder" else OWN_PEAK_POWER
    return power * math.log(own / half) if half and own else 0.0


def _machine_loss(question: MfuQuestion) -> float:
    """Return what the devices of a machine lose together, in ln; `devices` is the rest of it.

    With links of their own from the usual count on, else from one on.
    """
    inside, _ = _counts(question)
    alone = 0.0 if question.accelerator.linked else inside + 3.0
    return -LINKED_LOSS * inside - (UNLINKED_LOSS - LINKED_LOSS) * alone


def _sparsity(question: MfuQuestion) -> float | None:
    """Return ln(parameters / active parameters) of a mixture of experts; None where not known."""
    total, active = question.params, question.active_params
    if question.family != "moe" or not total or not active:
        return None
    return max(math.log(total / active), 0.0)


def _sparsity_loss(question: MfuQuestion) -> float:
    """Return what a mixture of experts loses as it is sparser than usual, in ln; or gains, < 0."""
    sparsity = _sparsity(question)
    return 0.0 if sparsity is None else SPARSITY_LOSS * (sparsity - USUAL_SPARSITY)


def _labels(question: MfuQuestion, domain: Domain) -> dict[str, str]:
    card = question.accelerator
    generation = generation_label(card)
    labels = {
        "maker": card.maker,
        "generation": generation,
        "accelerator": chip_of(card),
        "format": f"{generation} {format_class(question.precision)}",
        "kind": f"{generation} {question.family}",
    }
    if domain == "language":
        return labels
    labels["group"] = group_of(question.network) if question.network else ""
    labels["network"] = question.network
    return labels


def _counts(question: MfuQuestion) -> tuple[float, float]:
    """Return doublings of devices within a machine beyond 8, and doublings of machines."""
    size = node_size(question.accelerator)
    nodes = max(question.nodes, 1)
    if size > NODE or nodes == -(-question.devices // NODE):
        nodes = -(-question.devices // size)
    inside = max(question.devices / nodes, 1.0)
    return math.log2(min(inside, size)) - 3.0, math.log2(nodes)


def _formats(question: MfuQuestion) -> dict[str, float]:
    form = format_class(question.precision)
    return {"fp8": float(form == "8"), "tf32": float(form == "tf32"), "fp32": float(form == "32")}


def _attention_share(question: MfuQuestion, sequence: float) -> float:
    """Return the share of the attention in the operations [1]: what its parameters do not need."""
    active = question.active_params or question.params
    if active is None:
        attention = attention_flops(layers_width_of(LARGE_MODEL), sequence) * sequence
        return min(attention / question.flops_per_sample, MOST_ATTENTION)
    per_token = 4.0 if question.family == "lora" else 6.0
    halves = 2.0 if question.family == "encoder-decoder" else 1.0
    linear = per_token * active * sequence / halves
    return min(max(1.0 - linear / question.flops_per_sample, 0.0), MOST_ATTENTION)


def _language(question: MfuQuestion) -> dict[str, float]:
    inside, nodes = _counts(question)
    spread = nodes * math.sqrt(nodes / USUAL_DOUBLINGS)
    active = question.active_params or question.params or LARGE_MODEL
    sequence = question.sequence or 2048.0
    moe, lora = question.family == "moe", question.family == "lora"
    tokens = ENOUGH_TOKENS
    if question.batch:
        tokens = max(question.batch * sequence / question.devices, 16.0)
    share = _attention_share(question, sequence)
    formats = _formats(question)
    small = formats["fp8"]
    return {
        "base": 1.0,
        "lora": float(lora),
        "moe": float(moe),
        "encoder-decoder": float(question.family == "encoder-decoder"),
        **formats,
        "fp4": float(question.precision == "float4"),
        "fp8 of experts": small * moe,
        "fp8 of adapters": small * lora,
        "fp8 of attention": small * share,
        "attention": share,
        "small model": min(math.log(active / LARGE_MODEL), 0.0),
        "large model": max(math.log(active / LARGE_MODEL), 0.0),
        "few tokens": 0.0 if lora else min(math.log(tokens / ENOUGH_TOKENS), 0.0),
        "size of a mixture": moe * math.log(active / LARGE_MIXTURE),
        "experts per token": _sparsity(question) or 0.0,
        "devices": inside,
        "nodes": spread,
        "nodes of experts": min(nodes, EXPERT_DOUBLINGS) * moe,
        "recomputed": float(question.recomputes),
    }


def _short(
    question: MfuQuestion, typical_s: float, peak: float | None = None
) -> tuple[float, float]:
    """Return ln(1 + overhead / ideal time of a step), and whether the batch is missing.

    The ideal time is that at `peak` [FLOP/s]; None is the half-precision peak.
    """
    peak = peak or half_peak(question.accelerator) or 1e12
    if not question.batch:
        return 0.0, 1.0
    each = max(question.batch / question.devices, 1.0)
    ideal = max(question.flops_per_sample * each / peak, LEAST_STEP_S)
    return math.log1p(typical_s / ideal), 0.0


def _encoder(question: MfuQuestion) -> dict[str, float]:
    inside, nodes = _counts(question)
    short, unknown = _short(question, SHORT_ENCODER_S)
    active = question.active_params or question.params or 340e6
    return {
        "base": 1.0,
        **_formats(question),
        "short step": short,
        "batch not stated": unknown,
        "benchmark": float(question.benchmark),
        "model size": math.log(active / 340e6),
        "length": math.log((question.sequence or 256.0) / 256.0),
        "devices": inside,
        "nodes": nodes,
    }


def _intensity(card: Accelerator) -> float:
    """Return ln of peak over memory bandwidth, relative to the usual one."""
    half = half_peak(card) or 1e12
    bandwidth = card.memory_bandwidth_bytes_per_s or half / USUAL_INTENSITY
    return math.log(half / bandwidth / USUAL_INTENSITY)


def _fixed(question: MfuQuestion) -> dict[str, float]:
    """Return the terms of a speech network or a recommender: samples of one size."""
    inside, nodes = _counts(question)
    short, unknown = _short(question, SHORT_STEP_S)
    if unknown and question.family == "speech":  # all published speech runs state their batch
        usual = replace(question, batch=USUAL_UTTERANCES * question.devices)
        short, _ = _short(usual, SHORT_STEP_S)
    reference = REFERENCE_OPERATIONS[DOMAIN_OF[question.family]]
    size = math.log(question.flops_per_sample / reference)
    return {
        "base": 1.0,
        **_formats(question),
        "small sample": min(size, 0.0),
        "short step": short,
        "batch not stated": unknown,
        "peak over bandwidth": _intensity(question.accelerator),
        "devices": inside,
        "nodes": nodes,
    }


def _vision(question: MfuQuestion) -> dict[str, float]:
    """Return the terms of an image network; those of `OF_PARTS` have most of it in the offset."""
    inside, nodes = _counts(question)
    families = ("vit", "detection", "segmentation", "diffusion")
    of_parts = question.family in OF_PARTS
    return {
        "base": 1.0,
        **{name: float(question.family == name) for name in families},
        "benchmark": float(question.benchmark and benchmark_gain(question.family) > 0.0),
        **(dict.fromkeys(_OF_SAMPLES, 0.0) if of_parts else _of_samples(question)),
        "devices": inside,
        "nodes": nodes,
    }


_OF_SAMPLES: Final = (
    "tf32", "fp32", "own peak", "size of a sample", "short step", "few samples",
    "batch not stated", "peak over bandwidth",
)  # fmt: skip


def _of_samples(question: MfuQuestion) -> dict[str, float]:
    """Return the terms of detection, segmentation and diffusion, as `_OF_SAMPLES` names them."""
    card = question.accelerator
    half = half_peak(card) or 1e12
    own = own_peak(card, question.precision) or half
    short, unknown = _short(question, SHORT_STEP_S, own)
    formats = _formats(question)
    single = formats["fp32"] + formats["tf32"]
    size = question.flops_per_sample / REFERENCE_OPERATIONS["vision"]
    each = max((question.batch or math.inf) / question.devices, 1.0)
    return {
        "tf32": formats["tf32"],
        "fp32": formats["fp32"],
        "own peak": single * math.log(8.0 * own / half),
        "size of a sample": math.log(size),
        "short step": short,
        "few samples": min(math.log(each / ENOUGH_SAMPLES), 0.0),
        "batch not stated": unknown,
        "peak over bandwidth": _intensity(card),
    }
