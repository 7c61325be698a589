"""Runs with epochs alone: Throughput says what is missing, and its field gives the curve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pages.common import kept
from planner.__main__ import main
from planner.answers import curve_answered
from planner.commands import words
from tests.pages.comparing import address_of, table
from tests.pages.conftest import show, texts, unfold
from tests.store.build import a_set, opened, row

EPOCH_S = {64: 30.6, 256: 18.2, 1024: 14.7}
WORKLOAD = "resnet-50-cifar-10"


def _rows(**changes: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any column
    """Rows of a table that states neither steps nor samples of an epoch."""
    return [
        row(
            **{
                "dataset": "my own data", "system_name": "RTX 4090", "global_batch_size": batch,
                "pre_train_s": 4.1, "first_epoch_s": 40.0, "later_epoch_mean_s": later_s,
                "epochs_measured": 5,
            } | changes
        )
        for batch, later_s in EPOCH_S.items()
    ]  # fmt: skip


def test_the_reason_is_shown_with_the_field_that_fixes_it(alone: Path) -> None:
    a_set(alone, _rows())
    shown = show("throughput")
    assert "No curve for RTX 4090. The samples per epoch are not stated" in texts(shown)
    assert "No system or no input pattern" not in texts(shown)
    [field] = [f for f in shown.number_input if f.label == "Samples per epoch"]
    field.set_value(50_000).run()
    assert not shown.exception
    assert "RTX 4090 saturates at" in texts(shown)
    assert "An epoch is 50,000 samples, as entered." in texts(shown)
    assert address_of(shown)["samples_per_epoch"] == ["50000"]


def test_the_size_of_a_public_data_set_is_used_and_named(alone: Path) -> None:
    a_set(alone, _rows(dataset="CIFAR-10"))
    shown = show("throughput")
    assert "RTX 4090 saturates at" in texts(shown)
    assert "An epoch is 50,000 samples, the size of CIFAR-10." in texts(shown)
    assert not [f for f in shown.number_input if f.label == "Samples per epoch"]


def test_the_command_says_on_stderr_what_is_missing_and_takes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_set(tmp_path, _rows())
    ask = ["curve", "--workload", "resnet-50-my-own-data", "--results", str(tmp_path)]
    assert main(ask) == words.REFUSED
    assert "Enter the samples per epoch (samples_per_epoch)" in capsys.readouterr().err
    assert main([*ask, "--samples-per-epoch", "50000", "--batch", "256", "--json"]) == 0
    result = capsys.readouterr()
    [at] = json.loads(result.out)["at_batch"]
    assert at["samples_per_s"] == pytest.approx(50_000 / 18.2, rel=0.1)
    assert "An epoch is 50,000 samples, as entered." in result.err


def test_a_run_without_any_time_is_named_too(tmp_path: Path) -> None:
    a_set(tmp_path, _rows(later_epoch_mean_s=None, first_epoch_s=None))
    result = curve_answered(opened(tmp_path), {})
    assert result.chosen == ()
    assert "No step time, samples/s or mean of later epochs is stated." in " ".join(result.notes)


def test_samples_per_second_alone_are_a_point(tmp_path: Path) -> None:
    rates = [row(global_batch_size=b, throughput=900.0 + b) for b in (64, 256, 1024)]
    a_set(tmp_path, rates)
    [one] = curve_answered(opened(tmp_path), {}).chosen
    assert one.step_s.tolist() == pytest.approx([b / (900.0 + b) for b in (64, 256, 1024)])


@pytest.mark.usefixtures("folders")
def test_compare_has_a_field_for_the_batch_and_shows_it(alone: Path) -> None:
    a_set(alone, _rows())
    [workload] = kept.workload_names(kept.store())
    fastest = show("compare", workload=workload, options="own-rtx-4090")
    [field] = [f for f in unfold(fastest, "compare.more").number_input if f.label == "Global batch"]
    assert field.value is None
    assert table(fastest)[0]["batch"] == 1024.0
    assert "at batch 1024 in" in texts(fastest).replace(",", "")
    field.set_value(256.0).run()
    assert not fastest.exception
    assert table(fastest)[0]["batch"] == 256.0
    assert address_of(fastest)["batch"] == ["256"]
