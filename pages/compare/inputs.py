"""The inputs of the page Compare hardware: job, amount of training, deadline, budget.

The deadline as a date, converted to hours from now.

The link holds the date with its zone, and hours are derived from it. So tomorrow the same link has
the same deadline.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common import fields, hardware, kept, money, widgets, workload_choice
from pages.common.link import Link, as_text
from pages.compare import described, state
from planner.answers.comparison import (
    BY_NAME,
    DESCRIBED,
    DISPLAY,
    MOST_HOURS,
    TARIFF,
    after,
    compare_parameters,
    moment_of,
    moment_text,
    usual_epochs,
)
from planner.catalog import Tariff, tariff_of
from planner.compare import Assumptions
from planner.convergence import target_text
from planner.core import HOUR_S, Text, joined, looked_up, parsed
from planner.core.parameters import limits
from planner.core.slugs import slugs
from planner.cost import Display, shown
from planner.epochs import SAMPLES_PER_EPOCH
from planner.job import Order
from planner.runs import TrialSet
from planner.store import Store

_DAY: Final = "compare.by.day"
_TIME: Final = "compare.by.time"
_PROBLEM: Final = "compare.by.problem"


def now() -> datetime:
    """Return the start of the work: now, on the clock of the browser."""
    try:
        zone: ZoneInfo | None = ZoneInfo(str(st.context.timezone)) if st.context.timezone else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        zone = None
    return datetime.now(UTC).astimezone(zone or UTC).replace(second=0, microsecond=0)


def date_in_link(link: Link) -> datetime | None:
    """Return the chosen date, even if it has passed; None without a date."""
    text = st.session_state.get(link.key("by"))
    return moment_of(str(text)) if text else None


def left(link: Link, begins: datetime) -> str:
    """Return the placeholder of the deadline's field: the time left until the date."""
    by = date_in_link(link)
    if by is None:
        return "none"
    hours = (by - begins).total_seconds() / HOUR_S
    return f"{hours:,.1f} h left" if hours > 0.0 else "has passed"


def in_words(by: datetime, begins: datetime, *, year: bool = True) -> str:
    """Return the date on the clock of the browser: 'Fri 27 Nov 2026, 09:00'."""
    there = by.astimezone(begins.tzinfo)
    return f"{there:%a %-d %b %Y, %H:%M}" if year else f"{there:%a %-d %b, %H:%M}"


def draw_deadline(link: Link, begins: datetime) -> None:
    """Draw a popover that sets or removes the date."""
    by = date_in_link(link)
    box = widgets.popover(_label(link, by, begins), "event", "compare.by.box")
    if not box.open:
        return
    with box:
        st.date_input("Day", value=None, min_value=begins.date(), key=_DAY)
        st.time_input("Time", value=time(9, 0), step=900, key=_TIME)
        st.caption(
            as_text(
                Text(
                    "In the time zone {tzname}, if work begins now. The link holds it.",
                    tzname=begins.tzname(),
                )
            )
        )
        st.button(
            "Finish by then", key="compare.by.set", type="primary",
            on_click=lambda: _set(link, begins),
        )  # fmt: skip
        if st.session_state.get(link.key("by")):
            st.button(
                "Without a date", key="compare.by.drop", icon=":material/close:",
                on_click=lambda: link.put("by", None),
            )  # fmt: skip
        if problem := st.session_state.pop(_PROBLEM, ""):
            st.warning(problem)


def _label(link: Link, by: datetime | None, begins: datetime) -> str:
    if by is not None:
        when = in_words(by, begins, year=_another_year(by, begins))
        return f"By {when}" if by > begins else Text("By {when} (has passed)", when=when)
    hours, _ = parsed(BY_NAME["deadline"], str(st.session_state.get(link.key("deadline")) or ""))
    return f"By {_then(hours, begins)}" if hours else "Finish by a date"


def _set(link: Link, begins: datetime) -> None:
    day, clock = st.session_state.get(_DAY), st.session_state.get(_TIME) or time(9, 0)
    if day is None:
        st.session_state[_PROBLEM] = "Choose a day."
        return
    by = datetime.combine(day, clock, begins.tzinfo)
    hours = (by - begins).total_seconds() / HOUR_S
    if hours <= 0.0 or hours > MOST_HOURS:
        st.session_state[_PROBLEM] = "That time has passed or is too far ahead. Choose another."
        return
    link.put("by", moment_text(by))
    link.put("deadline", "")


def _then(hours: float, begins: datetime) -> str:
    by = after(hours * HOUR_S, begins)
    return "then" if by is None else in_words(by, begins, year=_another_year(by, begins))


def _another_year(by: datetime, begins: datetime) -> bool:
    return by.astimezone(begins.tzinfo).year != begins.year


_LIMITS: Final = (5, 5)
"""Widths of the limits and of the options beside them."""
MORE: Final = "compare.more"
"""Session key of the switch that unfolds the other fields."""
_SHOWN: Final = "compare-shown-in"
"""Session key of the currency and tax when the page was last drawn."""
_GOALS: Final = {"epochs": "Epochs", "target": "Target"}
_ORDERS: Final[Mapping[Order, str]] = {"cost": "Cost", "time": "Time"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPlaces:
    """Where the parts of the question are drawn, from top to bottom.

    `options` is beside the limits, `actions` the row of buttons, `more` holds the fields that are
    folded at first.
    """

    options: DeltaGenerator
    actions: DeltaGenerator
    more: DeltaGenerator


def draw(link: Link, shared: Store, begins: datetime) -> InputPlaces:
    """Draw the usual fields of the question, and the others if they are unfolded.

    The link holds the choices. Declare currency and tax first: the budget is in them.
    """
    names = {**kept.trained_names(shared), DESCRIBED: "Described by hand"}
    if (requested := _requested(link)) not in names:
        timed = kept.workload_names(shared)
        meant = looked_up(requested, timed)  # inference-only workloads are offered, and refused
        if isinstance(meant, str) and meant not in names:
            names = {**kept.trained_names(shared), meant: timed[meant], DESCRIBED: names[DESCRIBED]}
    workload = link.choice("workload", names, kept.usual_trained(shared))
    if not workload:  # nothing is measured; the link states it all the same
        st.session_state[link.key("workload")] = workload = DESCRIBED
    boxes = workload_choice.offer(link, shared, names)
    job = st.container()
    goal = st.container()
    limits_row, options = st.columns(_LIMITS, vertical_alignment="bottom")
    places = InputPlaces(options=options, actions=widgets.actions(), more=st.container())

    if workload == DESCRIBED:
        _described(link, boxes, job)
        batch = False
    else:
        with goal:
            batch = _measured(link, shared, names[workload], boxes, job)
    _limits(link, begins, limits_row)
    _more(link, places, incomplete=workload == DESCRIBED and described.is_incomplete(link),
          batch=batch)  # fmt: skip
    return places


def _described(link: Link, boxes: workload_choice.WorkloadOptions, job: DeltaGenerator) -> None:
    link.ignore("pattern", "goal", "target", "optimizer")
    link.keep("samples_per_epoch")
    link.take_back(*described.NAMES)
    by_tokens = described.declare(link)
    if by_tokens:
        link.set_aside("epochs")
    else:
        link.take_back("epochs")
    usual = described.by_tokens(link)
    widths = [3.5, *([2.5, 2.4] if usual else []), *([] if by_tokens else [2.2])]
    row = iter(_first_row(link, boxes, widths, job))
    described.draw_network(link, next(row))
    if usual:
        described.draw_tokens(link, next(row))
        described.draw_training(link, next(row))
    if not by_tokens:
        _epochs(link, next(row))


def _first_row(
    link: Link, boxes: workload_choice.WorkloadOptions, widths: Sequence[float], job: DeltaGenerator
) -> list[DeltaGenerator]:
    """Draw kind and workload; return the places of further fields beside them."""
    several, workload = [2.2] if boxes.is_by_kind else [], str(link.held("workload"))
    row = job.columns([*several, 4, *widths], vertical_alignment="bottom")
    boxes.draw(row[0], row[len(several)], lambda: _changed(link, workload))
    return row[len(several) + 1 :]


def _measured(
    link: Link,
    shared: Store,
    name: str,
    boxes: workload_choice.WorkloadOptions,
    job: DeltaGenerator,
) -> bool:
    """Draw the usual fields of a measured workload; return whether it trains for epochs."""
    workload = str(link.held("workload"))
    patterns = slugs(kept.patterns(shared, name))
    if patterns:
        link.choice("pattern", patterns, next(iter(patterns)))
    of = _trials(shared, name)
    stated = of is None and _states_times(shared, name)
    by_target = (of is not None or stated) and _is_target(link)
    several = len(patterns) > 1
    widths = [*([3.5] if several else []), *([] if by_target else [2.2])]
    row = iter(_first_row(link, boxes, widths, job))
    if several:
        fields.choice(link, BY_NAME["pattern"], patterns, next(row))
    if of is not None:
        _goal(link, shared, of)
    elif stated:
        _train_for(link, st.container())
        link.ignore("target", "optimizer")
    else:
        link.choice("goal", ["epochs"], "epochs")
        link.ignore("target", "optimizer")
    if by_target:
        link.ignore("batch")
    else:
        _epochs(link, next(row))
    _epoch_size(link, shared, workload)
    link.set_aside(*(name for name in described.NAMES if name != "batch"))
    link.keep(*(["epochs"] if by_target else ["target", "optimizer"]))
    return not by_target


def _changed(link: Link, before: str) -> None:
    """Fit epochs and epoch size to another workload (callback of its field)."""
    link.forget_now("samples_per_epoch")
    usual = usual_epochs(before)
    if st.session_state.get(link.key("epochs"), usual) == usual:
        link.put("epochs", usual_epochs(str(link.held("workload"))))


def _requested(link: Link) -> str:
    """Return the workload of the field; before it is drawn, that of the link."""
    held = st.session_state.get(link.key("workload"))
    return str(held or next(iter(link.initial.get("workload", [])), ""))


def _trials(shared: Store, workload: str) -> TrialSet | None:
    """Return the workload's trials if a target can be computed from them, else None."""
    of = kept.trial_set_of(shared, workload)
    if of is None or kept.targets(shared, of)[1] is None:
        return None
    return of if any(kept.trials(shared, of).optimizers) else None


def _states_times(shared: Store, workload: str) -> bool:
    of = kept.trial_set_of(shared, workload)
    return of is not None and of.target is not None and bool(kept.target_times(shared, of))


def _is_target(link: Link) -> bool:
    return link.choice("goal", list(_GOALS), "epochs") == "target"


def _train_for(link: Link, place: DeltaGenerator) -> None:
    """Draw the choice between epochs and target."""
    goal = BY_NAME["goal"].title()
    fields.segments(link, "goal", goal, _GOALS, place, label_visibility="visible")


def _goal(link: Link, shared: Store, of: TrialSet) -> None:
    """Draw epochs or target, and which target."""
    by_target = _is_target(link)
    row = st.columns([2, 5, 4] if by_target else [1], vertical_alignment="bottom")
    _train_for(link, row[0])
    if not by_target:
        return
    workload, pattern = (str(st.session_state[link.key(n)]) for n in ("workload", "pattern"))
    trials, (values, usual) = kept.trials(shared, of), kept.targets(shared, of)
    offered = workload_choice.offered_targets(link, values, workload)
    texts = {k: target_text(t, in_per_cent=trials.in_per_cent) for k, t in offered.items()}
    link.choice("target", list(offered), f"{usual:.6g}")
    if len(offered) > 1:
        row[1].select_slider(
            BY_NAME["target"].title(trials.metric),
            list(offered),
            link.held("target"),
            key=link.key("target"),
            format_func=texts.__getitem__,
            help=BY_NAME["target"].hint,
        )
    optimizers = slugs([n for n in trials.optimizers if n])
    job, _ = state.facts(shared, {"workload": [workload], "pattern": [pattern]})
    used = job.job.optimizer if job else ""
    own = next((s for s, n in optimizers.items() if n == used), next(iter(optimizers)))
    link.choice("optimizer", optimizers, own)
    fields.choice(link, BY_NAME["optimizer"], optimizers, row[2])


def _epoch_size(link: Link, shared: Store, workload: str) -> None:
    entered = link.whole(SAMPLES_PER_EPOCH)
    pattern = str(st.session_state.get(link.key("pattern"), ""))
    job_facts, _ = state.facts(shared, {"workload": [workload], "pattern": [pattern]})
    if entered is None and (job_facts is None or job_facts.job.samples_per_epoch is not None):
        return
    fields.number(link, SAMPLES_PER_EPOCH, empty="not stated", step=1000)


def _epochs(link: Link, column: DeltaGenerator) -> None:
    link.number(BY_NAME["epochs"], usual_epochs(str(link.held("workload"))))
    fields.number(link, BY_NAME["epochs"], column, step=100)


def _limits(link: Link, begins: datetime, place: DeltaGenerator) -> None:
    row = place.columns([2.2, 2.4, 2], vertical_alignment="bottom")
    link.text("by", r".{1,40}")  # the answer reports an invalid date
    link.amount(BY_NAME["deadline"])
    fields.text(link, BY_NAME["deadline"], row[0], placeholder=left(link, begins),
                on_change=lambda: _in_hours(link))  # fmt: skip
    with row[1]:
        _money(link, "budget")
    link.choice("order", list(_ORDERS), "cost")
    order = BY_NAME["order"].title()
    fields.segments(link, "order", order, _ORDERS, row[2], label_visibility="visible")


def _more(link: Link, places: InputPlaces, *, incomplete: bool, batch: bool) -> None:
    """Draw the other fields where they are unfolded, or where the description needs them.

    Folded, they are one line.
    """
    by_hand = link.held("workload") == DESCRIBED
    if batch:
        link.decimal(BY_NAME["batch"])
    required(link, "runs_per_month", Assumptions().runs_per_month)
    link.decimal(BY_NAME["cost_limit"])
    if incomplete:
        st.session_state[MORE] = True
    is_open = places.actions.toggle("More fields", key=MORE)
    if not is_open:
        link.hold("runs_per_month", "cost_limit", *(["batch"] if batch else []))
        if by_hand:
            described.hold(link)
        return
    with places.more:
        if by_hand:
            described.draw(link)
        row = iter(st.columns([2, 2, 2, 4][0 if batch else 1 :], vertical_alignment="bottom"))
        if batch:
            fields.number(link, BY_NAME["batch"], next(row), empty="fastest", step=1.0)
        fields.number(link, BY_NAME["runs_per_month"], next(row), step=1.0)
        with next(row):
            _money(link, "cost_limit")


def draw_in_short(link: Link) -> None:
    """Draw what the folded fields say, in one line."""
    if st.session_state.get(MORE):
        return
    by_hand = link.held("workload") == DESCRIBED
    limit, batch = link.held("cost_limit"), None if by_hand else link.held_or_none("batch")
    parts = [
        *(described.in_short(link) if by_hand else []),
        "" if batch is None else Text("batch {batch:g}", batch=batch),
        Text("{runs:g} runs a month", runs=link.held("runs_per_month")),
        "" if limit is None else Text(
            "at most {limit:,g} {currency} a run", limit=limit, currency=shown_in(link).currency
        ),
    ]  # fmt: skip
    st.caption(as_text(" · ".join(part for part in parts if part)))


def _in_hours(link: Link) -> None:
    """Drop the date once hours are entered."""
    if st.session_state.get(link.key("deadline")):
        link.put("by", None)


def _money(link: Link, name: str) -> None:
    """Draw a money limit in the currency and tax shown; the link holds it as entered."""
    link.decimal(BY_NAME[name])
    display = shown_in(link)
    st.session_state[_SHOWN] = display
    tax = f"{100.0 * display.tax_share:g} % tax" if display.tax_share else "no tax"
    fields.number(link, BY_NAME[name], empty="none", unit=f"{display.currency}, {tax}", step=10.0)


def shown_otherwise(link: Link) -> None:
    """Convert budget and cost limit after a change of currency or tax."""
    before, now = st.session_state.get(_SHOWN), shown_in(link)
    st.session_state[_SHOWN] = now  # before the return: two fields may change at once
    if not isinstance(before, Display) or before == now:
        return
    for name in ("budget", "cost_limit"):
        limit = st.session_state.get(link.key(name))
        if limit is not None:
            same = limit * shown(1.0, now) / shown(1.0, before)
            link.put(name, min(float(f"{same:.6g}"), limits(BY_NAME[name])[1]))


def shown_in(link: Link) -> Display:
    """Return the chosen currency and tax; USD where they are invalid."""
    parameters = link.parameters_of([p.name for p in DISPLAY])
    return compare_parameters(parameters)[0].display


def required(link: Link, name: str, default: float) -> float:
    """Return the value of a number field; an empty field returns to its default."""
    value = link.decimal(BY_NAME[name], default)
    if value is None:
        st.session_state[link.key(name)] = value = default
    return value


_GROUPS: Final = {
    "Electricity": ("tariff_usd_per_kwh", "kg_co2_per_kwh", "pue", "host_watts_share"),
    "A machine that is bought": (
        "host_price_share", "life_years", "residual_share", "rate_of_capital", "upkeep_share",
        "other_hours_per_month", "idle_watts_share",
    ),
    "A machine that is rented": (
        "setup_usd", "startup_s", "minimum_s", "egress_usd", "interruptions_per_hour",
        "lost_work_s", "restart_s",
    ),
    "Uncertainties": ("price_uncertainty", "stale_price_uncertainty", "capital_uncertainty"),
}  # fmt: skip
"""All fields of `Assumptions` except the runs a month, which is drawn above."""


def declare(link: Link) -> None:
    """Declare the initial values of all fields, whether the box is open or not."""
    usual = Assumptions()
    for field in dataclasses.fields(Assumptions):
        default = getattr(usual, field.name)
        if default is None or field.name == TARIFF:  # empty: the country's or the default
            link.decimal(BY_NAME[field.name])
        elif field.name != "runs_per_month":
            required(link, field.name, default)
    money.declare(link)
    required(link, "tax", 0.0)


def draw_assumptions(link: Link) -> None:
    """Draw the folded box of assumptions and currency; `declare` comes first."""
    box = widgets.folded("What is assumed: electricity, machines, currency", "tune", "compare.box")
    if not box.open:
        link.hold(*money.NAMES, *(name for names in _GROUPS.values() for name in names))
        return
    country = str(st.session_state[link.key("country")] or "")
    tariff = tariff_of(hardware.catalog().catalog, country) if country else None
    with box:
        _currency(link)
        for title, names in _GROUPS.items():
            widgets.heading(title)
            with st.grid(3, min_column_width=220):
                for name in names:
                    _field(link, name, tariff)
            if title == "Electricity":
                _whose(link, tariff)
        st.button(
            "Back to the defaults",
            key="compare.defaults",
            icon=":material/undo:",
            on_click=lambda: link.forget(*(n for names in _GROUPS.values() for n in names)),
        )


def _field(link: Link, name: str, tariff: Tariff | None) -> None:
    default = getattr(Assumptions(), name)
    of_country = {
        TARIFF: tariff.price_usd_per_kwh, "kg_co2_per_kwh": tariff.carbon_kg_per_kwh,
    }.get(name) if tariff else None  # fmt: skip
    empty = _usual(default) if of_country is None or tariff is None else (
        f"{of_country:.4g}, {tariff.country}"
    )  # fmt: skip
    fields.number(link, BY_NAME[name], empty=empty)


def _whose(link: Link, tariff: Tariff | None) -> None:
    """Draw which price and carbon count: entered, else the country's, else the defaults."""
    typed = st.session_state[link.key(TARIFF)] is not None
    where = tariff.country if tariff else ""
    price = (
        Text("the price of {where}", where=where)
        if tariff and tariff.price_usd_per_kwh
        else "the default price"
    )
    carbon: str = ""
    if st.session_state[link.key("kg_co2_per_kwh")] is not None:
        carbon = "carbon is your own value"
    elif tariff and tariff.carbon_kg_per_kwh:
        carbon = Text("carbon is that of {where}", where=where)
    whose = (
        "your own price" if typed else Text("{price}; enter your own to replace it", price=price)
    )
    st.caption(as_text(Text("Used here: {values}.", values=joined("; ", (whose, carbon)))))


def _usual(default: float | None) -> str:
    return "unknown" if default is None else f"{default:g}"


def _currency(link: Link) -> None:
    def other() -> None:
        shown_otherwise(link)

    def named() -> None:
        link.put("rate", None)  # the rate is that of the previous currency
        link.put("rate_as_of", None)
        shown_otherwise(link)

    money.draw(link, link.held("tax"), on_currency=named, on_rate=other)
    st.caption("Currency and tax change only how money is shown; estimates are in USD without tax.")
