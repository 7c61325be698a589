"""Method & accuracy: past errors, and every formula."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from backtest.accuracy import verdicts as figures_of
from backtest.accuracy.verdicts import Accuracy
from backtest.questions.source_table import PUBLIC_DATA
from pages.common import widgets
from pages.common.kept import store
from pages.common.link import Link
from pages.method import accuracy, formulas
from pages.method import accuracy as published
from pages.method.accuracy import Chosen
from planner import figures
from planner.core import Report, html_page
from planner.figures.frame import LIGHT_THEME

SECTIONS: Final = {
    "accuracy": "Accuracy",
    "wanted": "Targets and results",
    "known": "Would we have known?",
    "formulas": "Formulas",
    "refusals": "What we refuse",
    "constants": "Constants",
    "sources": "Sources and licences",
}


def show() -> None:
    """Draw the page; one section of it at a time."""
    link = Link("method")
    shared = store()
    st.title("Method & accuracy")
    read = accuracy.accuracy()
    back_test = read if isinstance(read, Accuracy) else None
    section = link.choice("section", list(SECTIONS), next(iter(SECTIONS)))
    chosen = accuracy.choose(link, back_test) if back_test else None
    verdict = accuracy.choose_verdicts(link)
    formula, values = formulas.choose(link)
    if not back_test:
        link.keep("question", "task", "data", "methods")
    link.write()
    link.warn()
    if back_test and chosen:
        _answer(link, back_test, chosen, whole=section in {"accuracy", "wanted"})
    else:
        _no_figures(str(read))
    st.segmented_control(
        "Section", list(SECTIONS), key=link.key("section"), required=True,
        format_func=SECTIONS.__getitem__, label_visibility="collapsed",
    )  # fmt: skip
    if section == "accuracy" and back_test and chosen:
        accuracy.draw(link, back_test, chosen)
    elif section == "wanted" and back_test:
        accuracy.draw_verdicts(link, back_test, verdict)
    elif section == "known":
        published.draw_known()
    elif section == "formulas":
        formulas.draw(link, formula, values, back_test)
    elif section == "refusals":
        formulas.refusals()
    elif section == "constants":
        formulas.constants()
    elif section == "sources":
        formulas.sources(shared)


def _answer(link: Link, accuracy: Accuracy, chosen: Chosen, *, whole: bool) -> None:
    """Draw the accuracy in words; other sections show the first sentence only."""
    with st.container(border=True):
        first, *others = accuracy.sentences
        st.markdown(f"## {widgets.answer_text(first)}")
        with widgets.actions():
            widgets.share(link, "\n".join(accuracy.sentences), "content")
            address = link.url()  # the report is made at the click, when no page is being drawn
            widgets.download("Report", lambda: _report(address, accuracy, chosen),
                             "epochwise-accuracy.html", key="method.report",
                             width="content")  # fmt: skip
        if whole:
            with widgets.details():
                for text in (published.published_sentence(), *others):
                    st.markdown(widgets.answer_text(text))


def _no_figures(why: str) -> None:
    """Draw the empty state where the figures are missing or damaged."""
    widgets.nothing(
        "The accuracy is unknown here.",
        f"{widgets.answer_text(why)} `python -m planner backtest DIR` writes it. DIR holds the "
        "public data sets, one folder each. The formulas below need no figures.",
        "Look again",
        lambda: None,
        key="method.again",
    )


def _report(address: str, back_test: Accuracy, chosen: Chosen) -> str:
    drawn = figures.html(accuracy.chart(chosen, LIGHT_THEME)) if chosen.answered else ""
    return html_page(
        Report(
            title="How wrong were we?",
            sentence=back_test.sentences[0],
            notes=[*back_test.sentences[1:], f"{chosen.question}: {chosen.task}"],
            figure=drawn,
            table=[*figures_of.records(chosen.rows)],
            sources=[
                {"Data set": p.title, "Origin": p.origin, "Licence": p.licence} for p in PUBLIC_DATA
            ],
            link=address,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        )
    )


if __name__ == "__main__":
    show()
