"""What the How long? page compares: workload, pattern, number of epochs, systems, the baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import streamlit as st

from pages.parts import asked, widgets
from pages.parts.links import Link, slugs
from planner.estimate import Estimate
from planner.how_long import EPOCHS, MOST_EPOCHS, QUICK, Option, options_of, total_time
from planner.steadiness import SHORTEST
from planner.store import Store

MOST_LINES: Final = 12
MOST_CHOSEN: Final = MOST_LINES - 1
"""The one that all are compared with is drawn as well."""
PREFERRED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """All options of the workload, those to rank (none: an empty list), and what is asked."""

    options: list[Option]
    ranked: list[Option]
    baseline: Option
    epochs: int


def draw(link: Link, shared: Store) -> Chosen | None:
    """The controls, in two rows; None where there is nothing to choose from."""
    workloads = slugs(asked.workloads(shared))
    if not workloads:
        widgets.no_run("how-long")
        return None
    first, second = st.columns([1, 1], vertical_alignment="bottom")
    workload = link.one("workload", list(workloads), next(iter(workloads)))
    with first:
        st.selectbox(
            "Workload", list(workloads), format_func=workloads.__getitem__, key=link.key("workload")
        )
    patterns = slugs(asked.patterns(shared, workloads[workload]))
    pattern = link.one("pattern", list(patterns), next(iter(patterns)))
    with second:
        st.selectbox(
            "Input pattern",
            list(patterns),
            format_func=patterns.__getitem__,
            key=link.key("pattern"),
        )
    first, second, third = st.columns([5, 14, 8], vertical_alignment="bottom")
    with first:
        epochs = _epochs(link)
    with second:
        _quick(link, epochs)
    options = _options(shared, workloads[workload], patterns[pattern])
    by_slug = dict(zip(slugs([o.label for o in options]), options, strict=True))
    usual = usual_options(by_slug)
    link.many("systems", list(by_slug), usual, MOST_CHOSEN)
    baseline = link.one("baseline", list(by_slug), next(iter(by_slug)))
    with third:
        st.selectbox(
            "Compare with",
            list(by_slug),
            key=link.key("baseline"),
            format_func=lambda s: by_slug[s].label,
        )
    chosen = st.multiselect(
        "Systems",
        list(by_slug),
        format_func=lambda s: by_slug[s].label,
        key=link.key("systems"),
        max_selections=MOST_CHOSEN,
    )
    listed = list(dict.fromkeys([*chosen, baseline])) if chosen else []
    whole = {s: _with_epochs(shared, by_slug[s]) for s in {*listed, baseline}}
    return Chosen(
        options=options,
        ranked=[whole[s] for s in listed],
        baseline=whole[baseline],
        epochs=epochs,
    )


def _with_epochs(shared: Store, option: Option) -> Option:
    """With its single epochs where there are enough to show that they are of several kinds."""
    if option.epoch_s or (option.run.epochs_measured or 0) <= 2 * SHORTEST:
        return option
    return replace(option, epoch_s=asked.epoch_times(shared, option.run.run_id))


def _epochs(link: Link) -> int:
    epochs = link.number("epochs", 1, MOST_EPOCHS, EPOCHS)
    step = 10 ** max(0, math.ceil(math.log10(max(epochs, 2))) - 1)  # 900, 1000, 2000: by decade
    st.number_input("Epochs", 1, MOST_EPOCHS, step=step, format="%d", key=link.key("epochs"))
    return epochs


def _quick(link: Link, epochs: int) -> None:
    """Quick picks that write into the number beside them."""
    key = link.key("quick")
    lit = epochs if epochs in QUICK else None
    if st.session_state.get(key) != lit:
        st.session_state[key] = lit

    def pick() -> None:
        if st.session_state[key]:
            st.session_state[link.key("epochs")] = st.session_state[key]

    st.pills("Quick picks", QUICK, key=key, on_change=pick, wrap=True, label_visibility="collapsed")


def _options(shared: Store, workload: str, pattern: str) -> list[Option]:
    """The workload's runs; single epochs are fetched only where the summary does not hold them."""
    runs = asked.runs_of(shared, workload, pattern)
    widgets.cut_short(runs)
    bare = [r for r in runs if r.later_epoch_mean_s is None and r.asymptotic_throughput is None]
    kept = {r.run_id: asked.epoch_times(shared, r.run_id) for r in bare if r.status == "ok"}
    return options_of(runs, kept)


def usual_options(by_slug: dict[str, Option]) -> list[str]:
    """Systems shown before anyone chooses.

    Of each system the smallest and the largest batch, then what lies between while there are
    few; those with an answer first.
    """
    good = [s for s, o in by_slug.items() if isinstance(total_time(o, EPOCHS), Estimate)]
    pool = good or list(by_slug)
    groups: dict[str, list[str]] = {}
    for s in pool:
        groups.setdefault(by_slug[s].run.system, []).append(s)
    picked: list[str] = []
    for members in groups.values():
        picked += [members[0], members[-1]]
    for members in sorted(groups.values(), key=len, reverse=True):
        picked += [members[len(members) * k // 4] for k in (2, 3, 1)]
    most = min(max(PREFERRED, len(groups)), MOST_CHOSEN)
    wanted = list(dict.fromkeys(picked))[:most]
    return [s for s in by_slug if s in wanted]
