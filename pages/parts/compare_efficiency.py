"""The efficiency that a described workload is assumed to reach, and the runs behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from pages.parts import asked
from pages.parts.links import Link, Parameters, as_text, page_link, slugs
from planner.compare.described_rates import efficiency_with_step, question_of
from planner.compare.description import DESCRIPTION
from planner.compare.reckon import Comparison
from planner.mfu import quantiles
from planner.parameters import limits
from planner.store import Store

_RESULTS: Final = Path(__file__).resolve().parent.parent / "results.py"
_NAME: Final = "assumed_mfu"
_ONE: Final = next(p for p in DESCRIPTION if p.name == _NAME)


def declare(link: Link) -> None:
    """Take the assumed efficiency from the link."""
    link.decimal(_NAME, *limits(_ONE), None, short=_ONE.short)


def draw(link: Link, shared: Store, comparison: Comparison) -> None:
    """A field for the efficiency, with quantiles of published runs where there are any."""
    job = comparison.question.job
    if not job.described or job.train_flops_per_sample is None:
        return
    low, high = limits(_ONE)
    with st.popover("Assumed MFU", icon=":material/speed:"):
        st.number_input(
            "Assumed MFU (%)", low, high, value=None, format="%g", placeholder="published runs",
            key=link.key(_NAME), help=f"{_ONE.words[:1].upper()}{_ONE.words[1:]}",
        )  # fmt: skip
        row = comparison.leader or comparison.rows[0]
        question = question_of(job, row.candidate.hardware, job.batch)
        if question is None or efficiency_with_step(job, question) is None:
            st.markdown("No published runs of this kind. Enter the efficiency that you expect.")
            return
        tenth, half, most = (f"{100.0 * share:.0f}\u00a0%" for share in quantiles(question) or ())
        name = question.accelerator.name
        st.markdown(
            as_text(
                f"Published runs of this kind on {name}: 10\u00a0% reach less than {tenth}, half "
                f"less than {half}, 90\u00a0% less than {most} of the half-precision peak."
            )
        )
        stepped = None if job.step is None else efficiency_with_step(job, question)
        if stepped is not None:
            st.markdown(as_text(f"With your timed step: {stepped.value:.0%}".replace("%", " %")))
        rows = _rows(shared, job.family, name)
        page_link(link.page, _RESULTS, "Show these runs", ":material/table_rows:", rows)


def _rows(shared: Store, family: str, accelerator: str) -> Parameters:
    """The filters of the Results page that leave the published runs of a family."""
    facets = asked.facets(shared, {})
    wanted = {
        "family": [family], "accelerator_model_name": [accelerator], "basis": ["published"],
    }  # fmt: skip
    found = {facet: slugs(facets[facet]) for facet in wanted}
    return {
        facet: chosen
        for facet, names in wanted.items()
        if (chosen := [s for s, name in found[facet].items() if name in names])
    }
