"""Compare answers a target by the times that published runs state."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from planner.answers import compare_answered
from planner.answers._asking import CompareAnswer
from planner.answers.comparison import option_rows
from planner.core import Estimate
from planner.store.catalog import read_catalog
from tests import shipped

CATALOG: Final = read_catalog(Path(shipped.ROOT) / "data" / "catalog", []).catalog
BEGINS: Final = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)


def compared(workload: str, **more: str) -> CompareAnswer:
    question = {"workload": [workload], "goal": ["target"]} | {k: [v] for k, v in more.items()}
    return compare_answered(shipped.library(), CATALOG, question, BEGINS.date(), BEGINS)


@pytest.mark.parametrize(
    "workload",
    [
        "llama-3.1-8b-mlperf-c4",
        "bert-large-mlperf-wikipedia",
        "rnn-t-mlperf-librispeech",
        "llama-2-70b-lora-mlperf-govreport",
    ],
)
def test_most_default_options_of_an_mlperf_workload_have_a_time_to_the_target(
    workload: str,
) -> None:
    answer = compared(workload)
    assert answer.problems == ()
    comparison = answer.answered.comparison
    assert comparison is not None
    assert len(comparison.answered) > len(comparison.rows) / 2
    stated = [r for r in comparison.answered if r.timed.stated_runs and not r.timed.scaling]
    assert stated
    for row, record in zip(comparison.rows, option_rows(comparison), strict=True):
        if row in stated:
            assert str(record["basis"]).startswith("published, ")
            assert f"{row.timed.stated_runs:,} run" in str(record["basis"])


def test_eight_b200_take_the_median_of_the_published_times() -> None:
    comparison = compared("llama-3.1-8b-mlperf-c4", own="rent|b200|8|30").answered.comparison
    assert comparison is not None
    row = next(r for r in comparison.rows if r.candidate.id.startswith("mine-rent-b200-8"))
    assert isinstance(row.timed.total, Estimate)
    assert row.timed.stated_runs == 8
    assert row.timed.total.value == pytest.approx((5112.25 + 5117.94) / 2)
    assert "8 published runs on 8 x B200" in row.timed.total.reasons[0]


def test_runs_to_an_earlier_target_do_not_count() -> None:
    """The 13 runs of round 0.7 trained BERT to 71.2 %."""
    comparison = compared(
        "bert-large-mlperf-wikipedia", own="rent|tpu-v3|16|40"
    ).answered.comparison
    assert comparison is not None
    row = next(r for r in comparison.rows if r.candidate.id.startswith("mine-"))
    assert not row.timed.stated_runs
