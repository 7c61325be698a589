"""The effect of a factor: pairs of runs that are equal in everything else."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from pages.common import fields, kept, narrow, widgets
from pages.common.link import Link, as_text
from planner import figures
from planner.core import Cell, Record, Text, csv_text, sentence_case, several, with_range
from planner.effects import BROUGHT, FactorEffect, effect_rows
from planner.store import Store

Effects = Mapping[str, Sequence[FactorEffect]]


def offer(link: Link, shared: Store, workload: str, without: frozenset[str]) -> Effects:
    """Return the factors with pairs in the workload. Call before `link.write`."""
    effects = kept.effects(shared, workload, without)
    link.choice("factor", list(effects), next(iter(effects), ""))
    return effects


def draw(link: Link, shared: Store, effects: Effects, workload: str) -> None:
    """Draw the choice of a factor and its effects: forest plot and table."""
    with st.container(border=True, key="throughput.effects"):
        widgets.heading(Text("What a factor does: {workload}", workload=as_text(workload)))
        if not effects:
            st.caption(
                Text(
                    "No two runs differ in one factor ({brought}) alone. Measure one "
                    "configuration and batch twice, with and without it.",
                    brought=", ".join(BROUGHT),
                )
            )
            return
        fields.segments(link, "factor", "Factor", list(effects), format_func=sentence_case)
        factor = st.session_state[link.key("factor")]
        key = (link.question("scale", "batch", *widgets.OPEN), workload, factor, widgets.theme())
        rows, figure = kept.drawn(shared, "factor", key, lambda: _drawn(effects[factor]))
        _draw_effects(link, effects[factor], rows, figure)
        if missing := [factor for factor in BROUGHT if factor not in effects]:
            st.caption(Text("No two runs differ in {missing} alone.", missing=", ".join(missing)))


def _drawn(effects: Sequence[FactorEffect]) -> tuple[Sequence[Record], figures.ChartSpec]:
    """Return the rows of the effects and their forest plot."""
    rows = effect_rows(effects)
    return rows, figures.dots(_dots(rows), _SCALE, widgets.theme())


def _draw_effects(
    link: Link, effects: Sequence[FactorEffect], rows: Sequence[Record], figure: figures.ChartSpec
) -> None:
    tab = widgets.chart_or_table("throughput.factor", link=link)
    sentences = [effect.sentence for effect in effects]
    with tab.place:
        if tab.name == "chart":
            st.markdown(Text("**Effect of {factor} on time**", factor=as_text(effects[0].factor)))
            widgets.chart(figure, "throughput.forest", " ".join(sentences))
        else:
            _table(effects, rows)
    with widgets.details():
        for text in (*sentences, *effects[0].notes):
            st.markdown(widgets.answer_text(text))


_SCALE: Final = figures.Scale(
    title="time with the factor / time without it", unit="", least=1e-3,
    compare=1.0, compared="no effect", whisker="90 % interval",
)  # fmt: skip


def _dots(rows: Sequence[Record]) -> list[figures.Dot]:
    """Return the forest plot: a change as a group, all its pairs together, then batch by batch.

    The effect is the one per processed image, where images are counted.
    """
    made = []
    for row in rows:
        name = "per_epoch" if row["per_image"] is None else "per_image"
        value, low, high = (_number(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
        batch = "" if row["batch"] is None else f"batch {row['batch']:,}"
        pairs = several(int(_number(row["pairs"])), "pair")
        label = "all batches" if row["pooled"] and not batch else batch or "batch unknown"
        made.append(
            figures.Dot(
                label=f"{label}, {pairs}", slot=0, value=value, low=low, high=high,
                group=f"{row['changed']} against {row['base']}", strong=bool(row["pooled"]),
                note=f"per {'epoch' if name == 'per_epoch' else 'processed image'}",
            )
        )  # fmt: skip
    return made


def _number(cell: Cell) -> float:
    return math.nan if cell is None else float(cell)


def _table(effects: Sequence[FactorEffect], rows: Sequence[Record]) -> None:
    narrow.table(
        [_shown(row) for row in rows],
        key="throughput.factors",
        alt="Effect of the factor per epoch and per processed image, pooled and batch by batch",
    )
    st.caption(
        "Above 1 the factor costs time; in brackets the 90\u00a0% interval. A validated image "
        "counts a third of a trained one."
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
    return with_range(float(value), float(low), float(high))
