"""The mark of unofficial runs on a telephone: it shows, and nothing stands out for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.server import served
from tests.browser.test_every_page import TELEPHONE_PX, Faults
from tests.store.standing import WORKLOAD, build

pytestmark = pytest.mark.browser
JOB = f"name%3DTrain%3B%20workload%3D{WORKLOAD}%3B%20epochs%3D20"
LINKS = (
    f"how-long?workload={WORKLOAD}", f"compare?workload={WORKLOAD}", f"capacity?jobs={JOB}",
    f"throughput?workload={WORKLOAD}", f"scaling-out?workload={WORKLOAD}", "results",
)  # fmt: skip


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on one unofficial set beside the shipped ones."""
    place = tmp_path_factory.mktemp("standing") / "results"
    build(place, "unofficial")
    with served(place) as address:
        yield address


@pytest.mark.parametrize("link", LINKS, ids=[link.split("?")[0] for link in LINKS])
def test_the_mark_shows_and_fits_at_400_px(url: str, visit: Visit, link: str) -> None:
    page = visit(f"{url}/{link}", width=TELEPHONE_PX, height=820)
    mark = page.get_by_test_id("stMain").get_by_text("unofficial").locator("visible=true")
    expect(mark.first).to_be_visible()
    faults = Faults()
    faults.of_widths(page, TELEPHONE_PX)
    assert faults.found == []
