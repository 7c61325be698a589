"""Scaling out on one's own runs: names as written, counts as measured, and none at all."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.pages.conftest import figure, show, texts
from tests.store.build import a_set, row

HOSTILE = "<img src=x onerror=alert(1)> **b** [l](http://evil.example) =CMD()"


def run(devices: int, batch: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    step_s = 0.02 + batch / devices / 1000.0 + 0.01 * (devices > 1)
    return row(accelerators_per_node=devices, global_batch_size=batch, step_s=step_s, **changes)


def test_names_from_data_are_shown_as_they_are_written(alone: Path) -> None:
    names = {"model": HOSTILE, "system_name": HOSTILE, "dataset": HOSTILE, "note": HOSTILE}
    a_set(alone, [run(n, b, **names) for n in (1, 2) for b in (64, 256)])
    shown = show("scaling-out")
    for part in [*shown.markdown, *shown.caption]:
        assert not re.search(r"(?<!\\)(\*\*b|<img|\[l\])|http://", str(part.value))
    assert any(HOSTILE in str(box.options) for box in shown.selectbox)


def test_own_runs_on_two_counts_are_answered(alone: Path) -> None:
    a_set(alone, [run(n, b) for n in (1, 2, 4) for b in (64, 256, 1024)])
    said = texts(show("scaling-out"))
    assert "Yes, from batch 13 on: at global batch 1,024, 4 devices are 3.7 times" in said


def test_without_several_counts_the_page_says_what_to_measure(alone: Path) -> None:
    a_set(alone, [run(1, 64), run(1, 256)])
    said = texts(show("scaling-out"))
    assert "No run was timed on several device counts." in said
    assert "Measure the same batch on one device and on two." in said


def test_shares_that_a_profiler_measured_are_drawn(alone: Path) -> None:
    def stated(compute: float) -> str:
        shares = {"compute_share": compute, "communication_share": 0.25, "input_share": 0.05}
        return json.dumps(shares)

    runs = [run(n, b, extra=stated(0.1)) for n in (1, 2, 4) for b in (64, 256)]
    runs += [
        run(n, 1024, extra=stated(c), repeat=k)
        for n in (2, 4)
        for k, c in enumerate((0.5, 0.6, 0.7))
    ]
    a_set(alone, [*runs, run(2, 1024, extra='{"compute_share": 0.9}', repeat=3)])
    shown = show("scaling-out")
    assert "Measured by TensorFlow's profiler" in texts(shown)
    bars = {b["name"]: b for b in figure(shown, 2)["data"]}
    assert list(bars) == [
        "compute", "communication without compute", "input without either", "host",
    ]  # fmt: skip
    assert bars["compute"]["x"] == ["2", "4"]
    assert bars["compute"]["y"] == pytest.approx([60.0, 60.0])
    assert bars["host"]["y"] == pytest.approx([10.0, 10.0])


def test_runs_without_a_profile_have_no_such_chart(alone: Path) -> None:
    a_set(alone, [run(n, b) for n in (1, 2, 4) for b in (64, 256, 1024)])
    assert "Measured by TensorFlow's profiler" not in texts(show("scaling-out"))
