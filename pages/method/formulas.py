"""Every formula of the product, one at a time, with limits, source and chart."""

from __future__ import annotations

import math
from typing import Final

import streamlit as st

from backtest.accuracy.verdicts import Accuracy, ours, per_cent
from pages.common import theme, widgets
from pages.common.link import Link
from pages.method.accuracy import sentence_case
from pages.method.devices import DEVICES, TRANSFER
from pages.method.formula import Formula, Slider, Values
from pages.method.money import MONEY, SEVERAL
from pages.method.pair import CROSSOVER, UTILISATION
from pages.method.runs import EFFECTS, SUSPECTS
from pages.method.speed import EPOCHS, THROUGHPUT
from pages.method.target import BEST, STEPS

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
            st.markdown(f"**How wrong.** {evidence}")
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
    picture = formula.picture(values, theme.current())
    for sentence in picture.sentences:
        st.markdown(widgets.answer_text(sentence))
    if picture.figure is None:
        st.caption("No chart: the planner refuses. The reason and the next measurement are above.")
        return
    widgets.chart(picture.figure, "method.picture", " ".join(picture.sentences))
    st.caption(picture.caption.replace(" %", "\u00a0%"))


def _evidence(formula: Formula, accuracy: Accuracy | None) -> str:
    """Return the error and coverage of the formula in the back-test."""
    row = ours(accuracy.rows, *formula.evidence) if accuracy and formula.evidence else None
    if row is None:
        return ""
    coverage = f"; coverage of the 90 % interval {per_cent(row.coverage)}"
    return widgets.answer_text(
        f"{sentence_case(row.task)} ({row.data_set}): median error {per_cent(row.median_error)}"
        f"{'' if math.isnan(row.coverage) else coverage}."
    )
