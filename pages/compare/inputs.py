"""The inputs of the page Compare hardware: job, amount of training, deadline, budget."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, cast

import streamlit as st

from pages.common import kept, targets, workload_choice
from pages.common.link import Link, slugs
from pages.compare import deadline, described, state
from planner.answers.comparison import (
    BY_NAME,
    DESCRIBED,
    DISPLAY,
    EPOCHS,
    MOST_EPOCHS,
    compare_parameters,
)
from planner.compare import ASSUMPTION_TEXTS, Assumptions
from planner.convergence import target_text
from planner.core import looked_up
from planner.core.parameters import limits
from planner.cost import Display, shown
from planner.epochs import MOST_SAMPLES
from planner.job import Order
from planner.runs import TrialSet
from planner.store import Store

_BUDGET: Final = (
    "Total to pay for the job. Rented: the bill. Bought: the full price and electricity. Already "
    "owned: electricity only"
)
_COST_LIMIT: Final = "Cost of one run: a purchase counts with its share of a month"
_SHOWN: Final = "compare-shown-in"
"""Session key of the currency and tax when the page was last drawn."""
_GOALS: Final = {"epochs": "Epochs", "target": "Target"}
_ORDERS: Final[Mapping[Order, str]] = {"cost": "Cost", "time": "Time"}


def draw(link: Link, shared: Store, begins: datetime) -> None:
    """Draw the first rows of the page; the link holds the choices.

    Declare currency and tax first: the budget is in them.
    """
    trained, timed = kept.trained_workloads(shared), kept.workload_names(shared)
    measured = {s: name for s, name in timed.items() if name in trained}
    meant = looked_up(_requested(link), timed)  # inference-only workloads are offered, and refused
    also = {meant: timed[meant]} if isinstance(meant, str) and meant not in measured else {}
    names = {**measured, **also, DESCRIBED: "Described by hand"}
    workload = link.choice("workload", names, kept.usual_trained(shared))
    if not workload:  # nothing is measured; the link states it all the same
        st.session_state[link.key("workload")] = workload = DESCRIBED
    patterns = slugs(kept.patterns(shared, names[workload])) if workload != DESCRIBED else {}
    several, boxes = len(patterns) > 1, workload_choice.offer(link, shared, names)
    widths = [*([3] if boxes.is_by_kind else []), 8, *([8] if several else [])]
    row = st.columns(widths, vertical_alignment="bottom")
    place = row[1 if boxes.is_by_kind else 0]
    boxes.draw(row[0], place, lambda: link.forget_now("samples_per_epoch"))
    if patterns:
        link.choice("pattern", patterns, next(iter(patterns)))
    if several:
        row[-1].selectbox(
            "Input pattern", list(patterns), link.place("pattern", list(patterns)),
            format_func=patterns.__getitem__, key=link.key("pattern"),
        )  # fmt: skip
    if workload == DESCRIBED:
        link.ignore("pattern", "goal", "target", "optimizer")
        link.keep("samples_per_epoch")
        by_tokens = described.draw(link)
        if by_tokens:
            link.keep("epochs")
        _limits(link, begins, epochs=not by_tokens)
        return
    of = _trials(shared, names[workload])
    by_target = _goal(link, shared, of) if of else False
    if of is None:
        link.choice("goal", ["epochs"], "epochs")
        link.ignore("target", "optimizer")
    if by_target:
        link.ignore("batch")
    _epoch_size(link, shared, workload)
    _limits(link, begins, epochs=not by_target, batch=not by_target)
    others = [name for name in described.NAMES if name != "batch"]
    link.keep(*others, *(["epochs"] if by_target else ["target", "optimizer"]))


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


def _goal(link: Link, shared: Store, of: TrialSet) -> bool:
    """Draw epochs or target; return whether a target is chosen."""
    by_target = link.choice("goal", list(_GOALS), "epochs") == "target"
    row = st.columns([2, 5, 4] if by_target else [1], vertical_alignment="bottom")
    row[0].segmented_control(
        "Train for",
        list(_GOALS),
        key=link.key("goal"),
        default=link.held("goal"),
        required=True,
        format_func=_GOALS.__getitem__,
    )
    if not by_target:
        return False
    workload, pattern = (str(st.session_state[link.key(n)]) for n in ("workload", "pattern"))
    trials, (values, usual) = kept.trials(shared, of), kept.targets(shared, of)
    offered = targets.offered(link, values, workload)
    texts = {k: target_text(t, in_per_cent=trials.in_per_cent) for k, t in offered.items()}
    link.choice("target", list(offered), f"{usual:.6g}")
    if len(offered) > 1:
        row[1].select_slider(
            f"Target: {trials.metric}, from easy to strict",
            list(offered),
            link.held("target"),
            key=link.key("target"),
            format_func=texts.__getitem__,
        )
    optimizers = slugs([n for n in trials.optimizers if n])
    job, _ = state.facts(shared, {"workload": [workload], "pattern": [pattern]})
    used = job.job.optimizer if job else ""
    own = next((s for s, n in optimizers.items() if n == used), next(iter(optimizers)))
    link.choice("optimizer", optimizers, own)
    row[2].selectbox(
        "Optimiser", list(optimizers), link.place("optimizer", list(optimizers)),
        format_func=optimizers.__getitem__, key=link.key("optimizer"),
    )  # fmt: skip
    return True


def _epoch_size(link: Link, shared: Store, workload: str) -> None:
    """Draw the samples per epoch where entered, or where no other source states them."""
    entered = link.whole("samples_per_epoch", 1, int(MOST_SAMPLES))
    pattern = str(st.session_state.get(link.key("pattern"), ""))
    job_facts, _ = state.facts(shared, {"workload": [workload], "pattern": [pattern]})
    if entered is None and (job_facts is None or job_facts.job.samples_per_epoch is not None):
        return
    st.number_input(
        "Samples per epoch", 1, int(MOST_SAMPLES), value=None, step=1000, format="%d",
        placeholder="not stated", key=link.key("samples_per_epoch"),
        help="Training samples of one epoch",
    )  # fmt: skip


def _limits(link: Link, begins: datetime, *, epochs: bool, batch: bool = False) -> None:
    """Draw epochs, batch, runs a month, deadline, budget, cost limit and ranking."""
    row = iter(st.columns(5 + epochs + batch, vertical_alignment="bottom"))
    if epochs:
        link.number("epochs", 1, MOST_EPOCHS, EPOCHS)
        next(row).number_input(
            "Epochs", 1, MOST_EPOCHS, link.held("epochs"), step=100, format="%d",
            key=link.key("epochs"),
        )  # fmt: skip
    if batch:
        link.decimal("batch", *limits(BY_NAME["batch"]), None, short=True)
        next(row).number_input(
            "Batch", *limits(BY_NAME["batch"]), value=None, step=1.0, format="%g",
            placeholder="fastest", key=link.key("batch"),
            help="A measured batch size; empty: the fastest on each system",
        )  # fmt: skip
    runs = ASSUMPTION_TEXTS["runs_per_month"]
    required(link, "runs_per_month", runs.least, runs.most, Assumptions().runs_per_month)
    next(row).number_input(
        "Runs a month", runs.least, runs.most, link.held("runs_per_month"), step=1.0, format="%g",
        key=link.key("runs_per_month"), help="Runs of this kind a month",
    )  # fmt: skip
    link.text("by", r".{1,40}")  # the answer reports an invalid date
    link.decimal("deadline", *limits(BY_NAME["deadline"]), None)
    next(row).number_input(
        "Deadline (hours)", *limits(BY_NAME["deadline"]), value=None, step=1.0, format="%g",
        placeholder=deadline.left(link, begins), key=link.key("deadline"),
        help="From the start of the work", on_change=lambda: _in_hours(link),
    )  # fmt: skip
    with next(row):
        _money(link, "budget", "Budget", _BUDGET)
    with next(row):
        _money(link, "cost_limit", "Cost per run at most", _COST_LIMIT)
    link.choice("order", list(_ORDERS), "cost")
    next(row).segmented_control(
        "Rank by",
        list(_ORDERS),
        key=link.key("order"),
        default=link.held("order"),
        required=True,
        format_func=lambda o: _ORDERS[cast("Order", o)],
    )


def _in_hours(link: Link) -> None:
    """Drop the date once hours are entered."""
    if st.session_state.get(link.key("deadline")) is not None:
        link.put("by", None)


def _money(link: Link, name: str, title: str, words: str) -> None:
    """Draw a money limit in the currency and tax shown; the link holds it as entered."""
    link.decimal(name, *limits(BY_NAME[name]), None)
    display = shown_in(link)
    st.session_state[_SHOWN] = display
    tax = f"{100.0 * display.tax_share:g} % tax" if display.tax_share else "no tax"
    st.number_input(
        f"{title} ({display.currency}, {tax})", *limits(BY_NAME[name]), value=None,
        step=10.0, format="%g", placeholder="none", key=link.key(name), help=f"{words}.",
    )  # fmt: skip


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
    names = {p.name for p in DISPLAY}
    parameters = {n: v for n, v in link.parameters().items() if n in names}
    return compare_parameters(parameters)[0].display


def required(link: Link, name: str, low: float, high: float, default: float) -> float:
    """Return the value of a number field; an empty field returns to its default."""
    value = link.decimal(name, low, high, default)
    if value is None:
        st.session_state[link.key(name)] = value = default
    return value
