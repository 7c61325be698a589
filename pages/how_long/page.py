"""How long?: the time of N epochs of a workload on each measured system, with intervals."""

from collections.abc import Callable, Hashable, Mapping
from typing import Final

import numpy as np
import streamlit as st

from pages.common import fields, handout, kept, narrow, suspect_switch, widgets
from pages.common import tiles as answer_tiles
from pages.common.kept import ROOT, store
from pages.common.link import Link, as_text, page_link
from pages.how_long import options as option_choice
from pages.how_long import tiles
from pages.how_long.options import BY_NAME
from planner import figures
from planner.answers import answer_rows, epochs_rows, ratio_rows, run_sources, target_note
from planner.core import LONGEST_S, Record, Refusal, Text, ahead_of, csv_text, paragraph
from planner.epochs import (
    START_NOT_INCLUDED,
    HowLong,
    Option,
    OptionTotal,
    basis_in_words,
    chart_epochs,
    epochs_in_words,
    first_projected,
    measured_epochs,
    of_several_kinds,
    total_time,
    with_sizes,
)
from planner.epochs.how_long import how_long
from planner.figures import TimeLine
from planner.figures.frame import LIGHT_THEME
from planner.report import AnswerReport, Chart, Table
from planner.store import Store

_COMPARE: Final = ROOT / "pages" / "compare" / "page.py"


def show() -> None:
    """Draw the page."""
    link = Link("how-long")
    shared = store()
    st.title("How long?")
    left_out = suspect_switch.left_out(link, shared)
    values = narrow.question(link.page, folds=bool(kept.workload_names(shared)))
    with values.inputs:
        chosen = option_choice.draw(link, shared, left_out)
    link.choice("scale", ["log", "linear"], "log")
    widgets.declare_tab(link)
    another = link.flag(BY_NAME["session"])
    like_last = link.flag(BY_NAME["rest_like_last"])
    link.state("workload", "pattern", "epochs", "systems", "baseline", "samples_per_epoch")
    link.write()
    if chosen is None:
        return
    values.summary(chosen.baseline.run.model, epochs_in_words(chosen.epochs))
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
    key = (link.question("scale", *widgets.OPEN), chosen.epochs, chosen.baseline.label)
    result = kept.drawn(
        shared,
        "how long",
        key,
        lambda: how_long(
            chosen.ranked,
            chosen.epochs,
            chosen.baseline.label,
            another_session=another,
            rest_like_last=like_last,
            left_out=left_out,
            size=chosen.size,
        ),
    )
    suspect = kept.suspects(shared).names
    _answer(link, result, shared)
    with st.container(border=True):
        tab = widgets.open_tab(link)
        with tab.place:
            if tab.name == "chart":
                _chart(link, result, (shared, key), lambda: lines(result, suspect))
            else:
                link.hold("scale")
                _table(result, suspect)
    _other_epochs(result)
    _ratios(result, chosen.options, left_out)
    narrow.sources(
        lambda: run_sources([a.option for a in result.answers], shared.sets),
        "how-long",
        "Sources of every number",
    )


def _answer(link: Link, result: HowLong, shared: Store) -> None:
    """Draw the answer as tiles, buttons, and its basis."""
    with st.container():
        answer_tiles.draw(
            result.answers[0].option.label,
            tiles.tiles(result),
            badge=tiles.badge(result),
            line=tiles.line(result),
            tied=bool(result.tied),
        )
        _target(link, result, shared)
        with widgets.actions():
            widgets.share(link, result.sentence, "content")
            suspect = kept.suspects(shared).names
            report = handout.of_content(link.url(), lambda: _report(result, suspect, shared))
            handout.draw("how-long", report)
            fields.flag(link, BY_NAME["session"])
        with widgets.details():
            st.markdown(widgets.answer_text(result.sentence))
            if result.undecided:
                st.markdown(as_text(result.undecided))
            st.caption(as_text(how_sure(result)))
        _several_kinds(link, result)
        runs = [a.option.run for a in result.answers]
        suspect_switch.draw(link, shared, runs, scatter=True)


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
        fields.flag(link, BY_NAME["rest_like_last"])
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
    meant = [Text("The interval is for {where}.", where=where)] if total.low < total.high else []
    notes = [t for t in (result.size_sentence, result.start_sentence) if t]
    reasons = [r for r in total.reasons if not (result.no_start and r == START_NOT_INCLUDED)]
    return " ".join([Text("Basis: {basis}.", basis=basis), *notes, *meant, *reasons])


def _chart(
    link: Link, result: HowLong, of: tuple[Store, Hashable], make: Callable[[], list[TimeLine]]
) -> None:
    """Draw the chart of the lines that `make` returns; `of` are the store and the question."""
    widgets.scale("Total time against epochs", link.key("scale"))
    log, theme = st.session_state[link.key("scale")] == "log", widgets.theme()
    (shared, key), epochs = of, result.epochs

    def draw() -> figures.ChartSpec | None:
        drawn = make()
        return figures.total_time(drawn, epochs, theme, log=log) if drawn else None

    figure = kept.drawn(shared, "how long chart", (key, theme, log), draw)
    if figure is None:
        st.caption("No chart: every option is refused. The table shows why.")
        return
    widgets.chart(
        figure, "how-long.chart", Text("{sentence} One line per system.", sentence=result.sentence)
    )


def _table(result: HowLong, suspect: Mapping[str, str]) -> None:
    widgets.heading(f"Ranked, {epochs_in_words(result.epochs)}")
    rows = [_shown(a, result, suspect) for a in result.answers]
    narrow.table(
        rows,
        "how-long.table",
        "Totals of every chosen system",
        tiles.cards(result, suspect, [r["faster"] for r in rows]),
        column_config={
            "option": st.column_config.TextColumn("System", pinned=True, width=220),
            "total": st.column_config.TextColumn("Total", alignment="right", width="small"),
            "interval": st.column_config.TextColumn("90 % interval", width=150),
            "faster": st.column_config.TextColumn(
                "Speed", width=120, help=f"Against {result.baseline.label}"
            ),
            "basis": st.column_config.TextColumn("Basis", width="large"),
            "suspect": st.column_config.TextColumn("Suspect"),
            "why": st.column_config.TextColumn("Why not"),
        },
        column_order=["option", "total", "interval", "faster"]
        + [name for name in ("suspect", "why") if any(r[name] for r in rows)]
        + ["basis"],
    )
    st.caption(
        as_text(
            Text(
                "Speed against {baseline}. The CSV has every digit.", baseline=result.baseline.label
            )
        )
    )
    widgets.download(
        "CSV",
        lambda: csv_text(answer_rows(result, suspect)),
        "epochwise-how-long.csv",
        key="how-long.csv",
        width="content",
    )


def _shown(answer: OptionTotal, result: HowLong, suspect: Mapping[str, str]) -> dict[str, str]:
    total = answer.total
    value, interval = tiles.total_cells(answer)
    refused = isinstance(total, Refusal)
    return {
        "option": answer.option.label,
        "total": value,
        "interval": interval,
        "faster": "" if refused else ahead_of(answer.speed_ratio),
        "basis": basis_in_words(answer.option, result.epochs),
        "suspect": suspect.get(answer.option.run.run_id, ""),
        "why": paragraph(total.reason, total.measure_next) if isinstance(total, Refusal) else "",
    }


def _other_epochs(result: HowLong) -> None:
    box = widgets.folded("Other epoch counts", "table", "how-long.others")
    if box.open:
        with box:
            options = [a.option for a in result.answers]
            narrow.table(
                epochs_rows(
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
            narrow.table(
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


def _report(result: HowLong, suspect: Mapping[str, str], shared: Store) -> AnswerReport:
    """Return the content of the report, made at the click, when no page is being drawn."""
    best, when = result.answers[0], epochs_in_words(result.epochs)
    drawn = lines(result, suspect)
    chart = figures.total_time(drawn, result.epochs, LIGHT_THEME, log=True)
    charts = [Chart(title="Total time against epochs", spec=chart, alt=result.sentence)]
    title = Text("How long for {when} of {workload}?", when=when,
                 workload=best.option.run.workload)  # fmt: skip
    return AnswerReport(
        title=title,
        sentence=result.sentence,
        notes=[result.undecided, how_sure(result)],
        tiles=[figures.time_tile(f"{when} on {best.option.label}", best.total)],
        charts=charts if drawn else [],
        tables=[
            Table(title=f"Ranked, {when}",
                  rows=[_printed(a, result, suspect) for a in result.answers],
                  caption=Text("Speed is against {baseline}.", baseline=result.baseline.label))
        ],
        sources=run_sources([a.option for a in result.answers], shared.sets),
    )  # fmt: skip


def _printed(answer: OptionTotal, result: HowLong, suspect: Mapping[str, str]) -> Record:
    """Return a row of the table under the heads of the report."""
    row = _shown(answer, result, suspect)
    return {
        "System": row["option"],
        "Total": row["total"],
        "90 % interval": row["interval"],
        "Speed": row["faster"],
        "Suspect": row["suspect"],
        "Why not": row["why"],
        "Basis": row["basis"],
    }


# -- lines of the chart --------------------------------------------------------------------------


def lines(result: HowLong, suspect: Mapping[str, str]) -> list[figures.TimeLine]:
    """Return a line per option with a total, in the colour of its system."""
    colour = figures.option_slots([(a.option.label, a.option.run.system) for a in result.answers])
    drawn = [_line(a, result, colour[a.option.label], suspect) for a in result.answers]
    return [line for line in drawn if line]


def _line(
    answer: OptionTotal, result: HowLong, slot: int, suspect: Mapping[str, str]
) -> figures.TimeLine | None:
    option, run, grid = answer.option, answer.option.run, chart_epochs(result.epochs)
    epochs = grid[grid >= first_projected(option, rest_like_last=result.rest_like_last)]
    total = total_time(
        option,
        epochs.astype(int),
        another_session=result.another_session,
        rest_like_last=result.rest_like_last,
    )
    if isinstance(total, Refusal):
        return None
    short = np.asarray(total.value) <= LONGEST_S  # the line ends where answers do
    if not short.any():
        return None
    return figures.TimeLine(
        label=option.label,
        short=option.short,
        device_kind=run.device_kind,
        slot=slot,
        epochs=epochs[short],
        value=np.asarray(total.value)[short],
        low=np.asarray(total.low)[short],
        high=np.asarray(total.high)[short],
        measured_epochs=measured_epochs(option),
        suspect=suspect.get(run.run_id, ""),
        left_out=run.run_id in result.left_out,
    )


if __name__ == "__main__":
    show()
