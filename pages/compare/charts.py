"""The charts of the page Compare hardware, from the rows of the comparison."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import streamlit as st

from pages.common import narrow, widgets
from pages.common.link import Link, as_text
from pages.compare import state
from pages.compare.state import Reply
from planner import figures
from planner.compare import RentOrBuy, Tornado, cost_bound, misses_limits, monthly_cost, tornado
from planner.compare.evaluation import Comparison, Row
from planner.compare.rent_or_buy import rent_or_buy
from planner.core import Estimate, Floats, Text
from planner.cost import HOURS_PER_MONTH, shown
from planner.job import WAY_WORDS, Candidate

_LONG: Final = re.compile(r"\b(GeForce|NVIDIA|Instinct) |( SXM\d?| PCIe| NVL)?( \d+GB)$")
_MAKER: Final = re.compile(r"\b(GeForce|NVIDIA|Instinct) | \d+GB$")
_MOST_PROVIDER: Final = 7


def short_names(every: Sequence[Candidate]) -> dict[str, str]:
    """Return chart names by id, as short as uniqueness allows."""
    names = {c.id: _short(c) for c in every}
    for more in (_with_provider, _with_model, _with_terms, _with_all):
        shared = {name for name, n in Counter(names.values()).items() if n > 1}
        names |= {c.id: more(c) for c in every if names[c.id] in shared}
    return names


def _short(candidate: Candidate) -> str:
    if candidate.way == "own" and candidate.run is not None:  # a measured system has its own name
        return f"{WAY_WORDS['own'][0]} {_LONG.sub('', candidate.what)}"
    hardware = candidate.hardware
    name = hardware.accelerator.name if hardware.accelerator else hardware.label
    count = f"{hardware.count} x " if hardware.accelerator else ""
    return f"{WAY_WORDS[candidate.way][0]} {count}{_LONG.sub('', name)}"


def _with_provider(candidate: Candidate) -> str:
    """Return count, accelerator and provider: '8 x H100, Lambda'."""
    if candidate.offer is None or candidate.hardware.accelerator is None:
        return _short(candidate)
    name = _LONG.sub("", candidate.hardware.accelerator.name)
    return f"{candidate.hardware.count} x {name}, {_abbreviated(candidate.offer.provider)}"


def _with_model(candidate: Candidate) -> str:
    """Return count, accelerator with its form factor, and provider: '8 x H100 PCIe, Lambda'."""
    if candidate.offer is None or candidate.hardware.accelerator is None:
        return f"{WAY_WORDS[candidate.way][0]} {candidate.hardware.label}"
    name = _MAKER.sub("", candidate.hardware.accelerator.name)
    return f"{candidate.hardware.count} x {name}, {_abbreviated(candidate.offer.provider)}"


def _with_terms(candidate: Candidate) -> str:
    return (
        f"{_with_model(candidate)} {candidate.offer.terms}" if candidate.offer else candidate.label
    )


def _abbreviated(provider: str) -> str:
    """Return the first word of a provider, at most `_MOST_PROVIDER` letters."""
    word = provider.split(maxsplit=1)[0] if provider.strip() else provider
    return word if len(word) <= _MOST_PROVIDER else Text("{word}.", word=word[: _MOST_PROVIDER - 1])


def _with_all(candidate: Candidate) -> str:
    return candidate.label


def colours(every: Sequence[Candidate]) -> dict[str, int]:
    """Return the colour slot of each option by id: its accelerator's hue, a shade of its own."""
    return figures.option_slots([(c.id, system_of(c)) for c in every])


def system_of(candidate: Candidate) -> str:
    """Return the accelerator of an option, or its hardware without one."""
    accelerator = candidate.hardware.accelerator
    return candidate.hardware.label if accelerator is None else accelerator.name


POINTS: Final = 41
MOST_LINES: Final = 4
_USES: Final = {"runs": "Runs a month", "use": "Utilisation"}
_NO_MARKS: Final = "No chart: no option has both a time and a cost. The table shows why."


TABS: Final = {**widgets.CHART_OR_TABLE, "use": ":material/balance: Rent or buy"}
_FIELDS: Final = {"table": ("baseline", "view", "show"), "use": ("chart",)}
"""Fields of each tab."""


def declare(link: Link) -> None:
    """Declare the open tab, and the initial value of the switch."""
    widgets.declare_tab(link, TABS)
    link.choice("chart", list(_USES), "runs")


def hold(link: Link, opened: str) -> None:
    """Keep the values of the fields in the closed tabs."""
    link.hold(*(name for tab, names in _FIELDS.items() if tab != opened for name in names))


def time_and_cost(reply: Reply, comparison: Comparison, alt: str) -> None:
    """Draw cost against time, with intervals, best trade-offs and limits."""
    with st.container():
        spots = state.drawn(reply, "spots", "", lambda: _spots(reply, comparison))
        if not spots:
            st.caption(_NO_MARKS)
            return
        limits = comparison.question.limits
        most = cost_bound(comparison)
        bounds = figures.Bounds(
            deadline_s=limits.deadline_s,
            cost=None if most is None else shown(most, reply.display),
        )
        goal = comparison.question.goal
        what = (
            goal.words if goal.epochs is not None else Text("training to {words}", words=goal.words)
        )
        theme, slots = widgets.theme(), tuple(spot.slot for spot in spots)
        figure = state.drawn(
            reply,
            "time and cost",
            (theme, slots),
            lambda: figures.time_cost(spots, bounds, reply.display.currency, theme, what),
        )
        widgets.chart(figure, "compare.time_cost", alt)


def _spots(reply: Reply, comparison: Comparison) -> list[figures.Spot]:
    rows = [r for r in comparison.rows if _has_answer(r)]
    short = short_names([r.candidate for r in rows])
    slot = colours([r.candidate for r in comparison.rows])
    return [_spot(r, reply, short[r.candidate.id], slot[r.candidate.id]) for r in rows]


def _has_answer(row: Row) -> bool:
    return isinstance(row.time, Estimate) and isinstance(row.cost, Estimate)


def _spot(row: Row, reply: Reply, short: str, slot: int) -> figures.Spot:
    time, cost = row.time, row.cost
    assert isinstance(time, Estimate)  # noqa: S101 - checked by `_has_answer`
    assert isinstance(cost, Estimate)  # noqa: S101
    in_time = row.in_time
    return figures.Spot(
        label=row.candidate.label,
        short=short,
        slot=slot,
        basis=time.basis,
        time=(float(time.value), float(time.low), float(time.high)),
        cost=(
            shown(float(cost.value), reply.display),
            shown(float(cost.low), reply.display),
            shown(float(cost.high), reply.display),
        ),
        front=row.on_frontier,
        late=in_time is not None and in_time < 0.5,
        note=row.candidate.price,
    )


# -- rent or buy -----------------------------------------------------------------------------------


def rent_and_buy(link: Link, reply: Reply, comparison: Comparison) -> None:
    """Draw cost against runs a month, or against utilisation of the machine."""
    over = st.session_state[link.key("chart")]
    with st.container():
        with st.container(
            horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
        ):
            widgets.heading("Cost against use", width="content")
            st.segmented_control(
                "Over", list(_USES), key=link.key("chart"), default=over, required=True,
                format_func=_USES.__getitem__, label_visibility="collapsed",
            )  # fmt: skip
        rows = _compared(comparison)
        if not rows:
            st.caption(_NO_MARKS)
            return
        pair, theme = bought(reply, comparison), widgets.theme()
        slots = colours([r.candidate for r in comparison.rows])

        def make() -> tuple[figures.ChartSpec, str]:
            lines, axes = _use(reply, comparison, rows, pair, slots, by_use=over == "use")
            figure = figures.rent_or_buy(lines, axes, theme)
            return figure, Text(
                "{y_title} against {x_title}.", y_title=axes.y_title, x_title=axes.x_title
            )

        of = (theme, tuple(slots.items()), over)
        figure, alt = state.drawn(reply, "rent or buy", of, make)
        widgets.chart(figure, "compare.rent_or_buy", alt)
        if text := _use_caption(pair, rows, by_use=over == "use"):
            st.caption(text)


def bought(reply: Reply, comparison: Comparison) -> RentOrBuy | None:
    """Return `planner.compare.rent_or_buy.rent_or_buy`, cached per answer."""
    key = ("rent or buy", reply.key, reply.display)
    return state.once(key, lambda: rent_or_buy(comparison, reply.display))


def _compared(comparison: Comparison) -> list[Row]:
    """Return the best option of each way, then the next best ones."""
    rows = [r for r in comparison.rows if _has_answer(r) and r.rank is not None]
    first = {r.candidate.way: r for r in reversed(rows)}
    kept = [r for r in rows if first[r.candidate.way] is r]
    kept += [r for r in rows if r not in kept]
    return kept[: max(len(first), min(MOST_LINES, 3))]


def _use(
    reply: Reply,
    comparison: Comparison,
    rows: Sequence[Row],
    pair: RentOrBuy | None,
    slot: Mapping[str, int],
    *,
    by_use: bool,
) -> tuple[list[figures.UseLine], figures.UseAxes]:
    machine = pair.buy if pair else next((r for r in rows if r.candidate.way == "buy"), rows[0])
    full = _runs_at_full_use(machine)
    runs_per_month = comparison.question.assumed.runs_per_month
    end = full if by_use else _end(runs_per_month, pair)
    runs = np.linspace(end / POINTS, end, POINTS)
    key = ("use", reply.key, tuple(r.candidate.id for r in rows), end)
    costs = state.once(key, lambda: [monthly_cost(r, runs.tolist()) for r in rows])
    short = short_names([r.candidate for r in comparison.rows])
    over = _Over(
        x=runs / full if by_use else runs,
        per=runs if by_use else np.ones(POINTS),
        factor=shown(1.0, reply.display),
    )
    lines = [
        _line(r, c, over, (short[r.candidate.id], slot[r.candidate.id]))
        for r, c in zip(rows, costs, strict=True)
        if c is not None
    ]
    money = reply.display.currency
    name = machine.candidate.hardware.label
    return lines, figures.UseAxes(
        x_title=Text("share of the time {name} works", name=name) if by_use else "runs a month",
        y_title=Text("cost of a run ({money})", money=money)
        if by_use
        else Text("cost of a month ({money})", money=money),
        request=runs_per_month / full if by_use else runs_per_month,
        request_words=f"{runs_per_month:,.4g} {'runs a month' if by_use else 'requested'}",
        pays_off=_pays_off(pair, by_use=by_use),
        per_cent=by_use,
        log=by_use,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Over:
    """Points on the axis: `x` as shown, `per` the runs by which a month's cost is divided."""

    x: Floats
    per: Floats
    factor: float


def _line(row: Row, cost: Estimate, over: _Over, look: tuple[str, int]) -> figures.UseLine:
    value, low, high = (
        np.asarray(end) * over.factor / over.per for end in (cost.value, cost.low, cost.high)
    )
    return figures.UseLine(
        label=row.candidate.label, short=look[0], slot=look[1], way=row.candidate.way, x=over.x,
        value=value, low=low, high=high,
    )  # fmt: skip


def _runs_at_full_use(row: Row) -> float:
    """Return the runs a month that keep one machine fully busy."""
    work = float(np.median(row.drawn.work_s)) if row.drawn is not None else 1.0
    return HOURS_PER_MONTH * 3600.0 / max(work, 1e-6)


def _end(requested: float, pair: RentOrBuy | None) -> float:
    """Return the end of the axis: past the break-even, at most 50 times the requested runs."""
    runs = pair.runs_per_month if pair else None
    crossing = float(runs.value) if isinstance(runs, Estimate) else 0.0
    reach = 1.6 * crossing if math.isfinite(crossing) else 0.0
    return max(2.5 * requested, min(reach, 50.0 * requested))


def _pays_off(pair: RentOrBuy | None, *, by_use: bool) -> tuple[float, float, float] | None:
    if pair is None or not isinstance(pair.use, Estimate):
        return None
    break_even = pair.use if by_use else pair.runs_per_month
    if not isinstance(break_even, Estimate) or not math.isfinite(float(break_even.value)):
        return None
    return float(break_even.value), float(break_even.low), float(break_even.high)


def _use_caption(pair: RentOrBuy | None, rows: Sequence[Row], *, by_use: bool) -> str:
    ways = {r.candidate.way for r in rows}
    if "buy" not in ways:
        return "No purchase is chosen. Choose one to see from when it pays off."
    if pair is None:
        return "No rental is chosen. Choose one to see from when buying pays off."
    if misses_limits(pair.buy):
        return "Buying misses the deadline or the budget."
    return "" if _pays_off(pair, by_use=by_use) else "Buying may never pay off."


# -- what matters ----------------------------------------------------------------------------------


def what_matters(reply: Reply, comparison: Comparison) -> None:
    """Draw which uncertain inputs move the answer most."""
    influence: Tornado | None = state.once(("tornado", reply.key), lambda: tornado(comparison))
    with st.container(border=True):
        widgets.heading("What matters most")
        if influence is None or not influence.influences:
            st.caption("Nothing about the cost of these options is uncertain.")
            return
        st.caption(as_text(influence.title))
        factor = shown(1.0, reply.display)
        bars = [
            figures.Bar(label=i.name, low=i.low * factor, high=i.high * factor)
            for i in influence.influences
        ]
        axis = (
            Text("difference of a run ({currency})", currency=reply.display.currency)
            if influence.compared
            else Text("cost of a run ({currency})", currency=reply.display.currency)
        )
        theme, base = widgets.theme(), influence.base * factor
        figure = state.drawn(
            reply,
            "tornado",
            theme,
            lambda: figures.tornado(bars, base, axis, theme, compared=influence.compared),
        )
        alt = f"{influence.title}: {_widest(influence)}"
        tab = widgets.chart_or_table("compare.tornado-tabs")
        with tab.place:
            if tab.name == "table":
                rows = figures.bar_rows(bars, reply.display.currency)
                narrow.table(rows, "compare.tornado-rows", alt)
                return
            widgets.chart(figure, "compare.tornado", alt)
            if influence.compared:
                st.caption("A bar that crosses the dashed line can reverse the ranking.")


def _widest(influence: Tornado) -> str:
    return ", ".join(i.name for i in influence.influences[:3])
