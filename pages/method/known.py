"""Would we have known? Published measurements and whole jobs beside our answer."""

from __future__ import annotations

import json
from typing import Any, Final

import streamlit as st

from backtest.published.page import TITLES
from pages.common import widgets
from pages.common.store import ROOT

PLACE: Final = ROOT / "data" / "accuracy-published.json"


def draw() -> None:
    """Draw the whole jobs, the figures of every task, and the worst misses."""
    figures = _figures()
    if isinstance(figures, str):
        st.info(figures, icon=":material/table_view:")
        return
    with st.container(border=True):
        st.markdown("**Would we have known?**")
        st.caption(
            "Device-hours of published whole jobs, and our estimate from network, tokens, "
            "accelerator and count. Intervals are 90 %."
        )
        widgets.table(
            [_job(job) for job in figures["jobs"]], key="method.known.jobs",
            alt="Published whole jobs beside our estimate in device-hours",
        )  # fmt: skip
    with st.container(border=True):
        st.markdown("**Described workloads and published series**")
        st.caption(
            "Each published row is a question as a user would enter it. The efficiency model was "
            "fitted on these tables; docs/efficiency.md has its errors on held-out sources."
        )
        widgets.table(
            _tasks(figures["tasks"]), height="content", key="method.known.tasks",
            alt="Errors, coverage and width by task",
        )  # fmt: skip
    with st.expander("Worst misses"):
        widgets.table(
            _misses(figures["worst"]), height="content", key="method.known.worst",
            alt="The three worst misses of each task",
        )  # fmt: skip


@st.cache_resource(show_spinner=False, max_entries=2)
def _kept(path: str, changed: int) -> dict[str, Any]:  # noqa: ARG001 - it is the key
    figures: dict[str, Any] = json.loads(PLACE.read_text(encoding="utf-8"))
    return figures


def _figures() -> dict[str, Any] | str:
    """Return the figures, or why they are missing."""
    try:
        return _kept(str(PLACE), PLACE.stat().st_mtime_ns)
    except (OSError, ValueError) as error:
        return (
            f"The file data/{PLACE.name} cannot be read ({error.__class__.__name__}). "
            "Make it with python -m planner backtest data/tables/published."
        )


def _job(job: dict[str, Any]) -> dict[str, Any]:
    return {
        "Job": job["name"],
        "Accelerators": f"{job['devices']:,} x {job['accelerator']}",
        "Published (device-hours)": float(f"{job['published_device_hours']:.3g}"),
        "Our estimate": _rounded(job["value"]),
        "Low": _rounded(job["low"]),
        "High": _rounded(job["high"]),
        "Inside": "yes" if job["low"] is not None and _inside(job) else "no",
        "Source": f"https://{job['place'].split(' ')[0]}",
    }


def _inside(job: dict[str, Any]) -> bool:
    return bool(job["low"] <= job["published_device_hours"] <= job["high"])


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def _tasks(tasks: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "Asked about": title,
            "Asked": tasks[task]["asked"],
            "Answered": tasks[task]["answered"],
            "Median error (%)": _rounded(tasks[task]["median"]),
            "Mean error (%)": _rounded(tasks[task]["mean"]),
            "Coverage (%)": _rounded(tasks[task]["held"]),
            "Width (%)": _rounded(tasks[task]["width"]),
        }
        for task, title in TITLES.items()
        if task in tasks and task != "pairs" and tasks[task]["asked"]
    ]


def _misses(worst: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [
        {
            "Asked about": TITLES.get(task, task),
            "What": miss["name"],
            "Source": miss["source"],
            "Estimated over published": miss["ratio"],
            "Inside": "yes" if miss["inside"] else "no",
        }
        for task, misses in worst.items()
        for miss in misses
    ]
