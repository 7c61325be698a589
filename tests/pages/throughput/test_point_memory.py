"""Throughput shows the memory of points whose runs state it, as milabench by batch."""

from __future__ import annotations

import pytest

from planner.answers import curve_answered
from planner.throughput.curves import point_rows
from tests import shipped
from tests.pages.conftest import figure, show, unfold

PAGE = "throughput"
MILABENCH = "whisper-tiny-encoder"
NONE_STATED = "resnet-50-mlperf-imagenet"


pytestmark = pytest.mark.usefixtures("library_pages")


def test_the_table_of_points_has_the_memory_by_batch() -> None:
    shown = unfold(show(PAGE, workload=MILABENCH), "throughput.every")
    table = next(d.value for d in shown.dataframe if "Step time (s)" in d.value)
    stated = table.dropna(subset=["Memory (GB)"])
    assert len(stated) >= 5
    assert stated["Memory (GB)"].between(0.1, 200).all()
    assert " GB" in str(figure(shown)["data"])


def test_without_a_stated_memory_there_is_no_such_column() -> None:
    shown = unfold(show(PAGE, workload=NONE_STATED), "throughput.every")
    table = next(d.value for d in shown.dataframe if "Step time (s)" in d.value)
    assert "Memory (GB)" not in table


def test_points_of_file_and_interface_have_the_memory() -> None:
    answer = curve_answered(shipped.library(), {"workload": [MILABENCH]})
    rows = point_rows(answer.chosen)
    assert any(row["peak_memory_gb"] for row in rows)
