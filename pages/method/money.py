"""Formulas of buying, with charts: cost of a busy hour, and the cost of several devices."""

from __future__ import annotations

from typing import Final

import numpy as np

from backtest.questions import described
from backtest.questions.figure import MEAN
from pages.method.formula import (
    Formula,
    Picture,
    Slider,
    Values,
    in_per_cent,
)
from planner import figures
from planner.core import Floats
from planner.cost import HOURS_PER_YEAR, Owned, break_even_utilisation, cost_per_busy_hour, money
from planner.figures.palette import Theme
from planner.job import efficiency as spread
from planner.job.efficiency import efficiency

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
PER_NODE: Final = Slider(name="node", label="Devices of a node", unit="devices", default=8,
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
        sentences=(_pays_off(pays), f"A fully used machine costs {hour} an hour."),
        caption="Made-up prices. Rent is for the same work in the same time; no upkeep, tax, "
        "residual value or idle power.",
    )


def _pays_off(pays: float) -> str:
    if not np.isfinite(pays):
        return "Buying never pays off: renting costs no more than the electricity."
    if pays > 1.0:
        return "Buying never pays off: a year has too few hours."
    hours = f"{pays * HOURS_PER_YEAR:,.0f} hours a year"
    return f"Buying pays off from {100 * pays:.0f} % of the time on, {hours}."


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
    "over its life **L** at the rate of capital **r**; the share **ρ** comes back at a sale. "
    "**U** is its upkeep. So an hour of work is the cheaper, the larger the share **u** of the "
    "time in which it works. **e** is the electricity of an hour, working and idle. Above the "
    "break-even utilisation **u\\*** owning is cheaper than renting.",
    units="Money in USD; A and U in USD a year; c and e in USD an hour; u and ρ are shares.",
    limits="c → infinity for u → 0. u\\* above 1 means never: a year has too few hours; so it does "
    "where renting costs no more than the electricity. At r = 0 the price is spread evenly. Every "
    "year is like every other. Prices are drawn within their uncertainty, so the page Compare "
    "gives an interval.",
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
    line = figures.Share(label="not measured", short="not measured", slot=0, x=count,
                         value=value, low=low, high=high, largest=1.0)  # fmt: skip
    over = f" on {nodes} nodes" if nodes > 1 else ""
    return Picture(
        figure=figures.efficiency([line], look),
        sentences=(
            f"{chosen} devices{over} give {times} times one device, 90 % from {low_times} to "
            f"{high_times} times.",
        ),
        caption="At the same batch on each device. Grey dashes: not measured.",
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
    limits=f"l₁ = {in_per_cent(spread.NODE_LOSS)}, s₁ = {in_per_cent(spread.NODE_SD)} a doubling; "
    "where accelerators have links of their own (NVLink, ICI) "
    f"{in_per_cent(spread.LINKED_LOSS)} and {in_per_cent(spread.LINKED_SD)}. "
    f"l₂ = {in_per_cent(spread.NODES_LOSS)}, s₂ = {in_per_cent(spread.NODES_SD)}. Student t has "
    f"{spread.SPREAD_DOF:g} degrees of freedom. e = 1 for one device. A run on two of your own "
    "devices says more.",
    source="Means over public clusters (Sia, Pollux, ElasticFlow, TensorFlow 2017, DLPerf).",
    sliders=(PER_NODE, COUNT),
    picture=several_picture,
    evidence=(described.QUESTION, described.SEVERAL, MEAN),
)
