"""Suspect runs behind an answer: how many, what is odd about them, and the switch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import streamlit as st

from pages.common import kept, widgets
from pages.common.link import (
    Link,
    Parameters,
    as_text,
    page_link,
    slugs,
)
from pages.common.store import ROOT
from planner.runs import Run
from planner.store import Store
from planner.suspects import LEFT_OUT

PARAMETER: Final = "without_suspects"
MOST_TOLD: Final = 3
"""So many runs have their evidence told; more are counted."""
STAY: Final = "Unsteady epochs alone make a mean less sure, not wrong, and stay in."
SCATTER: Final = "Leave suspect runs out of the scatter"
ELSEWHERE: Final = "Suspect runs elsewhere on these machines are left out of the scatter."
"""Label and caption where the switch is on and no shown run can be left out."""
_RESULTS: Final = ROOT / "pages" / "results" / "page.py"


def left_out(link: Link, shared: Store) -> frozenset[str]:
    """Ids of the runs to leave out: none until somebody asks for it. Call before `link.write`."""
    on = link.flag(PARAMETER, default=False)
    return kept.suspects(shared).left_out if on else frozenset()


def draw(
    link: Link, shared: Store, shown: Iterable[Run], label: str, *, scatter: bool = False
) -> None:
    """The switch, where a shown run can be left out; and what is suspect about how many.

    `scatter`: runs that are not shown count as well, for the scatter of epochs on their machines.
    Then the switch is also there where it is on and leaves out no shown run, so that it can be seen
    and turned off.
    """
    found = kept.suspects(shared)
    suspect = [run for run in {r.run_id: r for r in shown}.values() if run.run_id in found.flags]
    may = any(run.run_id in found.left_out for run in suspect)
    elsewhere = scatter and not may and bool(st.session_state[link.key(PARAMETER)])
    if not suspect and not elsewhere:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if may or elsewhere:
            st.toggle(label if may else SCATTER, key=link.key(PARAMETER))
        if suspect:
            _see_them(link, shared, suspect)
    if elsewhere:
        st.caption(ELSEWHERE)
    if suspect:
        _evidence(shared, suspect)


def _see_them(link: Link, shared: Store, suspect: list[Run]) -> None:
    page_link(link.page, _RESULTS, "See them", ":material/flag:", _in_results(shared, suspect))


def _evidence(shared: Store, suspect: list[Run]) -> None:
    """How many are suspect of what, and of a few what was seen."""
    found = kept.suspects(shared)
    st.caption(as_text(_sentence(shared, suspect)))
    if len(suspect) <= MOST_TOLD:
        for flag in (f for run in suspect for f in found.flags[run.run_id]):
            st.caption(widgets.answer_text(f"{flag.name.capitalize()}: {flag.evidence}"))


def _sentence(shared: Store, suspect: list[Run]) -> str:
    found = kept.suspects(shared)
    names = Counter(flag.name for run in suspect for flag in found.flags[run.run_id])
    told = ", ".join(f"{name} ({n:,})" for name, n in names.most_common())
    many = "1 run here is" if len(suspect) == 1 else f"{len(suspect):,} runs here are"
    may = sum(run.run_id in found.left_out for run in suspect)
    return f"{many} suspect: {told}. {_switched(may, len(suspect))}{STAY}"


def _switched(may: int, suspect: int) -> str:
    """How many runs the switch leaves out, and which those are."""
    if not may:
        return ""
    whom = ("it" if may == 1 else "them") if may == suspect else f"{may:,} of them"
    return f"The switch leaves {whom} out; what counts is {', '.join(LEFT_OUT)}. "


def _in_results(shared: Store, suspect: list[Run]) -> Parameters:
    """Which link lists the suspect runs of these workloads."""
    names = slugs(kept.facets(shared, {})["workload"])
    wanted = {run.workload for run in suspect}
    return {"suspect": ["any"], "workload": [s for s, name in names.items() if name in wanted]}
