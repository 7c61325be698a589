"""Suspect runs behind an answer: count, evidence, and the switch that leaves them out."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import streamlit as st

from pages.common import fields, kept, widgets
from pages.common.kept import ROOT
from pages.common.link import Link, Parameters, as_text, page_link
from planner.answers.parameters import WITHOUT_SUSPECTS
from planner.core import Text, paragraph, plural, sentence_case
from planner.core.slugs import slugs
from planner.runs import Run
from planner.store import Store
from planner.suspects import LEFT_OUT

MOST_SHOWN: Final = 3
"""Most runs whose evidence is shown; more are only counted."""
STAY: Final = "Unsteady epochs alone make a mean less sure, not wrong, and stay in."
ELSEWHERE: Final = "Suspect runs elsewhere on these machines are left out of the scatter."
"""Caption where the switch is on and no shown run can be left out."""
_RESULTS: Final = ROOT / "pages" / "results" / "page.py"


def left_out(link: Link, shared: Store) -> frozenset[str]:
    """Return ids of the runs to leave out; none by default. Call before `link.write`."""
    on = link.flag(WITHOUT_SUSPECTS)
    return kept.suspects(shared).left_out if on else frozenset()


def draw(link: Link, shared: Store, shown: Iterable[Run], *, scatter: bool = False) -> None:
    """Draw the switch where a shown run can be left out, and the evidence.

    `scatter`: runs that are not shown count too, for the scatter of epochs on their machines. The
    switch is then also drawn while it is on and leaves out no shown run.
    """
    suspects = kept.suspects(shared)
    suspect = [run for run in {r.run_id: r for r in shown}.values() if run.run_id in suspects.flags]
    may = any(run.run_id in suspects.left_out for run in suspect)
    elsewhere = scatter and not may and bool(st.session_state[link.key(WITHOUT_SUSPECTS.name)])
    if not suspect and not elsewhere:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if may or elsewhere:
            fields.flag(link, WITHOUT_SUSPECTS)
        if suspect:
            _see_them(link, shared, suspect)
    if elsewhere:
        st.caption(ELSEWHERE)
    if suspect:
        _evidence(shared, suspect)


def _see_them(link: Link, shared: Store, suspect: list[Run]) -> None:
    page_link(link.page, _RESULTS, "See them", ":material/flag:", _in_results(shared, suspect))


def _evidence(shared: Store, suspect: list[Run]) -> None:
    """Draw counts of suspect runs by flag; in a closed box what the switch does, and evidence."""
    suspects = kept.suspects(shared)
    st.caption(as_text(_counted(shared, suspect)))
    may = sum(run.run_id in suspects.left_out for run in suspect)
    with st.expander("Why suspect, and what the switch does", icon=":material/flag:"):
        st.caption(as_text(paragraph(_switched(may, len(suspect)), STAY)))
        if len(suspect) <= MOST_SHOWN:
            for flag in (f for run in suspect for f in suspects.flags[run.run_id]):
                st.caption(widgets.answer_text(f"{sentence_case(flag.name)}: {flag.evidence}"))


def _counted(shared: Store, suspect: list[Run]) -> str:
    suspects = kept.suspects(shared)
    names = Counter(flag.name for run in suspect for flag in suspects.flags[run.run_id])
    counts = ", ".join(f"{name} ({n:,})" for name, n in names.most_common())
    return plural(
        len(suspect),
        "{count} run here is suspect: {flags}.",
        "{count:,} runs here are suspect: {flags}.",
        flags=counts,
    )


def _switched(may: int, suspect: int) -> str:
    """Return which runs the switch leaves out, and for which flags."""
    if not may:
        return ""
    return Text(
        "Left out by the switch: {may:,} of {suspect:,}, by these flags: {left_out}.",
        may=may,
        suspect=suspect,
        left_out=", ".join(LEFT_OUT),
    )


def _in_results(shared: Store, suspect: list[Run]) -> Parameters:
    """Return the filters that list the suspect runs of these workloads; no query counts others."""
    short = {name: text for text, name in slugs(shared.workloads).items()}
    workloads = sorted({run.workload for run in suspect})
    return {"suspect": ["any"], "workload": [short[name] for name in workloads]}
