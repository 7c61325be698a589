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
    """The formula, and what every slider says; those of other formulas keep their values."""
    formula = FORMULAS[link.one("formula", list(FORMULAS), next(iter(FORMULAS)))]
    values = {
        name: float(link.one(name, list(slider.texts), f"{slider.default:g}"))
        for name, slider in SLIDERS.items()
    }
    return formula, values


def draw(link: Link, formula: Formula, values: Values, known: Accuracy | None) -> None:
    """The formula one has chosen, and its picture."""
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
        if evidence := _evidence(formula, known):
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
    told = formula.picture(values, theme.current())
    for sentence in told.sentences:
        st.markdown(widgets.answer_text(sentence))
    if told.figure is None:
        st.caption("Nothing to draw: the planner refuses, and says why and what to measure.")
        return
    widgets.chart(told.figure, "method.picture", " ".join(told.sentences))
    st.caption(told.caption.replace(" %", "\u00a0%"))


def _evidence(formula: Formula, known: Accuracy | None) -> str:
    """What the back-test found, with the figures of its table."""
    row = ours(known.rows, *formula.evidence) if known and formula.evidence else None
    if row is None:
        return ""
    held = f"; its 90 % interval held {per_cent(row.coverage)}"
    return widgets.answer_text(
        f"{sentence_case(row.task)} ({row.data_set}): {per_cent(row.median_error)} off in the "
        f"median{'' if math.isnan(row.coverage) else held}."
    )
