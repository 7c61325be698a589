"""The inputs of the page How long?: workload, pattern, epochs, systems, baseline."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Final

import streamlit as st

from pages.common import fields, kept, widgets, workload_choice
from pages.common.link import Link
from planner.answers.parameters import HOW_LONG
from planner.core.slugs import slugs
from planner.epochs import (
    MOST_CHOSEN,
    QUICK,
    SAMPLES_PER_EPOCH,
    EpochSize,
    Option,
    with_epochs,
)
from planner.store import Store

BY_NAME: Final = {p.name: p for p in HOW_LONG}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenOptions:
    """All options of the workload, those to rank, the baseline, epochs and epoch size."""

    options: list[Option]
    ranked: list[Option]
    baseline: Option
    epochs: int
    size: EpochSize


def draw(link: Link, shared: Store, left_out: frozenset[str]) -> ChosenOptions | None:
    """Draw the controls; return the choices, None where there is no run.

    Runs that are left out do not count for the scatter of other runs' epochs.
    """
    workloads = kept.workload_names(shared)
    if not workloads:
        widgets.no_run("how-long")
        return None
    workload = link.choice("workload", workloads, kept.usual_workload(shared))
    boxes = workload_choice.offer(link, shared, workloads)
    widths = [2.4, 8.5, 8.1] if boxes.is_by_kind else [1, 1]
    *kind, first, second = st.columns(widths, vertical_alignment="bottom")
    boxes.draw((kind or [first])[0], first, lambda: link.forget_now("samples_per_epoch"))
    patterns = slugs(kept.patterns(shared, workloads[workload]))
    pattern = link.choice("pattern", patterns, next(iter(patterns)))
    with second:
        fields.choice(link, BY_NAME["pattern"], patterns)
    options = _options(shared, (workloads[workload], patterns[pattern]), left_out)
    entered = link.whole(SAMPLES_PER_EPOCH)
    size, shown = kept.size_of(shared, workloads[workload], patterns[pattern], entered)
    widths = [5, 5, 9, 8] if shown else [5, 14, 8]
    first, *middle, second, third = st.columns(widths, vertical_alignment="bottom")
    with first:
        epochs = _epochs(link)
    for column in middle:
        with column:
            fields.number(link, SAMPLES_PER_EPOCH, empty=_placeholder(size), step=1000)
    with second:
        _quick(link, epochs)
    labels = slugs([o.label for o in options])
    by_slug = dict(zip(labels, options, strict=True))
    usual = kept.usual_options(shared, workloads[workload], by_slug, size)
    link.choices("systems", labels, usual, MOST_CHOSEN)
    baseline = link.choice("baseline", labels, usual[0])
    names = {s: o.label for s, o in by_slug.items()}
    fields.choice(link, BY_NAME["baseline"], names, third)
    chosen = fields.several(link, BY_NAME["systems"], names)
    listed = list(dict.fromkeys([*chosen, baseline])) if chosen else []
    needed = list(dict.fromkeys([*listed, baseline]))
    seconds = partial(kept.epochs_of, shared, workloads[workload])
    whole = dict(zip(needed, with_epochs([by_slug[s] for s in needed], seconds), strict=True))
    return ChosenOptions(
        options=options,
        ranked=[whole[s] for s in listed],
        baseline=whole[baseline],
        epochs=epochs,
        size=size,
    )


def _epochs(link: Link) -> int:
    epochs = link.number(BY_NAME["epochs"])
    step = 10 ** max(0, math.ceil(math.log10(max(epochs, 2))) - 1)  # 900, 1000, 2000: by decade
    fields.number(link, BY_NAME["epochs"], step=step)
    return epochs


def _placeholder(size: EpochSize) -> str:
    """Return the epoch size that counts while the field is empty."""
    return "not stated" if size.samples is None else f"{size.samples:,.0f}"


def _quick(link: Link, epochs: int) -> None:
    key = link.key("quick")
    lit = epochs if epochs in QUICK else None
    if st.session_state.get(key) != lit:
        st.session_state[key] = lit

    def pick() -> None:
        if st.session_state[key]:
            st.session_state[link.key("epochs")] = st.session_state[key]

    st.pills(
        "Quick picks",
        QUICK,
        key=key,
        on_change=pick,
        wrap=True,
        label_visibility="collapsed",
        format_func="{:,}".format,
    )


def _options(shared: Store, place: tuple[str, str], left_out: frozenset[str]) -> list[Option]:
    """Return the workload's runs; single epochs are read only where the summary lacks them."""
    widgets.cut_short(len(kept.runs_of(shared, *place)))
    return kept.options(shared, *place, left_out)
