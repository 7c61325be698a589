"""Pages run through their frame, on the shipped results and a folder made for the test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.parts import compare_state, state
from planner.store import Folder, Store, folders_from_environment
from planner.store.folders import OWN

SHELL = state.ROOT / "pages" / "shell.py"
PAGES = {
    "": "How long?",
    "how-long": "How long?",
    "compare": "Compare hardware",
    "throughput": "Throughput",
    "steps-to-target": "Steps to target",
    "results": "Results",
    "measure": "Measure",
    "method": "Method & accuracy",
}
"""Every address of the app, with its title."""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of one's own results, empty; the shipped ones are there as well."""
    place = tmp_path / "results"
    monkeypatch.setenv(OWN, str(place))
    yield place
    state._store.cache_clear()


@pytest.fixture
def alone(own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of one's own results, and no shipped ones."""

    def not_the_shipped(root: Path, environment: Mapping[str, str]) -> tuple[Folder, ...]:
        return folders_from_environment(root, environment)[1:]

    monkeypatch.setattr(state, "folders_from_environment", not_the_shipped)
    return own


@pytest.fixture
def store(own: Path) -> Store:
    """The store as a page sees it."""
    known = Store(folders_from_environment(state.ROOT, {OWN: str(own)}))
    known.refresh()
    return known


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nobody's own rows of the catalogue, nobody's saved comparisons; the person owns the app."""
    for name in ("catalog", "saved"):
        monkeypatch.setenv(f"EPOCHWISE_{name.upper()}", str(tmp_path / name))
    monkeypatch.setenv("EPOCHWISE_MEASURE", "on")
    yield tmp_path
    compare_state._KEPT.clear()


def show(address: str = "", **link: str | list[str]) -> AppTest:
    """The page as a link opens it in a fresh session; no exception may have been raised."""
    shown = AppTest.from_file(str(SHELL), default_timeout=60)
    for name, value in link.items():
        shown.query_params[name] = value
    if address:  # switch_page knows an address only after a first run, and this is the first
        shown._page_hash = calc_hash(address)
    return sound(shown.run())


def sound(shown: AppTest) -> AppTest:
    """The page, unless it shows an exception."""
    assert [e.value for e in shown.exception] == []
    return shown


def unfold(shown: AppTest, key: str) -> AppTest:
    """The page with one of its folded boxes open."""
    shown.session_state[key] = True
    return sound(shown.run())


def texts(shown: AppTest) -> str:
    """Everything a page says in words, without the signs that keep names from being markup."""
    parts = [*shown.title, *shown.markdown, *shown.caption, *shown.warning]
    said = "\n".join(str(p.value) for p in parts)
    return said.replace("\\", "").replace("\u2060", "").replace("\u00a0", " ")


def figure(shown: AppTest, place: int = 0) -> dict[str, Any]:
    """The figure of the chart at `place`, as the browser gets it."""
    spec: dict[str, Any] = json.loads(shown.get("plotly_chart")[place].proto.spec)
    return spec


def lines(shown: AppTest, place: int = 0) -> list[str]:
    """Names of the lines one can point at; bands and markers are none."""
    return [
        trace["name"]
        for trace in figure(shown, place)["data"]
        if trace.get("mode") == "lines" and trace.get("hoverinfo") != "skip"
    ]
