"""Constants that the published tables choose are recovered from made-up tables."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from backtest.accuracy.public_data import public_tables
from backtest.choose.choice import NOTHING
from backtest.commands import scaling_law
from backtest.published.images import image_constants
from backtest.published.mfu import ChosenConstants, Study, chosen_constants, chosen_lines
from planner.catalog import Catalog
from planner.published import PublishedRow, configurations, read_rows
from planner.store.catalog import read_catalog

ROOT: Final = Path(__file__).parents[2]
DATA_SETS: Final = ROOT.parent / "shared" / "datasets"
NET: Final = PublishedRow(
    file="made.tsv", line=2, source_id="made", model="ResNet-50", family="cnn", image_px=224,
    precision="FP16", accelerator="A100 80GB", n_accelerators=1, global_batch=64,
    samples_per_s_total=1000.0,
)  # fmt: skip


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog(ROOT / "data" / "catalog").catalog


def chosen(rows: list[PublishedRow], catalog: Catalog) -> dict[str, ChosenConstants]:
    usable = configurations(rows, catalog)[0]
    found = chosen_constants(rows, catalog, usable, Study(fits={}, hidden={"source": {}}))
    return {choice.name: choice for choice in found}


def test_the_loss_of_a_doubling_is_chosen_by_all_sources_and_without_each(catalog: Catalog) -> None:
    rows = [
        replace(NET, source_id=source, n_accelerators=n, global_batch=64 * n, line=n,
                samples_per_s_total=1000.0 * n * math.exp(-loss * math.log2(n)))
        for source, loss in (("a", 0.02), ("b", 0.02), ("c", 0.06)) for n in (1, 2, 8)
    ]  # fmt: skip
    loss = chosen(rows, catalog)["job.efficiency.LINKED_LOSS"]
    assert loss.points == 6
    assert loss.chosen == pytest.approx(0.02)
    assert sorted(loss.without) == pytest.approx([0.02, 0.04, 0.04])


def test_memory_of_images_is_the_power_of_the_multiply_adds(catalog: Catalog) -> None:
    state_and_framework = {"ResNet-18": 1.69e9, "ResNet-50": 1.91e9, "ResNet-152": 2.46e9}
    adds = {"ResNet-18": 1.81e9, "ResNet-50": 4.09e9, "ResNet-152": 11.5e9}
    rows = [
        replace(NET, model=name, global_batch=256, source_id=source,
                memory_gb=(state_and_framework[name] + 256 * 4e7 * (adds[name] / 1e9) ** 0.6) / 1e9)
        for name in adds for source in ("a", "b")
    ]  # fmt: skip
    found = chosen(rows, catalog)
    assert found["networks._memory.IMAGE_POWER"].chosen == pytest.approx(0.6, abs=0.05)
    assert found["networks._memory.IMAGE_BYTES"].chosen == pytest.approx(4e7, rel=0.1)


def test_the_scatter_of_trials_is_that_of_equal_submissions(catalog: Catalog) -> None:
    random = np.random.default_rng(3)
    rows = [
        replace(NET, model="ResNet-50 v1.5 (MLPerf resnet)", samples_per_s_total=None,
                repo_or_page="github.com/mlcommons/training_results_v2.0", n_accelerators=8,
                global_batch=batch, time_to_train_h=0.6 * math.exp(random.normal(0.0, 0.05)),
                note="median epoch_num at stop 36; division closed", published="2022-06")
        for batch in range(800, 2000, 4) for _ in range(2)
    ]  # fmt: skip
    repeat = chosen(rows, catalog)["mfu._model.REPEAT_SD"]
    assert repeat.points == 300
    assert repeat.chosen == pytest.approx(0.05, rel=0.15)


def test_the_section_names_each_constant_with_its_choices() -> None:
    choice = ChosenConstants(name="a.b.C", ships=0.1, chosen=0.2, without=(0.3, 0.25), points=1234)
    assert "| `planner.a.b.C` | 0.1 | 0.2 | 0.25 to 0.3 | 1,234 |" in chosen_lines([choice])


def test_the_law_of_device_counts_is_recovered_from_sources_that_follow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sources lose 3 % a doubling and one 1 %: without it, and with all, 3 % is chosen."""
    names = ("source_id", "model", "accelerator", "n_accelerators", "micro_batch",
             "samples_per_s_total")  # fmt: skip
    rows = [
        (source, "ResNet-50", "A100 80GB", n, 64, 1000.0 * n * math.exp(-loss * math.log2(n)))
        for source, loss in (("a", 0.03), ("b", 0.03), ("c", 0.01))
        for n in (8, 16, 32, 64)
    ]
    lines = ["\t".join(map(str, row)) for row in (names, *rows)]
    (tmp_path / "made.tsv").write_text("\n".join(lines))
    monkeypatch.setattr(scaling_law, "LIBRARY", tmp_path)
    choices = scaling_law.law_choices(public_tables(tmp_path))
    loss = {c.left_out: c.chosen for c in choices if c.use == scaling_law.USES["loss"]}
    assert (loss[NOTHING], loss["c"]) == ("0.03", "0.03")
    assert set(loss) == {NOTHING, "a", "b", "c"}
    assert not any("link" in c.use for c in choices)  # no sweep of the public data


@pytest.mark.skipif(
    not DATA_SETS.is_dir(), reason="the public data sets are not beside the project"
)
def test_shipped_constants_of_the_law_are_within_what_sources_choose() -> None:
    choices = scaling_law.law_choices(public_tables(DATA_SETS))
    for use in {c.use for c in choices}:
        values = [float(c.chosen) for c in choices if c.use == use]
        ships = float(next(c.ships for c in choices if c.use == use))
        assert min(values) <= ships <= max(values), use


def test_parts_of_an_image_step_are_chosen_with_every_source_left_out(catalog: Catalog) -> None:
    rows = [
        row
        for row in read_rows(ROOT / "data" / "tables" / "published")[0]
        if row.source_id in {"mxnet", "mindcv"}
    ]
    usable, _ = configurations(rows, catalog)
    chosen = {c.name.rpartition(".")[2]: c for c in image_constants(usable)}
    assert len(chosen["LAUNCH_S"].without) == 2
    assert chosen["LAUNCH_S"].chosen == pytest.approx(chosen["LAUNCH_S"].ships, rel=0.6)
    assert "csv:memory:depthwise" in chosen
    assert image_constants([run for run in usable if run.source == "mxnet"]) == []
