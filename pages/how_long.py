"""How long? N epochs of a workload on each system one has numbers for, and how sure that is."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import streamlit as st

from pages.parts import asked, theme, widgets
from pages.parts.links import Link, as_text, slugs
from pages.parts.state import store
from planner import figures, how_long_tables
from planner.durations import hms
from planner.estimate import Estimate, Refusal
from planner.export import Report, csv_text, html_page
from planner.how_long import (
    EPOCHS,
    MOST_EPOCHS,
    QUICK,
    Answer,
    HowLong,
    Option,
    chart_epochs,
    epochs_in_words,
    how_long,
    options_of,
    total_time,
)
from planner.palette import LIGHT_THEME, Theme, slots
from planner.ratio_tables import ratio_rows
from planner.store import Store, queries

MOST_LINES = 12
MOST_CHOSEN = MOST_LINES - 1  # the one that all are compared with is drawn as well
PREFERRED = 5


def show() -> None:
    """Draw the page."""
    link = Link("how-long")
    shared = store()
    st.title("How long?")
    choices = _choices(link, shared)
    link.one("scale", ["log", "linear"], "log")
    if choices is None:
        link.write()
        return
    options, chosen, baseline, epochs, another = choices
    link.write()
    link.tell()
    if not chosen:
        widgets.nothing(
            "No system is chosen.",
            "The list of systems above is empty.",
            "Show the usual ones",
            lambda: link.forget("systems"),
            key="how-long.back",
        )
        return
    result = how_long(chosen, epochs, baseline.label, another_session=another)
    _answer(link, result, another=another, shared=shared, options=options)
    with st.grid(2, min_column_width=440):  # side by side where the names at the lines fit
        _chart(link, result, options, another=another)
        _table(result)
    _other_epochs(result, another=another)
    _ratios(result, options)
    _sources(result, shared)


def _choices(
    link: Link, shared: Store
) -> tuple[list[Option], list[Option], Option, int, bool] | None:
    """The controls, in two rows; None where there is nothing to choose from."""
    workloads = slugs(asked.workloads(shared))
    if not workloads:
        widgets.nothing(
            "There is no run yet.",
            "No result folder holds a good run.",
            "Look again",
            lambda: None,
            key="how-long.again",
        )
        return None
    first, second = st.columns([1, 1], vertical_alignment="bottom")
    workload = link.one("workload", list(workloads), next(iter(workloads)))
    with first:
        st.selectbox(
            "Workload", list(workloads), format_func=workloads.__getitem__, key=link.key("workload")
        )
    patterns = slugs(asked.patterns(shared, workloads[workload]))
    pattern = link.one("pattern", list(patterns), next(iter(patterns)))
    with second:
        st.selectbox(
            "Input pattern",
            list(patterns),
            format_func=patterns.__getitem__,
            key=link.key("pattern"),
        )
    first, second, third = st.columns([5, 14, 8], vertical_alignment="bottom")
    with first:
        epochs = _epochs(link)
    with second:
        _quick(link, epochs)
    options = _options(shared, workloads[workload], patterns[pattern])
    by_slug = dict(zip(slugs([o.label for o in options]), options, strict=True))
    usual = usual_options(by_slug)
    link.many("systems", list(by_slug), usual, MOST_CHOSEN)
    baseline = link.one("baseline", list(by_slug), next(iter(by_slug)))
    with third:
        st.selectbox(
            "Compare with",
            list(by_slug),
            key=link.key("baseline"),
            format_func=lambda s: by_slug[s].label,
        )
    chosen = st.multiselect(
        "Systems",
        list(by_slug),
        format_func=lambda s: by_slug[s].label,
        key=link.key("systems"),
        max_selections=MOST_CHOSEN,
    )
    another = link.flag("session", default=False)
    listed = [by_slug[s] for s in dict.fromkeys([*chosen, baseline])] if chosen else []
    return options, listed, by_slug[baseline], epochs, another


def _epochs(link: Link) -> int:
    epochs = link.number("epochs", 1, MOST_EPOCHS, EPOCHS)
    step = 10 ** max(0, math.ceil(math.log10(max(epochs, 2))) - 1)  # 900, 1000, 2000: by decade
    st.number_input("Epochs", 1, MOST_EPOCHS, step=step, format="%d", key=link.key("epochs"))
    return epochs


def _quick(link: Link, epochs: int) -> None:
    """Quick picks that write into the number beside them."""
    key = link.key("quick")
    lit = epochs if epochs in QUICK else None
    if st.session_state.get(key) != lit:
        st.session_state[key] = lit

    def pick() -> None:
        if st.session_state[key]:
            st.session_state[link.key("epochs")] = st.session_state[key]

    st.pills("Quick picks", QUICK, key=key, on_change=pick, wrap=True, label_visibility="collapsed")


def _options(shared: Store, workload: str, pattern: str) -> list[Option]:
    """The workload's runs; single epochs are fetched only where the summary does not hold them."""
    runs = asked.runs_of(shared, workload, pattern)
    widgets.cut_short(runs)
    bare = [r for r in runs if r.later_epoch_mean_s is None and r.asymptotic_throughput is None]
    kept = {r.run_id: queries.epoch_times(shared, r.run_id) for r in bare if r.status == "ok"}
    return options_of(runs, kept)


def usual_options(by_slug: dict[str, Option]) -> list[str]:
    """Systems shown before anyone chooses.

    Of each system the smallest and the largest batch, then what lies between while there are
    few; those with an answer first.
    """
    good = [s for s, o in by_slug.items() if isinstance(total_time(o, EPOCHS), Estimate)]
    pool = good or list(by_slug)
    groups: dict[str, list[str]] = {}
    for s in pool:
        groups.setdefault(by_slug[s].run.system, []).append(s)
    picked: list[str] = []
    for members in groups.values():
        picked += [members[0], members[-1]]
    for members in sorted(groups.values(), key=len, reverse=True):
        picked += [members[len(members) * k // 4] for k in (2, 3, 1)]
    most = min(max(PREFERRED, len(groups)), MOST_CHOSEN)
    wanted = list(dict.fromkeys(picked))[:most]
    return [s for s in by_slug if s in wanted]


def _answer(
    link: Link, result: HowLong, *, another: bool, shared: Store, options: list[Option]
) -> None:
    """The sentence first; then how sure, and what to do with it."""
    with st.container(border=True):
        st.markdown(f"#### {widgets.answer_text(result.sentence)}")
        if result.undecided:
            st.markdown(f":orange[:material/help:] {as_text(result.undecided)}")
        st.caption(as_text(how_sure(result, another=another)))
        with widgets.actions():
            widgets.share(link, result.sentence, "content")
            address = link.url()  # the report is made at the click, when no page is being drawn
            widgets.download(
                "Report",
                lambda: _report(address, result, options, shared, another=another),
                "epochwise-how-long.html",
                key="how-long.report",
                width="content",
            )
            st.toggle("Another session or machine of the kind", key=link.key("session"))


def how_sure(result: HowLong, *, another: bool) -> str:
    """What the best answer rests on, and what its interval is for."""
    best = result.answers[0]
    if isinstance(best.total, Refusal):
        return f"Next: {best.total.measure_next}"
    basis = how_long_tables.basis_in_words(best.option.run, result.epochs)
    where = (
        "any session on hardware of this kind"
        if another
        else "the machine and session that were measured; two sessions differ by about 3 % (sd)"
    )
    parts = [f"Basis: {basis}.", f"The interval is for {where}.", *best.total.reasons]
    return " ".join(parts)


def lines(result: HowLong, options: list[Option], *, another: bool) -> list[figures.TimeLine]:
    """One line per answered option, in the colour of its place among all options."""
    grid = chart_epochs(result.epochs)
    colour = slots([a.option.label for a in result.answers], [o.label for o in options])
    found = []
    for answer in result.answers:
        total = total_time(answer.option, grid.astype(int), another_session=another)
        if isinstance(total, Estimate):
            run = answer.option.run
            found.append(
                figures.TimeLine(
                    label=answer.option.label,
                    short=answer.option.label.replace(" · batch ", ", "),
                    device_kind=run.device_kind,
                    slot=colour[answer.option.label],
                    epochs=grid,
                    value=np.asarray(total.value),
                    low=np.asarray(total.low),
                    high=np.asarray(total.high),
                    measured_epochs=run.epochs_measured or 1,
                )
            )
    return found


def _figure(
    result: HowLong, options: list[Option], look: Theme, *, another: bool, log: bool
) -> object:
    return figures.total_time(lines(result, options, another=another), result.epochs, look, log=log)


def _chart(link: Link, result: HowLong, options: list[Option], *, another: bool) -> None:
    with st.container(border=True):
        widgets.scale("Total time against epochs", link.key("scale"))
        drawn = [a for a in result.answers if isinstance(a.total, Estimate)]
        if not drawn:
            st.caption("Nothing to draw: every option is refused; the table says why.")
            return
        log = st.session_state[link.key("scale")] == "log"
        figure = _figure(result, options, theme.current(), another=another, log=log)
        widgets.chart(figure, "how-long.chart", f"{result.sentence} One line per system.")
        st.caption(
            "A marker stands at the last epoch that was timed; right of it the line is "
            "projected. Bands: 90\u00a0%."
        )


def _table(result: HowLong) -> None:
    with st.container(border=True):
        st.markdown(f"**Ranked, {epochs_in_words(result.epochs)}**")
        rows = [_shown(a, result) for a in result.answers]
        most = max((float(r["faster"]) for r in rows if r["faster"]), default=1.0)
        st.dataframe(
            rows,
            hide_index=True,
            placeholder="–",
            key="how-long.table",
            alt="Totals of every chosen system",
            column_config={
                "option": st.column_config.TextColumn("System", pinned=True, width=152),
                "total": st.column_config.TextColumn("h:mm:ss", alignment="right", width=80),
                "sure": st.column_config.TextColumn("± 90 %", alignment="right", width=62),
                "faster": st.column_config.ProgressColumn(
                    "Times faster", format="%.2fx", min_value=0, max_value=most, width=120
                ),
                "basis": st.column_config.TextColumn("Basis"),
                "why": st.column_config.TextColumn("Why not"),
            },
            column_order=["option", "total", "sure", "faster"]
            + (["why"] if any(r["why"] for r in rows) else [])
            + ["basis"],
        )
        st.caption(as_text(f"Times faster than {result.baseline.label}. The CSV holds the bounds."))
        widgets.download(
            "CSV",
            lambda: csv_text(how_long_tables.answer_rows(result)),
            "epochwise-how-long.csv",
            key="how-long.csv",
        )


def _shown(answer: Answer, result: HowLong) -> dict[str, str | float | None]:
    total = answer.total
    row: dict[str, str | float | None] = {
        "option": answer.option.label,
        "basis": how_long_tables.basis_in_words(answer.option.run, result.epochs),
    }
    if isinstance(total, Refusal):
        why = f"{total.reason} {total.measure_next}"
        return row | {"total": "–", "sure": "–", "faster": None, "why": why}
    ratio = answer.times_faster
    return row | {
        "total": hms(float(total.value)),
        "sure": how_long_tables.half_width(total),
        "faster": float(ratio.value) if ratio else None,
        "why": "",
    }


def _other_epochs(result: HowLong, *, another: bool) -> None:
    box = widgets.folded("Other numbers of epochs (h:mm:ss)", "table", "how-long.others")
    if box.open:
        with box:
            options = [a.option for a in result.answers]
            st.dataframe(
                how_long_tables.epochs_rows(options, another_session=another),
                hide_index=True,
                placeholder="–",
                key="how-long.grid",
                alt="Totals of every chosen system for 10 to 2000 epochs",
            )
            st.caption("Pre-train time + epoch 1 + mean of the later epochs × (N - 1).")


def _ratios(result: HowLong, options: list[Option]) -> None:
    """The fastest system against the baseline's, in every honest way to compare the two."""
    fast, slow = result.answers[0].option.run.system, result.baseline.run.system
    if fast == slow:
        return
    label = f"{as_text(fast)} against {as_text(slow)}"
    box = widgets.folded(label, "balance", "how-long.against")
    if box.open:
        with box:
            st.dataframe(
                ratio_rows(options, fast, slow, result.epochs),
                hide_index=True,
                placeholder="–",
                key="how-long.ratios",
                alt="How many times faster one system is than the other",
            )
            st.caption("Two runs are two sessions, about 3 % apart (sd): each ratio carries that.")


def _sources(result: HowLong, shared: Store) -> None:
    box = widgets.folded("Where these numbers come from", "source", "how-long.origin")
    if box.open:
        with box:
            st.dataframe(
                how_long_tables.source_rows([a.option for a in result.answers], shared.sets),
                hide_index=True,
                placeholder="–",
                key="how-long.sources",
                alt="Sources of every number",
            )


def _report(
    address: str, result: HowLong, options: list[Option], shared: Store, *, another: bool
) -> str:
    figure = _figure(result, options, LIGHT_THEME, another=another, log=True)
    return html_page(
        Report(
            title=f"How long for {epochs_in_words(result.epochs)}?",
            sentence=result.sentence,
            notes=[result.undecided, how_sure(result, another=another)],
            figure=figures.html(figure),
            table=how_long_tables.answer_rows(result),
            sources=how_long_tables.source_rows([a.option for a in result.answers], shared.sets),
            link=address,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        )
    )


if __name__ == "__main__":
    show()
