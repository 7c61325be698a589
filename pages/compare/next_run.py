"""The next measurement, and the page without an answer."""

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
from planner.compare.evaluation import Comparison, Row
from planner.compare.undecided import undecided
from planner.core import Estimate, Refusal
from planner.epochs import INFERENCE
from planner.store import Store

MOST: Final = 6
_NARROW: Final = 1.05
"""Smallest factor of an interval that is shown."""
_RUN_THERE: Final = {"measured", "interpolated", "extrapolated"}
_ARTICLE: Final = re.compile(r"an? (\S+)")
_AN: Final = re.compile(r"[AEIO]|[FHLMNRSX](?=[A-Z]*[0-9]|TX)")
"""Names that begin with a vowel sound: EPYC, A100, Instinct; by letters H100, L4, MI300X."""


def _why_alone(comparison: Comparison) -> str:
    """Return why the first is not tied: it alone is likely to meet the limits, or it is better."""
    likely = [r for r in comparison.answered if (r.in_time or 0.0) >= LIKELY_IN_TIME]
    if likely == [comparison.leader]:
        return "Only the first option is likely to meet your limits."
    return "The first option is decided; no run is needed."


def draw(comparison: Comparison) -> None:
    """Draw the run that would decide the ranking, then runs that narrow each option."""
    with st.container(border=True):
        st.markdown("**Next measurement**")
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
            st.markdown("A run of this workload narrows these estimates:")
            st.markdown("\n".join(f"- {line}" for line in lines))
        else:
            st.caption(_nothing_to_run(comparison))


def _nothing_to_run(comparison: Comparison) -> str:
    """Return why no run is proposed; only runs of the requested length count as measured."""
    bases = {r.time.basis if isinstance(r.time, Estimate) else "" for r in comparison.rows}
    if bases == {"measured"}:
        return "Every time here was measured."
    if bases <= _RUN_THERE:
        return "Every time is based on runs on that machine, some extrapolated to your settings."
    return "There is no run to propose for these options."


def _measurable(row: Row) -> bool:
    """Return whether a run would narrow the interval; not where the job does not fit."""
    return bool(row.timed.measure_next) and row.timed.fit.fits is not False


def _lines(rows: Sequence[Row], begins: str) -> list[str]:
    """Return the next measurements, each once with the widest interval that it narrows."""
    widest: dict[str, float] = {}
    for row in rows:
        what = row.timed.measure_next.rstrip(".").removeprefix(begins)
        widest[what] = max(widest.get(what, 1.0), _factor(row))
    return [widgets.answer_text(f"{_with_article(w)}{_factor_text(f)}") for w, f in widest.items()]


def _factor(row: Row) -> float:
    """Return the half-width of the time's interval as a ratio."""
    time = row.time
    if not isinstance(time, Estimate) or not float(time.low) > 0.0:
        return 1.0
    return math.sqrt(float(time.high) / float(time.low))


def _factor_text(factor: float) -> str:
    return f" (within a factor of {factor:.2g} either way)" if factor > _NARROW else ""


def _with_article(what: str) -> str:
    """Return the text with the right article: 'an EPYC 7742', 'an H100', 'a TPU v3'."""
    match = _ARTICLE.match(what)
    if match is None:
        return what
    return f"{'an' if _AN.match(match[1]) else 'a'} {match[1]}{what[match.end() :]}"


def nothing(link: Link, shared: Store, chosen: list[str] | None) -> None:
    """Draw why there is no answer, and one way to get one."""
    described = st.session_state.get(link.key("workload")) == DESCRIBED
    incomplete = described and state.facts(shared, link.parameters())[0] is None
    if chosen == []:
        widgets.nothing(
            "No option is chosen.",
            "The list of options above is empty.",
            "Show the defaults",
            lambda: link.forget("options"),
            key="compare.back",
        )
    elif incomplete:
        with st.container(border=True):
            st.markdown("**How heavy is the workload?**")
            st.caption(
                as_text(
                    "Give the samples of an epoch and the work of a sample: parameters and tokens, "
                    "or FLOPs of forward and backward pass. Language model: parameters, tokens in "
                    "a sequence, sequences in an epoch. Images: FLOPs of one image, images in an "
                    "epoch."
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
                st.caption("No run is measured yet, so times are estimated from data sheets.")
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
            "No catalogue could be read, and no run is measured.",
            "Look again",
            lambda: None,
            key="compare.again",
        )


def wrong_step(link: Link) -> None:
    """Draw that the timed step cannot be used, and a button to clear it."""
    widgets.nothing(
        "The timed step cannot be used.",
        "Correct it under “Timed step”, or compare without it.",
        "Clear the timed step",
        lambda: link.forget("step_s", "step_batch", "step_accelerator", "step_count"),
        key="compare.step",
    )


def _to_trained(link: Link, shared: Store) -> None:
    """Choose the first trained workload (from a button's callback)."""
    link.forget("workload", "pattern")
    trained = kept.trained_workloads(shared)
    first = [s for s, name in slugs(kept.workloads(shared)).items() if name in trained][:1]
    for workload in first:
        link.put("workload", workload)


def _only_inference(link: Link, shared: Store) -> Refusal | None:
    """Return the refusal of an inference-only workload; None for every other."""
    name = slugs(kept.workloads(shared)).get(str(st.session_state.get(link.key("workload"))))
    return None if name is None or name in kept.trained_workloads(shared) else INFERENCE
