"""Compare by a target that published runs state times to: the page has the command's numbers."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import hardware
from pages.compare.state import today
from planner.answers import compare_answered
from tests import shipped
from tests.pages.conftest import show, sound, texts

PAGE = "compare"
WORKLOADS = (
    "llama-3.1-8b-mlperf-c4",
    "bert-large-mlperf-wikipedia",
    "rnn-t-mlperf-librispeech",
)


pytestmark = pytest.mark.usefixtures("library_pages")


def shown_for(workload: str) -> AppTest:
    return sound(show(PAGE, workload=workload, goal="target", tab="table"))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_page_ranks_by_the_stated_times(workload: str) -> None:
    shown = shown_for(workload)
    said = texts(shown)
    catalog = hardware.catalog().catalog
    query = {"workload": [workload], "goal": ["target"]}
    comparison = compare_answered(shipped.library(), catalog, query, today()).answered.comparison
    assert comparison is not None
    assert "No answer" not in said
    rows = next(d.value for d in shown.dataframe if "basis" in d.value)
    assert len(rows) == len(comparison.rows)
    assert any("published, median of" in str(basis) for basis in rows["basis"])
    assert [str(b) for b in rows["basis"] if "published" in str(b)]
    assert "Part of the question could not be used" not in said
