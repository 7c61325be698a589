"""The pages of the app: address, title, icon and script of each; the navigation and all links."""

import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import streamlit as st

from pages.common.kept import ROOT


@dataclass(frozen=True, slots=True)
class Address:
    """A page; `path` is its address without the slash, "" for the first page."""

    path: str
    title: str
    icon: str
    section: str
    help: str

    @property
    def script(self) -> Path:
        """The script that draws it."""
        return _script(self.path)

    @property
    def symbol(self) -> str:
        """The icon as Streamlit writes it."""
        return f":material/{self.icon}:"


@cache
def _script(path: str) -> Path:
    return ROOT / "pages" / (path or "start").replace("-", "_") / "page.py"


START: Final = ""
ADDRESSES: Final = {
    a.path: a
    for a in (
        Address(START, "Start", "home", "",
            "Questions, example jobs, recent results and saved views"),
        Address("how-long", "How long?", "timer", "Plan", "What N epochs take on each system"),
        Address("compare", "Compare hardware", "balance", "Plan",
            "Which accelerator, rented or bought: time, cost, how sure"),
        Address("capacity", "Capacity", "calendar_month", "Plan",
            "Which machines for a month of jobs: cost, waiting times, what breaks first"),
        Address("throughput", "Throughput", "show_chart", "Understand",
            "Samples per second against batch size"),
        Address("scaling-out", "Scaling out", "hub", "Understand",
            "Whether more devices or workers pay, and from which batch on"),
        Address("steps-to-target", "Steps to target", "flag", "Understand",
            "From which batch on larger batches give diminishing returns"),
        Address("explore", "Explore", "scatter_plot", "Data",
            "Any column of the runs against any other"),
        Address("results", "Results", "table_rows", "Data",
            "Every run, where it comes from, and what is refused"),
        Address("add-results", "Add results", "upload_file", "Data",
            "Bring in results of other programs; withdraw a set"),
        Address("measure", "Measure", "speed", "Data",
            "What a sweep would cost; start, follow and stop it"),
        Address("method", "Method & accuracy", "fact_check", "About",
            "How wrong we were; the formulas, what is refused, sources"),
    )
}  # fmt: skip
"""Every page by its address, in the order of the navigation."""


def navigation() -> dict[str, list[st.Page]]:
    """Return the pages of each section, for `st.navigation`.

    A page resolves its script and checks its icon, so each is made once and copied: `run` marks
    the object that one session draws.
    """
    sections: dict[str, list[st.Page]] = {}
    for section, page in _made():
        sections.setdefault(section, []).append(copy.copy(page))
    return sections


ALSO_START: Final = "start"
"""A second address of the first page, for who types it; the navigation does not list it."""


@cache
def _made() -> tuple[tuple[str, st.Page], ...]:
    pages = [(address.section, _page(address)) for address in ADDRESSES.values()]
    first = ADDRESSES[START]
    return (*pages, (first.section, _page(replace(first, path=ALSO_START))))


def _page(address: Address) -> st.Page:
    return st.Page(
        address.script,
        title=address.title,
        icon=address.symbol,
        url_path=address.path,
        default=address.path == START,
        visibility="hidden" if address.path == ALSO_START else "visible",
        help=address.help,
    )
