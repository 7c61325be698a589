"""The answer of the page Compare hardware in words, and the buttons below it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import streamlit as st

from pages.common import handout, kept, widgets
from pages.common.link import Link, as_text
from pages.compare import charts, described, saved, state, table, tiles
from pages.compare.inputs import in_words, shown_otherwise
from pages.compare.state import CompareReply
from planner.answers.comparison import BY_NAME, DESCRIBED, after
from planner.compare import (
    LIKELY_IN_TIME,
    basis_words,
    buying,
    electricity_lines,
    electricity_pages,
    limits_sentence,
    narrowing_runs,
    next_step,
    sentences,
    session_note,
)
from planner.compare.comparison import Comparison, Row
from planner.compare.undecided import undecided
from planner.core import Estimate, Refusal, Text, csv_text, paragraph, plain, plural
from planner.core.slugs import slugs
from planner.cost import SOURCE, reference_rates
from planner.epochs import INFERENCE
from planner.report import compare_page
from planner.store import Store
from planner.store.export import records_file


def draw_report(link: Link, reply: CompareReply, comparison: Comparison, begins: datetime) -> None:
    """Draw the report button, and the box with letterhead, PDF and data."""
    records = table.records_of(reply, comparison, begins)
    handout.draw(
        "compare",
        _maker(reply, link.url(), begins, by_use=st.session_state[link.key("chart")] == "use"),
        [
            _data("CSV of the options", lambda: csv_text(records), "csv"),
            _data("Parquet of the options", lambda: records_file(records), "parquet"),
        ],
    )


def _data(label: str, make: Callable[[], bytes | str], kind: str) -> widgets.File:
    return widgets.File(label, make, f"epochwise-compare.{kind}", f"compare.report.{kind}")


def _maker(
    reply: CompareReply, address: str, begins: datetime, *, by_use: bool = False
) -> handout.Make:
    """Return a function that makes the report at the click; it reads its inputs now."""
    answered = replace(reply.answered, problems=tuple(dict.fromkeys(reply.problems)))
    return lambda letterhead, made: compare_page(
        answered, link=address, made=made, display=reply.display, letterhead=letterhead,
        begins=begins, by=reply.by, by_use=by_use,
    )  # fmt: skip


_BASES: Final = {
    "measured": "measured",
    "interpolated": "interpolated between measurements",
    "extrapolated": "measured and projected",
    "similar workload": "scaled from similar workloads on the same machine",
    "transferred from another GPU": "transferred from another GPU, not measured",
    "estimated from FLOPs": "estimated from FLOPs, not measured",
    "published": "a published figure",
}
_LIKELY: Final = (
    "“Likely” compares the two options that are named, in 4,096 draws of their times and prices. "
    "The columns “Cheapest of” and “Fastest of” compare each option with all others at once."
)
_MOST_MEMORY_NOTES: Final = 3
"""Most options without enough memory that are named one by one."""


def draw(
    link: Link, shared: Store, reply: CompareReply, comparison: Comparison, begins: datetime
) -> str:
    """Draw the answer card and return its first sentence."""
    by = until(reply, comparison, begins)
    (first, *others), bought, keeps = state.drawn(
        reply, "words", by, lambda: _words(reply, comparison, by)
    )
    open_question, measure = _undecided(reply, comparison)
    with st.container():
        tiles.draw(reply, comparison)
        with widgets.actions():
            lines = [" ".join([first, *others]), keeps, bought, open_question, measure]
            text = "\n".join(line for line in lines if line)
            widgets.share(link, text, "content", saves_views=False)
            draw_report(link, reply, comparison, begins)
            saved.offer(link, reply)
            described.draw_efficiency(link, shared, comparison)
            draw_currency(link)
    return first


_OFFERED: Final = ("USD", "EUR", "GBP", "JPY", "CHF")
"""The others are under the assumptions."""
_KEY: Final = "compare.money"


def draw_currency(link: Link) -> None:
    """Draw the switch of the currency; its rates are those of the bank, with their date."""
    reference = reference_rates()
    now = str(link.held("currency") or "USD").strip().upper()
    if st.session_state.get(_KEY) != now:
        st.session_state[_KEY] = now
    rate = reference.per_usd.get(now)
    used = Text("1 USD = {rate:g} {currency}.", rate=rate, currency=now) if rate else ""
    rates = Text("Rates of the {source} of {as_of}.", source=SOURCE, as_of=reference.as_of)
    st.segmented_control(
        BY_NAME["currency"].title(), list(dict.fromkeys([*_OFFERED, now])), key=_KEY, required=True,
        label_visibility="collapsed", width="content", on_change=lambda: _change(link),
        help=paragraph(rates, used if now != "USD" else "",
                       "Others: under “What is assumed”."),
    )  # fmt: skip


def _change(link: Link) -> None:
    """Show all amounts in the chosen currency, at the bank's rate."""
    link.put("currency", str(st.session_state[_KEY]))
    link.put("rate", None)  # the rate is that of the previous currency
    link.put("rate_as_of", None)
    shown_otherwise(link)


def details(reply: CompareReply, comparison: Comparison, begins: datetime) -> None:
    """Draw the lines that qualify the answer, in a closed box."""
    by = until(reply, comparison, begins)
    (first, *others), bought, keeps = state.drawn(
        reply, "words", by, lambda: _words(reply, comparison, by)
    )
    open_question, measure = _undecided(reply, comparison)
    with widgets.details():
        for text in (first, *others):
            st.markdown(widgets.answer_text(text))
        if keeps:
            st.markdown(f":material/event_available: {widgets.answer_text(keeps)}")
        if others:
            st.caption(_LIKELY)
        if bought:
            st.markdown(f":material/shopping_cart: {widgets.answer_text(bought)}")
        if open_question:
            st.markdown(f":orange[:material/help:] {widgets.answer_text(open_question)}")
            st.markdown(
                Text(
                    ":blue-badge[:material/speed: measure next] {answer_text}",
                    answer_text=widgets.answer_text(measure),
                )
            )
        _memory_notes(comparison)
        _small_print(comparison)


def _words(
    reply: CompareReply, comparison: Comparison, by: str
) -> tuple[tuple[str, ...], str, str]:
    """Return the answer, whether buying pays off, and which options meet the limits."""
    pair = charts.bought(reply, comparison)
    keeps = limits_sentence(comparison, by, reply.display)
    return sentences(comparison, reply.display), buying(pair) if pair else "", keeps


def _undecided(reply: CompareReply, comparison: Comparison) -> tuple[str, str]:
    """Return what is undecided, and the run that decides it; kept per answer."""
    return state.drawn(reply, "undecided", "", lambda: undecided(comparison))


def until(reply: CompareReply, comparison: Comparison, begins: datetime) -> str:
    """Return the deadline as a date; "" without one, or beyond the calendar."""
    if reply.by is not None:
        return in_words(reply.by, begins)
    seconds = comparison.question.limits.deadline_s
    if seconds is None:
        return ""
    by = after(seconds, begins)
    return "" if by is None else in_words(by, begins)


def _memory_notes(comparison: Comparison) -> None:
    first = comparison.rows[0].time
    stated = first.reason if isinstance(first, Refusal) else ""
    rows = [r for r in comparison.rows if not r.timed.fit.as_described]
    for row in rows[:_MOST_MEMORY_NOTES]:
        fit = row.timed.fit
        room = paragraph("" if fit.sentence == stated else fit.sentence, fit.way_out)
        text = Text("{option}: {room}", option=row.candidate.label, room=room)
        st.markdown(f":orange[:material/memory:] {widgets.answer_text(text)}")
    left = len(rows) - _MOST_MEMORY_NOTES
    if left > 0:
        st.caption(
            plural(
                left,
                "One more does not fit as described. The table shows what to do.",
                "{count} more do not fit as described. The table shows what to do.",
            )
        )


def _small_print(comparison: Comparison) -> None:
    """Draw the basis of the first option's time, and notes."""
    leader = comparison.leader
    if leader is not None and isinstance(leader.time, Estimate):
        words = basis_words(leader, comparison.question.goal)
        basis = (
            Text("The time of the first option is {bases}", bases=_BASES[words])
            if words in _BASES
            else f"Basis: {words}"
        )
        st.caption(as_text(Text("{basis}. Intervals: 90\u00a0%.", basis=basis)))
    if note := session_note(comparison):
        st.caption(as_text(note))
    question = comparison.question
    for line in electricity_lines(question.assumed, question.electricity):
        st.caption(_with_links(line, electricity_pages(question.electricity)))
    for line in question.notes:
        st.caption(widgets.answer_text(line))


_PLAIN_PAGE: Final = re.compile(r"https://[A-Za-z0-9./_~%?=&#:+,;@-]+")


def _with_links(line: str, pages: Sequence[str]) -> str:
    """Return the line as escaped Markdown; addresses of the catalogue become links."""
    text = widgets.answer_text(line)
    for page in pages:
        if _PLAIN_PAGE.fullmatch(page):
            text = text.replace(
                as_text(page), f"[{as_text(page.removeprefix('https://'))}]({page})"
            )
    return text


def how_sure(comparison: Comparison) -> None:
    """Draw the basis and the fit of every option."""
    box = widgets.folded("How sure each time is, and why", "rule", "compare.sure")
    if box.open:
        with box:
            shared = shared_reasons(comparison)
            if shared:
                st.markdown("**All estimates**")
                st.caption(widgets.answer_text(paragraph(*shared)))
            for (basis, text), fits in explained(comparison, shared).items():
                labels = [f"**{as_text(label)}**" for some in fits.values() for label in some]
                st.markdown(f"{', '.join(labels)} · {as_text(basis)}")
                if len(fits) == 1:
                    st.caption(widgets.answer_text(paragraph(text, *fits)))
                    continue
                st.caption(widgets.answer_text(text))
                lines = (f"{', '.join(some)}: {fit}" for fit, some in fits.items() if fit)
                st.caption("\n".join(f"- {widgets.answer_text(line)}" for line in lines))


def shared_reasons(comparison: Comparison) -> list[str]:
    """Return the reasons that all estimated times have; [] of a single one."""
    every = [row.time.reasons for row in comparison.rows if isinstance(row.time, Estimate)]
    return [r for r in every[0] if all(r in reasons for reasons in every)] if every[1:] else []


def explained(
    comparison: Comparison, shared: Sequence[str]
) -> dict[tuple[str, str], dict[str, list[str]]]:
    """Return the options by basis and explanation of their time, then by how the job fits.

    Options with the same text are one group, in the order of their ranks; `shared` reasons are
    left out.
    """
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in comparison.rows:
        time = row.time
        if isinstance(time, Estimate):
            basis = basis_words(row, comparison.question.goal)
            text = paragraph(*(r for r in time.reasons if r not in shared))
        else:
            basis, text = "no answer", paragraph(time.reason, time.measure_next)
        fit = row.timed.fit.sentence
        stated = isinstance(time, Refusal) and time.reason == fit
        of_text = groups.setdefault((basis, text), {})
        of_text.setdefault("" if stated else fit, []).append(row.candidate.label)
    return groups


MOST: Final = 6
_NARROW: Final = 1.05
"""Smallest factor of an interval that is shown."""
_RUN_THERE: Final = {"measured", "interpolated", "extrapolated"}


def _why_alone(comparison: Comparison) -> str:
    """Return why the first is not tied: it alone is likely to meet the limits, or it is better."""
    likely = [r for r in comparison.answered if (r.in_time or 0.0) >= LIKELY_IN_TIME]
    if likely == [comparison.leader]:
        return "Only the first option is likely to meet your limits."
    return "The ranking is clear. No further run is needed."


def draw_next_run(reply: CompareReply, comparison: Comparison) -> None:
    """Draw the run that would decide the ranking, then runs that narrow each option."""
    with st.container(border=True):
        widgets.heading("Next measurement")
        _, first = _undecided(reply, comparison)
        if first:
            st.markdown(
                Text(
                    ":blue-badge[decides most] {answer_text}",
                    answer_text=widgets.answer_text(first),
                )
            )
        elif len(comparison.answered) > 1:
            st.markdown(_why_alone(comparison))
        if step := state.drawn(reply, "next step", "", lambda: next_step(comparison)):
            st.markdown(
                Text(":material/timer: {answer_text}", answer_text=widgets.answer_text(step))
            )
        measurable = lambda: _lines(comparison.rows)[:MOST]  # noqa: E731
        lines = state.drawn(reply, "next runs", "", measurable)
        if lines:
            st.markdown("A run of this workload on one of these narrows its estimate:")
            st.markdown("\n".join(f"- {line}" for line in lines))
        else:
            st.caption(_nothing_to_run(comparison))


def _nothing_to_run(comparison: Comparison) -> str:
    """Return why no run is proposed; only runs of the requested length count as measured."""
    bases = {r.time.basis if isinstance(r.time, Estimate) else "" for r in comparison.rows}
    if bases == {"measured"}:
        return "Every time here was measured."
    if bases <= _RUN_THERE:
        return "Every time is based on runs on that machine, some extrapolated to your settings."
    return "There is no run to propose for these options."


def _lines(rows: Sequence[Row]) -> list[str]:
    """Return the next places to measure, each once with the widest interval that it narrows."""
    widest = narrowing_runs(rows)
    return [widgets.answer_text(_with_factor(what, f)) for what, f in widest.items()]


def _with_factor(what: str, factor: float) -> str:
    if factor <= _NARROW:
        return what
    return Text("{what} (now within a factor of {factor})", what=what, factor=plain(factor, 2))


_UNNAMED: Final = (
    "Which network is trained?",
    "Choose a network, or enter parameters and tokens, or FLOPs. Then enter the samples of an "
    "epoch.",
)
_NAMED: Final = (
    "How much data is it trained on?",
    "Enter the samples of an epoch, or the total tokens.",
)


def nothing(link: Link, shared: Store, chosen: list[str] | None) -> None:
    """Draw why there is no answer, and one way to get one."""
    by_words = st.session_state.get(link.key("workload")) == DESCRIBED
    incomplete = by_words and state.facts(shared, link.parameters())[0] is None
    if chosen == []:
        widgets.nothing(
            "No option is chosen.",
            "The list of options above is empty.",
            "Show the defaults",
            lambda: link.forget("options"),
            key="compare.back",
        )
    elif incomplete:
        with st.container(border=True):
            is_named = bool(link.parameters().get("network"))
            heading, caption = _NAMED if is_named else _UNNAMED
            widgets.heading(heading)
            st.caption(caption)
            for problem in described.problems(link):
                st.warning(as_text(problem), icon=":material/help:")
            with widgets.actions():
                for number, name in enumerate(described.EXAMPLES):
                    st.button(
                        Text("Fill in an example: {name}", name=name),
                        key=f"compare.example{number or ''}",
                        icon=":material/edit:",
                        on_click=described.fill_in,
                        args=(link, name),
                    )
            if not kept.workloads(shared):
                st.caption("No run is measured yet, so times are estimated from data sheets.")
    elif refused := _only_inference(link, shared):
        widgets.nothing(
            refused.reason,
            refused.measure_next,
            "Show a workload that was trained",
            lambda: _to_trained(link, shared),
            key="compare.trained",
        )
    else:
        widgets.nothing(
            "There is nothing to compare.",
            "No catalogue could be read, and no run is measured.",
            "Look again",
            lambda: None,
            key="compare.again",
        )


def wrong_step(link: Link) -> None:
    """Draw that the timed step cannot be used, and a button to clear it."""
    widgets.nothing(
        "The timed step cannot be used.",
        "Correct it under “Timed step”, or compare without it.",
        "Clear the timed step",
        lambda: link.forget("step_s", "step_batch", "step_accelerator", "step_count"),
        key="compare.step",
    )


def _to_trained(link: Link, shared: Store) -> None:
    """Choose the first trained workload (from a button's callback)."""
    link.forget("workload", "pattern")
    trained = kept.trained_workloads(shared)
    first = [s for s, name in slugs(kept.workloads(shared)).items() if name in trained][:1]
    for workload in first:
        link.put("workload", workload)


def _only_inference(link: Link, shared: Store) -> Refusal | None:
    """Return the refusal of an inference-only workload; None for every other."""
    name = slugs(kept.workloads(shared)).get(str(st.session_state.get(link.key("workload"))))
    return None if name is None or name in kept.trained_workloads(shared) else INFERENCE
