"""A described workload: named networks, short numbers, total tokens, what each field overrides."""

from __future__ import annotations

import pytest

from planner.answers.comparison import CompareParameters, compare_parameters
from planner.core import ParameterProblem, texts_of_link
from planner.job import Job, job_described
from planner.networks import Network, networks, operations_of
from tests.each import each


def asked(**given: str) -> tuple[CompareParameters, tuple[ParameterProblem, ...]]:
    return compare_parameters({"workload": ["described"], **{n: [v] for n, v in given.items()}})


def job(**given: str) -> Job:
    asking, problems = asked(**given)
    assert problems == ()
    assert asking.described is not None
    return job_described(asking.described)


@each("one", networks().values())
def test_a_named_network_and_its_samples_are_a_whole_question(one: Network) -> None:
    made, result = job(network=one.id, samples="1000"), operations_of(one)
    assert result is not None
    assert made.train_flops_per_sample == pytest.approx(result.model)
    assert (made.family, made.params, made.network) == (one.family, one.params, one.id)
    assert made.workload == one.name


def test_every_field_of_a_named_network_may_be_changed() -> None:
    usual = job(network="Llama 3 8B", samples="10")
    longer = job(network="Llama 3 8B", samples="10", tokens="16384")
    assert usual.tokens_per_sample == 8192
    assert longer.tokens_per_sample == 16384
    attention = 12 * 32 * 4096
    assert longer.train_flops_per_sample == pytest.approx(
        16384 * (6 * 8.030261248e9 + attention * 16384)
    )
    other = job(network="Llama 3 8B", samples="10", params="9B", name="mine", family="encoder")
    assert (other.params, other.workload, other.family) == (9e9, "mine", "encoder")
    assert other.layers_width is None  # another size has other layers
    rounded = job(network="Llama 3 8B", samples="10", params="8.03B")
    assert rounded.layers_width == 32 * 4096
    deeper = job(network="Llama 3 8B", samples="10", layers="64")
    assert deeper.layers_width == 64 * 4096
    both = job(network="Llama 3 8B", samples="10", params="9B", layers="40", width="5120")
    assert both.train_flops_per_sample == pytest.approx(8192 * (6 * 9e9 + 12 * 40 * 5120 * 8192))
    stated = job(network="Llama 3 8B", samples="10", flops="1e15")
    assert stated.train_flops_per_sample == 1e15


def test_a_larger_image_costs_its_pixels() -> None:
    usual, twice = (job(network="resnet50", samples="10", image_px=px) for px in ("224", "448"))
    assert usual.train_flops_per_sample is not None
    assert twice.train_flops_per_sample == pytest.approx(4 * usual.train_flops_per_sample)
    assert twice.image_px == 448


def test_adapters_take_two_thirds_of_the_operations() -> None:
    full, lora = (
        job(network="Llama 3 8B", samples="1", tokens="512", training=t) for t in ("full", "lora")
    )
    assert full.train_flops_per_sample is not None
    assert lora.train_flops_per_sample is not None
    assert lora.train_flops_per_sample / full.train_flops_per_sample == pytest.approx(2 / 3, 0.02)
    assert (lora.training, full.training) == ("lora", "full")


def test_active_parameters_make_a_mixture_of_experts() -> None:
    mixture = job(params="47B", active_params="13B", tokens="4096", samples="10")
    assert mixture.family == "moe"
    dense = job(params="13B", tokens="4096", samples="10")
    assert mixture.train_flops_per_sample == dense.train_flops_per_sample
    assert mixture.params == 47e9
    _, (problem,) = asked(family="moe", params="1B", active_params="2B", tokens="8", samples="10")
    assert problem.parameter == "active_params"


def test_total_tokens_are_the_whole_run_in_place_of_samples_and_epochs() -> None:
    asking, problems = asked(network="Llama 3 8B", total_tokens="100M", epochs="1")
    assert problems == ()
    assert asking.described is not None
    assert asking.described.samples_per_epoch == pytest.approx(100e6 / 8192)
    assert asking.described.total_tokens == 100e6
    given = texts_of_link(asking.query)[1]
    assert compare_parameters(given)[0].described == asking.described
    _, (beside,) = asked(network="Llama 3 8B", total_tokens="100M", samples="5")
    instead = "total_tokens is given too; the total counts. Leave one of them out."
    assert str(beside) == f"samples: {instead}"
    _, (more,) = asked(network="Llama 3 8B", total_tokens="100M", epochs="7")
    assert str(more) == f"epochs: {instead}"
    _, (few,) = asked(network="Llama 3 8B", total_tokens="100")
    assert few.parameter == "total_tokens"
    assert "less than one sample" in few.message
    _, (none,) = asked(network="resnet50", total_tokens="1e9")
    assert str(none) == "total_tokens: ResNet-50 has no tokens. Give samples and epochs."


def test_an_unknown_network_is_a_problem_with_near_names() -> None:
    asking, problems = asked(network="llama 3 9b", samples="10")
    assert asking.described is None
    assert problems[0].parameter == "network"
    assert "Llama 3 8B" in problems[0].message


@each(
    ("text", "value"),
    [("7B", 7e9), ("100M", 1e8), ("1e9", 1e9), ("0.5b", 5e8), ("7000000000", 7e9),
     ("8.03 B", 8.03e9), ("350m", 3.5e8)],
)  # fmt: skip
def test_short_numbers_are_read(text: str, value: float) -> None:
    assert job(params=text, tokens="2k", samples="1M").params == pytest.approx(value, rel=1e-12)


@each("text", ["7X", "B", "7BB", "seven", "-7B", "1e99B", "7B7", "0"])
def test_what_is_no_number_is_a_problem_that_shows_how_to_write_it(text: str) -> None:
    _, problems = asked(params=text, tokens="2048", samples="10")
    assert problems[0].parameter == "params"
    assert "Write it as 7B, 100M or 1e9." in problems[0].message


@pytest.mark.parametrize(
    ("question", "name", "what"),
    [
        ({"params": "7B", "tokens": "2048", "layers": "32"}, "layers", "count together"),
        ({"network": "resnet50", "width": "64"}, "width", "Only a transformer"),
        ({"network": "gpt2", "pattern": "synthetic"}, "pattern", "Only a measured workload"),
    ],
)
def test_a_value_without_an_effect_is_named(question: dict[str, str], name: str, what: str) -> None:
    texts = {key: [text] for key, text in question.items()}
    _, problems = compare_parameters({"workload": ["described"], "samples": ["1M"], **texts})
    assert [p.parameter for p in problems] == [name]
    assert what in problems[0].message
