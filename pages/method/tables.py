"""Tables of the code: refusals, constants, and sources."""

from __future__ import annotations

import streamlit as st

from backtest.choose.constants_table import CONSTANTS
from backtest.questions.source_table import PUBLIC_DATA, PublicData
from pages.common import widgets
from planner.answers import RULES
from planner.report import CREDITS
from planner.store import Store
from planner.time_to_target import PACKAGE, ReferencePoints, read_points


def refusals() -> None:
    """Draw what is refused or answered with a warning, and what to do."""
    with st.container(border=True):
        st.markdown("**What we refuse and why**")
        rows = [
            {"When": r.when, "Then": r.then, "Why": r.why, "Measure next": r.measure_next}
            for r in RULES
        ]
        st.table(rows, hide_index=True)


def constants() -> None:
    """Draw the constants that were chosen from data."""
    with st.container(border=True):
        st.markdown("**Constants**")
        st.caption(
            "Numbers chosen from data, or by convention. Those “before the project” were chosen by "
            "hand on fuller copies of the same public data. The page docs/constants.md shows their "
            "values with each data set left out in turn."
        )
        rows = [
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
        widgets.table(
            rows,
            height="content",
            key="method.constants",
            alt="Every chosen constant with value, unit, meaning and what chose it",
        )


def sources(shared: Store) -> None:
    """Draw the result sets of the pages, and the public data of the back-test."""
    with st.container(border=True):
        st.markdown("**Result sets on the pages**")
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
        widgets.table(rows, key="method.sets",
                     alt="Sources of all result sets")  # fmt: skip
    with st.container(border=True):
        st.markdown("**Public data behind the figures**")
        st.caption(
            "The back-test reads these; the program does not include them. One of them is on a "
            "page: MLPerf's reference points, under Steps to target, from the package below."
        )
        st.markdown("\n".join(_public_line(p) for p in PUBLIC_DATA))
    with st.container(border=True):
        st.markdown("**Read from an installed package**")
        st.markdown(_package_line(read_points()))
    with st.container(border=True):
        st.markdown("**Hardware, prices and electricity**")
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
    return (
        f"- **{name}.** Licence: {licence}. Its data files hold the reference convergence points "
        f"of MLPerf Training and HPC. Steps to target uses them beside our own digits. From "
        f"{source}."
    )


def _public_line(data_set: PublicData) -> str:
    """Return a public data set as a list item; a table is too wide for a phone."""
    title, licence, holds, origin = (
        widgets.answer_text(text)
        for text in (data_set.title, data_set.licence, data_set.holds, data_set.origin)
    )
    return f"- **{title}.** Licence: {licence}. Holds {holds}. From {origin}."
