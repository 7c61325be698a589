"""The description of a workload without measurements: parameters, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from planner.catalog import PRECISIONS
from planner.compare import MOST_COUNT
from planner.core import Given, Parameter, Problem, Refusal, Text, paragraph
from planner.job import Described, GivenStep, unknown_optimizer
from planner.networks import FAMILIES, OF_TOKENS, TRAININGS, Network, network_named, operations_of

RESNET_50_FLOPS: Final = 25e9
"""FLOPs per image of 224 px, forward and backward: 3 x 2 x 4.09e9 multiply-adds, by torchvision's
count of v1.5; the first version has 3.8e9 (He et al. 2015, table 1)."""
_RESNET_50: Final = Text(
    "ResNet-50 at 224 px takes about {resnet_50_flops:g}e9",
    resnet_50_flops=RESNET_50_FLOPS / 1000000000.0,
)
HOW_MANY_TOKENS: Final = Text(
    "How many tokens has a sample? 1 for a fully connected network, the length of "
    "the sequence for a language model. For images give FLOPs per sample instead: "
    "{resnet_50} for training.",
    resnet_50=_RESNET_50,
)
TRAINED_IN: Final = tuple(p for p in PRECISIONS if p != "int8")
"""Number formats of a described job; int8 is for inference."""
FORMATS: Final = MappingProxyType(
    {
        "bf16": "bfloat16", "mixed_bfloat16": "bfloat16", "fp16": "float16",
        "mixed_float16": "float16", "half": "float16", "fp8": "float8", "tf32": "tensorfloat32",
        "fp32": "float32",
    }
)  # fmt: skip
"""Other common names of the number formats."""
_INT8: Final = Text(
    "int8 is for inference; training in it is not estimated. Choose {format} or {other_format}.",
    format=", ".join(TRAINED_IN[:-1]),
    other_format=TRAINED_IN[-1],
)
_SINGLE: Final = frozenset({"", "recommender"})
"""Families trained in float32 by default; "" is an unknown one."""
_LARGE: Final = 9e17
"""About the largest whole number of a browser's field."""
LONGEST_NAME: Final = 80
MOST_PX: Final = 65_536.0
MOST_LAYERS: Final = 100_000
MOST_WIDTH: Final = 10_000_000
_OF_ITS_SIZE: Final = frozenset({"active_params", "layers", "width"})
"""Values of a named network that another number of parameters makes invalid."""
_ROUNDED: Final = 0.01
"""Parameters this close to a named network's are its own, rounded [share]."""
DESCRIBED: Final = "described"
"""Slug of the workload that a user describes, without measurements."""
OPENING: Final[Given] = MappingProxyType(
    {
        "workload": [DESCRIBED], "network": ["llama-3-8b"], "total_tokens": ["100M"],
        "precision": ["bfloat16"], "network_optimizer": ["AdamW"],
    }
)  # fmt: skip
"""The default question: full fine-tuning of Llama 3 8B on 100 million tokens."""
DESCRIPTION: Final = (
    Parameter(name="name", words="name of a described workload; without it that of its network",
              default="your workload", longest=LONGEST_NAME),
    Parameter(name="network", words="a named network, as Llama 3 8B, resnet50 or SDXL: it gives "
              "family, params, active_params, layers, width, tokens, image_px and the operations "
              "where these are not given", longest=LONGEST_NAME),
    Parameter(name="samples", words="samples in an epoch", kind="number", unit="samples",
              least=1.0, most=_LARGE, short=True),
    Parameter(name="total_tokens",
              words="tokens of the whole run, as 100M; in place of samples and epochs",
              kind="number", unit="tokens", least=1.0, most=1e18, short=True),
    Parameter(name="params", words="parameters of the network, as 7B", kind="number", least=1.0,
              most=_LARGE, short=True),
    Parameter(name="active_params", words="parameters that take part in a token, of a mixture of "
              "experts; else all of them", kind="number", least=1.0, most=_LARGE, short=True),
    Parameter(name="layers", words="layers of a transformer, for its attention and memory, "
              "beside width; default: estimated from its parameters", kind="whole", least=1,
              most=MOST_LAYERS),
    Parameter(name="width",
              words="width of the attention of a transformer: heads x width of a head",
              kind="whole", least=1, most=MOST_WIDTH),
    Parameter(name="tokens", words="tokens in a sample, needed beside params where flops is not "
              "given: the length of a sequence, 1 for a fully connected network; for images give "
              "flops instead", kind="number", least=1.0, most=1e12, short=True),
    Parameter(name="image_px", words="side of a square image; of a named network its operations "
              "grow with the pixels", kind="number", unit="px", least=1.0, most=MOST_PX),
    Parameter(name="flops",
              words=Text("operations of forward and backward pass of one sample, 6 for each "
                         "multiply-add of the forward pass: {resnet_50}", resnet_50=_RESNET_50),
              kind="number", unit="FLOP/sample", least=1.0, most=1e30, short=True),
    Parameter(name="family", words="kind of network; without it that of the named network, or a "
              "language model where tokens are given", kind="choice", choices=FAMILIES),
    Parameter(name="training", words="what is trained: all weights, or adapters beside weights "
              "in half precision (lora) or 4 bits (qlora)", kind="choice", choices=TRAININGS,
              default="full"),
    Parameter(name="recompute",
              words="activations are computed again in the backward pass, which saves memory",
              kind="flag", default=False),
    Parameter(name="benchmark", words="an encoder's software is tuned like a submission to MLPerf "
              "Training; other published software is slower", kind="flag", default=False),
    Parameter(name="assumed_mfu", words="share of the dense half-precision peak that it reaches "
              "on every accelerator (MFU), 40 for 40 %; without it that of published runs of its "
              "family", kind="number", unit="%", least=1.0, most=100.0),
    Parameter(name="step_s",
              words="seconds of one training step that was timed: it narrows every estimate",
              kind="number", unit="s", least=1e-6, most=1e6),
    Parameter(name="step_batch", words="global batch size of the timed step; without it batch",
              kind="number", unit="samples", least=1.0, most=1e12, short=True),
    Parameter(name="step_accelerator", words="accelerator of the timed step, by id or name",
              longest=LONGEST_NAME),
    Parameter(name="step_count", words="accelerators of the timed step", kind="whole", default=1,
              least=1, most=MOST_COUNT),
    Parameter(name="precision", words="number format it is trained in; without it bfloat16, or "
              "float32 for a recommender and where no family is known", kind="choice",
              choices=TRAINED_IN, also=FORMATS),
    Parameter(name="network_optimizer", words="optimiser, for its memory: SGD, AdamW, AdamW "
              "8-bit ...; without it Adam's two moments are assumed", longest=LONGEST_NAME),
    Parameter(name="batch", words="global batch size; of a measured workload one that was "
              "measured, without it the fastest on each system", kind="number", unit="samples",
              least=1.0, most=1e12, short=True),
)  # fmt: skip


def with_int8_reason(problem: Problem, question: Given) -> Problem:
    """Return the problem; for int8 with its reason as message."""
    if problem.parameter == "precision" and "int8" in question.get("precision", ()):
        return replace(problem, message=_INT8)
    return problem


def described_of(values: Mapping[str, Any], problems: list[Problem]) -> Described | None:
    """Return the description; None where it is incomplete. Adds its problems to `problems`."""
    wrong: list[tuple[str, str]] = []
    network = _network(values["network"] or "", wrong)
    filled = _filled(values, network)
    if network is not None and filled["flops"] is None and not _heavy(filled):
        filled["flops"] = _operations(network, filled)
    layers_width = _layers_width(values, filled, wrong)
    samples = _samples(values, filled, network, wrong)
    if filled["flops"] is None and filled["params"] is None:
        wrong.append(("flops", "The work of a sample is missing. Give network, or flops, or params "
                      "and tokens."))  # fmt: skip
    elif not _heavy(filled):
        wrong.append(("tokens", HOW_MANY_TOKENS))
    if values["goal"] == "target":
        wrong.append(("goal", "A described workload has no steps to a target. Choose epochs."))
    if _more_active(filled, network):
        wrong.append(("active_params", _MORE_ACTIVE))
        filled["active_params"] = filled["params"]
    step = _step(values, wrong)
    batch, optimizer = values["batch"], values["network_optimizer"] or ""
    assumed = values["assumed_mfu"]
    if batch and samples and batch > samples:
        wrong.append(("batch", _too_large(batch, samples)))
        batch = None
    if unknown := unknown_optimizer(optimizer):
        wrong.append(("network_optimizer", unknown))
        optimizer = ""
    problems += _new(wrong, problems)
    if samples is None or not _heavy(filled):
        return None
    return Described(
        name=_name(values["name"], network),
        samples_per_epoch=samples,
        precision=values["precision"] or usual_precision(_family(filled)),
        params=filled["params"],
        tokens_per_sample=filled["tokens"],
        flops_per_sample=filled["flops"],
        optimizer=optimizer,
        batch=batch,
        network="" if network is None else network.id,
        family=filled["family"] or "",
        active_params=filled["active_params"],
        layers_width=layers_width,
        image_px=filled["image_px"],
        training=values["training"],
        recompute=values["recompute"],
        benchmark=values["benchmark"],
        assumed_mfu=None if assumed is None else assumed / 100.0,
        total_tokens=values["total_tokens"],
        step=step,
    )


def _new(wrong: Sequence[tuple[str, str]], before: Sequence[Problem]) -> list[Problem]:
    """Return one problem a parameter, without those that follow from an invalid value."""
    invalid = {p.parameter for p in before}
    unknown = {name for name, _ in wrong if name == "network"}
    follows = {name for name, causes in _FOLLOWS.items() if (invalid | unknown) & causes}
    kept = {name: message for name, message in reversed(wrong) if name not in follows | invalid}
    return [Problem(parameter=n, message=m) for n, m in wrong if kept.pop(n, None) == m]


def _step(values: Mapping[str, Any], wrong: list[tuple[str, str]]) -> GivenStep | None:
    """Return the step timed by hand; None without one, or where a part is missing."""
    seconds, where = values["step_s"], values["step_accelerator"] or ""
    batch = values["step_batch"] or values["batch"]
    if seconds is None:
        if where or values["step_batch"]:
            wrong.append(
                ("step_s", "The step time is missing, so the timed step is ignored. Give seconds.")
            )
        return None
    if values["assumed_mfu"] is not None:
        wrong.append(("step_s", "Ignored because assumed_mfu is given. Leave one of them out."))
        return None
    if not where:
        wrong.append(("step_accelerator", "The accelerator of the timed step is missing."))
    if batch is None:
        wrong.append(("step_batch", "The batch size of the timed step is missing."))
    if not where or batch is None:
        return None
    return GivenStep(accelerator=where, count=values["step_count"], batch=batch, seconds=seconds)


def usual_precision(family: str) -> str:
    """Return the default number format of a family.

    Most rows of the published tables are in half precision; recommenders keep their embeddings in
    float32, the default of Keras.
    """
    return "float32" if family in _SINGLE else "bfloat16"


def _family(filled: Mapping[str, Any]) -> str:
    """Return the family of a description; parameters and tokens mean a language model."""
    of_tokens = filled["flops"] is None and filled["params"] and (filled["tokens"] or 0.0) > 1.0
    return filled["family"] or ("dense" if of_tokens else "")


def network_values(network: Network) -> dict[str, Any]:
    """Return the values of a named network by parameter; None where it has none."""
    return {
        "family": network.family,
        "params": network.params,
        "active_params": None if network.active_params == network.params else network.active_params,
        "layers": network.layers if network.of_tokens else None,
        "width": network.attention_width if network.of_tokens else None,
        "tokens": None if network.sequence is None else float(network.sequence),
        "image_px": None if network.image_px is None else float(network.image_px),
    }


def _network(name: str, wrong: list[tuple[str, str]]) -> Network | None:
    """Return the named network, or None; adds a problem to `wrong` for an unknown name."""
    network = network_named(name) if name.strip() else None
    if isinstance(network, Refusal):
        wrong.append(("network", paragraph(network.reason, network.measure_next)))
        return None
    return network


def _filled(entered: Mapping[str, Any], network: Network | None) -> dict[str, Any]:
    """Return the values of a description, filled from its network."""
    names = ("family", "params", "active_params", "layers", "width", "tokens", "image_px", "flops")
    values = {name: entered[name] for name in names}
    if network is None:
        return values
    own = network_values(network)
    same = values["params"] is None or _alike(values["params"], own["params"])
    for name, value in own.items():
        if values[name] is None and (same or name not in _OF_ITS_SIZE):
            values[name] = value
    return values | {"training": entered["training"], "of_tokens": network.of_tokens}


def _layers_width(
    values: Mapping[str, Any], filled: Mapping[str, Any], wrong: list[tuple[str, str]]
) -> float | None:
    """Return layers x width of the attention; None to estimate it from the parameters."""
    entered = [name for name in ("layers", "width") if values[name] is not None]
    layers, width = filled["layers"], filled["width"]
    if entered and (_family(filled) not in OF_TOKENS or filled["tokens"] is None):
        wrong += [(name, _ONLY_TRANSFORMERS) for name in entered]
        return None
    if layers is None or width is None:
        wrong += [(name, _BOTH) for name in entered]
        return None
    return float(layers * width)


def _alike(params: float, own: float) -> bool:
    """Return whether parameters are those of the network, rounded."""
    return math.isclose(params, own, rel_tol=_ROUNDED)


def _operations(network: Network, filled: Mapping[str, Any]) -> float | None:
    """Return operations per sample counted from the network's forward pass [FLOP]."""
    operations = operations_of(network, image_px=filled["image_px"], training=filled["training"])
    return None if operations is None or network.of_tokens else operations.model


def _heavy(filled: Mapping[str, Any]) -> bool:
    """Return whether the values determine the operations of a sample."""
    if filled["flops"] is not None:
        return True
    counted = filled.get("of_tokens", True)
    return counted and None not in (filled["params"], filled["tokens"])


def _more_active(filled: Mapping[str, Any], network: Network | None) -> bool:
    """Return whether active parameters exceed all parameters, as only shared layers allow."""
    active, params = filled["active_params"], filled["params"]
    if active is None or params is None or active <= params:
        return False
    return network is None or filled["family"] == "moe"


def _samples(
    values: Mapping[str, Any],
    filled: Mapping[str, Any],
    network: Network | None,
    wrong: list[tuple[str, str]],
) -> float | None:
    """Return samples of an epoch, or of the run if its tokens are given; None where unknown."""
    samples: float | None = values["samples"] or values["samples_per_epoch"]
    total, tokens = values["total_tokens"], filled["tokens"]
    if total is None:
        if samples is None:
            wrong.append(("samples", _HOW_MANY_SAMPLES))
        return samples
    if samples is not None:
        wrong.append(("samples", TOTAL_COUNTS))
    if tokens is None and network is not None and not network.of_tokens:
        wrong.append(
            (
                "total_tokens",
                Text("{network} has no tokens. Give samples and epochs.", network=network.name),
            )
        )
        return None
    if tokens is None:
        wrong.append(("tokens", "The tokens of a sample are missing; total_tokens needs them."))
        return None
    if tokens > total:
        wrong.append(
            (
                "total_tokens",
                Text(
                    "{total:,.15g} tokens are less than one sample of {tokens:,.15g}. Give "
                    "more, or shorter samples.",
                    total=total,
                    tokens=tokens,
                ),
            )
        )
        return None
    return float(total / tokens)


def _name(name: str, network: Network | None) -> str:
    """Return the given name, else that of the network."""
    return network.name if network is not None and name == DESCRIPTION[0].default else name


def _too_large(batch: float, samples: float) -> str:
    return Text(
        "A batch of {batch:,.15g} exceeds the {samples:,.15g} samples of an epoch. "
        "Give at most an epoch.",
        batch=batch,
        samples=samples,
    )


_FOLLOWS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "samples": frozenset({"total_tokens", "samples_per_epoch"}),
        "flops": frozenset({"network", "params", "tokens"}),
        "tokens": frozenset({"network", "params", "flops"}),
        "step_s": frozenset({"step_accelerator", "step_batch"}),
    }
)
"""Parameters, and those whose invalid value makes them look missing."""
TOTAL_COUNTS: Final = "total_tokens is given too; the total counts. Leave one of them out."
_HOW_MANY_SAMPLES: Final = "The samples of an epoch are missing. Give them, or total_tokens."
_ONLY_TRANSFORMERS: Final = (
    "Only a transformer with tokens in a sample has it. Give tokens, or leave it out."
)
_BOTH: Final = "Layers and width count together. Give both, or neither."
_MORE_ACTIVE: Final = "active_params exceeds params. Give at most params."
