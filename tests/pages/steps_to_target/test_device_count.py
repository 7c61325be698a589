"""Steps to target on any number of devices, and without suspect step times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.conftest import show, sound, texts
from tests.pages.steps_to_target.test_steps_to_target import (
    MADE,
    PAGE,
    answer,
    made,
)
from tests.pages.test_stores import step


@pytest.fixture
def spread(own: Path) -> Path:
    """Trials, and their step times on 1, 2 and 4 devices of one node."""
    made(own, *(
        step(n * b, 0.05 + (0.01 * n if n > 1 else 0.0) + b / 1000, model="Net", dataset="Data",
             optimizer="SGD", accelerators_per_node=n)
        for n in (1, 2, 4) for b in (8, 32, 128)
    ))  # fmt: skip
    return own


def test_any_number_of_devices_can_be_asked_about_by_a_link(spread: Path) -> None:
    shown = show(PAGE, workload=MADE, count="3")
    assert shown.number_input(key=f"{PAGE}.count").value == 3
    assert "; on 3 × T4 the best batch is " in texts(shown)
    assert "On 3 devices at batch " in texts(shown)
    assert "strong scaling efficiency" in texts(shown)
    shown.number_input(key=f"{PAGE}.count").set_value(6).run()
    assert "; on 6 × T4 the best batch is " in texts(sound(shown))
    assert shown.query_params["count"] == "6"


def test_beyond_twice_the_measured_count_the_answer_is_a_guess(spread: Path) -> None:
    shown = show(PAGE, workload=MADE, count="16", nodes="1")
    assert "; as a guess, on 16 × T4 the best batch is " in texts(shown)
    assert "Low confidence: 16 devices in one node are more than twice the 4 measured." in texts(
        shown
    )


def test_an_unmeasured_link_between_nodes_is_answered_as_a_guess(spread: Path) -> None:
    said = texts(show(PAGE, workload=MADE, count="16"))
    assert "; as a guess, on 16 × T4 on 2 nodes the best batch is " in said
    assert "The link between nodes was not measured" in said
    assert "Measure two nodes" in said


def test_the_best_numbers_of_devices_are_reported_by_time_and_by_device_hours(spread: Path) -> None:
    shown = show(PAGE, workload=MADE)
    table = shown.dataframe[0].value
    assert list(table["Best by"]) == ["time", "device-hours"]
    assert list(table["Devices"])[1] == "1"
    assert list(table["Strong scaling efficiency"])[1] == "100 %"


def test_where_one_count_was_measured_the_page_says_what_to_measure() -> None:
    said = texts(show(PAGE))
    assert "Other device counts: Every run had 1 device, which shows no" in said
    assert "Measure the same batch per device on 2 devices." in said


def test_a_count_asked_of_one_measured_count_is_refused_with_what_to_measure() -> None:
    said = texts(show(PAGE, count="4"))
    assert "No best batch on 4 × 2-core AMD EPYC: Every run had 1 device" in said


def test_suspect_step_times_are_left_out_by_the_switch_alone(own: Path) -> None:
    sound_ones = [
        step(b, 0.05 + b / 1000, model="Net", dataset="Data", optimizer="SGD")
        for b in (8, 32, 128, 512, 1024)
    ]
    made(own, *sound_ones, step(2048, 20.0, model="Net", dataset="Data", optimizer="SGD"))
    shown = show(PAGE, workload=MADE)
    assert "1 run here is suspect: throughput falls" in texts(shown)
    before = answer(shown)
    shown.toggle(key=f"{PAGE}.without_suspects").set_value(True).run()
    assert answer(sound(shown)) != before
    assert "; on T4 the best batch is 57 " in texts(shown)
    assert shown.query_params["without_suspects"] == "on"
    assert answer(show(PAGE, workload=MADE, without_suspects="on")) == answer(shown)
