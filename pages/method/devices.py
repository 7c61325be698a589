"""Formulas over machines, with charts: several devices, and unmeasured hardware."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from backtest.accuracy.verdicts import AHEAD, SHEET
from backtest.questions import devices, unmeasured
from backtest.questions.figure import MEAN
from pages.method.formula import (
    Formula,
    Picture,
    Slider,
    Values,
    in_per_cent,
    withheld,
)
from planner import figures
from planner.core import Floats, Refusal
from planner.figures.palette import Theme
from planner.scaling import ScalingCurve, answers, fit, fit_scaling, growth
from planner.transfer import BASIS_OF, Cell, DataSheet, Library, Transferred, fit_library, transfer

BATCH: Final = 64.0
"""Batch per device in the chart of devices [samples]."""
PER_NODE: Final = 8
A1: Final = Slider(name="a1", label="Crossing a link in one node, a1", unit="ms", default=5,
                   options=(0, 1, 2, 5, 10, 20, 50, 100))  # fmt: skip
A2: Final = Slider(name="a2", label="Growth in one node, a2", unit="ms", default=2,
                   options=(0, 1, 2, 5, 10, 20, 50))  # fmt: skip
C1: Final = Slider(name="c1", label="Crossing between nodes, c1", unit="ms", default=20,
                   options=(0, 5, 10, 20, 50, 100, 200))  # fmt: skip
C2: Final = Slider(name="c2", label="Growth between nodes, c2", unit="ms", default=5,
                   options=(0, 1, 2, 5, 10, 20, 50))  # fmt: skip
FADING: Final = Slider(name="fading", label="What a doubling costs of the one before, r",
                       default=fit.FADING,
                       options=(0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 1))  # fmt: skip
MOST: Final = Slider(name="devices", label="Most devices measured", unit="devices", default=16,
                     options=(2, 4, 8, 16, 32))  # fmt: skip


# -- devices -----------------------------------------------------------------------------------


def _scaling(values: Values) -> ScalingCurve | Refusal:
    """Return the curve through made-up step times: 0.01 s + b/2000 a step, nodes of 8."""
    counts = 2.0 ** np.arange(np.log2(values["devices"]) + 0.5)
    batch, count = (v.ravel() for v in np.meshgrid([BATCH / 2, BATCH, 2 * BATCH], counts))
    nodes = np.ceil(count / PER_NODE)
    grown = growth(count, values["fading"])
    first, later = (values[k] / 1000 for k in ("a1", "a2"))
    far, further = (values[k] / 1000 for k in ("c1", "c2"))
    link = np.where(nodes > 1, far + further * grown, np.where(count > 1, first + later * grown, 0))
    return fit_scaling(batch, count, nodes, 0.01 + batch / 2000 + link, fading=values["fading"])


def devices_picture(values: Values, look: Theme) -> Picture:
    """Return weak scaling efficiency over devices: measured, extrapolated and refused."""
    curve, most = _scaling(values), values["devices"]
    count: Floats = np.asarray(2.0 ** np.arange(8), dtype=np.float64)
    if isinstance(curve, Refusal):
        return withheld(curve)
    scaling = curve.weak_scaling(BATCH, count, np.ceil(count / PER_NODE))
    if isinstance(scaling, Refusal):
        return withheld(scaling)
    efficiency = scaling.efficiency
    ends = (efficiency.value, efficiency.low, efficiency.high)
    value, low, high = (100 * np.asarray(v) for v in ends)
    line = figures.Share(label="weak scaling", short="weak scaling", slot=0, x=count, value=value,
                         low=low, high=high, largest=most)  # fmt: skip
    return Picture(
        figure=figures.efficiency([line], look),
        sentences=(_made_of(curve, most), *_refused_from(count, value, most)),
        caption="Made-up step times that lie on the form: 64 samples per device, nodes of 8. Grey "
        "dashes were not measured; beyond twice the measured count the answer is called a guess.",
    )


def _made_of(curve: ScalingCurve, most: float) -> str:
    nodes = float(np.ceil(most / PER_NODE))
    shares = curve.shares(BATCH, most, nodes)
    if isinstance(shares, Refusal):
        return shares.reason
    compute, link, grown = (
        f"{100 * float(part.value):.0f} %" for part in (shares.compute, shares.link, shares.growth)
    )
    return (
        f"On {most:.0f} devices a step is {compute} compute and {link} crossing links. "
        f"{grown} grows with the device count."
    )


def _refused_from(count: Floats, value: Floats, most: float) -> tuple[str, ...]:
    missing = count[(count > most) & ~np.isfinite(value)]
    if not missing.size:
        return ()
    return (
        f"From {missing[0]:.0f} devices on there is no answer. No run crossed from node to node, "
        "and other links do not show what that costs.",
    )


DEVICES: Final = Formula(
    slug="devices",
    title="A step on several devices",
    laws=(
        r"T(b, n) = t + \frac{b}{v_0} + \begin{cases}0 & n = 1\\ a_1 + a_2\,g(n) & "
        r"\text{one node}\\ c_1 + c_2\,g(n) & \text{several nodes}\end{cases}",
        r"g(n) = 1 + r + r^2 + \dots \ \text{(one summand per doubling of } n)",
    ),
    words="Crossing a link costs a constant (**a₁**, **c₁**). The cost grows with each doubling of "
    "the devices **n** (**a₂**, **c₂**). Each doubling costs **r** of the one before: r = 1 is a "
    "reduction tree, r = ½ a ring. Each launch mode beyond the fastest adds a constant of its own. "
    "Weak scaling keeps the batch per device, strong scaling the batch of all together.",
    units="T, t, a₁, a₂, c₁, c₂ in seconds, b samples per device, v0 samples a second of one "
    "device; r and efficiencies are shares.",
    limits=f"Every term is at least 0. r ships as {fit.FADING:g}. The interval widens by "
    f"{in_per_cent(answers.KAPPA)} for each doubling of the devices outside the measured. "
    "A link that no run crossed is refused; beyond twice the measured count an answer is a guess.",
    source="Our own form; chosen against Ernest (NSDI 2016) and AdaptDL (OSDI 2021) on public "
    "clusters.",
    sliders=(A1, A2, C1, C2, FADING, MOST),
    picture=devices_picture,
    evidence=(devices.QUESTION, AHEAD, MEAN),
)


# -- unmeasured hardware -----------------------------------------------------------------------

CARD, WORKLOAD = "Card X", "your network"
CARDS: Final = 8
NETWORKS: Final = 6
BENCHMARKS: Final = Slider(name="benchmarks", label="Public benchmarks of card X", default=2,
                           options=tuple(range(NETWORKS)))  # fmt: skip
OWN: Final = Slider(name="cards", label="Other cards you ran your network on", default=1,
                    options=tuple(range(CARDS)))  # fmt: skip
RAN: Final = Slider(name="runs", label="Your own runs on card X", default=0, options=(0, 1, 2, 5))


@cache
def _made_table() -> tuple[Floats, tuple[DataSheet, ...]]:
    """Return made-up samples/s, shape (networks, cards), target network last; and data sheets."""
    draw = np.random.default_rng(3)
    flops = 1e14 * 2.0 ** np.linspace(0, 3, CARDS)
    width = 1e12 * 2.0 ** (np.linspace(0, 2, CARDS) + draw.normal(0, 0.15, CARDS))
    lean = draw.uniform(0.2, 0.8, (NETWORKS, 1))
    heavy = draw.uniform(1e9, 1e10, (NETWORKS, 1))
    scatter = np.exp(draw.normal(0, 0.06, (NETWORKS, CARDS)))
    speed = (flops**lean) * ((100 * width) ** (1 - lean)) / heavy * scatter
    sheets = tuple(
        DataSheet(card=_card(i), peak_flops_per_s={"fp16": flops[i]},
                  memory_bandwidth_bytes_per_s=width[i], memory_bytes=(16 + 8 * i) * 1e9)
        for i in range(CARDS)
    )  # fmt: skip
    return speed, sheets


def _card(place: int) -> str:
    return CARD if place == CARDS - 3 else f"Card {place + 1}"


@cache
def _library(benchmarks: int, own: int, runs: int) -> Library:
    """Return a library with this many measurements of the target network and card."""
    speed, sheets = _made_table()
    rows = [
        (WORKLOAD if w == NETWORKS - 1 else f"network {w + 1}", _card(c), float(speed[w, c]))
        for w in range(NETWORKS)
        for c in range(CARDS)
    ]
    others = [c for c in map(_card, range(CARDS)) if c != CARD][:own]
    named = [f"network {w + 1}" for w in range(benchmarks)]
    kept = [
        (w, c, s)
        for w, c, s in rows
        if (w != WORKLOAD and c != CARD)
        or (c == CARD and w in named)
        or (w == WORKLOAD and c in others)
    ]
    kept += [(WORKLOAD, CARD, _truth() * (1 + 0.01 * (-1) ** i)) for i in range(runs)]
    workload, card, value = zip(*kept, strict=True)
    return fit_library(workload, ["fp16"] * len(kept), card, value, sheets)


def _truth() -> float:
    speed, _ = _made_table()
    return float(speed[NETWORKS - 1, CARDS - 3])


@cache
def _rungs(benchmarks: int, own: int, runs: int) -> tuple[Transferred, ...] | Refusal:
    """Return the answer of every rung that has one, the best rung first."""
    library, target = (
        _library(benchmarks, own, runs),
        Cell(workload=WORKLOAD, precision="fp16", card=CARD),
    )
    best = transfer(library, target)
    if isinstance(best, Refusal):
        return best
    others = (transfer(library, target, rung=rung) for rung in BASIS_OF if rung != best.rung)
    return (best, *(answer for answer in others if isinstance(answer, Transferred)))


def cards_picture(values: Values, look: Theme) -> Picture:
    """Return the chart of every rung's answer against the truth, the best emphasised."""
    rungs = _rungs(*(int(values[k]) for k in ("benchmarks", "cards", "runs")))
    if isinstance(rungs, Refusal):
        return withheld(rungs)
    best, truth, order = rungs[0], _truth(), list(BASIS_OF)
    rows = [
        _rung_dot(answer, order.index(answer.rung), truth, chosen=answer is best)
        for answer in sorted(rungs, key=lambda t: order.index(t.rung))
    ]
    scale = figures.Scale(title="estimated / true samples per second", unit="", least=1e-3,
                          compare=1.0, compared="true")  # fmt: skip
    value = float(best.estimate.value)
    return Picture(
        figure=figures.dots(rows, scale, look),
        sentences=(
            f"The rung “{best.rung}” answers: {value / truth:.2f} times the true throughput, 90 % "
            f"from {float(best.estimate.low) / truth:.2f} to "
            f"{float(best.estimate.high) / truth:.2f} times.",
            *_next(best),
        ),
        caption="A made-up table of eight cards and six networks, your network among them.",
    )


def _rung_dot(transferred: Transferred, place: int, truth: float, *, chosen: bool) -> figures.Dot:
    estimate = transferred.estimate
    value, low, high = (float(v) / truth for v in (estimate.value, estimate.low, estimate.high))
    return figures.Dot(
        label=transferred.rung, slot=place, value=value, low=low, high=high, strong=chosen,
        note=f"90 %: {low:.2f} to {high:.2f}",
    )  # fmt: skip


def _next(transferred: Transferred) -> tuple[str, ...]:
    if not transferred.next_runs:
        return ()
    run = transferred.next_runs[0]
    return (
        f"Measuring {run.run} would narrow it most, to about "
        f"−{100 * (1 - 1 / run.factor):.0f} % to +{100 * (run.factor - 1):.0f} %.",
    )


TRANSFER: Final = Formula(
    slug="cards",
    title="Unmeasured hardware",
    laws=(
        r"\hat{y} = \exp\left(\textstyle\sum_i w_i \log y_i\right), \qquad "
        r"[\,\hat{y}\,e^{-q},\ \hat{y}\,e^{q}\,]",
    ),
    words="The best rung with enough data answers and is named: **measured** on "
    "that card; the **workload on other cards**, scaled by what similar workloads gain; "
    "**benchmarks of the card**, scaled by how the workload goes with them elsewhere; its **data "
    "sheet** (operations a second, bandwidth, memory). Weights come from the library, drawn "
    "towards a prior (ridge).",
    units="Samples a second of one device of a kind; q is a half-width of the logarithm.",
    limits="q is conformal: the errors of the same rung on the library, whole cards and workloads "
    "left out. It is never less than the difference between two sessions. Two options whose ratio "
    "is within its interval are “not decided”. A card of another maker or another arithmetic is "
    "covered by nothing here.",
    source="Our own ladder; conformal prediction of Vovk, Gammerman & Shafer 2005.",
    sliders=(BENCHMARKS, OWN, RAN),
    picture=cards_picture,
    evidence=(unmeasured.QUESTION, SHEET, unmeasured.DATA_SET),
)
