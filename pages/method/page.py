"""Method & accuracy: past errors, and every formula."""

from collections.abc import Callable
from typing import Final

import streamlit as st

from backtest.accuracy.verdicts import Accuracy
from backtest.questions.source_table import PUBLIC_DATA
from pages.common import fields, handout, tiles, widgets
from pages.common.kept import store
from pages.common.link import Link
from pages.method import accuracy, formulas
from pages.method import accuracy as published
from pages.method.accuracy import ChosenRows
from planner.core import Text
from planner.figures.frame import LIGHT_THEME
from planner.report import AnswerReport, Chart, Table

SECTIONS: Final = {
    "accuracy": "Accuracy",
    "wanted": "Targets and results",
    "known": "Published runs",
    "formulas": "Formulas",
    "what-if": "What-if models",
    "refusals": "What we refuse",
    "constants": "Constants",
    "sources": "Sources and licences",
}


_PLAIN: Final[dict[str, Callable[[], None]]] = {
    "known": published.draw_published,
    "what-if": formulas.what_if,
}
"""Sections without a question of their own."""
_SEARCHED: Final[dict[str, Callable[[Link], None]]] = {
    "refusals": formulas.refusals,
    "constants": formulas.constants,
}
"""Sections with a search."""


TITLE: Final = "Median error on hidden public data"


def show() -> None:
    """Draw the page; one section of it at a time."""
    link = Link("method")
    shared = store()
    st.title("Method & accuracy")
    read = accuracy.accuracy()
    back_test = read if isinstance(read, Accuracy) else None
    section = link.choice("section", list(SECTIONS), next(iter(SECTIONS)))
    widgets.declare_tab(link)
    chosen = accuracy.choose(link, back_test) if back_test else None
    verdict = accuracy.choose_verdicts(link)
    formula, values = formulas.choose(link)
    link.words(formulas.WORDS)
    if section not in _SEARCHED:
        link.hold(formulas.SEARCH)
    if not back_test:
        link.keep("question", "task", "data", "methods")
    link.write()
    link.warn()
    if back_test and chosen:
        _answer(link, back_test, chosen, whole=section in {"accuracy", "wanted"})
    else:
        _no_figures(str(read))
    fields.segments(link, "section", "Section", SECTIONS)
    if section == "accuracy" and back_test and chosen:
        accuracy.draw(link, back_test, chosen)
    elif section == "wanted" and back_test:
        accuracy.draw_verdicts(link, back_test, verdict)
    elif section == "formulas":
        formulas.draw(link, formula, values, back_test)
    elif section == "sources":
        formulas.sources(shared)
    elif section in _SEARCHED:
        _SEARCHED[section](link)
    elif section in _PLAIN:
        _PLAIN[section]()


def _answer(link: Link, accuracy: Accuracy, chosen: ChosenRows, *, whole: bool) -> None:
    """Draw the accuracy in words; other sections show the first sentence only."""
    with st.container(border=True):
        tiles.draw(TITLE, published.tiles(accuracy))
        with widgets.actions():
            widgets.share(link, "\n".join(accuracy.sentences), "content")
            report = handout.of_content(link.url(), lambda: _report(accuracy, chosen))
            handout.draw("method", report)
        if whole:
            with widgets.details():
                first, *others = accuracy.sentences
                for text in (first, published.published_sentence(), *others):
                    st.markdown(widgets.answer_text(text))


def _no_figures(why: str) -> None:
    """Draw the empty state where the figures are missing or damaged."""
    widgets.nothing(
        "The accuracy is unknown here.",
        Text(
            "{answer_text} `python -m planner backtest DIR` writes it. DIR holds the "
            "public data sets, one folder each. The formulas below need no figures.",
            answer_text=widgets.answer_text(why),
        ),
        "Look again",
        lambda: None,
        key="method.again",
    )


def _report(back_test: Accuracy, chosen: ChosenRows) -> AnswerReport:
    """Return the content of the report, made at the click, when no page is being drawn."""
    charts = []
    if chosen.answered:
        spec, alt = accuracy.chart(chosen, LIGHT_THEME), accuracy.alt_text(chosen)
        charts.append(Chart(title=f"{chosen.question}: {chosen.task}", spec=spec, alt=alt))
    rows = accuracy.cells_of(back_test, chosen)
    return AnswerReport(
        title="How wrong were we?",
        sentence=back_test.sentences[0],
        notes=back_test.sentences[1:],
        charts=charts,
        tables=[Table(title="Errors of every method", rows=rows)],
        sources=[
            {"Data set": p.title, "Origin": p.origin, "Licence": p.licence} for p in PUBLIC_DATA
        ],
    )


if __name__ == "__main__":
    show()
