"""The parameters of a comparison: a page's link, a command and a query say the same."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, date, datetime
from urllib.parse import parse_qs

import pytest

from planner.answers.comparison import COMPARE, TARIFF, compare_parameters, moment_of, moment_text
from planner.answers.comparison._parameters import VIEW_ONLY
from planner.compare import Assumptions
from planner.compare.comparison import Limits
from planner.core import QueryTexts, texts_of_link
from planner.job import Described, GivenStep, job_described
from tests.each import each


def test_nothing_given_asks_the_usual_question() -> None:
    asking, problems = compare_parameters({"goal": ["epochs"]})
    assert problems == ()
    assert asking.request.epochs == 2000
    assert asking.request.assumed == Assumptions()
    assert asking.display.currency == "USD"
    assert asking.query == ""


def test_nothing_given_asks_to_fine_tune_a_language_model() -> None:
    asking, problems = compare_parameters({})
    assert problems == ()
    assert asking.described is not None
    assert asking.described.network == "llama-3-8b"
    assert asking.described.total_tokens == 100e6
    assert parse_qs(asking.query)["workload"] == ["described"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("deadline", "72"), ("currency", "JPY"), ("country", "DE"), ("life_years", "6"),
     ("own", "rent|h100-sxm|8|24")],
)  # fmt: skip
def test_money_limits_and_own_machines_keep_the_opening_job(name: str, text: str) -> None:
    described = compare_parameters({name: [text]})[0].described
    assert described is not None
    assert described.network == "llama-3-8b"


@each(
    ("question", "field", "value"),
    [({"assumed_mfu": ["40"]}, "assumed_mfu", 0.4), ({"training": ["lora"]}, "training", "lora"),
     ({"recompute": ["on"]}, "recompute", True), ({"precision": ["fp8"]}, "precision", "float8"),
     ({"network_optimizer": ["SGD"]}, "optimizer", "SGD"),
     ({"step_s": ["12"], "batch": ["16"], "step_accelerator": ["h100-sxm"], "step_count": ["8"]},
      "step", GivenStep(accelerator="h100-sxm", count=8, batch=16.0, seconds=12.0))],
)  # fmt: skip
def test_parameters_of_its_training_keep_the_opening_job_and_count(
    question: QueryTexts, field: str, value: object
) -> None:
    asking, problems = compare_parameters(question)
    assert problems == ()
    assert asking.described is not None
    assert asking.described.network == "llama-3-8b"
    assert getattr(asking.described, field) == value


@pytest.mark.parametrize("name", ["samples", "tokens", "active_params", "image_px"])
def test_a_part_of_a_description_alone_is_an_incomplete_description(name: str) -> None:
    asking, problems = compare_parameters({name: ["100"]})
    assert asking.values["workload"] == "described"
    assert "flops" in [p.parameter for p in problems]


@pytest.mark.parametrize("workload", [{"workload": ["wideresnet-103m"]}, {"epochs": ["20"]}])
def test_a_description_of_a_measured_workload_is_a_problem_of_each_parameter(
    workload: QueryTexts,
) -> None:
    beside = {"assumed_mfu": ["40"], "step_s": ["12"], "precision": ["bf16"], "batch": ["64"]}
    asking, problems = compare_parameters({**workload, **beside})
    assert asking.described is None
    assert [str(p) for p in problems] == [
        f"{name}: Only a described workload has it. Give workload=described and a network."
        for name in ("assumed_mfu", "step_s", "precision")
    ]


@pytest.mark.parametrize("network", ["DLRM", "SDXL", "Llama 3 8B"])
def test_a_described_job_has_one_epoch_unless_epochs_are_given(network: str) -> None:
    question = {"network": [network], "samples": ["1e6"]}
    asking, problems = compare_parameters(question)
    assert (asking.request.epochs, problems) == (1, ())
    assert compare_parameters({**question, "epochs": ["3"]})[0].request.epochs == 3
    shared = texts_of_link(asking.whole_query({}))[1]
    assert shared["epochs"] == ["1"]
    assert compare_parameters(shared)[0].request.epochs == 1


def test_a_question_about_a_measured_job_is_not_the_opening_one() -> None:
    for question in ({"epochs": ["20"]}, {"goal": ["target"]}, {"pattern": ["fit"]}):
        assert compare_parameters(question)[0].described is None


def test_options_or_a_batch_alone_keep_the_opening_job() -> None:
    for question in ({"options": ["buy-1x-rtx-5090"]}, {"batch": ["32"]}):
        described = compare_parameters(question)[0].described
        assert described is not None
        assert described.network == "llama-3-8b"


@pytest.mark.parametrize(
    ("network", "usual"),
    [("SDXL", "bfloat16"), ("ResNet-50", "bfloat16"), ("Llama 3 8B", "bfloat16"),
     ("DLRM", "float32")],
)  # fmt: skip
def test_a_named_network_has_the_number_format_that_the_page_fills_in(
    network: str, usual: str
) -> None:
    described = compare_parameters({"network": [network], "samples": ["1e6"]})[0].described
    assert described is not None
    assert described.precision == usual


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
    budget_usd = 500.0 / 0.9 / (1.0 + 19.0 / 100.0)
    assert asking.request.limits == Limits(
        order="time", deadline_s=72 * 3600.0, budget_usd=budget_usd
    )
    assert asking.request.options == ("a", "b")
    assert asking.request.assumed.pue == 1.1
    assert asking.display.as_of == date(2026, 11, 1)
    assert asking.display.tax_share == pytest.approx(0.19)
    again, _ = compare_parameters(parse_qs(asking.query))
    assert again.request == asking.request
    assert again.query == asking.query


def test_a_target_asks_for_no_epochs() -> None:
    asking, problems = compare_parameters({"goal": ["target"], "target": ["0.025"]})
    assert problems == ()
    assert asking.request.epochs is None
    assert asking.target == 0.025


def test_another_currency_needs_its_rate_and_the_day_of_it() -> None:
    _, without = compare_parameters({"currency": ["VND"]})
    assert "No rate is known for VND." in str(without[0])
    _, dateless = compare_parameters({"currency": ["EUR"], "rate": ["0.9"]})
    assert "no date" in str(dateless[0])
    _, wrong = compare_parameters({"currency": ["EURO"], "rate": ["0.9"]})
    assert wrong


def test_a_rate_of_a_day_that_has_not_come_is_refused() -> None:
    begins = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
    given = {"currency": ["EUR"], "rate": ["0.9"], "rate_as_of": ["2026-11-24"]}
    asking, (problem,) = compare_parameters(given, begins=begins)
    assert str(problem) == (
        "rate_as_of: 2026-11-24 is after today, 2026-11-22. Give the day on which the rate was "
        "read."
    )
    assert asking.display.currency == "USD"
    tomorrow, problems = compare_parameters(given | {"rate_as_of": ["2026-11-23"]}, begins=begins)
    assert problems == ()  # it may be tomorrow where the rate was read
    assert tomorrow.display.currency == "EUR"


def test_a_tariff_that_is_typed_is_known_as_typed_be_it_the_usual_one() -> None:
    given = {"country": ["DE"], "epochs": ["20"]}
    plain, _ = compare_parameters(given)
    typed, _ = compare_parameters({**given, TARIFF: ["0.15"]})
    assert plain.request.assumed == typed.request.assumed == Assumptions()
    assert not plain.request.tariff_typed
    assert typed.request.tariff_typed
    assert parse_qs(typed.query) == {**given, TARIFF: ["0.15"]}


def test_a_workload_without_measurements_is_described() -> None:
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


def test_parameters_without_tokens_or_flops_are_a_question_and_no_answer() -> None:
    given = {"workload": ["described"], "samples": ["1.28e6"], "params": ["25.6e6"]}
    asking, (problem,) = compare_parameters(given)
    assert asking.described is None
    assert str(problem).startswith("tokens: How many tokens has a sample? 1 for a fully connected")
    assert "ResNet-50 at 224 px takes about 25e9" in str(problem)
    for result in ({"tokens": ["1"]}, {"flops": ["25e9"]}):
        asking, problems = compare_parameters(given | result)
        assert problems == ()
        assert asking.described is not None


def test_six_operations_a_parameter_and_the_attention_unless_flops_are_stated() -> None:
    language = Described(name="LM", samples_per_epoch=10, params=7e9, tokens_per_sample=2048)
    image = Described(name="R", samples_per_epoch=10, params=25.6e6, flops_per_sample=25e9)
    attention = 12 * 1.31e5 * 2048 * 2048
    flops = job_described(language).train_flops_per_sample
    assert flops == pytest.approx(6 * 7e9 * 2048 + attention)
    connected = Described(name="MLP", samples_per_epoch=10, params=7e9, tokens_per_sample=1.0)
    assert job_described(connected).train_flops_per_sample == 6 * 7e9
    assert job_described(image).train_flops_per_sample == 25e9
    with pytest.raises(ValueError, match="without tokens per sample"):
        job_described(Described(name="R", samples_per_epoch=10, params=25.6e6))


def test_a_batch_larger_than_an_epoch_is_reported() -> None:
    given = {"workload": ["described"], "samples": ["100"], "flops": ["1e9"], "batch": ["1000"]}
    asking, (problem,) = compare_parameters(given)
    assert str(problem).startswith("batch: A batch of 1,000 exceeds the 100 samples")
    assert asking.described is not None
    assert asking.described.batch is None
    asking, problems = compare_parameters(given | {"batch": ["100"]})
    assert problems == ()
    assert asking.described is not None
    assert asking.described.batch == 100.0


def test_training_in_int8_is_refused_with_the_reason() -> None:
    given = {"workload": ["described"], "samples": ["100"], "flops": ["1e9"]}
    asking, (problem,) = compare_parameters(given | {"precision": ["int8"]})
    assert str(problem) == (
        "precision: int8 is for inference; training in it is not estimated. Choose float32, "
        "tensorfloat32, bfloat16, float16 or float8."
    )
    assert asking.described is not None
    assert asking.described.precision == "float32"
    _, (problem,) = compare_parameters(given | {"precision": ["int9"]})
    assert "'int9' is not among" in str(problem)


def test_an_unknown_optimiser_is_refused_with_similar_names() -> None:
    given = {"workload": ["described"], "samples": ["100"], "flops": ["1e9"]}
    asking, (problem,) = compare_parameters(given | {"network_optimizer": ["Lionn"]})
    assert str(problem) == (
        "network_optimizer: The memory of 'Lionn' is unknown. Write Lion, or leave it empty: "
        "Adam's two moments are assumed then."
    )
    assert asking.described is not None
    assert asking.described.optimizer == ""
    assert compare_parameters(given | {"network_optimizer": ["SGD momentum 0.9"]})[1] == ()


def test_help_reports_ids_of_options_and_what_a_price_is_for() -> None:
    words = {p.name: p.words for p in COMPARE}
    assert "mine-..." in words["options"]
    assert "the whole machine" in words["own"]
    assert "buy|h100-sxm|8|250000 total" in words["own"]
    assert "1 for a fully connected network" in words["tokens"]


def test_what_is_only_for_the_eye_is_no_problem_and_a_typing_error_is() -> None:
    _, eye = compare_parameters({name: ["x"] for name in VIEW_ONLY})
    assert eye == ()
    _, typed = compare_parameters({"epoch": ["3"], "pue": ["99"], "tax": ["nan"]})
    assert [p.parameter for p in typed] == ["epoch", "pue", "tax"]


# -- a deadline that is a date ---------------------------------------------------------------------

_BY = "2026-11-27T09:00+09:00"


def _asked_at(day: int, **given: list[str]) -> tuple[float | None, str]:
    begins = datetime(2026, 11, day, 0, 0, tzinfo=UTC)
    asking, problems = compare_parameters({"by": [_BY], **given}, begins=begins)
    return asking.request.limits.deadline_s, " ".join(map(str, problems))


def test_a_date_stays_the_same_date_whenever_the_link_is_opened() -> None:
    assert _asked_at(22) == (5 * 86400.0, "")
    assert _asked_at(23) == (4 * 86400.0, "")
    given = {"by": [_BY], "epochs": ["20"]}
    asking, _ = compare_parameters(given, begins=datetime(2026, 11, 22, tzinfo=UTC))
    assert parse_qs(asking.query) == given
    assert asking.by is not None
    assert moment_text(asking.by) == _BY


def test_a_date_that_has_passed_says_so_and_is_not_asked_for() -> None:
    deadline_s, result = _asked_at(28)
    assert deadline_s is None
    assert result.startswith("by: Fri 27 Nov 2026, 09:00 UTC+09:00 has passed")
    assert _asked_at(28, deadline=["5"])[0] is None


def test_of_a_date_and_hours_the_date_counts_and_it_is_reported() -> None:
    deadline_s, result = _asked_at(22, deadline=["5"])
    assert deadline_s == 5 * 86400.0
    assert "the date counts" in result


@pytest.mark.parametrize("text", ["2026-11-27", "2026-11-27T09:00", "2026-13-01T09:00Z", "Friday"])
def test_a_date_without_time_or_zone_is_refused_with_what_to_write(text: str) -> None:
    asking, problems = compare_parameters({"by": [text]})
    assert asking.request.limits.deadline_s is None
    assert "Write 2026-11-27T09:00+09:00" in str(problems[0])


def test_a_plus_that_arrived_as_a_space_and_a_z_are_zones() -> None:
    assert moment_of("2026-11-27T09:00 09:00") == moment_of("2026-11-27T00:00Z") == moment_of(_BY)


@pytest.mark.parametrize(
    "text", ["9999-12-31T23:59-23:59", "9999-12-31T23:59Z", "0001-01-01T00:00+23:59"]
)
def test_a_moment_at_an_end_of_the_calendar_is_none(text: str) -> None:
    """In another zone it would lie outside, and the page shows it in the reader's zone."""
    assert moment_of(text) is None


def test_a_date_beyond_all_deadlines_is_reported() -> None:
    _, problems = compare_parameters({"by": ["9999-11-27T09:00Z"]})
    assert "hours ahead" in str(problems[0])


@pytest.mark.parametrize("name", ["rate_of_capital", "tariff_usd_per_kwh", "budget"])
def test_a_number_next_to_0_is_refused_with_what_to_write(name: str) -> None:
    """5e-324 made payback exceed the life of the machine."""
    _, problems = compare_parameters({name: ["5e-324"]})
    result = {p.parameter: p.message for p in problems}
    assert result[name] == "'5e-324' is next to 0. Write 0, or 1e-15 and more."


@pytest.mark.parametrize("more", [{}, {"deadline": ["72"]}])
def test_an_empty_date_is_a_problem_as_an_empty_deadline_is(more: dict[str, list[str]]) -> None:
    assert "by" in [p.parameter for p in compare_parameters({"by": [""], **more})[1]]
    assert [p.parameter for p in compare_parameters({"deadline": [""]})[1]] == ["deadline"]
