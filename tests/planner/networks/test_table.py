"""The named networks: their parameters follow from their architecture, their names find them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from planner.core import Refusal
from planner.networks import FAMILIES, Network, network_named, networks, states_no_size
from planner.networks._table import USUAL
from tests.each import each

ROOT: Final = Path(__file__).parent.parent.parent.parent
LIBRARY: Final = ROOT.parent / "shared" / "library"
EVERY: Final = list(networks().values())
DRAWN: Final = [n for n in EVERY if n.feed_forward]
"""Those whose whole architecture is in the table."""
ONE_IN_A_HUNDRED: Final = 0.015
SHARED_EMBEDDING: Final = {"opt-350m": 0.07, "gpt-oss-20b": 0.17, "gpt-oss-120b": 0.12}
"""OPT 350M has an embedding half as wide; GPT-OSS counts no input embedding among active ones."""
PRINTED: Final = {
    "llama-3-8b": 8.03e9, "llama-3.1-405b": 405.9e9, "deepseek-v3": 671e9, "gpt-2-xl": 1.558e9,
    "mixtral-8x7b": 46.7e9, "bert-large": 335e6, "t5-11b": 11.3e9, "vit-l-16": 304e6,
    "resnet-50": 25.6e6, "sdxl": 2.57e9, "flux.1": 11.9e9, "wideresnet-103m": 103_465_028,
}  # fmt: skip
"""As their papers and model cards print them."""


def by_architecture(one: Network, experts: int) -> float:
    """Parameters of layers and embeddings, of so many experts a layer; norms and biases aside."""
    layers, width, feed = one.layers or 0, one.width or 0, one.feed_forward or 0
    attention = 2.0 * width * ((one.attention_width or 0) + (one.kv_width or 0))
    feed_forward = (3 if one.gated else 2) * width * feed
    crossed = 0.5 * attention if one.family == "encoder-decoder" else 0.0
    embeddings = (one.vocabulary or 0) * width * (1 if one.tied else 2)
    return layers * (attention + crossed + experts * feed_forward) + embeddings


@each("one", DRAWN)
def test_parameters_follow_from_layers_width_and_vocabulary(one: Network) -> None:
    off = SHARED_EMBEDDING.get(one.id, ONE_IN_A_HUNDRED)
    assert by_architecture(one, one.experts or 1) == pytest.approx(one.params, rel=off)
    active = by_architecture(one, one.experts_active or 1)
    assert active == pytest.approx(one.active_params, rel=off)


def test_the_table_has_two_hundred_networks_of_every_family_with_a_source_each() -> None:
    assert len(EVERY) >= 200
    assert {n.family for n in EVERY} == set(FAMILIES)
    assert len({n.id for n in EVERY}) == len({n.name.casefold() for n in EVERY}) == len(EVERY)
    for one in EVERY:
        assert urlsplit(one.source).scheme == "https", one.id
        assert one.multiply_adds is None or one.counted, one.id
        assert one.of_tokens or one.multiply_adds, one.id
        assert not one.of_tokens or (one.sequence and one.layers_width), one.id


@each("name", sorted(PRINTED))
def test_parameters_are_those_of_the_paper(name: str) -> None:
    assert networks()[name].params == pytest.approx(PRINTED[name], rel=0.01)


@each(("text", "found"), [
        ("llama3-8b", "llama-3-8b"), ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("Llama 3 8B", "llama-3-8b"), ("LLAMA3_8B [LoRA]", "llama-3-8b"),
        ("llama3_8B-megatron", "llama-3-8b"), ("Llama-3.1-8B-Instruct", "llama-3-8b"),
        ("Llama2-7B pre-training", "llama-2-7b"), ("LLAMA3.1_405B", "llama-3.1-405b"),
        ("MPT-7b", "mpt-7b"), ("mosaicml/mpt-30b", "mpt-30b"), ("gpt2-xl", "gpt-2-xl"),
        ("GPT-3 175B (MLPerf gpt3)", "gpt-3-175b"), ("opt-1_3b", "opt-1.3b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"), ("Qwen3_235B_a22B", "qwen3-235b-a22b"),
        ("DeepSeekV3", "deepseek-v3"), ("Mixtral 8X22B", "mixtral-8x22b"),
        ("BERT-Large pre-training", "bert-large"), ("bert-base-uncased", "bert-base"),
        ("t5-3b", "t5-3b"), ("resnet50", "resnet-50"), ("ResNet-50 v1.5", "resnet-50"),
        ("ViT-B/16", "vit-b-16"), ("vit_base_patch16_224", "vit-b-16"),
        ("tf_efficientnet_b0", "efficientnet-b0"), ("convnext_large", "convnext-large"),
        ("Stable Diffusion v2 (MLPerf stable_diffusion)", "stable-diffusion-2"),
        ("SDXL", "sdxl"), ("FLUX.1 (MLPerf flux1)", "flux.1"), ("whisper", "whisper-large"),
        ("WideResNet-103M", "wideresnet-103m"), ("3D U-Net (MLPerf unet3d)", "unet-3d"),
    ])  # fmt: skip
def test_a_network_is_found_as_people_and_tables_write_it(text: str, found: str) -> None:
    named = network_named(text)
    assert isinstance(named, Network)
    assert named.id == found


@each("text", ["resnet50d", "seresnet50", "llama-3-80b", "vit_base_patch16_384x", "bert-larger",
             "", "?", "8b", "lora", "x" * 5000])  # fmt: skip
def test_another_network_is_not_taken_for_a_named_one(text: str) -> None:
    assert isinstance(network_named(text), Refusal)


def test_a_name_that_is_not_there_is_refused_with_near_names() -> None:
    refused = network_named("lama 3 8b")
    assert isinstance(refused, Refusal)
    assert "'lama 3 8b' is not among the" in refused.reason
    assert "Llama 3 8B" in refused.measure_next
    assert "FLOPs per sample" in refused.measure_next
    strange = network_named("qqqq")
    assert isinstance(strange, Refusal)
    assert strange.measure_next.startswith("Or give") or "Perhaps" in strange.measure_next


@each(("text", "usual"), [
        ("Qwen", "Qwen2.5 7B"), ("Llama 3", "Llama 3 8B"), ("Mistral", "Mistral 7B"),
        ("Gemma", "Gemma 7B"), ("Falcon", "Falcon 7B"), ("Phi-3", "Phi-3 mini"),
        ("Mixtral", "Mixtral 8x7B"), ("DeepSeek-V3", "DeepSeek-V3"), ("GPT-2", "GPT-2"),
        ("GPT-3", "GPT-3 175B"), ("BERT", "BERT large"), ("T5", "T5 base"),
        ("Whisper", "Whisper large"), ("ViT-B", "ViT-B/16"), ("ViT-L", "ViT-L/16"),
        ("ConvNeXt", "ConvNeXt-B"), ("EfficientNet", "EfficientNet-B0"), ("YOLO", "YOLOv8s"),
        ("SD", "Stable Diffusion 2"), ("SDXL", "Stable Diffusion XL"), ("FLUX", "FLUX.1"),
        ("U-Net", "U-Net 2-D"), ("DLRM", "DLRM"),
    ])  # fmt: skip
def test_a_name_without_a_size_is_that_of_the_usual_network(text: str, usual: str) -> None:
    named = network_named(text)
    assert isinstance(named, Network)
    assert named.name == usual


def test_every_usual_network_is_in_the_table_and_its_short_name_states_no_size() -> None:
    for name, usual in USUAL.items():
        assert network_named(name) == networks()[usual]
        assert states_no_size(name)
    assert not any(states_no_size(n.name) for n in EVERY if n.id != "dlrm")


@pytest.mark.parametrize("text", ["SD 4", "SD v9", "SD 2.5", "sd 3.5"])
def test_near_names_of_another_sd_are_no_ssd(text: str) -> None:
    refused = network_named(text)
    assert isinstance(refused, Refusal)
    assert "Perhaps Stable Diffusion" in refused.measure_next
    assert "SSD" not in refused.measure_next


def test_every_id_and_name_and_alias_finds_its_own_network() -> None:
    for one in EVERY:
        for name in (one.id, one.name, *one.aliases):
            named = network_named(name)
            assert isinstance(named, Network), name
            assert named.id == one.id, name


def test_forward_passes_agree_with_a_published_benchmark_of_the_same_networks() -> None:
    path = LIBRARY / "timm_train_bench.tsv"
    if not path.is_file():
        pytest.skip(f"{path.name} of the shared library is not here")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [r for r in csv.DictReader(file, delimiter="\t") if r["flops_per_sample_stated"]]
    compared = set()
    named = {name: network_named(name) for name in {row["model"] for row in rows}}
    for row in rows:
        one = named[row["model"]]
        if isinstance(one, Refusal) or one.image_px != float(row["image_px"] or 0):
            continue
        if one.id == "inception-v3":  # with and without its second classifier
            continue
        assert one.params == pytest.approx(float(row["params"]), rel=0.01), one.id
        if float(row["flops_per_sample_stated"]) > 0.5e9:  # below, rounding to 0.01e9 shows
            stated = float(row["flops_per_sample_stated"])
            assert one.forward_flops == pytest.approx(stated, rel=0.06), one.id
        compared.add(one.id)
    assert len(compared) >= 20


def test_parameters_agree_with_every_published_row_of_the_same_name() -> None:
    path = LIBRARY / "llm_foundry.tsv"
    if not path.is_file():
        pytest.skip(f"{path.name} of the shared library is not here")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    compared = set()
    named = {name: network_named(name) for name in {row["model"] for row in rows}}
    for row in rows:
        one = named[row["model"]]
        if isinstance(one, Network) and row["params"]:
            # Learned positions grow with the length of the sequence, up to 40 % of the smallest.
            positions = float(row["seq_len"] or 0) * (one.width or 0)
            assert float(row["params"]) - one.params <= 1.01 * positions + 0.01 * one.params
            compared.add(one.id)
    assert len(compared) >= 7
