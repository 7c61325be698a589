"""How long?: the time of N epochs of a workload on each measured system, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from pages.common import handout, kept, suspect_switch, widgets
from pages.common.kept import ROOT, store
from pages.common.link import Link, as_text, page_link
from pages.how_long import options as option_choice
from pages.how_long.lines import lines
from planner import figures
from planner.answers import how_long_tables, ratio_rows, target_note
from planner.core import Record, Refusal, ahead_of, csv_text
from planner.epochs import (
    START_NOT_INCLUDED,
    Answer,
    HowLong,
    Option,
    basis_in_words,
    epochs_in_words,
    of_several_kinds,
    with_sizes,
)
from planner.epochs.how_long import how_long
from planner.figures.frame import LIGHT_THEME
from planner.report import AnswerReport, Chart, Letterhead, Table, answer_page
from planner.store import Store

_COMPARE: Final = ROOT / "pages" / "compare" / "page.py"


def show() -> None:
    """Draw the page."""
    link = Link("how-long")
    shared = store()
    st.title("How long?")
    left_out = suspect_switch.left_out(link, shared)
    chosen = option_choice.draw(link, shared, left_out)
    link.choice("scale", ["log", "linear"], "log")
    another = link.flag("session", default=False)
    like_last = link.flag("rest_like_last", default=False)
    link.state("workload", "pattern", "epochs", "systems", "baseline", "samples_per_epoch")
    link.write()
    if chosen is None:
        return
    link.warn()
    if not chosen.ranked:
        widgets.nothing(
            "No system is chosen.",
            "The list of systems above is empty.",
            "Show the defaults",
            lambda: link.forget("systems"),
            key="how-long.back",
        )
        return
    result = how_long(
        chosen.ranked,
        chosen.epochs,
        chosen.baseline.label,
        another_session=another,
        rest_like_last=like_last,
        left_out=left_out,
        size=chosen.size,
    )
    suspect = kept.suspects(shared).names
    _answer(link, result, chosen.options, shared)
    with st.grid(2, min_column_width=440):  # side by side where the names at the lines fit
        _chart(link, result, chosen.options, suspect)
        _table(result, suspect)
    _other_epochs(result)
    _ratios(result, chosen.options, left_out)
    _sources(result, shared)


def _answer(link: Link, result: HowLong, options: list[Option], shared: Store) -> None:
    """Draw the answer, its basis, and buttons."""
    with st.container(border=True):
        st.markdown(f"## {widgets.answer_text(result.sentence)}")
        if result.undecided:
            st.markdown(f":orange[:material/help:] {as_text(result.undecided)}")
        _target(link, result, shared)
        with widgets.actions():
            widgets.share(link, result.sentence, "content")
            handout.draw("how-long", _report(link.url(), result, options, shared))
            st.toggle("Include machine-to-machine variation", key=link.key("session"))
        with widgets.details():
            st.caption(as_text(how_sure(result)))
        _several_kinds(link, result)
        runs = [a.option.run for a in result.answers]
        suspect_switch.draw(
            link, shared, runs, "Leave suspect runs out of the ranking", scatter=True
        )


def _target(link: Link, result: HowLong, shared: Store) -> None:
    """Draw how many runs state a time to a target, and the way there, where no total is known."""
    workload = result.answers[0].option.run.workload
    if note := target_note(shared, workload, result):
        st.markdown(widgets.answer_text(note))
        slug = next(s for s, name in kept.workload_names(shared).items() if name == workload)
        page_link(
            link.page, _COMPARE, "Compare by the time to the target", ":material/target:",
            {"workload": [slug], "goal": ["target"]},
        )  # fmt: skip


def _several_kinds(link: Link, result: HowLong) -> None:
    """Draw a switch and notes where the epoch time of an option changes during the run."""
    changing = [(o.label, k) for a in result.answers if (k := of_several_kinds(o := a.option))]
    if changing:
        st.checkbox("The rest continues like the last part", key=link.key("rest_like_last"))
        if len(result.answers) > 1:  # a single answer includes it
            st.caption(as_text(" ".join(f"{label}: {kinds.sentence}" for label, kinds in changing)))


def how_sure(result: HowLong) -> str:
    """Return the basis of the best answer, and what its interval covers."""
    best = result.answers[0]
    if isinstance(best.total, Refusal):
        return f"Next: {best.total.measure_next}"
    basis = basis_in_words(best.option, result.epochs)
    where = (
        "any session on hardware of this kind"
        if result.another_session
        else "the measured machine and session; two sessions differ by about 3 % (SD)"
    )
    total = best.total
    meant = [f"The interval is for {where}."] if total.low < total.high else []
    notes = [t for t in (result.size_sentence, result.start_sentence) if t]
    reasons = [r for r in total.reasons if not (result.no_start and r == START_NOT_INCLUDED)]
    return " ".join([f"Basis: {basis}.", *notes, *meant, *reasons])


def _chart(link: Link, result: HowLong, options: list[Option], suspect: Mapping[str, str]) -> None:
    with st.container(border=True):
        widgets.scale("Total time against epochs", link.key("scale"))
        drawn = lines(result, options, suspect)
        if not drawn:
            st.caption("No chart: every option is refused. The table shows why.")
            return
        log = st.session_state[link.key("scale")] == "log"
        figure = figures.total_time(drawn, result.epochs, widgets.theme(), log=log)
        widgets.chart(figure, "how-long.chart", f"{result.sentence} One line per system.")
        st.caption(
            "Marker: last measured epoch; projected beyond. "
            f"Bands: 90\u00a0%.{_open_markers(drawn)}"
        )


def _open_markers(drawn: list[figures.TimeLine]) -> str:
    """Return the legend of open markers and grey lines, where there are any."""
    if any(x.left_out for x in drawn):
        return " Open markers are suspect runs; grey ones are left out."
    return " An open marker is a suspect run." if any(x.suspect for x in drawn) else ""


def _table(result: HowLong, suspect: Mapping[str, str]) -> None:
    with st.container(border=True):
        widgets.heading(f"Ranked, {epochs_in_words(result.epochs)}")
        rows = [_shown(a, result, suspect) for a in result.answers]
        widgets.table(
            rows,
            key="how-long.table",
            alt="Totals of every chosen system",
            column_config={
                "option": st.column_config.TextColumn("System", pinned=True, width=152),
                "total": st.column_config.TextColumn(
                    "Total",
                    alignment="right",
                    width=128,
                    help="h:mm:ss; rounded, with its 90 % interval, where that exceeds ± 5 %",
                ),
                "sure": st.column_config.TextColumn("± 90 %", alignment="right", width=62),
                "faster": st.column_config.TextColumn(
                    "Speed", alignment="right", width=104, help=f"Against {result.baseline.label}"
                ),
                "basis": st.column_config.TextColumn("Basis"),
                "suspect": st.column_config.TextColumn("Suspect"),
                "why": st.column_config.TextColumn("Why not"),
            },
            column_order=["option", "total", "sure", "faster"]
            + [name for name in ("suspect", "why") if any(r[name] for r in rows)]
            + ["basis"],
        )
        st.caption(
            as_text(f"Speed against {result.baseline.label}. Interval bounds are in the CSV.")
        )
        widgets.download(
            "CSV",
            lambda: csv_text(how_long_tables.answer_rows(result, suspect)),
            "epochwise-how-long.csv",
            key="how-long.csv",
        )


def _shown(
    answer: Answer, result: HowLong, suspect: Mapping[str, str]
) -> dict[str, str | float | None]:
    total = answer.total
    row: dict[str, str | float | None] = {
        "option": answer.option.label,
        "basis": basis_in_words(answer.option, result.epochs),
        "suspect": suspect.get(answer.option.run.run_id),
    }
    if isinstance(total, Refusal):
        why = f"{total.reason} {total.measure_next}"
        return row | {"total": "–", "sure": "–", "faster": None, "why": why}
    return row | {
        "total": how_long_tables.total_in_words(total),
        "sure": how_long_tables.half_width(total),
        "faster": ahead_of(answer.speed_ratio),
        "why": "",
    }


def _other_epochs(result: HowLong) -> None:
    box = widgets.folded("Other epoch counts", "table", "how-long.others")
    if box.open:
        with box:
            options = [a.option for a in result.answers]
            widgets.table(
                how_long_tables.epochs_rows(
                    options,
                    another_session=result.another_session,
                    rest_like_last=result.rest_like_last,
                ),
                key="how-long.grid",
                alt="Totals of every chosen system for 10 to 2000 epochs",
            )
            st.caption("Pre-train time + epoch 1 + mean of the later epochs × (N - 1).")


def _ratios(result: HowLong, options: list[Option], left_out: frozenset[str]) -> None:
    """Draw the fastest system against the baseline: every ratio of the two."""
    fast, slow = result.answers[0].option.run.system, result.baseline.run.system
    if fast == slow:
        return
    label = f"{as_text(fast)} against {as_text(slow)}"
    box = widgets.folded(label, "balance", "how-long.against")
    if box.open:
        with box:
            widgets.table(
                ratio_rows(
                    with_sizes(_with_answered(options, result), result.epoch_size),
                    fast,
                    slow,
                    result.epochs,
                    rest_like_last=result.rest_like_last,
                    left_out=left_out,
                ),
                key="how-long.ratios",
                alt="How many times faster one system is than the other",
            )
            st.caption("Each ratio includes the variation between sessions of about 3 % (SD).")


def _with_answered(options: list[Option], result: HowLong) -> list[Option]:
    """Return the options; ranked ones have the single epochs of their answers."""
    ranked = {a.option.run.run_id: a.option for a in result.answers}
    return [ranked.get(o.run.run_id, o) for o in options]


def _sources(result: HowLong, shared: Store) -> None:
    box = widgets.folded("Where these numbers come from", "source", "how-long.origin")
    if box.open:
        with box:
            widgets.table(
                how_long_tables.source_rows([a.option for a in result.answers], shared.sets),
                key="how-long.sources",
                alt="Sources of every number",
            )


def _report(address: str, result: HowLong, options: list[Option], shared: Store) -> handout.Make:
    """Return a function that makes the report at the click, when no page is being drawn."""
    suspect = kept.suspects(shared).names
    drawn = lines(result, options, suspect)
    sources = how_long_tables.source_rows([a.option for a in result.answers], shared.sets)
    best = result.answers[0]
    when = epochs_in_words(result.epochs)

    def make(letterhead: Letterhead, made: str) -> str:
        chart = figures.total_time(drawn, result.epochs, LIGHT_THEME, log=True)
        caption = (
            f"Bands: 90 % intervals. Dashed grey: beyond the measured epochs.{_open_markers(drawn)}"
        )
        return answer_page(
            AnswerReport(
                title=f"How long for {when} of {best.option.run.workload}?",
                sentence=result.sentence,
                notes=[result.undecided, how_sure(result)],
                tiles=[figures.time_tile(f"{when} on {best.option.label}", best.total)],
                charts=[Chart(title="Total time against epochs", spec=chart, alt=result.sentence,
                              caption=caption)] if drawn else [],
                tables=[Table(title=f"Ranked, {when}",
                              rows=[_printed(a, result, suspect) for a in result.answers],
                              caption="Total: h:mm:ss, or hours where the interval is wide. "
                              f"Speed is against {result.baseline.label}.")],
                sources=sources,
                link=address,
                made=made,
                letterhead=letterhead,
            )
        )  # fmt: skip

    return make


def _printed(answer: Answer, result: HowLong, suspect: Mapping[str, str]) -> Record:
    """Return a row of the table under the heads of the report."""
    row, total = _shown(answer, result, suspect), answer.total
    ends = "" if isinstance(total, Refusal) else how_long_tables.interval_in_words(total)
    return {
        "System": row["option"],
        "Total": row["total"],
        "90 % interval": ends,
        "Speed": row["faster"],
        "Suspect": row["suspect"],
        "Why not": row["why"],
        "Basis": row["basis"],
    }


if __name__ == "__main__":
    show()
