"""The question of the page Scaling out: workload, series, driver, batches, and what-ifs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import streamlit as st
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from pages.common import hardware, kept, widgets, workload_choice
from pages.common.link import Link
from planner.answers import NO_DRIVER, scaling_out_workloads
from planner.answers.parameters import HOLDS, SCALING_OUT
from planner.core import Parameter
from planner.core.parameters import bounds, limits
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
    second.selectbox("System", list(several), link.place("series", list(several)),
                     format_func=several.__getitem__, key=link.key("series"))  # fmt: skip
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
    place.selectbox("Compare with", list(others), link.place("driver", list(others)),
                    format_func=others.__getitem__, key=link.key("driver"),
                    help="A driver without workers, or the fewest devices")  # fmt: skip


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
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
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
    models, cards = language_models(), accelerators()
    first.selectbox("Network", list(models), link.place("network", list(models)),
                    format_func=models.__getitem__, key=link.key("network"))  # fmt: skip
    second.selectbox("Accelerator", list(cards), link.place("accelerator", list(cards)),
                     format_func=cards.__getitem__, key=link.key("accelerator"))  # fmt: skip
    third.number_input("Count", *bounds(BY_NAME["count"]), link.held("count"), step=8,
                       format="%d", key=link.key("count"))  # fmt: skip
    if box is None:
        return
    box.number_input("Sequences per step", *limits(BY_NAME["network_batch"]),
                     link.held("network_batch"), step=64.0, format="%g",
                     key=link.key("network_batch"))  # fmt: skip
    box.number_input("Sequences per micro-batch", *limits(BY_NAME["micro_batch"]),
                     link.held("micro_batch"), step=1.0, format="%g",
                     key=link.key("micro_batch"))  # fmt: skip
    formats = list(BY_NAME["precision"].choices)
    box.selectbox("Precision", formats, link.place("precision", formats),
                  key=link.key("precision"))  # fmt: skip


def _default(parameter: Parameter) -> float:
    return float(str(parameter.default))


def batches(link: Link, wrong: Sequence[str]) -> None:
    """Draw which batch is held, and further batches and device counts."""
    first, second, third = st.columns([2, 3, 3], vertical_alignment="bottom")
    first.selectbox("Same at every count", ["", *HOLDS], link.place("hold", ["", *HOLDS]),
                    format_func=lambda v: HOLD_WORDS.get(v, "As measured"),
                    key=link.key("hold"))  # fmt: skip
    for place, name, label, example in (
        (second, "batch", "Batches", "Type a batch, such as 256"),
        (third, "devices", "More device counts", "Type a count, such as 16"),
    ):
        held = [str(text) for text in st.session_state[link.key(name)]]
        place.multiselect(label, held, key=link.key(name), accept_new_options=True,
                          max_selections=BY_NAME[name].many, placeholder=example)  # fmt: skip
    for error in wrong:
        st.warning(error, icon=":material/error:")


def totals(link: Link, box: PopoverContainer | None) -> None:
    """Draw epochs, deadline and budget, and in the box start-up and price."""
    places = iter(st.columns(4, vertical_alignment="bottom"))
    next(places).number_input("Epochs", *bounds(BY_NAME["epochs"]), link.held("epochs"), step=10,
                              format="%d", key=link.key("epochs"))  # fmt: skip
    next(places).number_input("Samples per epoch", *bounds(SAMPLES_PER_EPOCH), value=None,
                              step=1000, format="%d", placeholder="as stated",
                              key=link.key("samples_per_epoch"))  # fmt: skip
    next(places).text_input("Deadline", placeholder="none", key=link.key("deadline"), max_chars=30,
                            help="From start to end: 36 h, 3 days or 2 weeks")  # fmt: skip
    _number(link, next(places), "budget", "Budget (USD)", "none")
    if box is not None:
        _number(link, box, "startup_s", "Start-up (s)", "as measured")
        _number(link, box, "price", "Price (USD/h per device)", "none")


def images(link: Link, side: float | None) -> None:
    """Draw the side of the images, as runs or network state it, and another one beside it."""
    first, second, _ = st.columns([2, 2, 3], vertical_alignment="bottom")
    _number(link, first, "own_image_px", "Image size (px)", "none" if side is None else f"{side:g}")
    second.number_input("Bytes at image size (px)", *limits(BY_NAME["image_px"]),
                        link.held("image_px"), step=32.0, format="%g", key=link.key("image_px"),
                        help="A batch of this size with as many bytes")  # fmt: skip


def slow_worker(link: Link, box: PopoverContainer | None) -> None:
    """Draw the slider of the slow worker; in the box the scatter and the parameter server."""
    st.slider("One worker is stopped (% of the time)", *limits(BY_NAME["slow"]),
              link.held("slow"), step=5.0, format="%g", key=link.key("slow"))  # fmt: skip
    if box is None:
        return
    box.number_input("Scatter of steps (%)", *limits(BY_NAME["spread"]), link.held("spread"),
                     step=1.0, format="%g", key=link.key("spread"),
                     help="Relative sd of a worker's step")  # fmt: skip
    _number(link, box, "critical_batch", "Critical batch size Bcrit (samples)", "unknown")
    box.number_input("Parameter servers", *bounds(BY_NAME["servers"]), link.held("servers"),
                     step=1, format="%d", key=link.key("servers"))  # fmt: skip
    _number(link, box, "server_gbit_per_s", "Server link (Gbit/s)", "no limit")
    _number(link, box, "params", "Parameters", "as stated")


def _number(
    link: Link, place: st.delta_generator.DeltaGenerator, name: str, label: str, empty: str
) -> None:
    place.number_input(label, *limits(BY_NAME[name]), value=None, step=1.0, format="%g",
                       placeholder=empty, key=link.key(name))  # fmt: skip
