"""Method: the formulas, what is refused and why, words and sources."""

from __future__ import annotations

import streamlit as st

from pages.parts import widgets
from pages.parts.links import Link
from pages.parts.state import store
from planner import lines, projection
from planner.refusals import RULES


def show() -> None:
    """Draw the page."""
    link = Link("method")
    shared = store()
    st.title("Method")
    st.markdown(
        "Answers are fitted or projected by one of two formulas and carry an interval meant to "
        "hold nine times in ten. On public data it held 91 to 94 % between measured batches, "
        "80 % at twice and 91 % at four times the largest, and 93 to 96 % for epochs seen 2, 3 or "
        "5 times (measured before this program; see docs/decisions/0010)."
    )
    _how_long()
    _throughput()
    _refusals()
    with st.container(border=True):
        st.subheader("Sources and licences")
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
        st.dataframe(
            rows,
            hide_index=True,
            placeholder="–",
            key="method.sets",
            alt="Sources of all result sets",
        )
    with widgets.actions():
        widgets.share(
            link,
            "How Epochwise reckons, what it refuses, and where its numbers are from",
            "content",
        )
    link.write()
    link.tell()


def _how_long() -> None:
    with st.container(border=True):
        st.subheader("How long for N epochs?")
        st.latex(r"T(N) = p + e_1 + \bar{e}\,(N-1)")
        st.markdown(
            "with the pre-train time p, epoch 1 and the mean ē of the later epochs. Epoch 1 "
            "carries tracing, compiling and cold caches, so it is counted once and the mean starts "
            "at epoch 2. The interval of m further epochs seen through n measured ones is a "
            "Student t interval with the variance"
        )
        st.latex(
            r"s^2\left(m + \tfrac{m^2}{n}\right)\frac{1+\rho}{1-\rho}"
            r" + (d\,\bar{e}\,m)^2"
        )
        st.markdown(
            f"with s² pooled with what other runs showed ({projection.SD0:.1%} of the mean, "
            f"weight {projection.NU0:g}), neighbouring epochs alike by ρ = {projection.RHO:g}, a "
            f"drift d of {projection.DRIFT:.1%}. For another session or machine of the same kind "
            f"the whole total moves: each session by σ = {projection.SESSION_SD:.1%}, so two of "
            "them differ by √2·σ, and that is added in quadrature.".replace("%", " %")
        )


def _throughput() -> None:
    with st.container(border=True):
        st.subheader("How fast at batch b?")
        st.latex(r"T(b) = t + \frac{b}{v_0}, \qquad v(b) = \frac{b}{b/v_0 + t}")
        st.markdown(
            "v0 is the asymptotic throughput, t the overhead of a step: what does not shrink with "
            "the batch. Half of v0 is reached at b = v0·t, 90 % at 9·v0·t. The line is fitted to "
            "step times with relative weights, both numbers at least 0. The band is for one new "
            f"measurement: scatter pooled with a prior of {lines.SD0:.0%} (weight {lines.NU0:g}), "
            f"wider by {lines.KAPPA:.0%} for each doubling outside the measured "
            "batches.".replace("%", " %")
        )


def _refusals() -> None:
    with st.container(border=True):
        st.subheader("What is refused, and why")
        rows = [
            {"When": r.when, "Then": r.then, "Why": r.why, "Measure next": r.measure_next}
            for r in RULES
        ]
        st.table(rows)


if __name__ == "__main__":
    show()
