"""Formulas over machines, with charts: cost, several devices, unmeasured hardware, crossover."""

import math
from functools import cache
from typing import Final

import numpy as np

from backtest.accuracy.verdicts import AHEAD, SHEET
from backtest.questions import described, devices, unmeasured
from backtest.questions.figure import MEAN
from pages.method.formula import (
    GRID,
    LARGEST,
    OVERHEAD,
    SMALLEST,
    V0,
    Formula,
    Picture,
    Slider,
    Values,
    batches,
    in_per_cent,
    made_curve,
    made_line,
    parts_of,
    withheld,
)
from planner import figures
from planner.catalog import Catalog
from planner.core import GIGA, Floats, Refusal, Text, percent
from planner.cost import HOURS_PER_YEAR, Owned, break_even_utilisation, cost_per_busy_hour, money
from planner.figures.frame import Theme
from planner.job import efficiency as spread
from planner.job import sentence, utilizations
from planner.job.efficiency import efficiency
from planner.scaling import (
    CROSSED_LOSS,
    CROSSED_SD,
    ScalingCurve,
    answers,
    fit,
    fit_scaling,
    growth,
)
from planner.throughput import crossover, crossover_batch, size
from planner.transfer import BASIS_OF, Cell, DataSheet, Library, Transferred, fit_library, transfer

USES: Final = 61
"""Points of the line over utilisation."""
PRICE: Final = Slider(
    name="price", label="Price of the machine", unit="USD", default=20000,
    options=(1000, 2000, 5000, 10000, 20000, 50000, 100000, 300000),
)  # fmt: skip
LIFE: Final = Slider(name="life", label="Life", unit="years", default=4,
                     options=(1, 2, 3, 4, 5, 7, 10))  # fmt: skip
RATE: Final = Slider(name="rate", label="Rate of capital", unit="% a year", default=5,
                     options=(0, 2, 5, 8, 12, 20))  # fmt: skip
POWER: Final = Slider(name="power", label="Power while it works", unit="W", default=800,
                      options=(100, 200, 400, 800, 1500, 3000, 6000))  # fmt: skip
TARIFF: Final = Slider(name="tariff", label="Electricity", unit="USD/kWh", default=0.2,
                       options=(0, 0.05, 0.1, 0.2, 0.3, 0.5))  # fmt: skip
RENT: Final = Slider(name="rent", label="Rent of the same for an hour", unit="USD", default=2,
                     options=(0.1, 0.2, 0.5, 1, 2, 4, 8, 30))  # fmt: skip
NODE_SLIDER: Final = Slider(name="node", label="Devices of a node", unit="devices", default=8,
                         options=(1, 2, 4, 8, 16))  # fmt: skip
COUNT: Final = Slider(name="count", label="Device count", unit="devices", default=16,
                      options=(1, 2, 4, 8, 16, 32, 64))  # fmt: skip


# -- money -------------------------------------------------------------------------------------


def money_picture(values: Values, look: Theme) -> Picture:
    """Return cost of a busy hour over utilisation, bought and rented, with the break-even."""
    owned = Owned(
        price_usd=values["price"], life_years=values["life"], power_watts=values["power"],
        tariff_usd_per_kwh=values["tariff"], rate_of_capital=values["rate"] / 100,
    )  # fmt: skip
    use = np.linspace(0.02, 1.0, USES)
    rented = values["rent"]
    pays = float(break_even_utilisation(owned, rented))
    drawn = [
        _line("bought", 0, "buy", use, cost_per_busy_hour(owned, use)),
        _line("rented", 1, "rent", use, np.full(use.shape, rented)),
    ]
    axes = figures.UseAxes(
        x_title="share of the time in which it works", y_title="USD per busy hour", request=-1.0,
        request_words="", pays_off=(pays, pays, pays) if pays <= 1.0 else None, per_cent=True,
        log=True,
    )  # fmt: skip
    hour = money(float(cost_per_busy_hour(owned, 1.0)))
    return Picture(
        figure=figures.rent_or_buy(drawn, axes, look),
        sentences=(_pays_off(pays), Text("A fully used machine costs {hour} an hour.", hour=hour)),
        caption="Made-up prices. Rent is for the same work in the same time; no upkeep, tax, "
        "residual value or idle power.",
    )


def _pays_off(pays: float) -> str:
    if not np.isfinite(pays):
        return "Buying never pays off: renting costs no more than the electricity."
    if pays > 1.0:
        return "Buying never pays off: a year has too few hours."
    hours = Text("{pays:,.0f} hours a year", pays=pays * HOURS_PER_YEAR)
    return Text(
        "Buying pays off from {pays:.0f} % of the time on, {hours}.", pays=100 * pays, hours=hours
    )


def _line(name: str, slot: int, way: str, use: Floats, value: Floats) -> figures.UseLine:
    return figures.UseLine(label=name, short=name, slot=slot, way=way, x=use, value=value,
                           low=value, high=value)  # fmt: skip


MONEY: Final = Formula(
    slug="money",
    title="Rent or buy: what a busy hour costs",
    laws=(
        r"c(u) = \frac{A + U}{8760\,u} + e_{busy} + e_{idle}\,\frac{1-u}{u}",
        r"A = C\left((1-\rho)\,\frac{r}{1 - (1+r)^{-L}} + \rho\,r\right)",
        r"u^* = \frac{A + U + 8760\,e_{idle}}{8760\,(c_{rent} - e_{busy} + e_{idle})}",
    ),
    words="A machine costs a yearly sum whether it works or not. **A** pays back its price **C** "
    "over its life **L** at the rate of capital **r**. The share **ρ** comes back at a sale. "
    "**U** is its upkeep. So an hour of work is the cheaper, the larger the share **u** of the "
    "time in which it works. **e** is the electricity of an hour, working and idle. Above the "
    "break-even utilisation **u\\*** owning is cheaper than renting.",
    units="Money is in USD. A and U are USD a year, c and e USD an hour, u and ρ shares.",
    limits="c → infinity for u → 0. With u\\* above 1 owning never pays: a year has too few "
    "hours. The same holds where renting costs no more than the electricity. At r = 0 the price "
    "is spread evenly. Every year is like every other. Prices are drawn within their uncertainty, "
    "so the page Compare gives an interval.",
    source="Capital recovery factor of engineering economics; break-even follows from it.",
    sliders=(PRICE, LIFE, RATE, POWER, TARIFF, RENT),
    picture=money_picture,
)


# -- several devices, not measured -------------------------------------------------------------


def several_picture(values: Values, look: Theme) -> Picture:
    """Return efficiency over device counts without a measurement."""
    count: Floats = np.asarray(2.0 ** np.arange(7), dtype=np.float64)
    per_node, chosen = int(values["node"]), int(values["count"])
    estimates = [efficiency(int(n), -(-int(n) // per_node)) for n in count]
    value, low, high = (
        100 * np.array([float(getattr(estimate, end)) for estimate in estimates])
        for end in ("value", "low", "high")
    )
    nodes = -(-chosen // per_node)
    low_times, times, high_times = (
        f"{chosen * float(getattr(efficiency(chosen, nodes), end)):.3g}"
        for end in ("low", "value", "high")
    )
    line = figures.ShareLine(label="not measured", short="not measured", slot=0, x=count,
                             value=value, low=low, high=high, largest=1.0)  # fmt: skip
    devices = Text("{chosen} devices", chosen=chosen)
    if nodes > 1:
        devices = Text("{chosen} devices on {nodes} nodes", chosen=chosen, nodes=nodes)
    return Picture(
        figure=figures.efficiency([line], look),
        sentences=(
            Text(
                "{devices} give {times} times one device, 90 % from "
                "{low_times} to {high_times} times.",
                devices=devices,
                times=times,
                low_times=low_times,
                high_times=high_times,
            ),
        ),
    )


SEVERAL: Final = Formula(
    slug="several",
    title="Several devices, not measured together",
    laws=(
        r"\ln e = -l_1 \log_2 n \pm s_1 \log_2 n \quad \text{(one node)}",
        r"\ln e = -l_2\,(1 + \log_2 n) \pm s_2 \quad \text{(several nodes)}",
    ),
    words="Where one device was measured and several were not, public clusters are used instead. "
    "Every doubling of the devices **n** costs the same share of the efficiency **e**. The first "
    "step to a second node costs that share once more. The interval is as wide as "
    "those clusters differ.",
    units="e is a share of perfect speed-up at the same batch per device, l and s of ln e.",
    limits=Text(
        "l₁ = {loss}, s₁ = {spread} a doubling; where accelerators have "
        "links of their own (NVLink, ICI) {linked_loss} and {linked_spread}. l₂ = "
        "{nodes_loss}, s₂ = {nodes_spread}. Student t has {spread_dof:g} degrees of "
        "freedom. e = 1 for one device. A run on two of your own devices says more.",
        loss=in_per_cent(spread.NODE_LOSS),
        spread=in_per_cent(spread.NODE_SD),
        linked_loss=in_per_cent(spread.LINKED_LOSS),
        linked_spread=in_per_cent(spread.LINKED_SD),
        nodes_loss=in_per_cent(spread.NODES_LOSS),
        nodes_spread=in_per_cent(spread.NODES_SD),
        spread_dof=spread.SPREAD_DOF,
    ),
    source="Means over public clusters (Sia, Pollux, ElasticFlow, TensorFlow 2017, DLPerf).",
    sliders=(NODE_SLIDER, COUNT),
    picture=several_picture,
    evidence=(described.QUESTION, described.SEVERAL, MEAN),
)


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
    """Return weak scaling efficiency over devices: measured, extrapolated and assumed."""
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
    line = figures.ShareLine(label="weak scaling", short="weak scaling", slot=0, x=count,
                             value=value, low=low, high=high, largest=most)  # fmt: skip
    return Picture(
        figure=figures.efficiency([line], look),
        sentences=(_made_of(curve, most), *_assumed_from(count, most)),
        caption="Made-up step times that lie on the form: 64 samples per device, nodes of 8.",
    )


def _made_of(curve: ScalingCurve, most: float) -> str:
    nodes = float(np.ceil(most / PER_NODE))
    shares = curve.shares(BATCH, most, nodes)
    if isinstance(shares, Refusal):
        return shares.reason
    compute, link, grown = (
        percent(part.value) for part in (shares.compute, shares.link, shares.growth)
    )
    return Text(
        "On {most:.0f} devices a step is {compute} compute and {link} crossing "
        "links. {grown} grows with the device count.",
        most=most,
        compute=compute,
        link=link,
        grown=grown,
    )


def _assumed_from(count: Floats, most: float) -> tuple[str, ...]:
    assumed = count[count > PER_NODE]
    if most > PER_NODE or not assumed.size:
        return ()
    return (
        Text(
            "From {assumed:.0f} devices on the link between nodes is assumed: no run crossed it.",
            assumed=assumed[0],
        ),
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
    units="T, t, a₁, a₂, c₁, c₂ are in seconds. The unit of b is samples per device, that of v0 "
    "samples a second of one device. The ratio r and efficiencies are shares.",
    limits=Text(
        "Every term is at least 0. r ships as {fading:g}. The interval widens by "
        "{in_per_cent} for each doubling of the devices outside the measured. Nodes that "
        "no run crossed are assumed to have the link in a node; the step is {loss:.0f} % longer, "
        "with an sd of {sd:.0f} %. Beyond twice the measured count an answer is a guess.",
        loss=100 * math.expm1(CROSSED_LOSS),
        sd=100 * CROSSED_SD,
        fading=fit.FADING,
        in_per_cent=in_per_cent(answers.KAPPA),
    ),
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
                          compare=1.0, compared="true", whisker="90 % interval")  # fmt: skip
    value = float(best.estimate.value)
    return Picture(
        figure=figures.dots(rows, scale, look),
        sentences=(
            Text(
                "The rung “{rung}” answers: {value:.2f} times the true throughput, 90 % "
                "from {low:.2f} to {high:.2f} times.",
                rung=best.rung,
                value=value / truth,
                low=float(best.estimate.low) / truth,
                high=float(best.estimate.high) / truth,
            ),
            *_next(best),
        ),
        caption="A made-up table of eight cards and six networks, your network among them.",
    )


def _rung_dot(transferred: Transferred, place: int, truth: float, *, chosen: bool) -> figures.Dot:
    estimate = transferred.estimate
    value, low, high = (v / truth for v in estimate.ends)
    return figures.Dot(
        label=transferred.rung, slot=place, value=value, low=low, high=high, strong=chosen,
        note=f"90 %: {low:.2f} to {high:.2f}",
    )  # fmt: skip


def _next(transferred: Transferred) -> tuple[str, ...]:
    if not transferred.next_runs:
        return ()
    run = transferred.next_runs[0]
    return (
        Text(
            "Measuring {run} would narrow it most, to about −{down:.0f} % to +{up:.0f} %.",
            run=run.run,
            down=100 * (1 - 1 / run.factor),
            up=100 * (run.factor - 1),
        ),
    )


TRANSFER: Final = Formula(
    slug="cards",
    title="Unmeasured hardware",
    laws=(
        r"\hat{y} = \exp\left(\textstyle\sum_i w_i \log y_i\right), \qquad "
        r"[\,\hat{y}\,e^{-q},\ \hat{y}\,e^{q}\,]",
    ),
    words="The best rung with enough data answers and is named. First: **measured** on that card. "
    "Second: the **workload on other cards**, scaled by what similar workloads gain. Third: "
    "**benchmarks of the card**, scaled by how the workload follows them elsewhere. Last: its "
    "**data sheet** (operations a second, bandwidth, memory). Weights are fitted to the library "
    "(ridge regression).",
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


TERA: Final = 1e12
V0_OTHER: Final = Slider(
    name="v0b", label="v0 of the other system", unit="samples/s", default=1024,
    options=(64, 256, 1024, 4096, 16384, 65536),
)  # fmt: skip
OVERHEAD_OTHER: Final = Slider(
    name="tb", label="Overhead t of the other", unit="s", default=0.01,
    options=(0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1),
)  # fmt: skip
FLOPS: Final = Slider(
    name="gflop", label="Operations of a sample F", unit="GFLOP", default=24,
    options=(0.1, 1, 4, 12, 24, 70, 200, 1000),
)  # fmt: skip
PEAK: Final = Slider(
    name="peak", label="Peak of the device P", unit="TFLOP/s", default=312,
    options=(5, 15, 65, 125, 312, 989),
)  # fmt: skip
NAMES: Final = ("system A", "system B")


# -- crossover ---------------------------------------------------------------------------------


def crossover_picture(values: Values, look: Theme) -> Picture:
    """Return two curves over the batch, with their crossover."""
    a = made_curve({k: values[k] for k in ("v0", "t", "largest")})
    b = made_curve({"v0": values["v0b"], "t": values["tb"], "largest": values["largest"]})
    if isinstance(a, Refusal):
        return withheld(a)
    if isinstance(b, Refusal):
        return withheld(b)
    crossing = crossover_batch(a, b, names=NAMES)
    sentences = (
        (crossing.reason, crossing.measure_next)
        if isinstance(crossing, Refusal)
        else (
            Text(
                "The two take the same time at batch {crossing}. Above it the one with "
                "the larger v0 is faster, below it the one with the smaller overhead.",
                crossing=size(crossing.value),
            ),
            *crossing.reasons,
        )
    )
    grid = np.geomspace(SMALLEST / 2, 4 * values["largest"], GRID)
    drawn = [
        made_line(curve, grid, label=name, short=name, slot=slot, kind="gpu")
        for slot, (curve, name) in enumerate(zip((a, b), NAMES, strict=True))
    ]
    return Picture(
        figure=figures.throughput(drawn, look, log=True),
        sentences=sentences,
        caption="Made-up step times of two systems that lie on their laws.",
    )


CROSSOVER: Final = Formula(
    slug="crossover",
    title="From which batch on is one system faster?",
    laws=(r"b_\times = \frac{t_2 - t_1}{1/v_1 - 1/v_2}",),
    words="Two systems take the same time where their step times cross. Below that batch the "
    "smaller overhead **t** wins, above it the larger asymptotic throughput **v0**. Where one "
    "system has both, the lines do not cross and it is faster at every batch.",
    units="Batches in samples, overheads in seconds, v in samples a second.",
    limits=Text(
        "A number of the two straight lines, as v0 and t are. A reason names measured "
        "points that bend about their lines by more than {visible:g}\u00a0%. The "
        "interval is taken in the logarithm and is very wide where the curves are "
        "close. Refused where one curve refuses that batch.",
        visible=100 * crossover.VISIBLE,
    ),
    source="Follows from the law of throughput; interval by the delta method.",
    sliders=(V0, OVERHEAD, V0_OTHER, OVERHEAD_OTHER, LARGEST),
    picture=crossover_picture,
)


# -- utilisation -------------------------------------------------------------------------------


def utilisation_picture(values: Values, look: Theme) -> Picture:
    """Return the chart of MFU at every batch of a made-up curve."""
    curve = made_curve({k: values[k] for k in ("v0", "t", "largest")})
    if isinstance(curve, Refusal):
        return withheld(curve)
    sizes = batches(values["largest"])
    speeds, _, _ = parts_of(curve.throughput(sizes), sizes)
    runs = [
        {"train_flops_per_sample": GIGA * values["gflop"], "throughput": float(speed),
         "gemm_flops_per_s": TERA * values["peak"]}
        for speed in speeds
    ]  # fmt: skip
    rows = [
        figures.Dot(label=f"batch {batch:,.0f}", slot=0, value=100 * share)
        for batch, run in zip(sizes, runs, strict=True)
        for share in (used.share for used in utilizations(run, Catalog()))
        if not isinstance(share, Refusal)
    ]
    text = sentence(runs[-1], Catalog()) or ""
    scale = figures.Scale(title="share of the peak (%)", unit="%", least=0.01)
    return Picture(
        figure=figures.dots(rows, scale, look) if rows else None,
        sentences=(Text("At batch {size:,.0f}: {text}", size=sizes[-1], text=text),),
        caption="Made-up step times; the peak stands for a matrix product measured beside them. A "
        "batch at which the run would be faster than its peak is refused and not drawn.",
    )


UTILISATION: Final = Formula(
    slug="utilisation",
    title="Which share of the peak is used? (MFU)",
    laws=(r"\mathrm{MFU} = \frac{F\,v(b)}{P}",),
    words="Operations of a sample **F** times samples a second, over the peak **P** of the device. "
    "**F** counts forward and backward; a fused multiply-add is two. **P** is the fastest matrix "
    "product measured beside the run, or the data sheet at that precision. MFU follows "
    "throughput, so it grows with the batch until v0.",
    units="F in operations a sample, v in samples a second, P in operations a second.",
    limits="At most 1: a run faster than its peak is refused. Then another card or number format "
    "was used than recorded, or a method that needs fewer operations. Cards whose name "
    "stands for several (PCIe) have no peak here, processors and TPUs only the measured one.",
    source="Model FLOPs utilisation of Chowdhery et al. 2022 (PaLM); peaks from data sheets.",
    sliders=(V0, OVERHEAD, LARGEST, FLOPS, PEAK),
    picture=utilisation_picture,
)
