"""What to measure next, and the page without an answer."""

from __future__ import annotations

import re
from typing import Final

import streamlit as st

from pages.parts import asked, compare_state, widgets
from pages.parts.links import Link, as_text
from planner.compare.parameters import DESCRIBED
from planner.compare.reckon import Comparison, Row
from planner.compare.undecided import undecided
from planner.estimate import Estimate
from planner.store import Store

MOST: Final = 6
_NARROW: Final = 1.1
_ARTICLE: Final = re.compile(r"an? (\S+)")
_AN: Final = re.compile(r"[AEIO]|[FHLMNRSX](?=[A-Z]*[0-9]|TX)")
"""Names whose first sound is a vowel's: EPYC, A100, Instinct; letter by letter H100, L4, MI300X."""


def draw(comparison: Comparison) -> None:
    """The run that would decide first, then what would narrow each option."""
    with st.container(border=True):
        st.markdown("**What to measure next**")
        _, first = undecided(comparison)
        if first:
            st.markdown(f":blue-badge[decides most] {widgets.answer_text(first)}")
        elif len(comparison.answered) > 1:
            st.markdown("The first is decided; no run is needed for that.")
        rows = [r for r in comparison.rows if _measurable(r)]
        begins = f"Measure {comparison.question.job.workload} on "
        lines = dict.fromkeys(_line(r, begins) for r in rows[:MOST])
        if lines:
            st.markdown("A run of this workload narrows what was not measured:")
            st.markdown("\n".join(f"- {line}" for line in lines))
        else:
            st.caption("Every time here was measured.")


def _measurable(row: Row) -> bool:
    """Whether a run would tell more; what does not fit has a way out, which no run is."""
    return bool(row.timed.measure_next) and row.timed.fit.fits is not False


def _line(row: Row, begins: str) -> str:
    """What to measure, without the workload that every line would name."""
    time = row.time
    width = ""
    factor = float(time.high) / float(time.low) if isinstance(time, Estimate) else 1.0
    if factor > _NARROW:
        width = f" (now within a factor of {factor:.2g})"
    what = row.timed.measure_next.rstrip(".").removeprefix(begins)
    return widgets.answer_text(f"{_with_article(what)}{width}")


def _with_article(what: str) -> str:
    """'an EPYC 7742', 'an H100', 'a TPU v3': by how the name is said, letter by letter or not."""
    found = _ARTICLE.match(what)
    if found is None:
        return what
    return f"{'an' if _AN.match(found[1]) else 'a'} {found[1]}{what[found.end() :]}"


def nothing(link: Link, shared: Store, chosen: list[str] | None) -> None:
    """Why there is no answer, and the one way on."""
    described = st.session_state.get(link.key("workload")) == DESCRIBED
    incomplete = described and compare_state.facts(shared, link.parameters())[0] is None
    if chosen == []:
        widgets.nothing(
            "No option is chosen.",
            "The list of options above is empty.",
            "Show the usual ones",
            lambda: link.forget("options"),
            key="compare.back",
        )
    elif incomplete:
        with st.container(border=True):
            st.markdown("**How heavy is the workload?**")
            st.caption(
                as_text(
                    "Give the samples of an epoch, and how heavy a sample is: parameters and "
                    "tokens, or FLOPs of forward and backward pass. For a language model: its "
                    "parameters, the tokens in a sequence, and the sequences in an epoch."
                )
            )
            st.button(
                "Fill in an example: 7 billion parameters", key="compare.example",
                icon=":material/edit:", on_click=lambda: _example(link),
            )  # fmt: skip
            if not asked.workloads(shared):
                st.caption("No run has been measured yet, so times rest on data sheets alone.")
    else:
        widgets.nothing(
            "There is nothing to compare.",
            "No hardware is known: no catalogue could be read, and no run was measured.",
            "Look again",
            lambda: None,
            key="compare.again",
        )


def _example(link: Link) -> None:
    """One epoch over 100,000 sequences of a language model of 7 billion parameters."""
    for name, value in (
        ("name", "7B language model"), ("samples", 1e5), ("params", 7e9), ("tokens", 2048.0),
        ("precision", "bfloat16"), ("network_optimizer", "AdamW"), ("epochs", 1),
    ):  # fmt: skip
        link.put(name, value)
