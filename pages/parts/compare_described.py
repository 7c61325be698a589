"""A workload that nobody measured, described by hand on the page Compare hardware."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts.links import Link
from planner.compare.description import DESCRIPTION, RESNET_50_FLOPS, TRAINED_IN
from planner.compare.parameters import compare_parameters
from planner.parameters import limits

NAMES: Final = tuple(p.name for p in DESCRIPTION)
_KNOWN: Final = {p.name: p for p in DESCRIPTION}
_OPTIMIZERS: Final = ("", "SGD", "SGD momentum 0.9", "Adam", "AdamW", "Adafactor", "LAMB", "LARS",
                      "Lion")  # fmt: skip
EXAMPLES: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        "7 billion parameters": {
            "name": "7B language model", "samples": 1e5, "params": 7e9, "tokens": 2048.0,
            "flops": None, "precision": "bfloat16", "network_optimizer": "AdamW", "batch": None,
            "epochs": 1,
        },
        "ResNet-50, 224 px": {
            "name": "ResNet-50, 224 px", "samples": 1.28e6, "params": 25.6e6, "tokens": None,
            "flops": RESNET_50_FLOPS, "precision": "bfloat16",
            "network_optimizer": "SGD momentum 0.9", "batch": None, "epochs": 90,
        },
    }
)  # fmt: skip
"""100,000 sequences of a language model, and ImageNet (`RESNET_50_FLOPS`). Every field of `NAMES`
is set, so that nothing of another description stays."""


def draw(link: Link) -> None:
    """Name, size and weight of a sample, number format, optimiser."""
    row = st.columns([4, 2, 2, 2], vertical_alignment="bottom")
    link.words("name", str(_KNOWN["name"].default))
    row[0].text_input("Name", key=link.key("name"), max_chars=80)
    _number(link, row[1], "samples", "Samples an epoch", "1e6")
    link.one("precision", list(TRAINED_IN), "float32")
    row[2].selectbox("Precision", list(TRAINED_IN), key=link.key("precision"))
    known = list(_OPTIMIZERS)
    now = link.words("network_optimizer", "")
    row[3].selectbox(
        "Optimiser",
        known if now in known else [*known, now],
        key=link.key("network_optimizer"),
        format_func=lambda o: o or "not stated",
        help="For the memory its state takes; not stated: Adam's two moments are assumed",
    )
    below = st.columns(4, vertical_alignment="bottom")
    _number(link, below[0], "params", "Parameters", "7e9")
    _number(link, below[1], "tokens", "Tokens a sample", "2048 in a sequence")
    _number(link, below[2], "flops", "or FLOPs a sample", f"{RESNET_50_FLOPS / 1e9:g}e9: ResNet-50")
    _number(link, below[3], "batch", "Global batch size", "not known")


def fill_in(link: Link, example: str) -> None:
    """Put an example's values into the fields (from a button's callback)."""
    for name, value in EXAMPLES[example].items():
        link.put(name, value)


def problems(link: Link) -> list[str]:
    """What is still asked of somebody who has begun to describe."""
    found = compare_parameters(link.parameters())[1]
    return [p.message for p in found if p.parameter == "tokens"]


def _number(link: Link, column: DeltaGenerator, name: str, label: str, placeholder: str) -> None:
    one = _KNOWN[name]
    low, high = limits(one)
    default = one.default if isinstance(one.default, float) else None
    link.decimal(name, low, high, default)
    column.number_input(
        label, low, high, value=None, format="%g", placeholder=placeholder,
        key=link.key(name), help=f"{one.words[:1].upper()}{one.words[1:]}",
    )  # fmt: skip
