"""Epochs of different size in a real browser: refused, fixed in place, ranked by their samples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from planner.store import commit_runs
from tests.browser.conftest import Visit
from tests.browser.look import answer, enter, settled, widget
from tests.browser.server import served
from tests.faults.outcomes import FULL
from tests.store.build import ABOUT, row

pytestmark = pytest.mark.browser
VGG = "vgg-11-width-16-synthetic-cifar-10-sgd-momentum-0.9-float32"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server beside whose shipped results somebody swept 12 steps at two batches."""
    results = tmp_path_factory.mktemp("sizes") / "results"
    _sweep(results / "mine")
    with served(results) as address:
        yield address


def _sweep(place: Path) -> None:
    place.mkdir(parents=True)
    (place / "set.toml").write_text(ABOUT, encoding="utf-8")
    commit_runs(
        place,
        [
            row(
                dataset="own data", global_batch_size=batch, pre_train_s=4.0, first_epoch_s=5.0,
                later_epoch_mean_s=12 * step_s, later_epoch_sd_s=0.0, epochs_measured=4,
                steps_per_epoch=12, samples_per_epoch=12 * batch, train_samples=12 * batch,
            )
            for batch, step_s in ((4, 0.008), (256, 0.072))
        ],
    )  # fmt: skip


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_a_shipped_sweep_of_few_steps_is_ranked_by_the_time_of_a_sample(
    url: str, visit: Visit
) -> None:
    page = visit(f"{url}/how-long?workload={VGG}")
    expect(answer(page)).to_contain_text("VGG-11 width 16 at batch 256 on")
    expect(page.get_by_text("An epoch is 50,000 samples, the size of CIFAR-10.")).to_be_attached()
    field = widget(page, "how-long.samples_per_epoch").get_by_role("spinbutton")
    expect(field).to_have_attribute("placeholder", "50,000")


def test_unequal_epochs_are_refused_and_the_field_on_the_page_fixes_it(
    url: str, visit: Visit
) -> None:
    page = visit(f"{url}/how-long?workload=resnet-50-own-data")
    expect(answer(page)).to_contain_text("Epochs differ in size: 48 to 3,072 samples.")
    enter(page, "how-long.samples_per_epoch", "50000")
    expect(answer(page)).to_contain_text("at batch 256 on T4")
    assert "samples_per_epoch=50000" in page.url
    settled(page).reload()
    expect(answer(settled(page))).to_contain_text("at batch 256 on T4")
    enter(page, "how-long.samples_per_epoch", "")
    expect(answer(page)).to_contain_text("Epochs differ in size")


@pytest.mark.skipif(not FULL, reason="in make faults")
def test_compare_has_the_field_too(url: str, visit: Visit) -> None:
    page = visit(f"{url}/compare?workload=resnet-50-own-data")
    expect(page.get_by_text("Epochs differ in size").first).to_be_attached()
    enter(page, "compare.samples_per_epoch", "50000")
    expect(page.get_by_text("Epochs differ in size")).to_have_count(0)
    assert "samples_per_epoch=50000" in page.url
