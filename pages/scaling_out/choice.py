"""The question of the page Scaling out: workload, series, driver, batches, and what-ifs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import streamlit as st
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from pages.common import fields, hardware, kept, widgets, workload_choice
from pages.common.link import Link
from planner.answers import NO_DRIVER, scaling_out_workloads
from planner.answers.parameters import HOLDS, SCALING_OUT
from planner.core import Parameter
from planner.core.parameters import limits
from planner.epochs import SAMPLES_PER_EPOCH
from planner.networks import networks
from planner.store import Store

BY_NAME: Final = {p.name: p for p in SCALING_OUT}
HOLD_WORDS: Final = {"global": "Global batch", "device": "Batch per device"}
DECIMALS: Final = (
    "startup_s", "budget", "price", "server_gbit_per_s", "params", "critical_batch",
    "own_image_px",
)  # fmt: skip
"""Numbers that may stay empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingChoice:
    """The chosen workload, its series by slug, the chosen one's label, and wrong numbers."""

    workload: str
    label: str
    series: dict[str, str]
    wrong: tuple[str, ...]


def draw(link: Link, shared: Store) -> ScalingChoice | None:
    """Draw workload, series and driver, and read all other parameters; None without a series."""
    workloads = scaling_out_workloads(shared)
    if not workloads:
        widgets.nothing(
            "No run was timed on several device counts.",
            "Measure the same batch on one device and on two.",
            "Look again",
            lambda: None,
            key="scaling-out.again",
        )
        return None
    short = link.choice("workload", workloads, next(iter(workloads)))
    boxes = workload_choice.offer(link, shared, workloads)
    *kind, first = st.columns([3, 16] if boxes.is_by_kind else 1, vertical_alignment="bottom")
    second, third = st.columns(2, vertical_alignment="bottom")
    boxes.draw((kind or [first])[0], first)
    every = kept.scaling_series(shared, workloads[short])
    several = {s: label for s, (label, counts) in every.items() if counts > 1}
    chosen = link.choice("series", several, next(iter(several), ""))
    names = {s: label for s, (label, _) in every.items()}
    if not several:
        return None
    fields.choice(link, BY_NAME["series"], several, second)
    _driver(link, third, chosen, names, kept.scaling_driver(shared, workloads[short], chosen))
    wrong = _numbers(link)
    return ScalingChoice(
        workload=workloads[short], label=names[chosen], series=several, wrong=tuple(wrong)
    )


def _driver(
    link: Link, place: st.delta_generator.DeltaGenerator, chosen: str, names: dict[str, str],
    usual: str,
) -> None:  # fmt: skip
    others = {NO_DRIVER: "Fewest devices"} | {s: n for s, n in names.items() if s != chosen}
    link.choice("driver", others, usual or NO_DRIVER)
    fields.choice(link, BY_NAME["driver"], others, place)


def _numbers(link: Link) -> list[str]:
    """Read every number of the link; return what is wrong with typed ones."""
    wrong: list[str] = []
    for name in ("batch", "devices"):
        wrong += link.numbers(BY_NAME[name])[1]
    link.choice("hold", ["", *HOLDS], "")
    link.number(BY_NAME["epochs"])
    link.whole(SAMPLES_PER_EPOCH)
    link.amount(BY_NAME["deadline"])
    for name in DECIMALS:
        link.decimal(BY_NAME[name])
    for name in ("slow", "spread", "image_px"):
        link.decimal(BY_NAME[name], _default(BY_NAME[name]))
    link.number(BY_NAME["servers"])
    for name in ("network_batch", "micro_batch"):
        link.decimal(BY_NAME[name], _default(BY_NAME[name]))
    link.number(BY_NAME["count"])
    link.choice("network", language_models(), str(BY_NAME["network"].default))
    link.choice("accelerator", accelerators(), str(BY_NAME["accelerator"].default))
    link.choice("precision", BY_NAME["precision"].choices, str(BY_NAME["precision"].default))
    return wrong


@cache
def language_models() -> dict[str, str]:
    """Return the names of the networks that can be cut, by id: no mixtures of experts."""
    return {
        n.id: n.name
        for n in networks().values()
        if n.of_tokens and n.sequence and n.family != "moe"
    }


def accelerators() -> dict[str, str]:
    """Return the names of accelerators with a stated memory, by id."""
    every = hardware.catalog().catalog.accelerators
    return {a.id: a.name for a in every if a.memory_bytes and a.kind != "cpu"}


def headed(link: Link, title: str, name: str, *fields: str) -> PopoverContainer | None:
    """Draw the title of a card and the button of its further fields.

    Returns the box to draw them into; None while it is closed, where it holds their values.
    """
    with widgets.spread():
        widgets.heading(title, "content")
        box = widgets.popover("More fields", "tune", f"scaling-out.{name}_box")
    if box.open:
        return box
    link.hold(*fields)
    return None


OF_SPLIT: Final = ("network_batch", "micro_batch", "precision")
OF_TOTALS: Final = ("startup_s", "price")
OF_IMAGES: Final = ("own_image_px", "image_px")
NOT_OF_STEPS: Final = frozenset({
    "epochs", "samples_per_epoch", "deadline", "budget", *OF_TOTALS,
    "network", "accelerator", "count", *OF_SPLIT, *OF_IMAGES,
})  # fmt: skip
"""Parameters of totals, cuts and images: the charts of steps are the same whatever they are."""
OF_SERVER: Final = ("spread", "critical_batch", "servers", "server_gbit_per_s", "params")


def split(link: Link, box: PopoverContainer | None) -> None:
    """Draw the network, the accelerators, and the batches of the cut."""
    first, second, third = st.columns([2, 2, 1], vertical_alignment="bottom")
    fields.choice(link, BY_NAME["network"], language_models(), first)
    fields.choice(link, BY_NAME["accelerator"], accelerators(), second)
    fields.number(link, BY_NAME["count"], third, step=8)
    if box is None:
        return
    fields.number(link, BY_NAME["network_batch"], box, step=64.0)
    fields.number(link, BY_NAME["micro_batch"], box, step=1.0)
    fields.choice(link, BY_NAME["precision"], BY_NAME["precision"].choices, box)


def _default(parameter: Parameter) -> float:
    return float(str(parameter.default))


def batches(link: Link, wrong: Sequence[str]) -> None:
    """Draw which batch is held, and further batches and device counts."""
    first, second, third = st.columns([2, 3, 3], vertical_alignment="bottom")
    fields.choice(link, BY_NAME["hold"], {"": "As measured", **HOLD_WORDS}, first)
    for place, name, example in (
        (second, "batch", "Type a batch, such as 256"),
        (third, "devices", "Type a count, such as 16"),
    ):
        held = [str(text) for text in st.session_state[link.key(name)]]
        fields.several(link, BY_NAME[name], held, place, accept_new_options=True,
                       placeholder=example)  # fmt: skip
    for error in wrong:
        st.warning(error, icon=":material/error:")


def totals(link: Link, box: PopoverContainer | None) -> None:
    """Draw epochs, deadline and budget, and in the box start-up and price."""
    places = iter(st.columns(4, vertical_alignment="bottom"))
    fields.number(link, BY_NAME["epochs"], next(places), step=10)
    fields.number(link, SAMPLES_PER_EPOCH, next(places), empty="as stated", step=1000)
    fields.text(link, BY_NAME["deadline"], next(places), placeholder="none")
    _number(link, next(places), "budget", "none")
    if box is not None:
        _number(link, box, "startup_s", "as measured")
        _number(link, box, "price", "none")


def images(link: Link, side: float | None) -> None:
    """Draw the side of the images, as runs or network state it, and another one beside it."""
    first, second, _ = st.columns([2, 2, 3], vertical_alignment="bottom")
    _number(link, first, "own_image_px", "none" if side is None else f"{side:g}")
    fields.number(link, BY_NAME["image_px"], second, step=32.0)


def slow_worker(link: Link, box: PopoverContainer | None) -> None:
    """Draw the slider of the slow worker; in the box the scatter and the parameter server."""
    st.slider(BY_NAME["slow"].title(), *limits(BY_NAME["slow"]),
              link.held("slow"), step=5.0, format="%g", key=link.key("slow"),
              help=BY_NAME["slow"].hint)  # fmt: skip
    if box is None:
        return
    fields.number(link, BY_NAME["spread"], box, step=1.0)
    _number(link, box, "critical_batch", "unknown")
    fields.number(link, BY_NAME["servers"], box, step=1)
    _number(link, box, "server_gbit_per_s", "no limit")
    _number(link, box, "params", "as stated")


def _number(link: Link, place: st.delta_generator.DeltaGenerator, name: str, empty: str) -> None:
    fields.number(link, BY_NAME[name], place, empty=empty, step=1.0)
