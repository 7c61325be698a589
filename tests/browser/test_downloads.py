"""What is downloaded holds what is shown, opens without a network, and asks for none."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pages.how_long.tiles import total_cells
from planner.answers import answer_rows
from planner.core import Estimate, csv_text
from planner.runs import ARROW_SCHEMA
from planner.store.sealed.seal import check_seal
from planner.throughput import curve_rows, curve_sentence, curves_of, point_rows
from tests.browser.conftest import Visit
from tests.browser.look import Watch, answer, download
from tests.browser.test_how_long import options, planned
from tests.shipped import runs

pytestmark = pytest.mark.browser


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _opened(desk: BrowserContext, watch: Watch, path: Path) -> Page:
    """A downloaded page, opened from disk under a name that browsers take for a page."""
    copy = path.with_suffix(".html")
    copy.write_bytes(path.read_bytes())
    page = desk.new_page()
    watch.over(page)
    page.goto(copy.as_uri())
    expect(page.locator("figure svg").first).to_be_visible()
    return page


def test_the_csv_holds_the_planners_rows_and_the_report_sentence_chart_and_table(
    app_url: str, visit: Visit, desk: BrowserContext, watch: Watch
) -> None:
    page = visit(f"{app_url}/how-long?epochs=500")
    expected = csv_text(answer_rows(planned(500)))
    assert _read(download(page, "how-long.csv")) == expected
    report = _opened(desk, watch, download(page, "how-long.report"))
    expect(report.locator(".answer")).to_have_text(planned(500).sentence)
    assert report.locator("figure svg polyline").count() >= 5
    cells = [total_cells(a) for a in planned(500).answers if isinstance(a.total, Estimate)]
    assert len(cells) >= 5
    rows = report.get_by_role("row")
    for total, interval in cells:
        expect(rows.filter(has_text=total).filter(has_text=interval).first).to_be_visible()
    expect(report.get_by_role("link")).to_have_attribute(
        "href", re.compile(rf"^{re.escape(app_url)}/how-long\?.*&epochs=500&")
    )
    report.close()


def test_curves_and_points_as_csv_are_the_planners_and_no_chart_offers_to_upload_itself(
    app_url: str, visit: Visit
) -> None:
    curves = curves_of([o.run for o in options()])
    page = visit(f"{app_url}/throughput")
    best = max(curves, key=lambda c: float(c.curve.asymptotic_throughput.value))  # type: ignore[union-attr]
    expect(answer(page)).to_have_text(curve_sentence(best))
    page.locator(".js-plotly-plot").first.hover()
    titles = page.locator(".modebar-btn").evaluate_all(
        "buttons => buttons.map(b => b.dataset.title + ' ' + b.dataset.attr)"
    )
    assert titles
    assert not [t for t in titles if "share" in t.lower() or "cloud" in t.lower()]
    assert _read(download(page, "throughput.csv")) == csv_text(curve_rows(curves))
    assert _read(download(page, "throughput.points")) == csv_text(point_rows(curves))


def test_the_listed_runs_come_as_csv_and_as_parquet(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/results?system=gpu")
    rows = list(csv.DictReader(_read(download(page, "results.csv")).splitlines()))
    table = pq.read_table(download(page, "results.parquet"))
    assert len(rows) == table.num_rows == runs(system="GPU")
    assert [r["run_id"] for r in rows] == table["run_id"].to_pylist()
    assert {r["system"] for r in rows} == {"GPU"}


def test_one_run_comes_as_a_sealed_file_that_any_store_takes(app_url: str, visit: Visit) -> None:
    run = options()[0].run
    page = visit(f"{app_url}/results?run={run.run_id}")
    path = download(page, "results.run_file")
    assert check_seal(path).summary is not None
    table = pq.read_table(path)
    assert table.schema.names == ARROW_SCHEMA.names
    assert table["run_id"].to_pylist() == [run.run_id]
