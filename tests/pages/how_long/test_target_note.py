"""Where epochs have no total, the page names the runs that state a time to a target."""

from __future__ import annotations

import pytest

from planner.answers import how_long_answered
from tests import shipped
from tests.pages.conftest import show, sound, texts

WORKLOADS = (
    "bert-large-mlperf-wikipedia",
    "llama-2-70b-lora-mlperf-govreport",
    "gpt-3-175b-mlperf-c4",
    "rnn-t-mlperf-librispeech",
)


pytestmark = pytest.mark.usefixtures("library_pages")


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_benchmark_without_epochs_names_its_times_to_the_target(workload: str) -> None:
    shown = show("", workload=workload)
    sound(shown)
    note = how_long_answered(shipped.library(), {"workload": [workload]}).note
    assert "runs state their time to" in note
    assert note in texts(shown)
    [link] = [p for p in shown.get("page_link") if "time to the target" in p.proto.label]
    assert f"workload={workload}" in link.proto.query_string
    assert "goal=target" in link.proto.query_string


def test_an_answer_has_no_such_note() -> None:
    assert (
        how_long_answered(shipped.library(), {"workload": ["resnet-50-mlperf-imagenet"]}).note == ""
    )
