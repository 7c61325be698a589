"""A plan of machines: its tables and charts for page and report, and the report itself."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from planner import figures
from planner.capacity import (
    STANDING,
    CapacityAnswer,
    CostLine,
    CostLines,
    FirstAnswer,
    Machine,
    RentOrBuyByUse,
    Term,
)
from planner.core import (
    HOUR_S,
    LEAST_DIGITS,
    Estimate,
    Record,
    Refusal,
    Text,
    percent,
    plain,
    sentence_case,
    with_range,
    written_ends,
)
from planner.core.slugs import UNOFFICIAL
from planner.cost import Display, shown
from planner.figures import ChartSpec, Tile
from planner.figures.frame import LIGHT_THEME, Theme
from planner.report._answer import AnswerReport, Chart, Table, answer_page
from planner.report._charts import influence_bars
from planner.report._page import NO_LETTERHEAD, Letterhead


def job_rows(answer: CapacityAnswer) -> list[Record]:
    """Return the jobs with their times and late shares."""
    return [
        {
            "Job": row.job,
            "Trains": row.words or None,
            "Runs a month": plain(row.runs_a_month),
            "Time of a run (h)": _hours(row.time),
            "Machine": row.machine or None,
            "Accelerators": row.accelerators or None,
            "Accelerator-hours a month": _middle(row.hours_a_month),
            "Within (h)": row.within_h,
            "Late": None if row.late is None else percent(row.late, 1),
            "Worst quarter": None if row.worst_late is None else percent(row.worst_late, 1),
        }
        for row in answer.jobs
    ]


def fleet_rows(answer: CapacityAnswer, display: Display) -> list[Record]:
    """Return the machines with their cost and use."""
    standing = _standing(answer)
    uses = any(row.utilisation is not None for row in answer.stocks)
    return [
        {
            "Machines": row.machine.label,
            "Count": row.count
            if row.machine.term in STANDING
            else Text("up to {count}", count=row.count),
            "From month": row.from_month,
            f"{display.currency} a month": _about(shown(row.cost_a_month, display)),
            "Hours a month": _about(row.hours_a_month),
            **(
                {"Utilisation": None if row.utilisation is None else percent(row.utilisation)}
                if uses
                else {}
            ),
            "Price": row.machine.price or None,
            **standing,
        }
        for row in answer.stocks
    ]


def _standing(answer: CapacityAnswer) -> Record:
    """Return a column that names unofficial times; none where no time is."""
    return {"Times": UNOFFICIAL} if any(row.standing for row in answer.jobs) else {}


def line_rows(lines: CostLines, display: Display) -> list[Record]:
    """Return the ends of cost lines, with resale value, energy and CO2."""
    money = display.currency
    return [
        {
            "Way": line.name,
            f"Spent ({money})": _ends(line.usd[-1], line.low[-1], line.high[-1], display),
            Text("Resale value ({money})", money=money): _about(shown(line.resale, display)),
            f"Net ({money})": _about(shown(line.net, display)),
            "Energy (MWh)": _about(line.energy_kwh / 1e3) if line.energy_kwh else None,
            "CO2 (t)": _about(line.co2_kg / 1e3) if line.co2_kg else None,
            "Limit": line.problem or None,
        }
        for line in lines.lines
    ]


def pair_rows(lines: CostLines) -> list[Record]:
    """Return from which month each bought machine has cost less than each rented one like it."""
    last = round(lines.lines[0].months[-1]) if lines.lines else 0
    return [
        {
            "Bought": pair.bought,
            "Rented": pair.rented,
            "Break-even month": _break_even(pair.break_even, last),
        }
        for pair in lines.pairs
    ]


def _break_even(even: Estimate | Refusal, last: int) -> str:
    if isinstance(even, Refusal):
        return Text("not within {last} months", last=last)
    value, low, high = even.ends
    if high > last:
        return Text("{value:.0f} (from {low:.0f}, or not within {last})",
                    value=value, low=low, last=last)  # fmt: skip
    return f"{value:.0f}" if high - low < 1.0 else f"{value:.0f} ({low:.0f} – {high:.0f})"


def course_rows(lines: CostLines, display: Display) -> list[Record]:
    """Return money spent until each month, a column for each line."""
    months = lines.lines[0].months if lines.lines else ()
    return [
        {
            "Month": int(month),
            **{
                f"{line.name} ({display.currency})": _ends(
                    line.usd[n], line.low[n], line.high[n], display
                )
                for line in lines.lines
            },
        }
        for n, month in enumerate(months)
    ]


def use_rows(of: RentOrBuyByUse, display: Display) -> list[Record]:
    """Return the cost of an hour of work at each utilisation, a column for each machine."""
    return [
        {
            "Utilisation": percent(share),
            **{
                f"{curve.machine} ({display.currency}/h)": _money(curve.usd_per_hour[n], display)
                for curve in of.curves[:MOST_LINES]
            },
        }
        for n, share in enumerate(of.utilisation)
    ]


def month_rows(answer: CapacityAnswer, display: Display) -> list[Record]:
    """Return the months, for a file."""
    standing = _standing(answer)
    return [
        {
            "month": m.month,
            f"cost_{display.currency.lower()}": round(shown(float(m.cost.value), display), 2),
            "cost_low": round(shown(float(m.cost.low), display), 2),
            "cost_high": round(shown(float(m.cost.high), display), 2),
            "utilisation": m.utilisation,
            "late": m.late,
            **{f"hours {label}": round(hours, 3) for label, hours in m.hours.items()},
            **standing,
        }
        for m in answer.months
    ]


def month_table(answer: CapacityAnswer, display: Display) -> list[Record]:
    """Return the months, to be read."""
    return [
        {
            "Month": m.month,
            f"Cost ({display.currency})": cost,
            "90 % interval": f"{low} – {high}",
            "Utilisation": None if m.utilisation is None else percent(m.utilisation),
            "Late": None if m.late is None else percent(m.late, 1),
        }
        for m in answer.months
        for cost, low, high in [written_ends(*m.cost.scaled(shown(1.0, display)).ends)]
    ]


def waiting_rows(answer: CapacityAnswer) -> list[Record]:
    """Return the waiting times of each job."""
    return [
        {
            "Job": w.job,
            "At once": percent(w.at_once),
            "Median wait (h)": _wait(w.median_s),
            "95 % wait less than (h)": _wait(w.p95_s),
            "Simulated runs": w.runs,
        }
        for w in answer.waiting
    ]


def _wait(seconds: float) -> str:
    return _about(seconds / HOUR_S) if math.isfinite(seconds) else "never"


def _about(value: float) -> str:
    """Return an expected value without its interval, in as many digits as any has."""
    return plain(value, LEAST_DIGITS)


def _hours(time: Estimate | Refusal) -> str:
    if isinstance(time, Refusal):
        return time.reason
    return with_range(*time.scaled(1.0 / HOUR_S).ends)


def _middle(hours: Estimate | Refusal) -> str | None:
    return None if isinstance(hours, Refusal) else plain(float(hours.value), 2)


def _money(usd: float, display: Display) -> str:
    return plain(shown(usd, display), 3)


def _ends(value: float, low: float, high: float, display: Display) -> str:
    factor = shown(1.0, display)
    return with_range(value * factor, low * factor, high * factor)


_SLOTS: Final = {"fleet": 0, "rent only": 1, "buy only": 2}
_TERMS: Final[dict[Term, str]] = {
    "owned": "Owned", "bought": "Bought", "reserved": "Reserved", "on demand": "Rented",
    "spot": "Spot",
}  # fmt: skip
_LONGEST: Final = 34
MOST_LINES: Final = 8
"""Lines of machines side by side."""


def tiles(answer: CapacityAnswer | FirstAnswer) -> list[Tile]:
    """Return the answer's tiles as they are drawn."""
    drawn = []
    for tile in answer.tiles:
        bar = None
        ends = [tile.value, tile.low if tile.low is not None else tile.value, tile.high]
        if tile.value is not None and tile.high is not None:
            low = tile.value if tile.low is None else tile.low
            bar = figures.IntervalBar(
                value=tile.value, low=low, high=tile.high, limit=tile.limit,
                low_text=_number(low) if tile.low is not None else "",
                high_text=_number(tile.high) if tile.low is not None else "",
            )  # fmt: skip
        words = "" if tile.low is None or bar is None else f"{bar.low_text} to {bar.high_text}"
        limit = "" if tile.limit is None else f"limit {tile.limit:g} %"
        share = tile.value / 100.0 if tile.value is not None and ends[2] is None else None
        drawn.append(Tile(label=tile.title, value=tile.text, unit=tile.unit, range=bar,
                          share=share, limit_text=limit, words=words, note=tile.note))  # fmt: skip
    return drawn


def _number(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.10g}"


def costs(answer: CapacityAnswer, display: Display, theme: Theme) -> ChartSpec:
    """Return money spent over the plan: this fleet, renting only, buying only."""
    lines = () if answer.costs is None else answer.costs.lines
    return figures.money_lines(
        [_line(x, _SLOTS.get(x.kind, 3), display) for x in lines], display.currency, theme,
        _month(answer.costs),
    )  # fmt: skip


def side_by_side(answer: CapacityAnswer, display: Display, theme: Theme) -> ChartSpec:
    """Return money spent over the years on one machine of each kind."""
    lines = _few(answer.side_by_side)
    slots = colours([x.name for x in lines])
    return figures.money_lines(
        [_line(x, slots[x.name], display) for x in lines], display.currency, theme,
        _month(answer.side_by_side),
    )  # fmt: skip


def colours(labels: Sequence[str]) -> dict[str, int]:
    """Return the colour slot of each machine by its label: its accelerator's hue, as elsewhere."""
    return figures.option_slots([(label, label) for label in labels])


def _few(lines: CostLines | None) -> Sequence[CostLine]:
    """Return the lines with the smallest cost at the end; those of the break-even are there."""
    if lines is None:
        return ()
    named = [x for x in lines.lines if x.name in lines.named]
    others = sorted((x for x in lines.lines if x not in named), key=lambda x: x.net)
    return [*named, *others][:MOST_LINES]


def _line(line: CostLine, slot: int, display: Display) -> figures.MoneyLine:
    factor = shown(1.0, display)
    return figures.MoneyLine(
        label=line.name, short=short(line.name), slot=slot, month=np.array(line.months),
        value=np.array(line.usd) * factor, low=np.array(line.low) * factor,
        high=np.array(line.high) * factor,
    )  # fmt: skip


def _month(lines: CostLines | None) -> tuple[float, float, float] | None:
    if lines is None or not isinstance(lines.break_even, Estimate):
        return None
    return lines.break_even.ends


def short(name: str) -> str:
    """Return a name for the end of a line."""
    for long, brief in ((" (bought)", ", bought"), (" (owned)", ", owned"), ("GeForce ", "")):
        name = name.replace(long, brief)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def without_break_even(of: CostLines | RentOrBuyByUse) -> str:
    """Return the sentence of a chart that marks no break-even; "" where it has a mark."""
    months = [] if isinstance(of, RentOrBuyByUse) else [x.months[-1] for x in of.lines]
    most, even = max(months, default=1.0), of.break_even
    marked = isinstance(even, Estimate) and 0.0 < float(even.value) < most
    return "" if marked else of.sentence


def months(answer: CapacityAnswer, theme: Theme) -> ChartSpec:
    """Return the work of each month, by machine."""
    labels = list(dict.fromkeys(label for m in answer.months for label in m.busy))
    by_label = {s.machine.label: s.machine for s in answer.stocks}
    labels.sort(key=lambda label: _place(by_label.get(label)))
    slots = colours(labels)
    parts = [
        (_named(label, by_label.get(label)),
         np.array([m.busy.get(label, 0.0) for m in answer.months]), slots[label])
        for label in labels
        if any(m.busy.get(label, 0.0) > 0.0 for m in answer.months)
    ]  # fmt: skip
    standing = sum(s.count for s in answer.stocks if s.machine.term in STANDING)
    return figures.work_by_month([m.month for m in answer.months], parts, standing, theme)


def _place(machine: Machine | None) -> int:
    """Return the place of a machine in the bars: standing ones below."""
    return len(_TERMS) if machine is None else list(_TERMS).index(machine.term)


def _named(label: str, machine: Machine | None) -> str:
    if machine is None:
        return label
    return f"{_TERMS[machine.term]} {machine.hardware or machine.label}"


def waiting(answer: CapacityAnswer, theme: Theme) -> ChartSpec:
    """Return the waiting times of each job."""
    rows = [
        figures.WaitRow(
            label=w.job, edges_s=np.array(w.edges_s), shares=np.array(w.shares),
            at_once=w.at_once, median_s=w.median_s, allowed_s=w.allowed_s,
            late="" if w.late is None else f"{figures.share_text(w.late)} %",
        )
        for w in answer.waiting
    ]  # fmt: skip
    return figures.waiting_times(rows, theme)


def by_use(answer: CapacityAnswer, display: Display, theme: Theme) -> ChartSpec:
    """Return rent or buy against the utilisation of a machine."""
    of = answer.rent_or_buy
    if of is None:
        return figures.cost_by_use(np.array([0.0, 1.0]), [], display.currency, theme)
    where = of.break_even.ends if isinstance(of.break_even, Estimate) else None
    curves = of.curves[:MOST_LINES]
    slots = colours([c.machine for c in curves])
    lines = [
        figures.HourLine(label=c.machine, short=short(c.machine), slot=slots[c.machine],
                         value=np.array(c.usd_per_hour) * shown(1.0, display))
        for c in curves
    ]  # fmt: skip
    return figures.cost_by_use(np.array(of.utilisation), lines, display.currency, theme, now=of.now,
                               break_even=where)  # fmt: skip


def matters(answer: CapacityAnswer, display: Display, theme: Theme) -> ChartSpec:
    """Return how far each input moves the cost of a month."""
    return figures.tornado(
        influence_bars(answer.sensitivity, display),
        shown(answer.base_usd, display),
        Text("cost of a month ({currency})", currency=display.currency),
        theme,
        compared=False,
    )


def _views(answer: CapacityAnswer, display: Display) -> dict[str, Chart]:
    """Return the charts of cost by their name on the page, as far as the answer has them."""
    lines = answer.costs
    views = {
        "plan": Chart(title="Cost over the plan", spec=costs(answer, display, LIGHT_THEME),
                      alt="" if lines is None else lines.sentence,
                      caption="" if lines is None else without_break_even(lines))
    }  # fmt: skip
    if (lines := answer.side_by_side) is not None:
        views["machine"] = Chart(title=lines.title, alt=lines.sentence,
                                 caption=without_break_even(lines),
                                 spec=side_by_side(answer, display, LIGHT_THEME))  # fmt: skip
    if (curves := answer.rent_or_buy) is not None:
        views["use"] = Chart(title="Rent or buy by utilisation", alt=curves.sentence,
                             caption=without_break_even(curves),
                             spec=by_use(answer, display, LIGHT_THEME))  # fmt: skip
    if answer.sensitivity:
        views["matters"] = Chart(title="What matters most",
                                 alt="How far each input moves the cost of a month",
                                 spec=matters(answer, display, LIGHT_THEME))  # fmt: skip
    return views


def capacity_page(
    answer: CapacityAnswer, display: Display, *, link: str, made: str, chart: str = "plan",
    letterhead: Letterhead = NO_LETTERHEAD,
) -> str:  # fmt: skip
    """Return the report of an answer as HTML.

    Args:
        answer: with a fleet.
        display: currency and tax of all amounts.
        link: the address of the live view, or "".
        made: date of the report, in words.
        chart: view of the cost on the page of summary, as in the link; others are in the appendix.
        letterhead: who hands it out, and to whom.
    """
    notes = [sentence_case(chip) for chip in answer.chips]
    if answer.breaks is not None:
        notes.append(answer.breaks.words)
    if answer.measure_next is not None:
        notes.append(answer.measure_next.sentence)
    notes += answer.notes
    views = _views(answer, display)
    first = chart if chart in views else "plan"
    drawn = [
        views.pop(first),
        Chart(title="Utilisation by month", spec=months(answer, LIGHT_THEME),
              alt="Work of each month by machine"),
        Chart(title="Waiting time by job", spec=waiting(answer, LIGHT_THEME),
              alt="Waiting times of each job"),
        *views.values(),
    ]  # fmt: skip
    tables = [
        Table(title="Machines", rows=fleet_rows(answer, display)),
        Table(title="Jobs", rows=job_rows(answer)),
        Table(title="Waiting times", rows=waiting_rows(answer)),
        *(Table(title=lines.title, rows=line_rows(lines, display))
          for lines in (answer.costs, answer.side_by_side) if lines is not None),
        *([Table(title="Break-even of one machine", rows=pair_rows(answer.side_by_side))]
          if answer.side_by_side is not None and answer.side_by_side.pairs else []),
    ]  # fmt: skip
    return answer_page(
        AnswerReport(
            title="Machines for a month of jobs", sentence=answer.sentence, made=made,
            link=link, notes=notes, tiles=tiles(answer), charts=drawn, tables=tables,
            sources=[dict(row) for row in answer.sources], letterhead=letterhead,
        )
    )  # fmt: skip
