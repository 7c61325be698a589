"""Operations of a sample, against the architectures' own sums and published counts."""

from __future__ import annotations

from typing import Final

import pytest

from planner.networks import (
    TRAININGS,
    Network,
    image_operations,
    layers_width_of,
    network_named,
    networks,
    operations_of,
    transformer_operations,
)
from tests.each import each

DECODERS: Final = [n for n in networks().values() if n.family == "dense" and n.params > 1e8]


def named(text: str) -> Network:
    found = network_named(text)
    assert isinstance(found, Network)
    return found


def test_a_token_of_gpt_3_takes_what_its_paper_prints() -> None:
    # Brown et al. 2020, table D.1: 3.14e23 operations for 300e9 tokens, attention aside.
    result = transformer_operations(174.6e9, 2048)
    assert (result.model - result.attention) / 2048 * 300e9 == pytest.approx(3.14e23, rel=0.005)


def test_attention_is_what_the_appendix_of_megatron_counts() -> None:
    # Narayanan et al. 2021: 96 B s l h^2 (1 + s/6h + V/16lh) with recomputation, 4 passes of 3.
    layers, width, length, vocabulary = 96, 12288, 2048, 51200
    whole = 72 * length * layers * width**2 * (
        1 + length / (6 * width) + vocabulary / (12 * layers * width)
    )  # fmt: skip
    params = 12 * layers * width**2 + vocabulary * width
    result = transformer_operations(params, length, layers_width=layers * width, recompute=True)
    assert result.model == pytest.approx(whole, rel=1e-6)
    assert result.hardware == pytest.approx(whole * 4 / 3, rel=1e-6)


def test_a_mixture_of_experts_costs_its_active_parameters() -> None:
    result = operations_of(named("Mixtral 8x7B"), tokens=4096)
    assert result is not None
    linear = 6 * 12.88e9 * 4096
    assert result.model == pytest.approx(linear + 12 * 32 * 4096 * 4096 * 4096, rel=1e-3)


def test_layers_with_a_window_see_at_most_twice_its_tokens() -> None:
    # Of a causal sequence a token sees half in the mean, which counts in full; of a window all.
    gpt_oss = named("GPT-OSS 120B")
    assert gpt_oss.context(8192) == pytest.approx(0.5 * 8192 + 0.5 * (256 - 2), rel=1e-3)
    assert gpt_oss.context(100) == 100
    assert named("Gemma 3 12B").context(8192) < 3300 < named("Gemma 2 9B").context(8192)
    assert named("Llama 3 8B").context(8192) == 8192
    result = operations_of(gpt_oss, tokens=8192)
    assert result is not None
    layers_width = gpt_oss.layers_width or 0.0
    assert result.attention == pytest.approx(12 * layers_width * gpt_oss.context(8192) * 8192)
    assert "tokens seen" in result.formula


def test_adapters_save_the_gradients_of_the_weights_and_nothing_of_the_attention() -> None:
    full = transformer_operations(8e9, 4096, layers_width=131072)
    for training in TRAININGS[1:]:
        adapters = transformer_operations(8e9, 4096, layers_width=131072, training=training)
        assert full.model - adapters.model == pytest.approx(2 * 8e9 * 4096)
        assert adapters.attention == full.attention


def test_recomputation_adds_a_forward_pass_to_hardware_operations_only() -> None:
    plain, again = (transformer_operations(8e9, 4096, recompute=r) for r in (False, True))
    assert plain.model == again.model == plain.hardware
    assert again.hardware == pytest.approx(4 / 3 * again.model)
    image = image_operations(1e9, recompute=True)
    assert image.hardware == 4e9
    assert image.model == 3e9


def test_a_token_of_an_encoder_decoder_passes_through_one_half() -> None:
    one = named("T5 base")
    result = operations_of(one, tokens=512)
    assert result is not None
    assert result.model - result.attention == pytest.approx(3 * one.params * 512)


def test_a_sample_of_one_token_has_no_attention() -> None:
    assert transformer_operations(1e9, 1.0).model == 6e9


@each("one", DECODERS)
def test_layers_and_width_follow_from_the_parameters_within_a_factor(one: Network) -> None:
    guessed = layers_width_of(one.params - (one.vocabulary or 0) * (one.width or 0) / 2)
    assert one.layers_width is not None
    assert 0.5 < guessed / one.layers_width < 2.0


def test_layers_and_width_grow_with_the_parameters_outside_the_table_too() -> None:
    sizes = [1e6 * 2**i for i in range(24)]
    widths = [layers_width_of(s) for s in sizes]
    assert widths == sorted(widths)
    assert widths[0] > 0.0


@each(
    ("name", "tokens", "px"),
    [("ViT-Ti/16", 197, 224), ("ViT-S/16", 197, 224), ("ViT-B/16", 197, 224),
     ("ViT-L/16", 197, 224), ("ViT-H/14", 257, 224), ("DiT-XL/2", 256, 256),
     ("DiT-B/2", 256, 256)],
)  # fmt: skip
def test_vision_transformers_take_what_their_layers_add_up_to(
    name: str, tokens: int, px: int
) -> None:
    one = named(name)
    assert one.layers is not None
    assert one.width is not None
    layers = one.layers * (12 * one.width**2 * tokens + 2 * one.width * tokens**2)
    assert one.image_px == px
    assert one.multiply_adds == pytest.approx(layers, rel=0.035)  # and patches


def test_article_002s_network_takes_what_its_convolutions_add_up_to() -> None:
    one, k, n = named("WideResNet-103M"), 7, 4
    total, before = 0.0, 3
    for filters, side in ((16 * k, 32), (32 * k, 16), (64 * k, 8)):
        total += side**2 * (before * filters + 2 * n * 49 * filters**2)
        before = filters
    assert one.multiply_adds == pytest.approx(total, rel=1e-3)


def test_an_image_of_another_size_costs_its_pixels() -> None:
    one = named("ResNet-50")
    usual, half = operations_of(one), operations_of(one, image_px=112)
    assert usual is not None
    assert half is not None
    assert usual.model == pytest.approx(3 * 2 * 4.09e9, rel=0.01)
    assert half.model == pytest.approx(usual.model / 4)


def test_every_named_network_has_operations() -> None:
    for one in networks().values():
        result = operations_of(one)
        assert result is not None, one.id
        assert result.model > 0.0
        assert result.formula
