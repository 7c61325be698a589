"""Results come, tear and rot while the app runs; it goes on, and says what it knows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from planner.runs import run_id
from planner.store import commit_runs
from tests.browser.conftest import Visit
from tests.browser.look import answer, press, settled
from tests.browser.server import served
from tests.faults.outcomes import FULL
from tests.shipped import all_of, runs
from tests.store.build import a_set, row, together

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """An app of its own, and the folder it reads besides the shipped one."""
    results = tmp_path_factory.mktemp("growing") / "results"
    with served(results) as url:
        yield url, results


@pytest.fixture
def growing(app: tuple[str, Path]) -> Iterator[tuple[str, Path]]:
    """The app and its folder, which is empty again in the end."""
    yield app
    shutil.rmtree(app[1], ignore_errors=True)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_run_committed_while_the_app_runs_is_seen_on_the_next_rerun(
    growing: tuple[str, Path], visit: Visit
) -> None:
    url, results = growing
    page = visit(f"{url}/results")
    expect(page.get_by_text(all_of())).to_be_visible()
    commit_runs(results / "mine", [row()])
    _rerun(page)
    expect(page.get_by_text(all_of(1))).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text(f"{runs() + 1:,} runs")).to_be_visible()


def _rerun(page: Page) -> None:
    """What a person does: look at another page and come back."""
    menu = page.get_by_test_id("stSidebarNav")
    menu.get_by_text("Method & accuracy").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Method & accuracy")
    menu.get_by_text("Results", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Results")
    settled(page)


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_torn_file_is_listed_with_its_reason_while_all_else_works(
    growing: tuple[str, Path], visit: Visit
) -> None:
    url, results = growing
    place = a_set(results, [row()])
    whole = next(place.glob("*.parquet"))
    torn = place / f"{'0' * 32}.parquet"
    torn.write_bytes(whole.read_bytes()[:-50])
    page = visit(f"{url}/results")
    expect(page.get_by_text(all_of(1))).to_be_visible()
    expect(page.get_by_text("Refused files (1)")).to_be_visible()
    expect(page.get_by_text("1 refused")).to_be_visible()
    assert page.get_by_role("region", name="Files that are not shown, with the reason").count() == 1
    torn.unlink()
    _rerun(page)
    expect(page.get_by_text("Refused files (0)")).to_be_visible()


ROTTEN = {"pre_train_s": 3.0, "epochs_measured": 4}
EPOCHS = [{"epoch": n, "epoch_s": 10.0 + n / 10} for n in range(1, 5)]


def test_an_error_shows_a_stranger_nothing_of_the_machine(
    growing: tuple[str, Path], visit: Visit
) -> None:
    """A file rots after it was verified, under its old size and time: what is read then fails."""
    url, results = growing
    records = [row(repeat=n, epochs=EPOCHS, **ROTTEN) for n in range(5)]
    path = together(a_set(results), records)
    page = visit(f"{url}/results")
    expect(page.get_by_text(all_of(5))).to_be_visible()
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"\xff" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    page.goto(f"{url}/results?run={run_id(records[0])}")
    expect(page.get_by_text("cannot be read").first).to_be_visible()
    result = settled(page).locator("body").inner_text()
    for secret in (str(results), "Traceback", ".py", "duckdb", "/tmp", "/home", "/root"):  # noqa: S108
        assert secret not in result
    page.goto(f"{url}/how-long")
    press(page, "how-long.quick", "100")
    expect(answer(page)).to_contain_text("100 epochs of WideResNet-103M")
