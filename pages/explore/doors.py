"""Where marked runs open: Throughput, How long?, Compare and Results, each with its own link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.common import hardware, kept
from pages.common.kept import ROOT
from pages.common.link import Link, Parameters, page_link
from planner.answers.parameters import MOST_RUNS_SHOWN
from planner.catalog import sole_accelerator
from planner.core import Text, paragraph, slug
from planner.core.slugs import own_slug, slugs
from planner.epochs import MOST_CHOSEN, MOST_LINES, SAMPLES_PER_EPOCH, offered
from planner.explore import lowest_offer
from planner.store import Store

EPOCH: Final = 1_000_000
"""Samples of an epoch that pages begin with where no run states any [samples]."""
MOST_OPTIONS: Final = 6
"""Options that Compare begins with."""
_PAGES: Final = ROOT / "pages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A page that opens with the marked runs."""

    page: str
    label: str
    icon: str
    parameters: Parameters


def draw(link: Link, doors: Sequence[Door]) -> None:
    """Draw a link to each page."""
    st.caption("Open in")
    for door in doors:
        target = _PAGES / door.page / "page.py"
        page_link(link.page, target, door.label, f":material/{door.icon}:", door.parameters)


def doors_of(shared: Store, rows: Sequence[Mapping[str, Any]]) -> tuple[list[Door], str]:
    """Return the pages that have a use for the runs, and what these leave out.

    Pages about one workload open with that of most of the runs.
    """
    doors: list[Door] = []
    notes: list[Text] = []
    names = {name: short for short, name in kept.workload_names(shared).items()}
    usable = [row for row in rows if row["workload"] in names and row["status"] == "ok"]
    if usable:
        workload, n = Counter(row["workload"] for row in usable).most_common(1)[0]
        own = [row for row in usable if row["workload"] == workload]
        size = kept.curve_systems(shared, workload).size
        epoch = {SAMPLES_PER_EPOCH.name: [str(EPOCH)]} if size.source == "unknown" else {}
        doors += _one_workload(shared, own, names[workload], epoch)
        if epoch:
            notes.append(Text("The samples of an epoch are not stated: How long? and Compare open "
                              "with {epoch:,}.", epoch=EPOCH))  # fmt: skip
        if n < len(usable):
            notes.append(Text("Pages about one workload open with {workload}, that of most runs.",
                              workload=workload))  # fmt: skip
    ids = list(dict.fromkeys(row["run_id"] for row in rows))
    if len(ids) > MOST_RUNS_SHOWN:
        notes.append(Text("Results opens with the first {most}.", most=MOST_RUNS_SHOWN))
    last = _door("results", "Results", "table_rows", {"runs": ids[:MOST_RUNS_SHOWN]})
    return [*doors, last], paragraph(*notes)


def _one_workload(
    shared: Store, rows: Sequence[Mapping[str, Any]], workload: str, epoch: Parameters
) -> list[Door]:
    doors = []
    if any(row["step_time_s"] is not None for row in rows):
        doors.append(_door("throughput", "Throughput", "show_chart", _throughput(rows, workload)))
    if any((row["later_epoch_mean_s"], row["step_time_s"]) != (None, None) for row in rows):
        question = _how_long(shared, rows, workload) | epoch
        doors.append(_door("how_long", "How long?", "timer", question))
    if any(row["mode"] == "training" for row in rows):
        doors.append(_door("compare", "Compare", "balance", _compare(rows, workload) | epoch))
    return doors


def _door(page: str, label: str, icon: str, parameters: Parameters) -> Door:
    return Door(page=page, label=label, icon=icon, parameters=parameters)


def _slugs_of(rows: Sequence[Mapping[str, Any]], name: str, most: int) -> list[str]:
    """Return the most frequent names of a column, as slugs."""
    return [own_slug(text) for text, _ in Counter(row[name] for row in rows).most_common(most)]


def _throughput(rows: Sequence[Mapping[str, Any]], workload: str) -> Parameters:
    timed = [row for row in rows if row["step_time_s"] is not None]
    return {
        "workload": [workload],
        "patterns": _slugs_of(timed, "pattern", MOST_LINES),
        "systems": _slugs_of(timed, "system", MOST_LINES),
    }


def _how_long(shared: Store, rows: Sequence[Mapping[str, Any]], workload: str) -> Parameters:
    """Return the question of the runs' most frequent pattern, with the options that they are."""
    pattern = Counter(row["pattern"] for row in rows).most_common(1)[0][0]
    name = rows[0]["workload"]
    ids = {row["run_id"] for row in rows}
    runs = kept.runs_of(shared, name, pattern)
    options = offered(runs, partial(kept.epochs_of, shared, name))
    labels = slugs([option.label for option in options])
    chosen = [
        short for short, option in zip(labels, options, strict=True) if option.run.run_id in ids
    ][:MOST_CHOSEN]
    systems = {"systems": chosen} if chosen else {}
    return {"workload": [workload], "pattern": [own_slug(pattern)], **systems}


def _compare(rows: Sequence[Mapping[str, Any]], workload: str) -> Parameters:
    """Return the workload with the lowest on-demand offer of each accelerator."""
    catalog = hardware.catalog().catalog
    options = []
    for name, _ in Counter(row["accelerator"] for row in rows).most_common(MOST_OPTIONS):
        if accelerator := sole_accelerator(catalog, name):
            offer = lowest_offer(catalog, accelerator)
            options += [f"rent-{slug(offer.id)}"] if offer is not None else []
    return {"workload": [workload], **({"options": options} if options else {})}
