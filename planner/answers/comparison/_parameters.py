"""The parameters of a comparison, by their names in the page's link; a described workload.

Currency and exchange rate of the amounts shown, and their problems.

Without a rate, that of the European Central Bank counts, with its date. A rate is stale after 12
months, like any price; it is still used, and marked.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from planner.answers.comparison._snapshot import made_problem
from planner.answers.comparison.question import MOST_OPTIONS, Request
from planner.catalog import PRECISIONS, is_stale
from planner.compare import ASSUMPTION_TEXTS, MOST_COUNT, Assumptions
from planner.compare.comparison import Limits
from planner.core import (
    HOUR_S,
    Parameter,
    ParameterProblem,
    QueryTexts,
    Refusal,
    Text,
    message_of,
    paragraph,
    query_of,
    read,
    sentence_case,
)
from planner.cost import SOURCE, Display, currency_problem, in_usd, reference_rates
from planner.epochs import EPOCHS, MOST_EPOCHS, SAMPLES_PER_EPOCH
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
OPENING: Final[QueryTexts] = MappingProxyType(
    {
        "workload": [DESCRIBED], "network": ["llama-3-8b"], "total_tokens": ["100M"],
        "precision": ["bfloat16"], "network_optimizer": ["AdamW"],
    }
)  # fmt: skip
"""The default question: full fine-tuning of Llama 3 8B on 100 million tokens."""
DESCRIPTION: Final = (
    Parameter(name="name", words="name of a described workload; without it that of its network",
              default="your workload", longest=LONGEST_NAME, help=""),
    Parameter(name="network", words="a named network, as Llama 3 8B, resnet50 or SDXL: it gives "
              "family, params, active_params, layers, width, tokens, image_px and the operations "
              "where these are not given", longest=LONGEST_NAME,
              help="Fills the other fields; each may be changed"),
    Parameter(name="samples", words="samples in an epoch", kind="number", unit="samples",
              least=1.0, most=_LARGE, short=True, label="Samples per epoch"),
    Parameter(name="total_tokens",
              words="tokens of the whole run, as 100M; in place of samples and epochs",
              kind="number", unit="tokens", least=1.0, most=1e18, short=True),
    Parameter(name="params", words="parameters of the network, as 7B", kind="number", least=1.0,
              most=_LARGE, short=True, label="Parameters"),
    Parameter(name="active_params", words="parameters that take part in a token, of a mixture of "
              "experts; else all of them", kind="number", least=1.0, most=_LARGE, short=True,
              label="Active parameters"),
    Parameter(name="layers", words="layers of a transformer, for its attention and memory, "
              "beside width; default: estimated from its parameters", kind="whole", least=1,
              most=MOST_LAYERS),
    Parameter(name="width",
              words="width of the attention of a transformer: heads x width of a head",
              kind="whole", least=1, most=MOST_WIDTH, label="Width of the attention"),
    Parameter(name="tokens", words="tokens in a sample, needed beside params where flops is not "
              "given: the length of a sequence, 1 for a fully connected network; for images give "
              "flops instead", kind="number", least=1.0, most=1e12, short=True,
              label="Tokens a sample"),
    Parameter(name="image_px", words="side of a square image; of a named network its operations "
              "grow with the pixels", kind="number", unit="px", least=1.0, most=MOST_PX,
              label="Image size"),
    Parameter(name="flops",
              words=Text("operations of forward and backward pass of one sample, 6 for each "
                         "multiply-add of the forward pass: {resnet_50}", resnet_50=_RESNET_50),
              kind="number", unit="FLOP/sample", least=1.0, most=1e30, short=True, label="FLOPs"),
    Parameter(name="family", words="kind of network; without it that of the named network, or a "
              "language model where tokens are given", kind="choice", choices=FAMILIES),
    Parameter(name="training", words="what is trained: all weights, or adapters beside weights "
              "in half precision (lora) or 4 bits (qlora)", kind="choice", choices=TRAININGS,
              default="full", label="Trained"),
    Parameter(name="recompute",
              words="activations are computed again in the backward pass, which saves memory",
              kind="flag", default=False),
    Parameter(name="benchmark", words="software of an encoder, convolutional network or detector "
              "is tuned like a submission to MLPerf Training; other published software is slower",
              kind="flag", default=False, label="Tuned like MLPerf"),
    Parameter(name="assumed_mfu", words="share of the dense half-precision peak that it reaches "
              "on every accelerator (MFU), 40 for 40 %; without it that of published runs of its "
              "family", kind="number", unit="%", least=1.0, most=100.0, label="Assumed MFU"),
    Parameter(name="step_s",
              words="seconds of one training step that was timed: it narrows every estimate",
              kind="number", unit="s", least=1e-6, most=1e6, label="Step time"),
    Parameter(name="step_batch", words="global batch size of the timed step; without it batch",
              kind="number", unit="samples", least=1.0, most=1e12, short=True,
              label="Batch size of the step"),
    Parameter(name="step_accelerator", words="accelerator of the timed step, by id or name",
              longest=LONGEST_NAME, label="Accelerator", help=""),
    Parameter(name="step_count", words="accelerators of the timed step", kind="whole", default=1,
              least=1, most=MOST_COUNT, label="Accelerator count", help=""),
    Parameter(name="precision", words="number format it is trained in; without it bfloat16, or "
              "float32 for a recommender and where no family is known", kind="choice",
              choices=TRAINED_IN, also=FORMATS),
    Parameter(name="network_optimizer", words="optimiser, for its memory: SGD, AdamW, AdamW "
              "8-bit ...; without it Adam's two moments are assumed", longest=LONGEST_NAME,
              label="Optimiser",
              help="For the memory of its state; default: Adam's two moments"),
    Parameter(name="batch", words="global batch size; of a measured workload one that was "
              "measured, without it the fastest on each system", kind="number", unit="samples",
              least=1.0, most=1e12, short=True, label="Global batch"),
)  # fmt: skip


def with_int8_reason(problem: ParameterProblem, question: QueryTexts) -> ParameterProblem:
    """Return the problem; for int8 with its reason as message."""
    if problem.parameter == "precision" and "int8" in question.get("precision", ()):
        return replace(problem, message=_INT8)
    return problem


def described_of(values: Mapping[str, Any], problems: list[ParameterProblem]) -> Described | None:
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


def _new(
    wrong: Sequence[tuple[str, str]], before: Sequence[ParameterProblem]
) -> list[ParameterProblem]:
    """Return one problem a parameter, without those that follow from an invalid value."""
    invalid = {p.parameter for p in before}
    unknown = {name for name, _ in wrong if name == "network"}
    follows = {name for name, causes in _FOLLOWS.items() if (invalid | unknown) & causes}
    kept = {name: message for name, message in reversed(wrong) if name not in follows | invalid}
    return [ParameterProblem(parameter=n, message=m) for n, m in wrong if kept.pop(n, None) == m]


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
    names = ("family", "params", "active_params", "layers", "width", "tokens", "image_px", "flops")
    values = {name: entered[name] for name in names}
    if network is None:
        return values
    own = network_values(network)
    same = values["params"] is None or math.isclose(
        values["params"], own["params"], rel_tol=_ROUNDED
    )
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


_DAY_OF_ZONES: Final = timedelta(days=1)
"""The rate's time zone may be a day ahead."""


def display_of(
    values: Mapping[str, Any], today: date
) -> tuple[Display, tuple[ParameterProblem, ...]]:
    """Return the display of money; US dollars where another currency has a problem.

    Args:
        values: currency, rate [units per USD; None: the bank's], rate_as_of and tax [%].
        today: for rates dated in the future, or older than 12 months.
    """
    currency, read_on, rate = values["currency"].upper(), values["rate_as_of"], values["rate"]
    tax_share = values["tax"] / 100.0
    wrong = tuple(_problems(currency, rate, read_on, today))
    if wrong:
        return Display(tax_share=tax_share), wrong
    source = ""
    if rate is None and currency != "USD":
        reference = reference_rates()
        rate, read_on, source = reference.per_usd[currency], reference.as_of, SOURCE
    try:
        return Display(
            currency=currency,
            per_usd=1.0 if rate is None else rate,
            as_of=read_on,
            source=source,
            tax_share=tax_share,
            stale=currency != "USD" and read_on is not None and is_stale(read_on, today),
        ), ()
    except ValueError as error:
        return Display(tax_share=tax_share), (
            ParameterProblem(parameter="currency", message=message_of(error)),
        )


def _problems(
    currency: str, rate: float | None, read_on: date | None, today: date
) -> list[ParameterProblem]:
    wrong = []
    if read_on is not None and read_on > today + _DAY_OF_ZONES:
        message = Text(
            "{read_on} is after today, {today}. Give the day on which the rate was read.",
            read_on=read_on,
            today=today,
        )
        wrong.append(ParameterProblem(parameter="rate_as_of", message=message))
    if letters := currency_problem(currency):
        wrong.append(ParameterProblem(parameter="currency", message=letters))
    elif rate is None and currency != "USD":
        reference = reference_rates()
        if currency not in reference.per_usd:
            message = Text(
                "No rate is known for {currency}. Give the units per USD, and the date.",
                currency=currency,
            )
            wrong.append(ParameterProblem(parameter="currency", message=message))
        elif read_on is not None and read_on != reference.as_of:
            message = Text(
                "{read_on} has no rate. Give the rate of that day, or leave both "
                "empty for the rate of {as_of} ({source}).",
                read_on=read_on,
                as_of=reference.as_of,
                source=SOURCE,
            )
            wrong.append(ParameterProblem(parameter="rate_as_of", message=message))
    return wrong


TARGET_BATCH: Final = (
    "A target is reached at the best batch of each system. Leave batch out, or compare epochs."
)
MOST_HOURS: Final = 1e6
_MOMENT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(?:([+\- ])([0-9]{2}:[0-9]{2})|Z)"
)
_FIRST: Final = date.min + timedelta(days=2)
_LAST: Final = date.max - timedelta(days=2)

COUNTRY: Final = Parameter(name="country", words="country of the electricity, by code or name",
                           label="Electricity price of", help="")  # fmt: skip
QUESTION: Final = (
    Parameter(name="workload", words="workload slug; `described` for one without measurements; "
              "default: the workload measured on most systems; without any parameter that names "
              "a job, fine-tuning Llama 3 8B on 100M tokens", help=""),
    Parameter(name="pattern", words="input pattern, as its slug; default: the best documented",
              label="Input pattern", help=""),
    Parameter(name="goal", words="train for epochs or to a target", kind="choice",
              choices=("epochs", "target"), default="epochs", label="Train for", help=""),
    Parameter(name="epochs",
              words=Text("how many epochs; default: {epochs}, of a described workload 1",
                         epochs=EPOCHS),
              kind="whole", unit="epochs", least=1, most=MOST_EPOCHS, help=""),
    SAMPLES_PER_EPOCH,
    Parameter(name="target", words="value of the metric to reach; default: the usual one",
              kind="number", least=-1e9, most=1e9, help="From easy to strict"),
    Parameter(name="optimizer", words="optimiser of the target, as its slug", label="Optimiser",
              help=""),
    Parameter(name="options", words="ids of options, as `--list options` or `/api/v1/options` "
              "name them: rent-..., buy-..., own-... (already owned), mine-... for one of `own`; "
              "default: the usual ones", many=MOST_OPTIONS,
              help=Text("At most {most_options}. Type to search; a cross takes an option out.",
                        most_options=MOST_OPTIONS)),
    Parameter(name="own", words="your own options, way|accelerator|count|price, compared with "
              "`options`. The way is rent, buy or own. The price is that of the whole machine in "
              "USD without tax: rented, per hour (rent|h100-sxm|8|30); bought, with the word "
              "total (buy|h100-sxm|8|250000 total). Without that word, as in older links, it is "
              "the price of each bought accelerator. For another currency append |currency|units "
              "per USD", many=MOST_OPTIONS),
    Parameter(name="order", words="what the options are ranked by", kind="choice",
              choices=("cost", "time"), default="cost", label="Rank by", help=""),
    Parameter(name="deadline", words="time from the start of the work, as 36, 3 days or 2 weeks",
              kind="number", unit="h", least=1e-3, most=MOST_HOURS,
              help="From the start of the work: 36 h, 3 days or 2 weeks"),
    Parameter(name="by", words="day and time to be done by, with its zone, as "
              "2026-11-27T09:00+09:00, if work begins now; in place of deadline"),
    Parameter(name="budget", words="largest total to pay for the job, in the currency shown, "
              "with tax: the bill of a rental, the full price of a purchase and the electricity "
              "of the job", kind="number", least=0.0, most=1e12,
              help="Total to pay for the job. Rented: the bill. Bought: the full price and "
              "electricity. Already owned: electricity only."),
    Parameter(name="cost_limit", words="largest cost of one run, in the same currency; a "
              "purchase counts with its share of a month", kind="number", least=0.0, most=1e12,
              label="Cost per run at most",
              help="Cost of one run: a purchase counts with its share of a month."),
    COUNTRY,
    Parameter(name="made", words="date and fingerprint of the runs and prices of a shared link: "
              "an answer from others notes it"),
)  # fmt: skip
DISPLAY: Final = (
    Parameter(name="currency", words="currency shown, three letters", default="USD", help=""),
    Parameter(name="rate", words="units of the currency per USD; default: the reference rate of "
              "the European Central Bank, with its date", kind="number", least=1e-6, most=1e9,
              label="Exchange rate (per USD)"),
    Parameter(name="rate_as_of", words="date of that rate", kind="date", label="Rate date",
              help=""),
    Parameter(name="tax", words="tax added to the amounts shown", kind="number", unit="%",
              default=0.0, least=0.0, most=100.0, label="Tax added", help=""),
)  # fmt: skip
TARIFF: Final = "tariff_usd_per_kwh"
"""The assumption that the country's price replaces unless entered."""


def _assumption(name: str) -> Parameter:
    text, usual = ASSUMPTION_TEXTS[name], getattr(Assumptions(), name)
    typed = name == TARIFF
    return Parameter(
        name=name,
        words=Text("{words} ({why}; else {usual:g})", words=text.words, why=text.why, usual=usual)
        if typed
        else Text("{words} ({why})", words=text.words, why=text.why),
        kind="number",
        unit="" if text.unit == "1" else text.unit,
        default=None if typed else usual,
        least=text.least,
        most=text.most,
        label=text.words,
        help=Text(
            "{words}. Default: {usual}.",
            words=sentence_case(text.why),
            usual="unknown" if usual is None else f"{usual:g}",
        ),
    )


ASSUMED: Final = tuple(_assumption(f.name) for f in fields(Assumptions))
COMPARE: Final = (*QUESTION, *DISPLAY, *DESCRIPTION, *ASSUMED)
"""All parameters of a comparison."""
ALWAYS: Final = ("workload", "pattern", "options", "goal", "epochs", "target", "optimizer")
"""Parameters of every saved question, even at their current defaults."""
STATED: Final = (
    *ALWAYS, "order", "runs_per_month", "currency", "rate", "rate_as_of",
    *(p.name for p in DESCRIPTION),
)  # fmt: skip
"""Parameters of every shared link, even at their current defaults."""
_OF_ANY_JOB: Final = frozenset(
    {"options", "own", "order", "deadline", "by", "budget", "cost_limit", "country", "made"}
    | {p.name for p in (*DISPLAY, *ASSUMED)}
)
"""Parameters that do not name a job."""
_MODIFIES: Final = frozenset(
    {"batch", "training", "recompute", "benchmark", "assumed_mfu", "precision"}
    | {"network_optimizer"}
    | {"step_s", "step_batch", "step_accelerator", "step_count"}
)
"""Parameters of a description that keep the network: alone, that of the opening question."""
_DESCRIBES: Final = frozenset(p.name for p in DESCRIPTION) - _MODIFIES
_ONLY_DESCRIBED: Final = "Only a described workload has it. Give workload=described and a network."
_OF_MEASURED: Final = ("pattern", "target", "optimizer")
_ONLY_MEASURED: Final = "Only a measured workload has it. Leave it out."
BY_NAME: Final = MappingProxyType({p.name: p for p in COMPARE})
VIEW_ONLY: Final = frozenset(
    {"baseline", "chart", "kind", "saved", "scale", "show", "tab", "tables", "view"}
)
"""Parameters of a page's link that only change the view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareParameters:
    """The parsed question; slugs are not looked up yet.

    `described` is the described workload, if `workload` is `described`. `by` is the deadline as a
    date with its zone; None without one, or where it has passed. `values` are all parameters by
    name, to write the link again.
    """

    workload: str = ""
    pattern: str = ""
    samples_per_epoch: float | None = None
    target: float | None = None
    optimizer: str = ""
    request: Request = field(default_factory=Request)
    display: Display = field(default_factory=Display)
    described: Described | None = None
    by: datetime | None = None
    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def query(self) -> str:
        """The query string of the same question."""
        return query_of(COMPARE, self.values)

    def whole_query(self, defaults: Mapping[str, Any]) -> str:
        """Return the query string with its current defaults written out, as pages share it.

        Args:
            defaults: values that the answer looked up, by parameter: workload, options ...
        """
        omitted = {p.name for p in DESCRIPTION} if self.described is None else {"goal"}
        by_tokens = self.described is not None and self.described.total_tokens is not None
        epochs = {"epochs": None if by_tokens else self.request.epochs}
        stated = [n for n in STATED if n not in omitted]
        rate = {}
        if self.display.source:  # the bundled rate changes with its package, the link must not
            rate = {"rate": self.display.per_usd, "rate_as_of": self.display.as_of}
        return query_of(COMPARE, {**self.values, **epochs, **rate, **defaults}, stated)


def asks(question: QueryTexts) -> bool:
    """Return whether a question says what is trained, or on what; if not, the job is `OPENING`.

    Options, money, limits, own machines and assumptions keep the job of the opening question, as do
    parameters of its training: batch, efficiency, a timed step, precision, adapters.
    """
    return bool((BY_NAME.keys() - _OF_ANY_JOB - _MODIFIES) & question.keys())


def with_job(question: QueryTexts) -> QueryTexts:
    """Return a question with its job: `OPENING`, or `described` for a description without a name.

    A question about a measured job stays as it is.
    """
    if not asks(question):
        return {**OPENING, **question}
    if "workload" in question or not _DESCRIBES & question.keys():
        return question
    return {**question, "workload": [DESCRIBED]}


def misfits(values: Mapping[str, Any]) -> tuple[ParameterProblem, ...]:
    """Return a problem for each value that the job of a question has no use for.

    A description of a measured workload, a pattern or target of a described one, or epochs beside
    total tokens; 1 epoch is one pass over them.
    """
    if values["workload"] == DESCRIBED:
        both = values["total_tokens"] is not None and values["epochs"] not in (None, 1)
        return (
            *(
                ParameterProblem(parameter=n, message=_ONLY_MEASURED)
                for n in _OF_MEASURED
                if values[n]
            ),
            *((ParameterProblem(parameter="epochs", message=TOTAL_COUNTS),) if both else ()),
        )
    return tuple(
        ParameterProblem(parameter=p.name, message=_ONLY_DESCRIBED)
        for p in DESCRIPTION
        if p.name != "batch" and values[p.name] != p.default
    )


def compare_parameters(
    question: QueryTexts, begins: datetime | None = None
) -> tuple[CompareParameters, tuple[ParameterProblem, ...]]:
    """Return the parsed question and its problems; an invalid value becomes the default.

    Args:
        question: texts by name, as in a query string.
        begins: start of the work, with its zone; None is now, to the minute. Only the hours until
            `by` depend on it, so a link with a date means the same date tomorrow.
    """
    question = with_job(question)
    parsed = read(COMPARE, question, VIEW_ONLY)
    values, problems = parsed.values, [with_int8_reason(p, question) for p in parsed.problems]
    begins = begins or datetime.now(UTC).replace(second=0, microsecond=0)
    if values["made"] and (why := made_problem(values["made"])):
        problems.append(ParameterProblem(parameter="made", message=why))
    display, wrong = display_of(values, begins.date())
    problems += wrong
    described = described_of(values, problems) if values["workload"] == DESCRIBED else None
    problems += misfits(values)
    by = _by(values, begins, problems)
    if (
        values["goal"] == "target"
        and values["workload"] != DESCRIBED
        and values["batch"] is not None
    ):
        problems.append(ParameterProblem(parameter="batch", message=TARGET_BATCH))
    request = Request(
        epochs=_epochs(values),
        batch=None if values["workload"] == DESCRIBED else values["batch"],
        options=values["options"],
        entries=values["own"],
        limits=Limits(
            order=values["order"],
            deadline_s=_deadline_s(values, by, begins),
            budget_usd=_in_usd(values["budget"], display),
            cost_limit_usd=_in_usd(values["cost_limit"], display),
        ),
        assumed=_assumed(values),
        tariff_typed=values[TARIFF] is not None,
        country=values["country"] or "",
        made=values["made"] or "",
        usd_per=() if display.currency == "USD" else ((display.currency, 1.0 / display.per_usd),),
    )
    asking = CompareParameters(
        workload=values["workload"] or "",
        pattern=values["pattern"] or "",
        samples_per_epoch=values["samples_per_epoch"],
        target=values["target"],
        optimizer=values["optimizer"] or "",
        request=request,
        display=display,
        described=described,
        by=by,
        values=values,
    )
    return asking, tuple(problems)


def moment_of(text: str) -> datetime | None:
    """Return the moment of YYYY-MM-DDThh:mm followed by +hh:mm or Z; None for other texts.

    A plus that is not written as %2B arrives as a space, and is read as a plus.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    clock, sign, zone = match.groups()
    try:
        made = datetime.fromisoformat(f"{clock}{(sign or '+').replace(' ', '+')}{zone or '00:00'}")
    except ValueError:
        return None
    # within two days of the calendar's ends, another zone's time may lie outside it
    return made if _FIRST < made.date() < _LAST else None


def moment_text(moment: datetime) -> str:
    """Return a moment as written in a link: 2026-11-27T09:00+09:00."""
    return moment.isoformat(timespec="minutes")


def moment_words(moment: datetime) -> str:
    """Return a moment in words, with its zone: 'Fri 27 Nov 2026, 09:00 UTC+09:00'."""
    return f"{moment:%a %-d %b %Y, %H:%M} {moment.tzname() or ''}".strip()


def usual_epochs(workload: str) -> int:
    """Return the default epochs of a workload, by its slug."""
    return 1 if workload == DESCRIBED else EPOCHS


def _epochs(values: Mapping[str, Any]) -> int | None:
    """Return the epochs; None for a target, which a described workload cannot have."""
    if values["goal"] == "target" and values["workload"] != DESCRIBED:
        return None
    return values["epochs"] or usual_epochs(values["workload"])


def _assumed(parameters: Mapping[str, Any]) -> Assumptions:
    """Return the assumptions; without an entered price of electricity, the default."""
    values = {f.name: parameters[f.name] for f in fields(Assumptions)}
    if values[TARIFF] is None:
        del values[TARIFF]
    return Assumptions(**values)


def _in_usd(limit: float | None, display: Display) -> float | None:
    """Return a money limit in USD without tax, as costs are computed."""
    return None if limit is None else in_usd(limit, display) / (1.0 + display.tax_share)


def _by(
    values: Mapping[str, Any], begins: datetime, problems: list[ParameterProblem]
) -> datetime | None:
    """Return the deadline as a date; one that has passed is reported and ignored."""
    if values["by"] is None:
        return None
    wrong, by = "", moment_of(values["by"])
    if by is None:
        wrong = Text(
            "{by!r} is not a time with its zone. Write 2026-11-27T09:00+09:00.",
            by=values["by"][:40],
        )
    elif by <= begins:
        wrong = Text(
            "{moment_words} has passed, so no deadline applies. Choose a later date.",
            moment_words=moment_words(by),
        )
    elif (by - begins).total_seconds() > MOST_HOURS * HOUR_S:
        wrong = Text(
            "{by:%Y} is more than {most_hours:,.0f} hours ahead. Choose an earlier date.",
            by=by,
            most_hours=MOST_HOURS,
        )
    elif values["deadline"] is not None:
        problems.append(
            ParameterProblem(parameter="deadline", message="by is given too; the date counts.")
        )
    if wrong:
        problems.append(ParameterProblem(parameter="by", message=wrong))
    return None if wrong else by


def _deadline_s(values: Mapping[str, Any], by: datetime | None, begins: datetime) -> float | None:
    if by is not None:
        return (by - begins).total_seconds()
    if values["deadline"] is None or values["by"] is not None:
        return None
    return float(values["deadline"]) * HOUR_S
