"""Runs side by side, or pairs of workload and system: facts, epochs, steps, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import streamlit as st

from pages.common import kept, narrow, widgets
from pages.common.fields import flag
from pages.common.link import Link, as_text
from pages.explore import fields, state
from planner import figures
from planner.answers import facet_names
from planner.core import Parameter, Record, Text, csv_text
from planner.core.slugs import slugs
from planner.explore import CATEGORIES, LEAST, MOST, RUN, Fact, text_of_cell, titled
from planner.figures import RunLine
from planner.store import Store, queries

PARAMETERS: Final = ("run", "pair", "only_differences")
LETTERS: Final = "ABCDEF"
PAIR: Final = "pair"
_ONLY: Final = Parameter(name=PARAMETERS[-1], words="", kind="flag", default=False, help="",
                         label="Only differences")  # fmt: skip
UNKNOWN_CELL: Final = text_of_cell(None)
_EPOCHS: Final = ("Epochs", "single epochs", "Time of each epoch of each run")
_STEPS: Final = (
    "Step times", "single step times", "Share of steps that take at most a time, for each run",
)  # fmt: skip
"""Heading of a chart, what it draws, and its words for screen readers."""


def declare(link: Link) -> None:
    """Read the compared runs or pairs from the link."""
    link.texts("run", MOST)
    link.texts(PAIR, MOST)
    link.flag(_ONLY)


def draw(link: Link, shared: Store, answer: state.Reply) -> None:
    """Draw what the chosen runs or pairs differ in."""
    _choice(link, shared)
    compared = answer.answer
    if len(compared.names) < LEAST:
        with st.container(border=True):
            widgets.heading(Text("Choose {least} to {most} runs.", least=LEAST, most=MOST))
            st.caption("Tick runs in the table below the chart, or add pairs above.")
            st.button(
                "To the chart",
                icon=":material/scatter_plot:",
                key="explore.to_chart",
                on_click=lambda: link.put("view", "chart"),
            )
        return
    with st.container(border=True):
        with widgets.spread():
            widgets.heading(f"{widgets.answer_text(compared.sentence)}", width="content")
            flag(link, _ONLY)
        only = bool(st.session_state[link.key("only_differences")])
        facts = [fact for fact in compared.facts if fact.differs or not only]
        cards = _cards(compared.names, facts)
        with narrow.beside_cards("explore.side", cards, len(cards)):
            st.table(_marked(compared.names, facts))
        widgets.download(
            "CSV", lambda: csv_text(fact_rows(compared.names, compared.facts)),
            "epochwise-runs.csv", key="explore.side.csv", width="content",
        )  # fmt: skip
    systems, short = _systems_of(compared.facts, compared.names), compared.names
    if st.session_state[link.key(PAIR)]:
        st.caption("Below: the run of each pair with the highest throughput.")
        short = systems if len({*systems}) == len(systems) else short  # the legend is narrow
    runs = next((fact.texts for fact in compared.provenance if fact.title == RUN), ())
    _pictures(shared, runs, short, systems)
    with st.container(border=True):
        widgets.heading("Where they come from")
        rows = fact_rows(compared.names, compared.provenance)
        without_unit = [{k: v for k, v in row.items() if k != "Unit"} for row in rows]
        narrow.table(without_unit, "explore.provenance", "Provenance of each run")


def _choice(link: Link, shared: Store) -> None:
    """Draw the choice of pairs: a workload, then systems that ran it."""
    with st.container(border=True), st.grid(2, min_column_width=300):
        workloads = kept.workload_names(shared)
        key = "explore.pair_workload"
        st.selectbox(
            "Workload", list(workloads), None, key=key, placeholder="Choose a workload",
            format_func=kept.workload_labels(shared, workloads).__getitem__,
        )  # fmt: skip
        workload = st.session_state[key]
        options = _systems(shared, workloads[workload], workload) if workload else {}
        held = [str(text) for text in st.session_state[link.key(PAIR)]]
        names = {**_named(shared, held), **options}
        box = "explore.pairs"
        if st.session_state.get(box) != held:
            st.session_state[box] = held

        def picked() -> None:
            link.put(PAIR, list(st.session_state[box]))

        st.multiselect(
            fields.BY_NAME[PAIR].title(), list(names), key=box, max_selections=MOST,
            format_func=names.__getitem__, on_change=picked,
            placeholder="Choose pairs to compare" if workload else "First choose a workload",
        )  # fmt: skip


def _named(shared: Store, pairs: Sequence[str]) -> dict[str, str]:
    """Return the chosen pairs in words, by their link texts; a text without a match as it is."""
    names = facet_names(shared)
    named = {}
    for text in pairs:
        workload, _, system = text.partition("|")
        parts = names["workload"].get(workload), names["system"].get(system)
        named[text] = f"{parts[0]} · {parts[1]}" if all(parts) else text
    return named


def _systems(shared: Store, workload: str, short: str) -> dict[str, str]:
    """Return the pairs of a workload with the systems that ran it, by their link texts."""
    options = kept.facets(shared, {})
    every, systems = (slugs(sorted(options[kind])) for kind in ("workload", "system"))
    own = kept.facets(shared, {"workload": [workload]})["system"]
    place = next((s for s, name in every.items() if name == workload), short)
    return {f"{place}|{s}": f"{workload} · {n}" for s, n in systems.items() if n in own}


def _marked(names: Sequence[str], facts: Sequence[Fact]) -> pa.Table:
    """Return the facts with what differs in colour, as a table of Markdown."""
    heads = [f"{LETTERS[i]} · {as_text(name)}" for i, name in enumerate(names)]
    columns: dict[str, list[str]] = {"Fact": [], **{head: [] for head in heads}, "Difference": []}
    for fact in facts:
        columns["Fact"].append(as_text(titled(fact.title, fact.unit)))
        for head, text in zip(heads, fact.texts, strict=True):
            plain = as_text(text)
            columns[head].append(f":orange-background[**{plain}**]" if fact.differs else plain)
        columns["Difference"].append(as_text(fact.difference))
    return pa.table(columns)


def _cards(names: Sequence[str], facts: Sequence[Fact]) -> list[figures.Card]:
    """Return the names of the runs, then each fact with the value of every run, as cards."""
    letters = LETTERS[: len(names)]
    return [
        figures.Card(title="Compared", values=tuple(zip(letters, names, strict=True))),
        *(
            figures.Card(
                title=titled(fact.title, fact.unit),
                values=tuple(zip(fact.texts, letters, strict=True)),
                end="differs" if fact.differs else "",
                note=fact.difference,
            )
            for fact in facts
        ),
    ]


def fact_rows(names: Sequence[str], facts: Sequence[Fact]) -> list[Record]:
    """Return facts as rows with a column a run."""
    heads = [f"{LETTERS[i]} · {name}" for i, name in enumerate(names)]
    return [
        {"Fact": fact.title, "Unit": fact.unit, **dict(zip(heads, fact.cells, strict=True)),
         "Difference": fact.difference}
        for fact in facts
    ]  # fmt: skip


def _pictures(
    shared: Store, runs: Sequence[str], names: Sequence[str], systems: Sequence[str]
) -> None:
    """Draw epochs of all runs over each other, and the distribution of their steps."""
    slots = _slots(names, systems)
    epochs = _lines(shared, runs, names, slots, ("epochs", "epoch", "epoch_s"))
    steps = _lines(shared, runs, names, slots, ("steps", "step", "step_s"))
    if not epochs and not steps:
        st.caption("None of these runs has single epochs or step times stored.")
        return
    for lines, draw_lines, words, key in (
        (epochs, figures.epochs_overlaid, _EPOCHS, "explore.epochs"),
        (steps, figures.steps_distribution, _STEPS, "explore.steps"),
    ):
        title, what, alt = words
        if not lines:
            st.caption(Text("None of these runs has {what} stored.", what=what))
            continue
        with st.container(border=True):
            widgets.heading(title)
            narrow.chart_and_table(draw_lines(lines, widgets.theme()), key, alt)
            stated = {line.name for line in lines}
            missing = ", ".join(n for i, n in enumerate(names) if _label(i, n) not in stated)
            if missing:
                st.caption(as_text(Text("Without {what}: {missing}.", what=what, missing=missing)))


def _systems_of(facts: Sequence[Fact], names: Sequence[str]) -> tuple[str, ...]:
    """Return the system of each run; its name where the facts have none."""
    title = CATEGORIES["system"].title
    return next((fact.texts for fact in facts if fact.title == title), tuple(names))


def _slots(names: Sequence[str], systems: Sequence[str]) -> list[int]:
    """Return the colour of each run: the hue of its system, and a shade of its own."""
    labels = [_label(i, name) for i, name in enumerate(names)]
    slots = figures.option_slots(list(zip(labels, systems, strict=True)))
    return [slots[label] for label in labels]


def _label(place: int, name: str) -> str:
    return f"{LETTERS[place]} · {name}"


def _lines(
    shared: Store,
    runs: Sequence[str],
    names: Sequence[str],
    slots: Sequence[int],
    columns: tuple[str, str, str],
) -> list[RunLine]:
    lines = []
    nested, at, seconds = columns
    for i, (run, name) in enumerate(zip(runs, names, strict=False)):
        if run == UNKNOWN_CELL:
            continue
        rows: Sequence[Mapping[str, float]] = _nested(shared, run, nested)
        stated = [row for row in rows if row[seconds] is not None]
        if stated:
            lines.append(
                RunLine(
                    name=_label(i, name),
                    slot=slots[i],
                    dash="dot" if slots[i] in slots[:i] else "solid",
                    at=np.array([row[at] for row in stated], dtype=np.float64),
                    seconds=np.array([row[seconds] for row in stated], dtype=np.float64),
                )
            )
    return lines


def _nested(shared: Store, run: str, name: str) -> list[dict[str, float]]:
    key = ("nested", run, name, shared.generation)
    return shared.kept.once(key, lambda: queries.nested(shared, run, name))
