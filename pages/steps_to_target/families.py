"""The card that compares networks on the same data at the same target."""

from dataclasses import replace

import streamlit as st

from pages.common import fields, kept, narrow, widgets
from pages.common.link import Link
from pages.common.widgets import File
from pages.steps_to_target import lines, rows
from planner.answers.parameters import STEPS_TO_TARGET
from planner.core import Text, csv_text
from planner.core.slugs import slugs
from planner.runs import TrialSet
from planner.store import Store
from planner.time_to_target import (
    Families,
    TargetWords,
    easiest_target,
    family_batch_rows,
    family_rows,
    family_sentences,
    goal_of,
)

NAME = "families"
"""The link's parameter: the optimiser of the comparison."""


def offer(
    link: Link, shared: Store, of: TrialSet, target: float, goal: TargetWords
) -> Families | None:
    """Return the comparison with the link's optimiser, by default that of the most networks.

    Where fewer than two networks reach the target, it is the easiest that trials aimed at. None for
    published trials: they state single values, without curves.
    """
    if of.basis != "measured":
        return None
    optimizers = slugs(kept.family_optimizers(shared, of))
    if len(kept.alike_sets(shared, of)) < 2 or not optimizers:
        return None
    chosen = link.choice(NAME, optimizers, next(iter(optimizers)))
    families = kept.families(shared, of, target, goal, optimizers[chosen])
    easier = easiest_target(kept.alike_sets(shared, of))
    if easier is None or easier == target or (families and len(families.fitted) > 1):
        return families
    eased = goal_of(of, kept.trials(shared, of), easier)
    other = kept.families(shared, of, easier, eased, optimizers[chosen])
    if other is None or len(other.fitted) < 2:
        return families
    return replace(other, instead_of=goal.target)


def draw(link: Link, of: Families) -> None:
    """Draw the card."""
    by_slug = slugs(of.optimizers)
    texts = family_sentences(of)
    with st.container(border=True):
        widgets.heading(
            Text("Network families on {answer_text}", answer_text=widgets.answer_text(of.dataset))
        )
        fields.choice(link, STEPS_TO_TARGET[NAME], by_slug)
        if of.instead_of:
            st.caption(
                Text(
                    "Fewer than two networks reach {strict}. This card compares them at {target}.",
                    strict=widgets.answer_text(of.instead_of),
                    target=widgets.answer_text(of.goal.target),
                )
            )
        for text in texts:
            st.markdown(widgets.answer_text(text))
        tab = widgets.chart_or_table("steps-to-target.families", link=link)
        with tab.place:
            if tab.name == "chart":
                _chart(link, of, " ".join(texts))
            else:
                _table(of)
        if of.unshown:
            st.caption(Text("Networks that are not shown: {unshown:,}.", unshown=of.unshown))


def _chart(link: Link, of: Families, alt: str) -> None:
    key, theme = (link.question(*widgets.OPEN), widgets.theme()), widgets.theme()
    figure = kept.drawn(kept.store(), "families", key, lambda: lines.families_figure(of, theme))
    if figure is None:
        st.caption("No chart: no network reached this target.")
    else:
        widgets.chart(figure, "steps-to-target.families_chart", alt)


def _table(of: Families) -> None:
    records = family_rows(of)
    narrow.table(
        [rows.family(r) for r in records],
        key="steps-to-target.families_table",
        alt="Critical batch size and least steps of every network",
    )
    widgets.row(
        [
            File("Families as CSV", lambda: csv_text(records), "epochwise-families.csv",
                 "steps-to-target.families_csv"),
            File("Family batches as CSV", lambda: csv_text(family_batch_rows(of)),
                 "epochwise-family-batches.csv", "steps-to-target.family_batches_csv"),
        ]
    )  # fmt: skip
