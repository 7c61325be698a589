"""Every formula of the product, one at a time, with limits, source and chart."""

import math
from collections.abc import Sequence
from typing import Final

import streamlit as st

from backtest.accuracy.verdicts import Accuracy, ours, per_cent
from backtest.choose.constants import CONSTANTS
from backtest.published.what_if import model_rows, shipped_what_if
from backtest.questions.source_table import PUBLIC_DATA, PublicData
from pages.common import narrow, widgets
from pages.common.link import Link
from pages.method.formula import Formula, Slider, Values
from pages.method.machines import CROSSOVER, DEVICES, MONEY, SEVERAL, TRANSFER, UTILISATION
from pages.method.training import BEST, EFFECTS, EPOCHS, STEPS, SUSPECTS, THROUGHPUT
from planner.answers import RULES_BY_SUBJECT
from planner.core import Parameter, Record, Text, sentence_case
from planner.figures import Card
from planner.report import CREDITS
from planner.store import Store
from planner.time_to_target import PACKAGE, ReferencePoints, read_points

FORMULAS: Final = {
    f.slug: f
    for f in (
        THROUGHPUT,
        CROSSOVER,
        UTILISATION,
        EPOCHS,
        STEPS,
        BEST,
        DEVICES,
        SEVERAL,
        TRANSFER,
        MONEY,
        SUSPECTS,
        EFFECTS,
    )
}
SLIDERS: Final[dict[str, Slider]] = {s.name: s for f in FORMULAS.values() for s in f.sliders}


def choose(link: Link) -> tuple[Formula, Values]:
    """Return the chosen formula and all slider values; other formulas keep theirs."""
    formula = FORMULAS[link.choice("formula", list(FORMULAS), next(iter(FORMULAS)))]
    values = {
        name: float(link.choice(name, list(slider.texts), f"{slider.default:g}"))
        for name, slider in SLIDERS.items()
    }
    return formula, values


def draw(link: Link, formula: Formula, values: Values, accuracy: Accuracy | None) -> None:
    """Draw the chosen formula and its chart."""
    st.selectbox("Formula", list(FORMULAS), key=link.key("formula"),
                 format_func=lambda slug: FORMULAS[slug].title)  # fmt: skip
    with st.container(border=True):
        for law in formula.laws:
            st.latex(law)
        st.markdown(formula.words)
        st.markdown(
            f"**Units.** {formula.units}\n\n**Limits.** {formula.limits}\n\n"
            f"**Source.** {formula.source}"
        )
        if evidence := _evidence(formula, accuracy):
            st.markdown(Text("**How wrong.** {evidence}", evidence=evidence))
    with st.container(border=True):
        with st.grid(2, min_column_width=280):
            for slider in formula.sliders:
                _slider(link, slider)
        _picture(formula, values)


def _slider(link: Link, slider: Slider) -> None:
    texts = slider.texts
    st.select_slider(slider.label, list(texts), key=link.key(slider.name),
                     format_func=texts.__getitem__)  # fmt: skip


def _picture(formula: Formula, values: Values) -> None:
    picture = formula.picture(values, widgets.theme())
    for sentence in picture.sentences:
        st.markdown(widgets.answer_text(sentence))
    if picture.figure is None:
        st.caption("No chart: the planner refuses. The reason and the next measurement are above.")
        return
    narrow.chart_and_table(picture.figure, "method.picture", " ".join(picture.sentences))
    if picture.caption:
        st.caption(picture.caption.replace(" %", "\u00a0%"))


def _evidence(formula: Formula, accuracy: Accuracy | None) -> str:
    """Return the error and coverage of the formula in the back-test."""
    row = ours(accuracy.rows, *formula.evidence) if accuracy and formula.evidence else None
    if row is None:
        return ""
    question, error = sentence_case(row.task), per_cent(row.median_error)
    if math.isnan(row.coverage):
        said = Text(
            "{question} ({data_set}): median error {error}.",
            question=question,
            data_set=row.data_set,
            error=error,
        )
    else:
        said = Text(
            "{question} ({data_set}): median error {error}; coverage of the 90 % interval "
            "{coverage}.",
            question=question,
            data_set=row.data_set,
            error=error,
            coverage=per_cent(row.coverage),
        )
    return widgets.answer_text(said)


def what_if() -> None:
    """Draw the what-if models of Scaling out with formula, source and error."""
    with st.container(border=True):
        widgets.heading("What-if models of Scaling out")
        narrow.table(
            model_rows(),
            "method.what_if",
            "Formula, source and error of every what-if model of Scaling out",
        )
        splits = shipped_what_if()["splits"]
        st.caption(
            Text(
                "Errors are against runs measured on two cores and published cuts. Our cut at the "
                "same count fits for {advised} models. Its predicted speed is {median:.2f} of the "
                "best published one (80 %: {low:.2f} to {high:.2f}). "
                "`python -m planner backtest --what-if` writes docs/accuracy-what-if.md.",
                advised=splits["advised"],
                median=float(splits["relative_median"]),
                low=float(splits["relative_p10"]),
                high=float(splits["relative_p90"]),
            )
        )


SEARCH: Final = "search"
WORDS: Final = Parameter(name=SEARCH, words="words of a rule or a constant", longest=80)
"""Parameter of the words that rows must have, in a link."""


def _searched(link: Link, rows: Sequence[Record], hint: str) -> list[Record]:
    """Draw a search field; return the rows that have every word of it."""
    words = st.text_input(
        "Search", key=link.key(SEARCH), placeholder=hint, live=True, icon=":material/search:",
        type="search", max_chars=80, width=300,
    )  # fmt: skip
    parts = str(words or "").lower().split()
    shown = [r for r in rows if all(p in " ".join(map(str, r.values())).lower() for p in parts)]
    if len(shown) < len(rows):
        st.caption(Text("{shown:,} of {all:,} rows.", shown=len(shown), all=len(rows)))
    return shown


def refusals(link: Link) -> None:
    """Draw what is refused or answered with a warning, and what to do."""
    rows: list[Record] = [
        {"About": subject, "When": r.when, "Then": r.then, "Why": r.why,
         "Measure next": r.measure_next}
        for subject, rules in RULES_BY_SUBJECT.items()
        for r in rules
    ]  # fmt: skip
    shown = _searched(link, rows, "batch, epoch, price ...")
    for place, subject in enumerate(dict.fromkeys(str(r["About"]) for r in shown)):
        about = [{k: str(v) for k, v in r.items() if k != "About"} for r in shown
                 if r["About"] == subject]  # fmt: skip
        with st.container(border=True):
            widgets.heading(subject)
            made = [Card(title=r["When"], values=(), facts=[*r.items()][1:]) for r in about]
            with narrow.beside_cards(f"method.refusals{place}", made, len(about)):
                st.table(about, hide_index=True)


def constants(link: Link) -> None:
    """Draw the constants that were chosen from data."""
    with st.container(border=True):
        widgets.heading("Constants")
        st.caption(
            "Numbers chosen from data, or by convention. Those “before the project” were chosen by "
            "hand on fuller copies of the same public data. The page docs/constants.md shows their "
            "values with each data set left out in turn."
        )
        rows: list[Record] = [
            {
                "Constant": c.name.replace(":", "."),
                "Value": f"{c.value:.4g}",
                "Unit": c.unit,
                "Meaning": c.meaning,
                "Data": c.data,
                "Chosen or checked by": c.command.replace("`", ""),
            }
            for c in CONSTANTS
        ]
        if shown := _searched(link, rows, "scatter, transfer, batch ..."):
            narrow.table(
                shown,
                "method.constants",
                "Every chosen constant with value, unit, meaning and what chose it",
                [_constant(row) for row in shown],
                height="content",
            )


def _constant(row: Record) -> Card:
    """Return a constant as a card: its value with the unit, then what it means."""
    name, value, unit, *_ = map(str, row.values())
    return Card(title=name, values=((value, unit),),
                facts=[(n, str(text)) for n, text in [*row.items()][3:]])  # fmt: skip


def sources(shared: Store) -> None:
    """Draw the result sets of the pages, and the public data of the back-test."""
    with st.container(border=True):
        widgets.heading("Result sets on the pages")
        rows = [
            {
                "Result set": s.title,
                "Basis": s.basis,
                "Citation": s.citation or s.source,
                "Author": s.author,
                "Licence": s.licence,
                "Folder": s.folder,
            }
            for s in shared.sets
        ]
        narrow.table(rows, "method.sets", "Sources of all result sets", narrow.cards_of(rows))
    with st.container(border=True):
        widgets.heading("Public data behind the figures")
        st.caption(
            "The back-test reads these; the program does not include them. One of them is on a "
            "page: MLPerf's reference points, under Steps to target, from the package below."
        )
        st.markdown("\n".join(_public_line(p) for p in PUBLIC_DATA))
    with st.container(border=True):
        widgets.heading("Read from an installed package")
        st.markdown(_package_line(read_points()))
    with st.container(border=True):
        widgets.heading("Hardware, prices and electricity")
        st.caption(
            "The catalogue behind Compare (data/catalog): facts entered row by row, each with its "
            "address and date. SOURCES.md has credits and methods."
        )
        st.markdown("\n".join(f"- {widgets.answer_text(line)}" for line in CREDITS))


def _package_line(read: ReferencePoints) -> str:
    """Return the package with its licence and use, or why it is missing."""
    if read.problem:
        return widgets.answer_text(read.problem)
    name, licence, source = (
        widgets.answer_text(text)
        for text in (f"{PACKAGE} {read.version}", read.licence, read.source)
    )
    return Text(
        "- **{name}.** Licence: {licence}. Its data files hold the reference "
        "convergence points of MLPerf Training and HPC. Steps to target uses them "
        "beside our own digits. From {source}.",
        name=name,
        licence=licence,
        source=source,
    )


def _public_line(data_set: PublicData) -> str:
    """Return a public data set as a list item; a table is too wide for a phone."""
    title, licence, holds, origin = (
        widgets.answer_text(text)
        for text in (data_set.title, data_set.licence, data_set.holds, data_set.origin)
    )
    return Text(
        "- **{title}.** Licence: {licence}. Holds {holds}. From {origin}.",
        title=title,
        licence=licence,
        holds=holds,
        origin=origin,
    )
