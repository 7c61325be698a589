"""A workload described by hand: what its examples fill in."""

from __future__ import annotations

import re

import pytest

from pages.common import hardware
from pages.compare.described import (
    _OPTIMIZERS,
    AMOUNTS,
    EXAMPLES,
    NAMES,
    _published,
)
from pages.compare.inputs import MORE
from planner.answers import results_answered
from planner.answers.comparison import compare_parameters
from planner.core import text_of
from planner.job import unknown_optimizer
from tests import shipped
from tests.pages.comparing import address_of
from tests.pages.conftest import show, sound, texts, unfold


@pytest.mark.parametrize("example", list(EXAMPLES))
def test_an_example_sets_every_field_so_that_nothing_of_another_stays(example: str) -> None:
    assert set(EXAMPLES[example]) >= set(NAMES)


@pytest.mark.parametrize("example", list(EXAMPLES))
def test_an_example_is_a_whole_question_without_a_problem(example: str) -> None:
    result = {name: [text_of(v)] for name, v in EXAMPLES[example].items() if v not in (None, "")}
    asking, problems = compare_parameters({"workload": ["described"], **result})
    assert problems == ()
    assert asking.described is not None


def test_every_optimiser_on_offer_is_known() -> None:
    assert [unknown_optimizer(name) for name in _OPTIMIZERS] == [""] * len(_OPTIMIZERS)


# -- named networks on the page --------------------------------------------------------------------


@pytest.mark.usefixtures("folders")
def test_choosing_a_network_fills_the_form_and_every_field_stays_editable() -> None:
    shown = unfold(show("compare", workload="described"), "compare.transformer")
    shown.selectbox(key="compare.network").set_value("mixtral-8x7b")
    sound(shown.run())
    fields = {name: shown.text_input(key=f"compare.{name}").value for name in AMOUNTS}
    assert fields["params"] == "46.7B"
    assert fields["active_params"] == "12.88B"
    assert fields["tokens"] == "8192"
    assert shown.number_input(key="compare.layers").value == 32
    assert shown.number_input(key="compare.width").value == 4096
    assert shown.selectbox(key="compare.family").value == "moe"
    assert shown.text_input(key="compare.name").value == "Mixtral 8x7B"
    shown.text_input(key="compare.tokens").set_value("4k")
    shown.text_input(key="compare.total_tokens").set_value("100M")
    sound(shown.run())
    address = address_of(shown)
    assert address["tokens"] == ["4000"]
    assert address["total_tokens"] == ["100000000"]
    assert address["network"] == ["mixtral-8x7b"]
    assert "100 million tokens of Mixtral 8x7B" in texts(shown)
    assert "compare.epochs" not in {n.key for n in shown.number_input}


@pytest.mark.usefixtures("folders")
def test_a_network_of_small_images_is_asked_about_as_many_as_cifar_has() -> None:
    shown = unfold(show("compare", workload="described"), MORE)
    shown.selectbox(key="compare.network").set_value("wideresnet-103m")
    sound(shown.run())
    assert address_of(shown)["samples"] == ["50000"]
    assert "assumed 50,000 images, the size of CIFAR-100" in texts(shown)


@pytest.mark.usefixtures("folders")
def test_a_network_of_a_link_may_be_written_as_people_do() -> None:
    shown = show("compare", workload="described", network="Meta-Llama-3-8B", total_tokens="1B",
                 precision="bfloat16")  # fmt: skip
    assert not shown.warning
    assert shown.selectbox(key="compare.network").value == "llama-3-8b"
    assert shown.text_input(key="compare.total_tokens").value == "1B"
    assert "1 billion tokens of Llama 3 8B" in texts(shown)


@pytest.mark.usefixtures("folders")
def test_a_field_that_holds_no_number_says_how_to_write_one() -> None:
    shown = show("compare", workload="described", samples="1e6", params="7B", tokens="2048")
    unfold(shown, MORE).text_input(key="compare.params").set_value("seven")
    sound(shown.run())
    assert "Write it as 7B, 100M or 1e9." in texts(shown)


MEASURED = "wideresnet-103m-cifar-100-adam-float32"
LLAMA = {
    "workload": "described", "network": "Llama 3 8B", "total_tokens": "100M",
    "precision": "bfloat16", "network_optimizer": "AdamW",
}  # fmt: skip


@pytest.mark.usefixtures("folders")
def test_the_efficiency_behind_the_answer_is_shown_with_its_quantiles_and_can_be_assumed() -> None:
    shown = unfold(show("compare", **LLAMA), "compare.mfu_box")
    found = re.search(
        r"Estimated from published runs of dense language models. On .+, 10\s% of such jobs reach "
        r"less than (\d+)\s% of the half-precision peak. Half reach less than (\d+)\s%, and 90\s% "
        r"less than (\d+)\s%", texts(shown),
    )  # fmt: skip
    assert found is not None
    low, half, high = map(int, found.groups())
    assert 10 < low < half < high < 90
    shown.number_input(key="compare.assumed_mfu").set_value(50.0)
    sound(shown.run())
    assert address_of(shown)["assumed_mfu"] == ["50"]
    assert "Time one step" not in texts(shown)


@pytest.mark.usefixtures("folders")
def test_an_efficiency_alone_is_that_of_the_opening_job() -> None:
    shown = show("compare", assumed_mfu="40")
    assert not shown.warning
    assert address_of(shown)["network"] == ["llama-3-8b"]
    assert address_of(shown)["assumed_mfu"] == ["40"]
    assert "100 million tokens of Llama 3 8B" in texts(shown)


@pytest.mark.usefixtures("folders")
def test_a_description_in_a_link_of_a_measured_workload_is_a_warning() -> None:
    shown = show("compare", workload=MEASURED, assumed_mfu="40", network="SDXL")
    for name in ("assumed_mfu", "network"):
        assert f"{name}: Only a described workload has it." in texts(shown)
        assert name not in address_of(shown)


@pytest.mark.usefixtures("folders")
def test_a_description_returns_after_a_look_at_a_measured_workload() -> None:
    shown = show("compare", **LLAMA, assumed_mfu="40")
    measured = shown.selectbox(key="compare.workload").options[0]
    shown.selectbox(key="compare.workload").select(measured)
    sound(shown.run())
    assert not shown.warning
    assert not {"assumed_mfu", "network"} & address_of(shown).keys()
    assert shown.number_input(key="compare.epochs").value == 2000
    shown.selectbox(key="compare.workload").set_value("described")
    sound(shown.run())
    assert not shown.warning
    assert address_of(shown)["assumed_mfu"] == ["40"]
    assert address_of(shown)["network"] == ["llama-3-8b"]
    assert "100 million tokens of Llama 3 8B" in texts(shown)


@pytest.mark.usefixtures("folders")
def test_a_described_job_has_one_epoch_on_the_page_too() -> None:
    shown = show("compare", network="DLRM", samples="4.2e9")
    assert not shown.warning
    assert shown.number_input(key="compare.epochs").value == 1
    assert "finishes 1 epoch of DLRM" in texts(shown)


@pytest.mark.usefixtures("folders")
def test_epochs_beside_total_tokens_are_a_warning() -> None:
    shown = show("compare", **LLAMA, epochs="3")
    assert "epochs: total_tokens is given too; the total counts." in texts(shown)
    assert "epochs" not in address_of(shown)
    assert "100 million tokens of Llama 3 8B" in texts(shown)


@pytest.mark.usefixtures("folders")
def test_a_step_typed_in_narrows_the_answer_and_stands_in_the_link() -> None:
    shown = show("compare", **LLAMA)
    before = re.search(r"Time one step: (.+?) becomes", texts(shown))
    assert before is not None
    shown = unfold(unfold(unfold(shown, MORE), "compare.step_box"), "compare.mfu_box")
    shown.number_input(key="compare.step_s").set_value(3.5)
    shown.number_input(key="compare.step_batch").set_value(4.0)
    shown.selectbox(key="compare.step_accelerator").set_value("mi300x")
    sound(shown.run())
    address = address_of(shown)
    assert address["step_s"] == ["3.5"]
    assert address["step_accelerator"] == ["mi300x"]
    assert re.search(r"With your timed step: \d+ %", texts(shown))
    assert before[0] not in texts(shown)


@pytest.mark.usefixtures("folders")
def test_an_impossible_step_is_named_on_the_page() -> None:
    shown = show("compare", **LLAMA, step_s="0.001", step_batch="64",
                 step_accelerator="H100 SXM")  # fmt: skip
    assert "% of the peak of 1 x H100 SXM5 80GB" in texts(sound(shown))
    assert "The timed step cannot be used." in texts(shown)
    assert not shown.dataframe
    assert "finishes 100 million tokens" not in texts(shown)
    shown.button(key="compare.step").click()
    sound(shown.run())
    assert "finishes 100 million tokens" in texts(shown)


@pytest.mark.usefixtures("folders")
def test_an_efficiency_can_be_assumed_where_no_run_of_the_kind_is_published() -> None:
    shown = show("compare", workload="described", flops="1e12", samples="1M")
    shown = unfold(shown, "compare.mfu_box")
    assert "No published runs of this kind." in texts(shown)
    before = texts(shown)
    shown.number_input(key="compare.assumed_mfu").set_value(10.0)
    sound(shown.run())
    assert address_of(shown)["assumed_mfu"] == ["10"]
    assert texts(shown) != before


FILLED = {
    "resnet-50": ("1281167", "SGD momentum 0.9"),
    "sdxl": ("100000", "AdamW"),
    "whisper-large": ("281241", "AdamW"),
    "yolov8s": ("118287", "SGD momentum 0.9"),
    "dlrm": ("100M", "AdamW"),
}


@pytest.mark.usefixtures("folders")
@pytest.mark.parametrize("network", list(FILLED))
def test_a_network_without_tokens_is_filled_in_with_samples_and_back_again(network: str) -> None:
    shown = unfold(show("compare", training="qlora", **LLAMA), MORE)
    shown.selectbox(key="compare.network").set_value(network)
    sound(shown.run())
    samples, optimizer = FILLED[network]
    assert "Which network is trained?" not in texts(shown)
    assert not shown.warning
    assert shown.text_input(key="compare.samples").value == samples
    assert shown.text_input(key="compare.total_tokens").value == ""
    assert shown.number_input(key="compare.epochs").value == 1
    assert shown.selectbox(key="compare.network_optimizer").value == optimizer
    kept = network in {"sdxl", "whisper-large"}
    assert shown.selectbox(key="compare.training").value == ("qlora" if kept else "full")
    assert "Samples per epoch: assumed" in texts(shown)
    assert "1 epoch of" in texts(shown)
    shown.selectbox(key="compare.network").set_value("llama-3-8b")
    sound(shown.run())
    assert not shown.warning
    assert shown.text_input(key="compare.samples").value == ""
    assert shown.text_input(key="compare.total_tokens").value == "100M"
    assert shown.selectbox(key="compare.network_optimizer").value == "AdamW"
    assert "100 million tokens of Llama 3 8B" in texts(shown)


@pytest.mark.usefixtures("folders")
def test_samples_that_somebody_typed_stay_when_the_network_changes() -> None:
    shown = unfold(show("compare", workload="described", network="resnet-50", samples="5000"), MORE)
    shown.selectbox(key="compare.network").set_value("vit-b-16")
    sound(shown.run())
    assert shown.text_input(key="compare.samples").value == "5000"


@pytest.mark.usefixtures("folders")
def test_the_first_screen_shows_the_values_of_its_network() -> None:
    assert "bfloat16 · AdamW · 4 runs a month" in texts(show("compare"))
    shown = unfold(show("compare"), MORE)
    fields = {n: shown.text_input(key=f"compare.{n}").placeholder for n in ("params", "tokens")}
    assert fields == {"params": "8.03B of Llama 3 8B", "tokens": "8192 of Llama 3 8B"}


def test_total_tokens_of_a_network_without_tokens_name_what_to_give() -> None:
    _, problems = compare_parameters({"workload": ["described"], "network": ["sdxl"],
                                      "total_tokens": ["100M"]})  # fmt: skip
    assert [str(p) for p in problems] == [
        "total_tokens: Stable Diffusion XL has no tokens. Give samples and epochs."
    ]


def test_the_link_lists_the_published_runs_that_are_counted() -> None:
    shared = shipped.library()
    cards = {a.id: a for a in hardware.catalog().catalog.accelerators}
    for card in ("rtx-4090", "mi300x"):
        said, rows = _published(shared, "dense", cards[card])
        number = results_answered(shared, rows).total
        assert number > 0
        assert said.startswith(f"{number:,} published run")


@pytest.mark.usefixtures("folders")
def test_the_field_of_operations_shows_those_of_the_form() -> None:
    def operations(**given: str) -> str:
        shown = show("compare", workload="described", network="llama-3-8b", **given)
        return str(unfold(shown, MORE).text_input(key="compare.flops").placeholder)

    assert operations(total_tokens="100M") == "500T"  # 8,192 tokens
    assert operations(total_tokens="100M", training="lora") == "369T"
    assert operations(total_tokens="100M", tokens="2048").startswith("105T")
    assert operations(total_tokens="100M", params="1B") == "by parameters"
    assert operations(total_tokens="100M", tokens="no number") == "500T"


@pytest.mark.usefixtures("folders")
def test_layers_and_width_stay_in_the_answer_after_their_box_is_closed() -> None:
    shown = unfold(unfold(show("compare", **LLAMA, tokens="131072"), MORE), "compare.transformer")
    before = texts(shown)
    shown.number_input(key="compare.layers").set_value(320)
    shown.number_input(key="compare.width").set_value(4096)
    sound(shown.run())
    assert texts(shown) != before
    shown.session_state["compare.transformer"] = False
    shown.session_state[MORE] = False
    sound(shown.run())
    shown.number_input(key="compare.budget").set_value(1e6)
    sound(shown.run())
    address = address_of(shown)
    assert (address["layers"], address["width"]) == (["320"], ["4096"])
    assert shown.session_state["compare.layers"] == 320


@pytest.mark.usefixtures("folders")
def test_layers_without_width_are_named() -> None:
    shown = show("compare", workload="described", params="7B", tokens="2048", samples="1M",
                 layers="32")  # fmt: skip
    assert "layers: Layers and width count together. Give both, or neither." in texts(shown)
