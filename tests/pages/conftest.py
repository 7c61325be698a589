"""Pages run through their frame, on the shipped results and a folder made for the test."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner
from streamlit.util import calc_hash

from pages.common import kept as state
from pages.common.link import LAST
from pages.compare import state as compare_state
from planner.store import Folder, Store, folders_from_environment
from planner.store.disk.folders import OWN
from tests import shipped


def _joined(runner: LocalScriptRunner, timeout: float = 3) -> None:
    """Wait for the end of a script run; AppTest looks a thousand times a second, and slows it."""
    if runner._script_thread:
        runner._script_thread.join(timeout)
    _stopped(runner, timeout=0.01)


_stopped: Final = local_script_runner.require_widgets_deltas
# Every AppTest looks through all installed packages, which takes longer than most pages.
manifest_scanner.scan_component_manifests = functools.cache(
    manifest_scanner.scan_component_manifests
)
local_script_runner.require_widgets_deltas = _joined
SHELL = state.ROOT / "pages" / "shell.py"


@pytest.fixture(scope="session")
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of results that stays empty: tests that write ask for `own`."""
    place = tmp_path_factory.mktemp("empty") / "results"
    yield place
    assert not place.exists(), "a test wrote results without asking for `own`"


@pytest.fixture(autouse=True)
def shared(
    request: pytest.FixtureRequest, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """One store for all tests that only read; one of its own for a test that changes anything.

    Reading the shipped results takes longer than most pages.
    """
    monkeypatch.setenv(OWN, str(empty_folder))
    if not _changes(request):
        monkeypatch.setattr(state, "_store", lambda _: _shown(empty_folder))
    yield
    _own_stores.cache_clear()


@pytest.fixture
def library_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages on all shipped results, the published library with them."""
    monkeypatch.setattr(state, "_shared", shipped.library)


def _changes(request: pytest.FixtureRequest) -> bool:
    """Whether a test has results of its own, or patches what answers are made of."""
    asked = inspect.signature(request.function).parameters
    return "own" in request.fixturenames or "monkeypatch" in asked


_own_stores: Final = state._store


@functools.cache
def _shown(own: Path) -> Store:
    """The store behind the pages of all tests that only read."""
    return _opened(own)


@functools.cache
def _compared(own: Path) -> Store:
    """The same runs in a store that no page has asked."""
    return _opened(own)


def _opened(own: Path) -> Store:
    known = Store(folders_from_environment(state.ROOT, {OWN: str(own)}))
    known.refresh()
    return known


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of one's own results, empty; the shipped ones are there as well."""
    place = tmp_path / "results"
    monkeypatch.setenv(OWN, str(place))
    yield place
    _own_stores.cache_clear()


@pytest.fixture
def alone(own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of one's own results, and no shipped ones."""

    def not_the_shipped(root: Path, environment: Mapping[str, str]) -> tuple[Folder, ...]:
        return folders_from_environment(root, environment)[1:]

    monkeypatch.setattr(state, "folders_from_environment", not_the_shipped)
    return own


@pytest.fixture
def store(request: pytest.FixtureRequest, empty_folder: Path) -> Store:
    """The store as a page sees it."""
    if "own" in request.fixturenames:
        return _opened(request.getfixturevalue("own"))
    return _opened(empty_folder) if _changes(request) else _compared(empty_folder)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No rows of the catalogue and no saved comparisons of a user; the person owns the app."""
    for name in ("catalog", "saved"):
        monkeypatch.setenv(f"EPOCHWISE_{name.upper()}", str(tmp_path / name))
    monkeypatch.setenv("EPOCHWISE_MEASURE", "on")
    yield tmp_path
    compare_state._KEPT.clear()


def show(address: str = "how-long", **link: str | list[str]) -> AppTest:
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


def on_tab(shown: AppTest, tab: str = "table") -> AppTest:
    """The page with another tab of its answer open: only the open one is drawn."""
    page = shown.session_state[LAST]
    shown.session_state[f"{page}.tab"] = tab
    return sound(shown.run())


def as_tables(shown: AppTest, *cards: str) -> AppTest:
    """The page with the tables of these further answers open instead of their charts."""
    shown.session_state[f"{shown.session_state[LAST]}.tables"] = list(cards)
    return sound(shown.run())


def texts(shown: AppTest) -> str:
    """Everything a page says in words, without the signs that keep names from being markup."""
    parts = [*shown.title, *shown.markdown, *shown.caption, *shown.warning, *shown.header]
    said = "\n".join(str(p.value) for p in parts)
    return said.replace("\\", "").replace("\u2060", "").replace("\u00a0", " ")


def figure(shown: AppTest, place: int = 0) -> dict[str, Any]:
    """The figure of the chart at `place`, as the browser gets it."""
    spec: dict[str, Any] = json.loads(shown.get("plotly_chart")[place].proto.spec)
    spec["data"] = [t for t in spec["data"] if t.get("x") != [None]]  # entries of the legend
    return spec


def legend(shown: AppTest, place: int = 0) -> set[str]:
    """What the legend of the chart at `place` names."""
    spec = json.loads(shown.get("plotly_chart")[place].proto.spec)
    return {trace["name"] for trace in spec["data"] if trace.get("showlegend")}


def lines(shown: AppTest, place: int = 0) -> list[str]:
    """Names of the lines one can point at; bands and markers are none."""
    return [
        trace["name"]
        for trace in figure(shown, place)["data"]
        if trace.get("mode") == "lines" and trace.get("hoverinfo") != "skip"
    ]
