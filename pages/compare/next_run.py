"""What to measure next, and the page without an answer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

import streamlit as st

from pages.common import kept, widgets
from pages.common.link import Link, as_text, slugs
from pages.compare import described as compare_described
from pages.compare import state
from planner.answers.comparison import DESCRIBED
from planner.compare import LIKELY_IN_TIME, next_step
from planner.compare.reckon import Comparison, Row
from planner.compare.undecided import undecided
from planner.core import Estimate, Refusal
from planner.epochs import INFERENCE
from planner.store import Store

MOST: Final = 6
_NARROW: Final = 1.05
"""Factor either way that is worth a word."""
_RUN_THERE: Final = {"measured", "interpolated", "extrapolated"}
_ARTICLE: Final = re.compile(r"an? (\S+)")
_AN: Final = re.compile(r"[AEIO]|[FHLMNRSX](?=[A-Z]*[0-9]|TX)")
"""Names whose first sound is a vowel's: EPYC, A100, Instinct; letter by letter H100, L4, MI300X."""


def _why_alone(comparison: Comparison) -> str:
    """Return why the first is not tied: it alone may meet the limits, or it is better."""
    likely = [r for r in comparison.answered if (r.in_time or 0.0) >= LIKELY_IN_TIME]
    if likely == [comparison.leader]:
        return "Only the first option is likely to meet your limits."
    return "The first is decided; no run is needed for that."


def draw(comparison: Comparison) -> None:
    """The run that would decide first, then what would narrow each option."""
    with st.container(border=True):
        st.markdown("**What to measure next**")
        _, first = undecided(comparison)
        if first:
            st.markdown(f":blue-badge[decides most] {widgets.answer_text(first)}")
        elif len(comparison.answered) > 1:
            st.markdown(_why_alone(comparison))
        if step := next_step(comparison):
            st.markdown(f":material/timer: {widgets.answer_text(step)}")
        rows = [r for r in comparison.rows if _measurable(r)]
        begins = f"Measure {comparison.question.job.workload} on "
        lines = _lines(rows, begins)[:MOST]
        if lines:
            st.markdown("A run of this workload narrows what was not measured:")
            st.markdown("\n".join(f"- {line}" for line in lines))
        else:
            st.caption(_nothing_to_run(comparison))


def _nothing_to_run(comparison: Comparison) -> str:
    """Why no run is proposed: only what was run as long as asked was measured."""
    bases = {r.time.basis if isinstance(r.time, Estimate) else "" for r in comparison.rows}
    if bases == {"measured"}:
        return "Every time here was measured."
    if bases <= _RUN_THERE:
        return "Every time is based on runs on that machine, some extrapolated to your settings."
    return "There is no run to propose for these options."


def _measurable(row: Row) -> bool:
    """Return whether a run would narrow the interval; none does where the job does not fit."""
    return bool(row.timed.measure_next) and row.timed.fit.fits is not False


def _lines(rows: Sequence[Row], begins: str) -> list[str]:
    """Return the next measurements, each once with the widest interval that it narrows."""
    widest: dict[str, float] = {}
    for row in rows:
        what = row.timed.measure_next.rstrip(".").removeprefix(begins)
        widest[what] = max(widest.get(what, 1.0), _factor(row))
    return [widgets.answer_text(f"{_with_article(w)}{_known(f)}") for w, f in widest.items()]


def _factor(row: Row) -> float:
    """How many times more or less the time may be: the interval's half width as a ratio."""
    time = row.time
    if not isinstance(time, Estimate) or not float(time.low) > 0.0:
        return 1.0
    return math.sqrt(float(time.high) / float(time.low))


def _known(factor: float) -> str:
    return f" (known within a factor of {factor:.2g} either way)" if factor > _NARROW else ""


def _with_article(what: str) -> str:
    """'an EPYC 7742', 'an H100', 'a TPU v3': by how the name is said, letter by letter or not."""
    found = _ARTICLE.match(what)
    if found is None:
        return what
    return f"{'an' if _AN.match(found[1]) else 'a'} {found[1]}{what[found.end() :]}"


def nothing(link: Link, shared: Store, chosen: list[str] | None) -> None:
    """Why there is no answer, and the one way on."""
    described = st.session_state.get(link.key("workload")) == DESCRIBED
    incomplete = described and state.facts(shared, link.parameters())[0] is None
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
                    "parameters, the tokens in a sequence, and the sequences in an epoch. For "
                    "images: the FLOPs of one, and the images in an epoch."
                )
            )
            for problem in compare_described.problems(link):
                st.warning(as_text(problem), icon=":material/help:")
            with widgets.actions():
                for number, name in enumerate(compare_described.EXAMPLES):
                    st.button(
                        f"Fill in an example: {name}",
                        key=f"compare.example{number or ''}",
                        icon=":material/edit:",
                        on_click=compare_described.fill_in,
                        args=(link, name),
                    )
            if not kept.workloads(shared):
                st.caption("No run has been measured yet, so times rest on data sheets alone.")
    elif refused := _only_inference(link, shared):
        widgets.nothing(
            refused.reason,
            refused.measure_next,
            "Show a workload that was trained",
            lambda: _to_trained(link, shared),
            key="compare.trained",
        )
    else:
        widgets.nothing(
            "There is nothing to compare.",
            "No hardware is known: no catalogue could be read, and no run was measured.",
            "Look again",
            lambda: None,
            key="compare.again",
        )


def wrong_step(link: Link) -> None:
    """That no answer is given beside a timed step that cannot be, and the way on."""
    widgets.nothing(
        "The timed step cannot be used.",
        "Correct it under “Timed step”, or compare without it.",
        "Clear the timed step",
        lambda: link.forget("step_s", "step_batch", "step_accelerator", "step_count"),
        key="compare.step",
    )


def _to_trained(link: Link, shared: Store) -> None:
    """Choose the first workload that was trained (from a button's callback)."""
    link.forget("workload", "pattern")
    trained = kept.trained_workloads(shared)
    first = [s for s, name in slugs(kept.workloads(shared)).items() if name in trained][:1]
    for one in first:
        link.put("workload", one)


def _only_inference(link: Link, shared: Store) -> Refusal | None:
    """The refusal of a workload that was never trained; None for every other."""
    name = slugs(kept.workloads(shared)).get(str(st.session_state.get(link.key("workload"))))
    return None if name is None or name in kept.trained_workloads(shared) else INFERENCE
