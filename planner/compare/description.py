"""Why this file exists: what one may say of a workload that nobody measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from planner.catalog import PRECISIONS
from planner.compare.job import Described
from planner.compare.optimizers import unknown_optimizer
from planner.parameters import Given, Parameter, Problem

RESNET_50_FLOPS: Final = 25e9
"""Of one image of 224 px, forward and backward: 3 x 2 x 4.09e9 multiply-adds, as torchvision counts
its form (v1.5); the first form has 3.8e9 (He et al. 2015, table 1)."""
_RESNET_50: Final = f"ResNet-50 at 224 px takes about {RESNET_50_FLOPS / 1e9:g}e9"
HOW_MANY_TOKENS: Final = (
    "How many tokens has a sample? 1 for a fully connected network, the length of the sequence for "
    f"a language model. For images give FLOPs per sample instead: {_RESNET_50} for training."
)
TRAINED_IN: Final = tuple(p for p in PRECISIONS if p != "int8")
"""Number formats of a described job: it is trained, and int8 is for what was trained."""
_INT8: Final = (
    f"Training in int8 is not estimated: it is for inference. Choose {', '.join(TRAINED_IN[:-1])} "
    f"or {TRAINED_IN[-1]}."
)
_LARGE: Final = 9e17
"""A field of a browser holds whole numbers up to about here."""
LONGEST_NAME: Final = 80
DESCRIPTION: Final = (
    Parameter(name="name", words="name of a described workload", default="described workload",
              longest=LONGEST_NAME),
    Parameter(name="samples", words="samples in an epoch", kind="number", unit="samples",
              least=1.0, most=_LARGE),
    Parameter(name="params", words="parameters of the network", kind="number", least=1.0,
              most=_LARGE),
    Parameter(name="tokens", words="tokens in a sample, needed beside params where flops is not "
              "given: the length of a sequence, 1 for a fully connected network; for images give "
              "flops instead", kind="number", least=1.0, most=1e12),
    Parameter(name="flops", words="operations of forward and backward pass of one sample, 6 for "
              f"each multiply-add of the forward pass: {_RESNET_50}",
              kind="number", unit="FLOP/sample", least=1.0, most=1e30),
    Parameter(name="precision", words="number format it is trained in",
              kind="choice", choices=TRAINED_IN, default="float32"),
    Parameter(name="network_optimizer", words="optimiser, for its memory: SGD, Adam, AdamW ...; "
              "without it Adam's two moments are assumed", longest=LONGEST_NAME),
    Parameter(name="batch", words="global batch size; of a measured workload one that was "
              "measured, without it the fastest on each system", kind="number", unit="samples",
              least=1.0, most=1e12),
)  # fmt: skip


def precision_told(problem: Problem, given: Given) -> Problem:
    """A problem as it was read; of int8 the reason instead."""
    if problem.parameter == "precision" and "int8" in given.get("precision", ()):
        return replace(problem, message=_INT8)
    return problem


def described_of(told: Mapping[str, Any], problems: list[Problem]) -> Described | None:
    """The description in the values; None where too little is told. Adds what is wrong with it."""
    wrong = []
    samples = told["samples"] or told["samples_per_epoch"]
    heavy = told["flops"] is not None or None not in (told["params"], told["tokens"])
    if samples is None:
        wrong.append(("samples", "How many samples has an epoch? A described workload needs it."))
    if told["flops"] is None and told["params"] is None:
        wrong.append(("flops", "How heavy is a sample? Give flops, or params and tokens."))
    elif not heavy:
        wrong.append(("tokens", HOW_MANY_TOKENS))
    if told["goal"] == "target":
        wrong.append(("goal", "Nobody measured steps to a target of it. Ask for epochs."))
    batch, optimizer = told["batch"], told["network_optimizer"] or ""
    if batch and samples and batch > samples:
        wrong.append(("batch", _too_large(batch, samples)))
        batch = None
    if unknown := unknown_optimizer(optimizer):
        wrong.append(("network_optimizer", unknown))
        optimizer = ""
    problems += [Problem(parameter=name, message=message) for name, message in wrong]
    if samples is None or not heavy:
        return None
    return Described(
        name=told["name"],
        samples_per_epoch=samples,
        precision=told["precision"],
        params=told["params"],
        tokens_per_sample=told["tokens"],
        flops_per_sample=told["flops"],
        optimizer=optimizer,
        batch=batch,
    )


def _too_large(batch: float, samples: float) -> str:
    return (
        f"A batch of {batch:,.15g} is more than the {samples:,.15g} samples of an epoch. Give one "
        "of at most an epoch."
    )
