"""A workload without measurements, described by hand on the page Compare hardware."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts import compare_efficiency
from pages.parts.compare_state import catalog
from pages.parts.links import Link
from planner.catalog import accelerator_named
from planner.compare.description import (
    DESCRIPTION,
    FORMATS,
    RESNET_50_FLOPS,
    TRAINED_IN,
    network_values,
)
from planner.compare.parameters import compare_parameters
from planner.estimate import Refusal
from planner.networks import FAMILIES, TRAININGS, network_named, networks
from planner.parameters import limits, number_text

NAMES: Final = tuple(p.name for p in DESCRIPTION)
_BY_NAME: Final = {p.name: p for p in DESCRIPTION}
_OPTIMIZERS: Final = ("", "SGD", "SGD momentum 0.9", "Adam", "AdamW", "Adafactor", "LAMB", "LARS",
                      "Lion")  # fmt: skip
_TRAININGS: Final = {"full": "All weights", "lora": "LoRA", "qlora": "QLoRA"}
_FAMILIES: Final = {
    "": "not stated", "dense": "Language model", "moe": "Mixture of experts", "encoder": "Encoder",
    "encoder-decoder": "Encoder-decoder", "cnn": "Convolutional", "vit": "Vision transformer",
    "detection": "Detection", "segmentation": "Segmentation", "diffusion": "Diffusion",
    "speech": "Speech", "recommender": "Recommender",
}  # fmt: skip
AMOUNTS: Final = ("samples", "total_tokens", "params", "active_params", "tokens", "flops")
"""Large numbers, typed as 7B or 100M."""
_EMPTY: Final[Mapping[str, object]] = MappingProxyType(
    {
        **dict.fromkeys(("network", *AMOUNTS), ""), "image_px": None, "family": "",
        "assumed_mfu": None, "step_s": None, "step_batch": None, "step_accelerator": "",
        "step_count": 1,
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
(`RESNET_50_FLOPS`). Every field of `NAMES` is set, so that nothing of another description stays."""


def draw(link: Link) -> bool:
    """Network, size and weight of a sample, number format, optimiser.

    Returns whether the tokens of the whole run are given, which take the place of epochs.
    """
    _network(link)
    row = st.columns(5, vertical_alignment="bottom")
    _amount(link, row[0], "samples", "Samples an epoch", "1M")
    _amount(link, row[1], "total_tokens", "or total tokens", "100M")
    _amount(link, row[2], "params", "Parameters", "7B")
    _amount(link, row[3], "active_params", "Active parameters", "all")
    _amount(link, row[4], "tokens", "Tokens a sample", "2048 in a sequence")
    last = st.columns(6, vertical_alignment="bottom")
    _number(link, last[0], "image_px", "Image size (px)", "none")
    _amount(link, last[1], "flops", "FLOPs a sample", _flops(link))
    link.one("training", list(TRAININGS), "full")
    last[2].selectbox(
        "Trained", list(TRAININGS), link.place("training", list(TRAININGS)),
        format_func=_TRAININGS.__getitem__, key=link.key("training"), help=_help("training"),
    )  # fmt: skip
    _number(link, last[3], "batch", "Global batch size", "not known")
    compare_efficiency.declare(link)
    _timed_step(link, last[4])
    link.flag("recompute", default=False)
    last[5].toggle("Recompute", key=link.key("recompute"), help=_help("recompute"))
    return bool(link.held("total_tokens"))


def fill_in(link: Link, example: str) -> None:
    """Put an example's values into the fields (from a button's callback)."""
    for name, value in EXAMPLES[example].items():
        link.put(name, value)


def problems(link: Link) -> list[str]:
    """What is missing in a description that somebody has begun."""
    given = link.parameters()
    shown = {"tokens", "network", "total_tokens", *(n for n in AMOUNTS if n in given)}
    return [p.message for p in compare_parameters(given)[1] if p.parameter in shown]


def _network(link: Link) -> None:
    """A named network, the name, the family, number format and optimiser."""
    row = st.columns([3, 3, 2, 2, 2], vertical_alignment="bottom")
    link.translate("network", _id_of)
    names = {"": "not listed", **{n.id: n.name for n in networks().values()}}
    link.one("network", list(names), "")
    row[0].selectbox(
        "Network", list(names), link.place("network", list(names)),
        format_func=names.__getitem__, key=link.key("network"),
        on_change=lambda: _fill(link), help="Fills the fields below; each may be changed",
    )  # fmt: skip
    link.words("name", str(_BY_NAME["name"].default))
    row[1].text_input("Name", key=link.key("name"), max_chars=80)
    link.one("family", ["", *FAMILIES], "")
    row[2].selectbox(
        "Kind", ["", *FAMILIES], link.place("family", ["", *FAMILIES]),
        format_func=_FAMILIES.__getitem__, key=link.key("family"), help=_help("family"),
    )  # fmt: skip
    formats = ["", *TRAINED_IN]
    link.translate("precision", lambda name: FORMATS.get(name.lower(), name))
    link.one("precision", formats, "")
    row[3].selectbox(
        "Precision", formats, link.place("precision", formats),
        format_func=lambda name: name or "usual", key=link.key("precision"),
        help=_help("precision"),
    )  # fmt: skip
    optimizers = list(_OPTIMIZERS)
    now = link.words("network_optimizer", "")
    row[4].selectbox(
        "Optimiser",
        optimizers if now in optimizers else [*optimizers, now],
        key=link.key("network_optimizer"),
        format_func=lambda o: o or "not stated",
        help="For the memory its state takes; not stated: Adam's two moments are assumed",
    )


def _timed_step(link: Link, column: DeltaGenerator) -> None:
    """One step that somebody timed: seconds, batch, accelerator and their number."""
    box = column.popover("Timed step", icon=":material/timer:", width="stretch")
    box.markdown("It narrows the estimates on accelerators of its maker.")
    _number(link, box, "step_s", "Step time (s)", "not timed")
    _number(link, box, "step_batch", "Batch size of the step", "global batch size")
    names = {"": "not chosen", **{a.id: a.name for a in catalog().catalog.accelerators}}
    link.translate("step_accelerator", _card_id)
    link.one("step_accelerator", list(names), "")
    box.selectbox(
        "Accelerator", list(names), link.place("step_accelerator", list(names)),
        format_func=names.__getitem__, key=link.key("step_accelerator"),
    )  # fmt: skip
    least, most = map(int, limits(_BY_NAME["step_count"]))
    link.number("step_count", least, most, 1)
    box.number_input("Accelerator count", least, most, key=link.key("step_count"))


def _card_id(text: str) -> str:
    """The id of an accelerator as a link writes it; the text itself where there is none."""
    found = accelerator_named(catalog().catalog, text)
    return text if isinstance(found, Refusal) else found.id


def _fill(link: Link) -> None:
    """Put what a named network says into the fields (from the callback of its field)."""
    found = network_named(str(link.held("network") or ""))
    if isinstance(found, Refusal):
        return
    link.put("name", found.name)
    link.put("flops", "")
    for name, value in network_values(found).items():
        if name in AMOUNTS:
            link.put(name, "" if value is None else number_text(float(f"{value:.4g}")))
        else:
            link.put(name, value)


def _id_of(text: str) -> str:
    """The id of a network as a link writes it; the text itself where there is none."""
    found = network_named(text)
    return text if isinstance(found, Refusal) else found.id


def _flops(link: Link) -> str:
    """What an empty field for the operations stands for."""
    if link.held("network"):
        return "of the network"
    return f"{RESNET_50_FLOPS / 1e9:g}G: ResNet-50"


def _amount(link: Link, column: DeltaGenerator, name: str, label: str, placeholder: str) -> None:
    """A field for a large number: 7B, 100M, 1e9."""
    link.amount(name, *limits(_BY_NAME[name]))
    column.text_input(
        label, key=link.key(name), placeholder=placeholder, max_chars=30, help=_help(name)
    )


def _number(link: Link, column: DeltaGenerator, name: str, label: str, placeholder: str) -> None:
    one = _BY_NAME[name]
    low, high = limits(one)
    link.decimal(name, low, high, None, short=one.short)
    column.number_input(
        label, low, high, value=None, format="%g", placeholder=placeholder,
        key=link.key(name), help=_help(name),
    )  # fmt: skip


def _help(name: str) -> str:
    words = _BY_NAME[name].words
    return f"{words[:1].upper()}{words[1:]}"
