"""The parameters of a comparison: a page's link, a command and a query say the same."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from urllib.parse import parse_qs

import pytest

from planner.compare.assumptions import Assumptions
from planner.compare.parameters import COMPARE, VIEW_ONLY, compare_parameters
from planner.compare.reckon import Wanted


def test_nothing_given_asks_the_usual_question() -> None:
    asking, problems = compare_parameters({})
    assert problems == ()
    assert asking.asked.epochs == 2000
    assert asking.asked.assumed == Assumptions()
    assert asking.display.currency == "USD"
    assert asking.query == ""


def test_every_field_of_the_assumptions_is_a_parameter_of_its_own_name() -> None:
    names = {p.name for p in COMPARE}
    assert {f.name for f in fields(Assumptions)} <= names
    assert len(names) == len(COMPARE)
    assert not names & VIEW_ONLY


def test_a_whole_question_is_read() -> None:
    given = {
        "workload": ["w"], "pattern": ["p"], "epochs": ["30"], "options": ["a", "b"],
        "own": ["rent|t4|1|0.5"], "order": ["time"], "deadline": ["72"], "budget": ["500"],
        "country": ["DE"], "currency": ["EUR"], "rate": ["0.9"], "rate_as_of": ["2026-11-01"],
        "tax": ["19"], "pue": ["1.1"], "runs_per_month": ["2.5"],
    }  # fmt: skip
    asking, problems = compare_parameters(given)
    assert problems == ()
    assert asking.asked.wanted == Wanted(order="time", deadline_s=72 * 3600.0, budget_usd=500.0)
    assert asking.asked.options == ("a", "b")
    assert asking.asked.assumed.pue == 1.1
    assert asking.display.as_of == date(2026, 11, 1)
    assert asking.display.tax_share == pytest.approx(0.19)
    again, _ = compare_parameters(parse_qs(asking.query))
    assert again.asked == asking.asked
    assert again.query == asking.query


def test_a_target_asks_for_no_epochs() -> None:
    asking, problems = compare_parameters({"goal": ["target"], "target": ["0.025"]})
    assert problems == ()
    assert asking.asked.epochs is None
    assert asking.target == 0.025


def test_another_currency_needs_its_rate_and_the_day_of_it() -> None:
    _, without = compare_parameters({"currency": ["EUR"]})
    assert "How much EUR is one USD?" in str(without[0])
    _, dateless = compare_parameters({"currency": ["EUR"], "rate": ["0.9"]})
    assert "no date" in str(dateless[0])
    _, wrong = compare_parameters({"currency": ["EURO"], "rate": ["0.9"]})
    assert wrong


def test_a_workload_nobody_measured_is_described() -> None:
    given = {"workload": ["described"], "samples": ["1e6"], "params": ["7e9"], "tokens": ["2048"],
             "precision": ["bfloat16"], "name": ["my 7B"]}  # fmt: skip
    asking, problems = compare_parameters(given)
    assert problems == ()
    assert asking.described is not None
    assert asking.described.params == 7e9
    assert asking.described.name == "my 7B"


def test_a_description_that_is_not_complete_says_all_that_is_missing() -> None:
    asking, problems = compare_parameters({"workload": ["described"], "goal": ["target"]})
    assert asking.described is None
    assert [p.parameter for p in problems] == ["samples", "flops", "goal"]


def test_what_is_only_for_the_eye_is_no_problem_and_a_typing_error_is() -> None:
    _, eye = compare_parameters({name: ["x"] for name in VIEW_ONLY})
    assert eye == ()
    _, typed = compare_parameters({"epoch": ["3"], "pue": ["99"], "tax": ["nan"]})
    assert [p.parameter for p in typed] == ["epoch", "pue", "tax"]
