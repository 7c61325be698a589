"""A workload without measurements, described by hand on the page Compare hardware."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common import fields, hardware, kept, widgets
from pages.common.link import Link, Parameters, as_text, page_link
from planner.answers import mfu_shares
from planner.answers.comparison import (
    DESCRIPTION,
    FORMATS,
    RESNET_50_FLOPS,
    TRAINED_IN,
    compare_parameters,
    network_values,
)
from planner.catalog import Accelerator, accelerator_named
from planner.compare.comparison import Comparison
from planner.core import Refusal, Text, number_of, number_text, percent, several
from planner.core.slugs import slugs
from planner.job import efficiency_with_step, question_of, usual_batch
from planner.mfu import benchmark_factor, generation_name, generation_of, quantiles
from planner.networks import FAMILIES, TRAININGS, Network, network_named, networks, operations_of
from planner.store import Store

NAMES: Final = tuple(p.name for p in DESCRIPTION)
_BY_NAME: Final = {p.name: p for p in DESCRIPTION}
_OPTIMIZERS: Final = ("", "SGD", "SGD momentum 0.9", "Adam", "AdamW", "AdamW 8-bit", "Adafactor",
                      "LAMB", "LARS", "Lion")  # fmt: skip
_TRAININGS: Final = {"full": "All weights", "lora": "LoRA", "qlora": "QLoRA"}
_FAMILIES: Final = {
    "": "automatic", "dense": "Language model", "moe": "Mixture of experts", "encoder": "Encoder",
    "encoder-decoder": "Encoder-decoder", "cnn": "Convolutional", "vit": "Vision transformer",
    "detection": "Detection", "segmentation": "Segmentation", "diffusion": "Diffusion",
    "speech": "Speech", "recommender": "Recommender",
}  # fmt: skip
_KINDS: Final = {
    "dense": "dense language models", "moe": "mixtures of experts", "encoder": "encoders",
    "encoder-decoder": "encoder-decoders", "cnn": "convolutional networks",
    "vit": "vision transformers", "detection": "detection networks",
    "segmentation": "segmentation networks", "diffusion": "diffusion models",
    "speech": "speech networks", "recommender": "recommenders",
}  # fmt: skip
AMOUNTS: Final = ("samples", "total_tokens", "params", "active_params", "tokens", "flops")
"""Fields for large numbers, written as 7B or 100M."""
_MFU_NAME: Final = "assumed_mfu"
_BENCHMARK: Final = "benchmark"
_OF_STEP: Final = ("step_s", "step_batch", "step_accelerator", "step_count")
_SIZES: Final = ("layers", "width")
_EMPTY: Final[Mapping[str, object]] = MappingProxyType(
    {
        **dict.fromkeys(("network", *AMOUNTS), ""), "image_px": None, "family": "",
        "layers": None, "width": None,
        "assumed_mfu": None, "benchmark": False,
        "step_s": None, "step_batch": None, "step_accelerator": "", "step_count": 1,
        "training": "full", "recompute": False, "batch": None, "epochs": 1,
    }
)  # fmt: skip
EXAMPLES: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        "Fine-tune Llama 3 8B": {
            **_EMPTY, "name": "Llama 3 8B", "network": "llama-3-8b", "total_tokens": "100M",
            "params": "8.03B", "tokens": "8192", "family": "dense", "precision": "bfloat16",
            "network_optimizer": "AdamW",
        },
        "7 billion parameters": {
            **_EMPTY, "name": "7B language model", "samples": "100000", "params": "7B",
            "tokens": "2048", "precision": "bfloat16", "network_optimizer": "AdamW",
        },
        "ResNet-50, 224 px": {
            **_EMPTY, "name": "ResNet-50, 224 px", "samples": "1.28M", "params": "25.6M",
            "flops": number_text(RESNET_50_FLOPS), "family": "cnn", "precision": "bfloat16",
            "network_optimizer": "SGD momentum 0.9", "epochs": 90,
        },
    }
)  # fmt: skip
"""Fine-tuning on 100 million tokens, 100,000 sequences of a language model, and ImageNet
(`RESNET_50_FLOPS`). Every field of `NAMES` is set, so that no value of another example remains."""


_TOTAL_TOKENS: Final = "100M"
_SAMPLES: Final[Mapping[str, tuple[float, str]]] = MappingProxyType(
    {
        "cnn": (1_281_167.0, "images, the size of ImageNet"),
        "vit": (1_281_167.0, "images, the size of ImageNet"),
        "detection": (118_287.0, "images, the size of COCO 2017"),
        "segmentation": (118_287.0, "images, the size of COCO 2017"),
        "diffusion": (100_000.0, "images, an example"),
        "speech": (281_241.0, "utterances, the size of LibriSpeech"),
        "recommender": (1e8, "samples, an example"),
    }
)  # fmt: skip
"""Default samples of an epoch for a network without tokens, with their unit and origin."""
_SMALL_IMAGES: Final = (50_000.0, "images, the size of CIFAR-100")
"""The same for a network of images of at most `_SMALL_PX`."""
_SMALL_PX: Final = 32
_NO_ADAPTERS: Final = frozenset({"cnn", "detection", "segmentation", "recommender"})
"""Families without adapters: LoRA adapts the matrices of transformers."""


def declare(link: Link) -> bool:
    """Declare the initial values of a description, whether its fields are drawn or not.

    Returns whether the total tokens of the run are given; they replace epochs.
    """
    link.translate("network", _id_of)
    link.choice("network", list(_network_names()), "")
    link.words(_BY_NAME["name"])
    link.choice("family", ["", *FAMILIES], "")
    link.translate("precision", lambda name: FORMATS.get(name.lower(), name))
    link.choice("precision", ["", *TRAINED_IN], "")
    link.words(_BY_NAME["network_optimizer"])
    for name in AMOUNTS:
        link.amount(_BY_NAME[name])
    for name in _SIZES:
        link.whole(_BY_NAME[name])
    for name in ("image_px", "batch", _MFU_NAME, "step_s", "step_batch"):
        link.decimal(_BY_NAME[name])
    link.choice("training", list(TRAININGS), "full")
    link.translate("step_accelerator", _card_id)
    link.choice("step_accelerator", list(_accelerator_names()), "")
    link.number(_BY_NAME["step_count"], 1)
    link.flag(_BY_NAME["recompute"])
    link.flag(_BY_NAME[_BENCHMARK])
    return bool(link.held("total_tokens"))


def by_tokens(link: Link) -> bool:
    """Return whether the field of total tokens is among the usual ones: for language models."""
    network = network_named(str(link.held("network") or ""))
    return isinstance(network, Refusal) or network.of_tokens or bool(link.held("total_tokens"))


def draw_network(link: Link, column: DeltaGenerator) -> None:
    """Draw the choice of a named network."""
    names = _network_names()
    fields.choice(link, _BY_NAME["network"], names, column, on_change=lambda: _fill(link))


def draw_tokens(link: Link, column: DeltaGenerator) -> None:
    """Draw the field for the tokens of the whole run."""
    _amount(link, column, "total_tokens", "100M")


def draw_training(link: Link, column: DeltaGenerator) -> None:
    """Draw the choice of what is trained: all weights or adapters."""
    fields.choice(link, _BY_NAME["training"], _TRAININGS, column)


def draw(link: Link) -> None:
    """Draw the other fields of a description, in rows."""
    own, usual = _own_values(link), by_tokens(link)
    _kind(link)
    row = st.columns(5, vertical_alignment="bottom")
    _amount(link, row[0], "samples", "1M")
    _amount(link, row[1], "params", own.get("params", "7B"))
    _amount(link, row[2], "tokens", own.get("tokens", "2048 in a sequence"))
    _number(link, row[3], "image_px", own.get("image_px", "none"))
    _amount(link, row[4], "flops", _flops(link))
    last = iter(st.columns([4, *([] if usual else [5, 5]), 6, 6, 6.5], vertical_alignment="bottom"))
    _number(link, next(last), "batch", _usual_batch(link))
    if not usual:
        draw_training(link, next(last))
        draw_tokens(link, next(last))
    _transformer(link, next(last), own)
    _timed_step(link, next(last))
    fields.flag(link, _BY_NAME["recompute"], next(last))
    if assumed := _assumed_amount(link):
        st.caption(as_text(assumed))


def hold(link: Link) -> None:
    """Keep the values of the fields that `draw` would draw, where it is not called."""
    link.hold(
        *("name", "family", "precision", "network_optimizer", "samples", "params", "tokens"),
        *("image_px", "flops", "batch", "recompute", "active_params", *_SIZES, *_OF_STEP),
        *(() if by_tokens(link) else ("total_tokens", "training")),
    )


def is_incomplete(link: Link) -> bool:
    """Return whether the folded fields miss the size of the network or the amount of training."""
    sized = any(link.held(name) for name in ("network", "params", "flops", "step_s"))
    return not sized or not (link.held("total_tokens") or link.held("samples"))


def in_short(link: Link) -> list[str]:
    """Return what the folded fields say: number format, optimiser, batch, sizes."""
    held = {name: link.held(name) for name in ("precision", "network_optimizer", "batch")}
    return [
        str(held["precision"] or "usual precision"),
        str(held["network_optimizer"] or ""),
        Text("batch {batch:,.0f}", batch=held["batch"]) if held["batch"] else "",
        "recompute" if link.held("recompute") else "",
        "timed step" if link.held("step_s") else "",
        _assumed_amount(link),
    ]


def fill_in(link: Link, example: str) -> None:
    """Put an example's values into the fields (from a button's callback)."""
    for name, value in EXAMPLES[example].items():
        link.put(name, value)


def problems(link: Link) -> list[str]:
    """Return what is missing in an incomplete description."""
    parameters = link.parameters()
    shown = {"tokens", "network", "total_tokens", *(parameters.keys() & {*AMOUNTS, *_SIZES})}
    return [p.message for p in compare_parameters(parameters)[1] if p.parameter in shown]


@cache
def _network_names() -> Mapping[str, str]:
    return MappingProxyType({"": "not listed", **{n.id: n.name for n in networks().values()}})


def _accelerator_names() -> Mapping[str, str]:
    return {"": "not chosen", **{a.id: a.name for a in hardware.catalog().catalog.accelerators}}


def _kind(link: Link) -> None:
    """Draw the fields for name, family, number format and optimiser."""
    row = st.columns([3, 2, 2, 2], vertical_alignment="bottom")
    fields.text(link, _BY_NAME["name"], row[0])
    fields.choice(link, _BY_NAME["family"], _FAMILIES, row[1])
    formats = {"": "usual", **{name: name for name in TRAINED_IN}}
    fields.choice(link, _BY_NAME["precision"], formats, row[2])
    optimizers = dict.fromkeys([*_OPTIMIZERS, str(link.held("network_optimizer") or "")])
    fields.choice(link, _BY_NAME["network_optimizer"], list(optimizers), row[3],
                  format_func=lambda o: o or "not stated")  # fmt: skip


def _transformer(link: Link, column: DeltaGenerator, own: Mapping[str, str]) -> None:
    """Draw the fields of a transformer: active parameters, layers and width."""
    box = widgets.popover(
        "Transformer", "layers", "compare.transformer", place=column, width="stretch"
    )
    if not box.open:
        link.hold("active_params", *_SIZES)
        return
    active, estimated = own.get("active_params", "all"), "by parameters"
    _amount(link, box, "active_params", active)
    for name in _SIZES:
        _number(link, box, name, own.get(name, estimated))


def _timed_step(link: Link, column: DeltaGenerator) -> None:
    """Draw the fields of one timed step: seconds, batch, accelerator and device count."""
    box = widgets.popover("Timed step", "timer", "compare.step_box", place=column, width="stretch")
    if not box.open:
        link.hold(*_OF_STEP)
        return
    box.markdown("It narrows the estimates on accelerators of its maker.")
    _number(link, box, "step_s", "not timed")
    _number(link, box, "step_batch", "global batch size")
    fields.choice(link, _BY_NAME["step_accelerator"], _accelerator_names(), box)
    fields.number(link, _BY_NAME["step_count"], box)


def _card_id(text: str) -> str:
    """Return the id of an accelerator; the text itself where none matches."""
    accelerator = accelerator_named(hardware.catalog().catalog, text)
    return text if isinstance(accelerator, Refusal) else accelerator.id


def _fill(link: Link) -> None:
    """Fill the fields with the values of a named network (callback of its field)."""
    network = network_named(str(link.held("network") or ""))
    if isinstance(network, Refusal):
        return
    link.put("name", network.name)
    link.put("flops", "")
    for name, value in network_values(network).items():
        if name in AMOUNTS:
            link.put(name, "" if value is None else number_text(float(f"{value:.4g}")))
        else:
            link.put(name, value)
    for name in ("step_s", "step_batch", "step_accelerator"):  # timed for another network
        link.put(name, "" if name == "step_accelerator" else None)
    _fill_amount(link, network)


def _fill_amount(link: Link, network: Network) -> None:
    """Fill in amount, precision and optimiser where the form has no amount of this kind."""
    samples_text, family = str(link.held("samples") or ""), network.family
    usual = {number_text(samples) for samples, _ in (*_SAMPLES.values(), _SMALL_IMAGES)}
    counted = bool(samples_text) and samples_text not in usual
    if network.of_tokens:
        if not counted:
            link.put("samples", "")
            link.put("total_tokens", link.held("total_tokens") or _TOTAL_TOKENS)
        if samples_text:  # of a network without tokens
            link.put("precision", "bfloat16")
            link.put("network_optimizer", "AdamW")
        return
    if not counted:
        link.put("samples", number_text(_usual_samples(network)[0]))
        link.put("epochs", 1)
    link.put("total_tokens", "")
    link.put("precision", "" if family == "recommender" else "bfloat16")
    by_momentum = {"cnn", "detection"}
    link.put("network_optimizer", "SGD momentum 0.9" if family in by_momentum else "AdamW")
    if family in _NO_ADAPTERS:
        link.put("training", "full")


def _own_values(link: Link) -> dict[str, str]:
    """Return placeholders for the chosen network, by parameter: '8.03B of Llama 3 8B'."""
    network = network_named(str(link.held("network") or ""))
    if isinstance(network, Refusal):
        return {}
    values = network_values(network)
    return {
        name: f"{number_text(float(f'{value:.4g}'))} of {network.name}"
        for name, value in values.items()
        if isinstance(value, float | int)
    }


def _usual_batch(link: Link) -> str:
    network = network_named(str(link.held("network") or ""))
    own = "" if isinstance(network, Refusal) else network.family
    return f"{usual_batch(str(link.held('family') or own)):,.0f}"


def _usual_samples(network: Network) -> tuple[float, str]:
    """Return the default samples of an epoch of a network without tokens, with their unit."""
    is_small = network.image_px is not None and network.image_px <= _SMALL_PX
    return _SMALL_IMAGES if is_small else _SAMPLES[network.family]


def _assumed_amount(link: Link) -> str:
    """Return a note on the default samples of an epoch; "" where others are given."""
    network = network_named(str(link.held("network") or ""))
    if isinstance(network, Refusal) or link.held("family") not in _SAMPLES:
        return ""
    number, words = _usual_samples(network)
    if str(link.held("samples") or "") != number_text(number):
        return ""
    return Text(
        "Samples per epoch: assumed {number:,.0f} {words}. Change any field.",
        number=number,
        words=words,
    )


def _id_of(text: str) -> str:
    """Return the id of a network; the text itself where none matches."""
    network = network_named(text)
    return text if isinstance(network, Refusal) else network.id


def _flops(link: Link) -> str:
    """Return the placeholder of the field for operations: those of the form as it is filled in."""
    network = network_named(str(link.held("network") or ""))
    if isinstance(network, Refusal):
        return f"{RESNET_50_FLOPS / 1e9:g}G: ResNet-50"
    typed = {name: str(link.held(name) or "") for name in ("params", "active_params", *_SIZES)}
    if any(text and text != _own_text(network, name) for name, text in typed.items()):
        return "by parameters"
    image_px = link.held("image_px")
    work = operations_of(
        network,
        tokens=_positive(number_of(str(link.held("tokens") or ""))),
        image_px=float(image_px) if isinstance(image_px, int | float) else None,
        training=next((t for t in TRAININGS if t == link.held("training")), "full"),
    )
    if work is None or not math.isfinite(work.model):
        return "unknown"
    return number_text(float(f"{work.model:.3g}"))


def _own_text(network: Network, name: str) -> str:
    """Return the text that choosing a network writes into a field."""
    value = network_values(network)[name]
    return number_text(float(f"{value:.4g}")) if isinstance(value, int | float) else ""


def _positive(number: float) -> float | None:
    return number if number > 0.0 else None


def _amount(link: Link, column: DeltaGenerator, name: str, placeholder: str) -> None:
    """Draw a field for a large number: 7B, 100M, 1e9."""
    fields.text(link, _BY_NAME[name], column, placeholder=placeholder)


def _number(link: Link, column: DeltaGenerator, name: str, empty: str) -> None:
    fields.number(link, _BY_NAME[name], column, empty=empty)


_ENOUGH: Final = 3
_DECILES: Final = (0.1, 0.5, 0.9)
_RESULTS: Final = Path(__file__).resolve().parent.parent / "results" / "page.py"


def draw_efficiency(link: Link, shared: Store, comparison: Comparison) -> None:
    """Draw the field for the assumed efficiency, with quantiles of published runs."""
    job = comparison.question.job
    if not job.described or job.train_flops_per_sample is None:
        return
    box = widgets.popover("Assumed MFU", "speed", "compare.mfu_box")
    if not box.open:
        link.hold(_MFU_NAME)
        link.hold(_BENCHMARK)
        return
    with box:
        fields.number(link, _BY_NAME[_MFU_NAME], empty="published runs")
        row = comparison.leader or comparison.rows[0]
        question = question_of(job, row.candidate.hardware, job.batch)
        faster = None if question is None else benchmark_factor(question)
        if faster is None:
            link.hold(_BENCHMARK)
        else:
            fields.flag(link, _BY_NAME[_BENCHMARK], unit=f"× {faster:.2g}")
        if question is None or efficiency_with_step(job, question) is None:
            st.markdown("No published runs of this kind. Enter the efficiency that you expect.")
            return
        tenth, half, most = (f"{100.0 * share:.0f}\u00a0%" for share in quantiles(question) or ())
        kind = _KINDS[job.family]
        st.markdown(
            as_text(
                Text(
                    "Estimated from published runs of {kind}. On {accelerator}, 10\u00a0"
                    "% of such jobs reach less than {tenth} of the half-precision peak. "
                    "Half reach less than {half}, and 90\u00a0% less than {most}.",
                    kind=kind,
                    accelerator=question.accelerator.name,
                    tenth=tenth,
                    half=half,
                    most=most,
                )
            )
        )
        stepped = None if job.step is None else efficiency_with_step(job, question)
        if stepped is not None:
            st.markdown(
                as_text(Text("With your timed step: {stepped}", stepped=percent(stepped.value)))
            )
        count_text, rows = _published(shared, job.family, question.accelerator)
        reached = mfu_shares(shared, rows, hardware.catalog().catalog.accelerators)
        st.markdown(as_text(f"{count_text} {_reached(reached)}".strip()))
        page_link(link.page, _RESULTS, "Show these runs", ":material/table_rows:", rows)


def _published(shared: Store, family: str, card: Accelerator) -> tuple[str, Parameters]:
    """Return a count of published runs of a family, and the filters that list them.

    Runs on the accelerator; else runs on its generation; else all of the family.
    """
    every = hardware.catalog().catalog.accelerators
    alike = [a.name for a in every if generation_of(a) and generation_of(a) == generation_of(card)]
    places = (
        (f"on {card.name}", [card.name]),
        (
            Text(
                "on {generation_name} accelerators, none on {card}",
                generation_name=generation_name(card),
                card=card.name,
            ),
            alike,
        ),
    )
    for where, names in places:
        values = {"family": [family], "accelerator_model_name": names, "basis": ["published"]}
        rows = _rows(shared, values)
        if len(rows) == len(values) and (number := kept.count(shared, values)):
            return _counted(number, family, where), rows
    values = {"family": [family], "basis": ["published"]}
    rows = _rows(shared, values)
    number = kept.count(shared, values)
    return _counted(number, family, Text("none on {card}", card=card.name)), rows


def _reached(shares: Sequence[float]) -> str:
    """Return the quantiles of what the runs themselves reached; "" below three runs."""
    if len(shares) < _ENOUGH:
        return ""
    tenth, half, most = (percent(s).replace(" ", "\u00a0") for s in np.quantile(shares, _DECILES))
    return Text(
        "Of {shares:,} with known operations, 10\u00a0% reach less than {tenth}, "
        "half less than {half}, 90\u00a0% less than {most}.",
        shares=len(shares),
        tenth=tenth,
        half=half,
        most=most,
    )


def _counted(number: int, family: str, where: str) -> str:
    return Text(
        "{runs} of {kinds}, {where}, with all weights or adapters trained.",
        runs=several(number, "published run"),
        kinds=_KINDS[family],
        where=where,
    )


def _rows(shared: Store, values: Mapping[str, list[str]]) -> Parameters:
    """Return the filters of the Results page for these values."""
    facets = kept.facets(shared, {})
    by_slug = {facet: slugs(facets[facet]) for facet in values}
    return {
        facet: chosen
        for facet, names in values.items()
        if (chosen := [s for s, name in by_slug[facet].items() if name in names])
    }
