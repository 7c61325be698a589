"""The pages of the app: address, title, icon and script of each; the navigation and all links."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import streamlit as st

from pages.common.kept import ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A page; `path` is its address without the slash, "" for the first page."""

    path: str
    title: str
    icon: str
    help: str
    section: str

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
        Address(
            path=START,
            title="Start",
            icon="home",
            help="Questions, example jobs, recent results and saved views",
            section="",
        ),
        Address(
            path="how-long",
            title="How long?",
            icon="timer",
            help="What N epochs take on each system",
            section="Plan",
        ),
        Address(
            path="compare",
            title="Compare hardware",
            icon="balance",
            help="Which accelerator, rented or bought: time, cost, how sure",
            section="Plan",
        ),
        Address(
            path="capacity",
            title="Capacity",
            icon="calendar_month",
            help="Which machines for a month of jobs: cost, waiting times, what breaks first",
            section="Plan",
        ),
        Address(
            path="throughput",
            title="Throughput",
            icon="show_chart",
            help="Samples per second against batch size",
            section="Understand",
        ),
        Address(
            path="scaling-out",
            title="Scaling out",
            icon="hub",
            help="Whether more devices or workers pay, and from which batch on",
            section="Understand",
        ),
        Address(
            path="steps-to-target",
            title="Steps to target",
            icon="flag",
            help="From which batch on larger batches give diminishing returns",
            section="Understand",
        ),
        Address(
            path="explore",
            title="Explore",
            icon="scatter_plot",
            help="Any column of the runs against any other",
            section="Data",
        ),
        Address(
            path="results",
            title="Results",
            icon="table_rows",
            help="Every run, where it comes from, and what is refused",
            section="Data",
        ),
        Address(
            path="add-results",
            title="Add results",
            icon="upload_file",
            help="Bring in results of other programs; withdraw a set",
            section="Data",
        ),
        Address(
            path="measure",
            title="Measure",
            icon="speed",
            help="What a sweep would cost; start, follow and stop it",
            section="Data",
        ),
        Address(
            path="method",
            title="Method & accuracy",
            icon="fact_check",
            help="How wrong we were; the formulas, what is refused, sources",
            section="About",
        ),
    )
}
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
