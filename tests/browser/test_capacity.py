"""Jobs pasted from a spreadsheet get a fleet."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.look import rerun, settled, widget
from tests.browser.server import served

JOBS = (
    "name\tnetwork\tepochs\tsamples\tprecision\truns\twithin\tinterruptible\n"
    "Baselines\tresnet-50\t90\t1281167\tbfloat16\t40\t24\tyes\n"
    "Detectors\tyolov8m\t100\t118287\tbfloat16\t20\t48\tyes\n"
    "Backbones\tvit-b-16\t300\t1281167\tbfloat16\t4\t96\tno"
)
QUICK = "preset=vision&months=12&find=off&fleet=3+x+rent%7Ch100-sxm%7C8%7C20"


def test_three_pasted_jobs_get_a_fleet(tmp_path: Path, visit: Visit) -> None:
    with served(tmp_path / "results") as url:
        page = visit(f"{url}/capacity?{QUICK}", elsewhere=True)
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
        expect(page.get_by_text("Waiting time by job")).to_be_visible()
        expect(page).not_to_have_url(re.compile("find=off"))
