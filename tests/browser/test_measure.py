"""From a click on Start to a curve; then stop, resume, and a server that is started anew."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from planner.store import Folder, Store, queries
from planner.store.disk import sweeps
from planner.store.disk.folders import SHIPPED
from planner.store.disk.sweeps import SweepStatus
from planner.throughput import curve_sentence, curves_of
from runners.plan import spec
from tests.browser import short_runners
from tests.browser.conftest import Visit
from tests.browser.look import answer, aside, click_row, settled, widget
from tests.browser.server import Serve, served, streamlit, uvicorn
from tests.faults.outcomes import FULL
from tests.fork_server import executable
from tests.store.sweeping import dead, result

pytestmark = pytest.mark.browser
STAND_IN = "tests/browser/stand_in_app.py"
SHORT = "tests/browser/short_app.py"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - that is what is tried
PATIENCE_S = 60.0
QUICK_S = 600.0
"""Far above the minute that the short quick sweep takes on two cores: a hang is a failure."""


class App(NamedTuple):
    """A server and the folder of its results and its state."""

    url: str
    place: Path


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder for results and state; what was started from it is stopped in the end."""
    yield tmp_path
    _stopped(tmp_path)


def _stopped(place: Path) -> None:
    _open(place, "all")
    for status in sweeps.read_statuses(place / "state"):
        sweeps.ask_to_stop(status)
        _until(lambda s=status: not sweeps.alive(s))  # type: ignore[misc]


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The app with the stand-in, and the folder of its results and its state."""
    place = tmp_path_factory.mktemp("stand-in")
    (place / "none").mkdir()
    settings = {"STAND_IN_PYTHON": executable("planner"), SHIPPED: str(place / "none")}
    with served(place / "results", streamlit(script=STAND_IN), settings=settings) as url:
        yield url, place


@pytest.fixture
def app(stand_in: tuple[str, Path]) -> Iterator[App]:
    """The app with the stand-in, without any sweep; gone are those of this test in the end."""
    url, place = stand_in
    yield App(url, place)
    _stopped(place)
    for folder in ("results", "state"):
        shutil.rmtree(place / folder, ignore_errors=True)


@pytest.fixture
def real(place: Path) -> Iterator[str]:
    """The app as it is, on an empty folder."""
    with served(place / "results") as url:
        yield url


@pytest.fixture
def short(place: Path) -> Iterator[str]:
    """The app as it is, on an empty folder, with a shorter quick sweep in warm processes."""
    warm = {"SHORT_PYTHON": executable("planner"), "SHORT_TENSORFLOW": executable("tensorflow")}
    with served(place / "results", streamlit(script=SHORT), settings=warm) as url:
        yield url


def _open(place: Path, gate: str) -> None:
    """Let the stand-in end run `gate`."""
    (place / "state" / "gate").mkdir(parents=True, exist_ok=True)
    (place / "state" / "gate" / gate).touch()


def _until(true: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Wait for another process, far longer than it ever takes."""
    end = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def _only(place: Path) -> SweepStatus:
    [status] = sweeps.read_statuses(place / "state")
    return status


def _click(page: Page, key: str) -> None:
    widget(page, key).get_by_role("button").click()


def _says(page: Page, text: str | re.Pattern[str], patience_ms: float = PATIENCE_S * 1e3) -> None:
    """The page says so without a click."""
    heading = page.get_by_test_id("stMain").get_by_role("heading", level=2).filter(has_text=text)
    expect(heading).to_be_visible(timeout=patience_ms)


def test_a_quick_sweep_runs_from_a_click_to_its_curve(
    short: str, place: Path, visit: Visit
) -> None:
    """For real: child processes, TensorFlow, committed runs of every block of the shipped sweep."""
    assert _blocks(short_runners.SWEEPS) == _blocks(spec.SWEEPS)
    page = visit(f"{short}/measure?sweep=quick")
    _says(page, "Quick look at this machine: 5 runs to measure")
    _click(page, "measure.start")
    _says(page, re.compile("0 of 5 runs measured"))
    # A page that watches takes as much of the processor as the sweep.
    aside(page)
    _until(lambda: _only(place).phase == "finished", QUICK_S)
    page.goto(f"{short}/measure?ticket={_only(place).ticket}")
    _says(page, "5 of 5 runs measured")
    _curve(settled(page), place)


def _blocks(sweeps_of: Path) -> list[tuple[str, str | None]]:
    """Network and mode of each block of the quick sweep in a folder of sweeps."""
    runs = spec.table(sweeps_of / "quick.toml")["runs"]
    return [(block["workload"], block.get("mode")) for block in runs]


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_the_shipped_quick_sweep_starts_at_a_click_and_stops_at_another(
    real: str, place: Path, visit: Visit
) -> None:
    """Nothing but what is shipped: its child is stopped while it trains or is about to."""
    page = visit(f"{real}/measure")
    _says(page, "Quick look at this machine: 12 runs to measure")
    _click(page, "measure.start")
    _says(page, re.compile(r"\d of 12 runs measured, "))
    _until(lambda: _only(place).phase == "running")
    _click(page, f"measure.stop.{_only(place).ticket}")
    _says(page, re.compile(r"stopped after \d of 12 runs measured"))


def _curve(page: Page, place: Path) -> None:
    """From the sweep to the curve of its first network, in the planner's words.

    On a busy machine those may be that the points scatter too much for a curve.
    """
    page.get_by_test_id("stMain").get_by_role("link", name="Throughput").first.click()
    _title(page, "Throughput")
    expect(answer(page)).to_have_text(_sentence(place / "results"))
    expect(page.locator(".scatterlayer .points path").first).to_be_visible()


def _title(page: Page, title: str) -> None:
    """Wait for the page of this title; the one before it stays drawn until then."""
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def _sentence(results: Path) -> str:
    store = Store((Folder(path=results, label="yours", kind="own"),))
    store.refresh()
    workload = min(queries.workloads(store))
    pattern = next(iter(queries.patterns(store, workload)))
    return curve_sentence(curves_of(queries.runs_of(store, workload, pattern))[0])


def test_progress_moves_by_itself_back_leads_to_it_and_a_stopped_sweep_resumes(
    app: App, visit: Visit
) -> None:
    place = app.place
    page = visit(f"{app.url}/measure")
    _click(page, "measure.start")
    _says(page, "Small sweep: 0 of 4 runs measured, time left is known after the first run.")
    _open(place, "1")
    _says(page, "Small sweep: 1 of 4 runs measured, 1 min 8 s left.")
    settled(page).get_by_role("link", name="Throughput curve").click()
    _title(page, "Throughput")
    settled(page).go_back()
    _title(page, "Measure")
    _says(settled(page), "Small sweep: 1 of 4 runs measured")
    expect(page.get_by_text("could not be followed")).to_have_count(0)
    ticket = _only(place).ticket
    _click(page, f"measure.stop.{ticket}")
    _says(page, "Small sweep: stopped after 1 of 4 runs measured.")
    _open(place, "all")
    _click(page, f"measure.resume.{ticket}")
    _says(page, "Small sweep: 4 of 4 runs measured in")
    settled(page).get_by_role("link", name="Results of this sweep").click()
    _title(page, "Results")
    expect(page.get_by_text("4 of ").first).to_be_visible()
    expect(page).to_have_url(f"{app.url}/results?result_set=small")
    page.go_back()
    _says(settled(page), "Small sweep: 4 of 4 runs measured in")
    expect(page.get_by_text("could not be followed")).to_have_count(0)
    expect(page).to_have_url(re.compile(rf"{app.url}/measure(\?ticket=[^&]+)?$"))


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_sweep_outlives_the_server_and_the_next_server_knows_it(
    place: Path, visit: Visit
) -> None:
    with served(place / "results", streamlit(script=STAND_IN)) as url:
        page = visit(f"{url}/measure")
        _click(page, "measure.start")
        _says(page, "Small sweep: 0 of 4 runs measured")
        aside(page)
    before = _only(place)
    assert sweeps.alive(before)
    with served(place / "results", streamlit(script=STAND_IN)) as url:
        page.goto(f"{url}/measure")
        _says(page, "Small sweep: 0 of 4 runs measured")
        _open(place, "all")
        _says(page, "Small sweep: 4 of 4 runs measured in")
        aside(page)
    assert (_only(place).ticket, _only(place).pid) == (before.ticket, before.pid)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_supervisor_that_is_killed_is_reported_as_interrupted(app: App, visit: Visit) -> None:
    place = app.place
    page = visit(f"{app.url}/measure")
    _click(page, "measure.start")
    _open(place, "1")
    _says(page, "Small sweep: 1 of 4 runs measured")
    os.kill(_only(place).pid, signal.SIGKILL)
    _says(page, "Small sweep: interrupted after 1 of 4 runs measured.")
    _open(place, "all")
    _click(page, f"measure.resume.{_only(place).ticket}")
    _says(page, "Small sweep: 4 of 4 runs measured in")


@pytest.mark.parametrize(
    "serve",
    [streamlit("--server.address", EVERYWHERE), uvicorn("--host", EVERYWHERE)][: 2 if FULL else 1],
)
def test_where_other_machines_reach_the_app_nothing_can_be_started(
    place: Path, visit: Visit, serve: Serve
) -> None:
    with served(place / "results", serve) as url:
        page = visit(f"{url}/measure")
        _says(page, "Measuring is switched off here.")
        expect(page.get_by_text("Other machines can reach this app")).to_be_visible()
        assert not widget(page, "measure.start").count()
        aside(page)


def test_behind_a_proxy_nothing_can_be_started(app: App, visit: Visit) -> None:
    page = visit(f"{app.url}/measure", headers={"X-Forwarded-For": "10.1.2.3"})
    _says(page, "Measuring is switched off here.")
    expect(page.get_by_text("This page comes through a proxy")).to_be_visible()


def test_an_earlier_sweep_opens_from_the_list_and_is_forgotten(app: App, visit: Visit) -> None:
    ended = result(app.place / "state", phase="stopped", **dead())
    page = visit(f"{app.url}/measure")
    click_row(page, "measure.earlier", 0)
    _says(page, "Small sweep: stopped after 1 of 4 runs measured.")
    expect(page).to_have_url(f"{app.url}/measure?ticket={ended.ticket}")
    _click(settled(page), f"measure.forget.{ended.ticket}")
    expect(page.get_by_text("None yet.")).to_be_visible()
    expect(page.get_by_text("sweep is not on this machine")).not_to_be_visible()
