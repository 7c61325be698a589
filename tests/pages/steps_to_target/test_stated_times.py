"""Workloads of published runs open with the times to the target that these runs state."""

from __future__ import annotations

import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import as_tables, figure, on_tab, show, sound, texts

PAGE = "steps-to-target"
LLAMA = "llama-3.1-8b-mlperf-c4-log-perplexity"
BERT = "bert-large-mlperf-wikipedia-masked-lm-accuracy-mlperf-training"
RNNT = "rnn-t-mlperf-librispeech-word-error-rate-mlperf-training"
DLRM = "dlrm-mlperf-criteo-1tb-auc-mlperf-training"


pytestmark = pytest.mark.usefixtures("library_pages")


def table_with(shown: AppTest, column: str) -> Any:  # noqa: ANN401 - a frame of pandas
    """The first table with this column."""
    return next(d.value for d in on_tab(as_tables(shown, "stated")).dataframe if column in d.value)


def test_the_page_leads_with_the_fastest_and_a_typical_stated_time() -> None:
    shown = show(PAGE, workload=LLAMA)
    sound(shown)
    answer = texts(shown)
    assert "in 5 min 10 s on 512 × GB300 NVL72. It is the fastest of 39 published runs." in answer
    assert "8 × B200 SXM 180GB took 1 h 25 min (median of 8 runs)." in answer


def test_one_line_says_whether_the_two_fastest_systems_are_tied() -> None:
    answer = texts(show(PAGE, workload=LLAMA))
    assert re.search(r":material/(balance|info):.* (is faster than|are too close to call)", answer)


@pytest.mark.parametrize("workload", [LLAMA, BERT, RNNT])
def test_the_first_chart_shows_stated_times_by_accelerator_and_count(workload: str) -> None:
    chart = figure(show(PAGE, workload=workload))
    assert chart["layout"]["xaxis"]["title"]["text"] == "accelerators"
    named = {t["name"] for t in chart["data"]}
    assert len(named) >= 5
    assert any("H100" in name for name in named)


@pytest.mark.parametrize("workload", [LLAMA, BERT])
def test_the_advice_can_be_followed_for_published_runs(workload: str) -> None:
    said = texts(show(PAGE, workload=workload))
    assert "evaluate more often at the start" not in said
    assert "Choose a stricter target" not in said
    assert "1e+02 %" not in said
    assert "Use the stated times" in said


def test_every_measured_device_count_has_its_stated_time() -> None:
    shown = show(PAGE, workload=LLAMA)
    rows = table_with(shown, "Best batch")
    assert len(rows) >= 2
    assert "refused" not in set(rows["Best batch"])
    assert all("Stated, " in str(note) for note in rows["Notes"])


def test_a_benchmark_without_steps_has_its_stated_times() -> None:
    shown = show(PAGE, workload=DLRM)
    sound(shown)
    said = texts(shown)
    assert "These trials have no evaluations" not in said
    assert "AUC 0.8025 in " in said
    rows = table_with(shown, "Fastest to slowest")
    assert rows["Runs"].sum() >= 25


def test_the_stated_time_of_eight_b200_is_that_of_compare() -> None:
    rows = table_with(show(PAGE, workload=LLAMA), "Fastest to slowest")
    [row] = rows[rows["System"] == "8 × B200 SXM 180GB"].to_dict("records")
    assert row["Runs"] == 8
    assert row["Time to target (median)"] == "1.42 h"


def test_a_workload_of_the_other_pages_opens_its_trials() -> None:
    shown = show(PAGE, workload="llama-3.1-8b-mlperf-c4")
    sound(shown)
    assert texts(shown) == texts(show(PAGE, workload=LLAMA))
    several = show(PAGE, workload="rnn-t-mlperf-librispeech")  # two sets: that of most trials
    assert not several.warning
    assert "RNN-T MLPerf on LibriSpeech reached" in texts(several)
