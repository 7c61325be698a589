"""Jobs pasted from a spreadsheet get a fleet."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.look import rerun, settled, widget

JOBS = (
    "name\tnetwork\tepochs\tsamples\tprecision\truns\twithin\tinterruptible\n"
    "Baselines\tresnet-50\t90\t1281167\tbfloat16\t40\t24\tyes\n"
    "Detectors\tyolov8m\t100\t118287\tbfloat16\t20\t48\tyes\n"
    "Backbones\tvit-b-16\t300\t1281167\tbfloat16\t4\t96\tno"
)
QUICK = "preset=vision&months=12&find=off&fleet=3+x+rent%7Ch100-sxm%7C8%7C20"


def test_three_pasted_jobs_get_a_fleet(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/capacity?{QUICK}", elsewhere=True)
    with rerun(page):
        page.get_by_role("button", name="Paste").click()
    widget(page, "capacity.paste").locator("textarea").fill(JOBS)
    with rerun(page):
        page.get_by_role("button", name="Use these jobs").click()
    expect(page).to_have_url(re.compile("jobs=.*jobs=.*jobs="))
    page.keyboard.press("Escape")
    with rerun(page):
        widget(page, "capacity.find").get_by_text("Find it").click()
    answer = settled(page).locator(".epochwise-answer h2")
    expect(answer).to_contain_text("ent up to", timeout=90_000)
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    expect(page.get_by_text("Waiting time by job")).to_be_visible()
    expect(page).not_to_have_url(re.compile("find=off"))


def test_who_waits_for_a_fleet_reads_what_is_done(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/capacity?preset=model-team&seed=77&{QUICK.split('&', 1)[1]}")
    widget(page, "capacity.find").get_by_text("Find it").click()
    progress = page.get_by_test_id("stProgress")
    expect(progress).to_have_text(
        re.compile("(Compared [0-9]+ fleets: .*|Simulating 1,008 months.*|Comparing with .*)")
    )


def _cell(page: Page, row: int, column: int) -> None:
    """Select a cell of the table of jobs, both counted from 0."""
    table = page.locator("[data-testid=stDataFrame]").first
    table.scroll_into_view_if_needed()
    table.click(position={"x": 90, "y": 35 + 17})
    for _ in range(row):
        page.keyboard.press("ArrowDown")
    for _ in range(column):
        page.keyboard.press("ArrowRight")


def test_a_cell_is_edited_in_place_and_cells_of_a_spreadsheet_are_pasted(
    app_url: str, visit: Visit
) -> None:
    page = visit(f"{app_url}/capacity?{QUICK}")
    expect(page.locator(".epochwise-answer")).to_be_visible()
    before = page.locator(".epochwise-answer").inner_text()
    _cell(page, 1, 4)
    page.keyboard.press("Enter")  # opens the editor of the cell
    page.locator("#portal input").fill("240")
    with rerun(page):
        page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("name%3DDetectors[^&]*runs%3D240"))
    expect(page.locator(".epochwise-answer")).not_to_have_text(before)
    text = page.locator(".epochwise-text").filter(has_text="edited in place")
    expect(text).to_contain_text("240")  # as a screen reader has it
    _pasted(settled(page))


def _pasted(page: Page) -> None:
    """Cells of a spreadsheet take the place of those below and beside the chosen one."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    rows = "Distilled\tresnet-50\t\t30\nLarge\tvit-l-16\t\t90"
    page.evaluate("text => navigator.clipboard.writeText(text)", rows)
    _cell(page, 1, 0)
    with rerun(page):
        page.keyboard.press("Control+V")
    expect(page).to_have_url(re.compile("name%3DDistilled[^&]*network%3Dresnet-50[^&]*epochs%3D30"))
    expect(page).to_have_url(re.compile("name%3DLarge[^&]*network%3Dvit-l-16[^&]*epochs%3D90"))
    expect(page).not_to_have_url(re.compile("Detectors|Backbones"))
    assert page.url.count("jobs=") == 3


def test_a_csv_of_jobs_is_loaded_and_saved(app_url: str, visit: Visit) -> None:
    page = visit(f"{app_url}/capacity?{QUICK}")
    with rerun(page):
        page.get_by_role("button", name="CSV", exact=True).click()
    with rerun(page):
        page.locator("input[type=file]").set_input_files(
            {"name": "jobs.csv", "mimeType": "text/csv",
             "buffer": JOBS.replace("\t", ";").encode("latin-1")}
        )  # fmt: skip
    expect(page).to_have_url(re.compile("name%3DBaselines[^&]*runs%3D40.*runs%3D20.*runs%3D4"))
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save these jobs").click()
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    head = text.splitlines()[0].split(",")
    assert head[0] == "name"
    assert {"network", "epochs", "samples", "runs", "within", "interruptible"} <= set(head)
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == [
        "Baselines", "Detectors", "Backbones"
    ]  # fmt: skip
