"""The effect of a factor: pairs of runs that are equal in everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.common import kept, widgets
from pages.common.link import Link, as_text
from planner.core import Record, csv_text, sentence_case
from planner.effects import BROUGHT, FactorEffect, effect_rows
from planner.store import Store

Effects = Mapping[str, Sequence[FactorEffect]]


def offer(link: Link, shared: Store, workload: str, without: frozenset[str]) -> Effects:
    """Return the factors with pairs in the workload. Call before `link.write`."""
    effects = kept.effects(shared, workload, without)
    link.choice("factor", list(effects), next(iter(effects), ""))
    return effects


def draw(link: Link, effects: Effects, workload: str) -> None:
    """Draw the choice of a factor, and its effect in words and as a table."""
    with st.container(border=True, key="throughput.effects"):
        widgets.heading(f"What a factor does: {as_text(workload)}")
        if not effects:
            st.caption(
                f"No two runs differ in one factor ({', '.join(BROUGHT)}) alone. Measure one "
                "configuration and batch twice, with and without it."
            )
            return
        st.segmented_control(
            "Factor",
            list(effects),
            key=link.key("factor"),
            format_func=sentence_case,
            required=True,
            label_visibility="collapsed",
        )
        _draw_effects(effects[st.session_state[link.key("factor")]])
        if missing := [factor for factor in BROUGHT if factor not in effects]:
            st.caption(f"No two runs differ in {', '.join(missing)} alone.")


def _draw_effects(effects: Sequence[FactorEffect]) -> None:
    for effect in effects:
        st.markdown(widgets.answer_text(effect.sentence))
    for note in effects[0].notes:
        st.markdown(widgets.answer_text(note))
    rows = effect_rows(effects)
    widgets.table(
        [_shown(row) for row in rows],
        key="throughput.factors",
        alt="Effect of the factor per epoch and per processed image, pooled and batch by batch",
    )
    st.caption(
        "Times as long with the factor as without it, in brackets the 90\u00a0% interval; above 1 "
        "it costs time. An image counts 1 where it was trained on and 1/3 where it was validated "
        "on. Where the two columns differ, epochs differ in their number of images. The effect is "
        "then the one per image."
    )
    name = f"epochwise-{effects[0].factor}.csv"
    widgets.download("CSV", lambda: csv_text(rows), name, key="throughput.factor_csv",
                     width="content")  # fmt: skip


def _shown(row: Record) -> dict[str, object]:
    batch = row["batch"]
    several = "all" if row["pooled"] else "unknown"
    return {
        "Change": f"{row['changed']} against {row['base']}",
        "Batch": several if batch is None else f"{batch:,}",
        "Pairs": row["pairs"],
        "An epoch": _times(row, "per_epoch"),
        "A processed image": _times(row, "per_image"),
        "Notes": row["notes"] or "",
    }


def _times(row: Record, name: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None or low is None or high is None:
        return "–"
    return f"{float(value):.2f} ({float(low):.2f} – {float(high):.2f})"
