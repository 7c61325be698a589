"""The efficiency of described workloads: plausible where measured, wider where not."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.catalog import Accelerator
from planner.mfu import (
    DOMAINS,
    MfuQuestion,
    benchmark_factor,
    efficiency_of,
    expected,
    fitted,
    generation_of,
    node_size,
    parts_of,
    predicted,
    quantiles,
    traits_of,
    written_fit,
)
from planner.mfu._model import fit_of, shipped
from planner.mfu._questions import Traits
from planner.networks import transformer_operations
from planner.store.catalog import read_catalog
from tests.each import each

CATALOG = Path(__file__).parents[3] / "data" / "catalog"
CARDS = {a.id: a for a in read_catalog(CATALOG).catalog.accelerators}
SEQUENCE = 4096.0


def llama(card: Accelerator, **changes: object) -> MfuQuestion:
    """Llama 3 8B in bfloat16, 4,096 tokens, on 8 of an accelerator."""
    asked = MfuQuestion(
        family="dense",
        accelerator=card,
        flops_per_sample=transformer_operations(8.03e9, SEQUENCE, layers_width=131072.0).model,
        precision="bfloat16",
        devices=8,
        params=8.03e9,
        active_params=8.03e9,
        sequence=SEQUENCE,
    )
    return replace(asked, **changes)  # type: ignore[arg-type]


def value(question: MfuQuestion) -> float:
    found = efficiency_of(question)
    assert found is not None
    return found.value


def sd(question: MfuQuestion) -> float:
    found = efficiency_of(question)
    assert found is not None
    return found.sd


@pytest.mark.parametrize(
    ("card", "low", "high"),
    [("h100-sxm", 0.35, 0.52), ("a100-sxm-80gb", 0.45, 0.7), ("mi300x", 0.25, 0.48),
     ("b200", 0.28, 0.5), ("tpu-v5p", 0.4, 0.72)],
)  # fmt: skip
def test_a_language_model_reaches_what_published_runs_do(
    card: str, low: float, high: float
) -> None:
    assert low < value(llama(CARDS[card])) < high


def test_float8_is_faster_and_never_above_its_own_peak() -> None:
    half, eight = (value(llama(CARDS["h100-sxm"], precision=p)) for p in ("bfloat16", "float8"))
    assert 1.2 < eight / half < 2.0
    single = efficiency_of(llama(CARDS["rtx-4090"], precision="float32"))
    assert single is not None
    assert single.value <= 0.5


def test_a_mixture_of_experts_and_a_convolution_reach_less() -> None:
    dense = llama(CARDS["h100-sxm"])
    moe = replace(dense, family="moe", params=47e9, active_params=13e9)
    image = replace(dense, family="cnn", flops_per_sample=24.6e9, network="resnet50", params=None,
                    active_params=None, sequence=None, batch=1024.0)  # fmt: skip
    assert value(image) < value(moe) < value(dense)


def test_a_mixture_of_few_large_experts_reaches_more_than_one_of_many_small_ones() -> None:
    moe = llama(CARDS["h100-sxm"], family="moe", params=47e9, active_params=13e9, devices=64)
    assert value(moe) > 1.2 * value(replace(moe, params=47e9 * 5.0)) > 0.0


def test_a_mixture_without_its_active_parameters_counts_as_usually_sparse() -> None:
    moe = llama(CARDS["h100-sxm"], family="moe", params=None, active_params=3e9)
    usual = replace(moe, params=3e9 * math.exp(2.0))
    assert value(moe) == pytest.approx(value(usual), rel=0.06)


def test_more_machines_cost_a_language_model_little() -> None:
    one = value(llama(CARDS["h100-sxm"], batch=512.0))
    many = value(llama(CARDS["h100-sxm"], devices=512, nodes=64, batch=512.0 * 64))
    assert 0.8 < many / one < 1.0


def test_few_tokens_on_a_device_cost_more() -> None:
    plenty, few = (value(llama(CARDS["h100-sxm"], batch=b)) for b in (64.0, 8.0))
    assert few < plenty


def test_an_accelerator_without_rows_is_wider() -> None:
    known = CARDS["h100-sxm"]
    new = replace(known, id="h100-new", name="H100 new")
    strange = replace(known, id="zx-1", name="ZX-1", maker="Unknown")
    assert sd(llama(known)) < sd(llama(new)) < sd(llama(strange))


def test_a_very_long_context_is_wider() -> None:
    long = replace(llama(CARDS["h100-sxm"]), sequence=65536.0,
                   flops_per_sample=transformer_operations(8e9, 65536.0).model)  # fmt: skip
    assert sd(long) > 1.3 * sd(llama(CARDS["h100-sxm"]))


def test_parts_make_up_the_uncertainty() -> None:
    found = efficiency_of(llama(CARDS["h100-sxm"]))
    assert found is not None
    assert math.sqrt(sum(x**2 for x in found.parts.values())) == pytest.approx(found.sd)
    assert math.sqrt(sum(x**2 for x in found.shared.values())) == pytest.approx(found.sd)
    assert found.shared["workload"] > found.shared["accelerator"]


def test_quantiles_stand_around_the_value() -> None:
    low, middle, high = quantiles(llama(CARDS["h100-sxm"])) or (0.0, 0.0, 0.0)
    assert low < middle < high
    assert middle == pytest.approx(value(llama(CARDS["h100-sxm"])))
    assert expected(llama(CARDS["h100-sxm"])) == pytest.approx(middle)


def test_a_family_without_rows_has_no_answer() -> None:
    assert efficiency_of(llama(CARDS["h100-sxm"], family="graph")) is None
    with pytest.raises(ValueError, match="graph"):
        traits_of(llama(CARDS["h100-sxm"], family="graph"))


def utterances(card: str, network: str, **changes: Any) -> MfuQuestion:  # noqa: ANN401 - any field
    """RNN-T as MLPerf trains it, 192 utterances on each of 8 cards."""
    given = MfuQuestion(family="speech", accelerator=CARDS[card], flops_per_sample=99.6e9,
                     precision="float16", devices=8, batch=1536.0, network=network)  # fmt: skip
    return replace(given, **changes)


def test_speech_is_estimated_by_network_and_an_unknown_one_is_wider() -> None:
    """MLPerf 2.0 to 3.1: 7,500 utterances/s on 8 A100, 13,900 on 8 H100."""
    known, other = (efficiency_of(utterances("a100-sxm-80gb", n)) for n in ("rnnt", "unseen"))
    assert known is not None
    assert other is not None
    assert known.value * 312e12 * 8 / 99.6e9 == pytest.approx(7_500, rel=0.15)
    assert other.sd > known.sd + 0.2
    newer = efficiency_of(utterances("h100-sxm", "rnnt"))
    assert newer is not None
    assert newer.value * 989.4e12 * 8 / 99.6e9 == pytest.approx(13_900, rel=0.15)


def test_speech_without_a_batch_is_that_of_a_usual_one() -> None:
    none, usual = (utterances("h100-sxm", "rnnt", batch=b) for b in (None, 32.0 * 8))
    assert traits_of(none).terms["short step"] == traits_of(usual).terms["short step"]


def test_recommenders_are_estimated_from_their_dense_layers() -> None:
    """MLPerf 3.0 to 4.1: 13.4 million samples/s of DLRM-DCNv2 on 8 H100."""
    of = MfuQuestion(family="recommender", accelerator=CARDS["h100-sxm"], flops_per_sample=96e6,
                  precision="float16", devices=8, batch=55_296.0, network="dlrmdcnv2")  # fmt: skip
    found = efficiency_of(of)
    assert found is not None
    assert found.value * 989.4e12 * 8 / 96e6 == pytest.approx(13.4e6, rel=0.3)
    assert found.sd < 0.7


def test_what_is_written_is_read_again() -> None:
    for domain in DOMAINS:
        fit = shipped()[domain]
        again = fit_of(written_fit(fit))
        assert again.values == fit.values
        assert np.allclose(again.covariance, fit.covariance)


@each(
    ("card", "generation", "node"),
    [("h100-sxm", "hopper", 8), ("gb200", "blackwell", 72), ("tpu-v5e", "tpu", 256),
     ("a10g", "ampere consumer", 8), ("a100-pcie-40gb", "ampere", 8), ("l40s", "ada", 8),
     ("v100s", "volta", 8), ("trainium2", "trainium", 16), ("mi355x", "cdna", 8),
     ("gh200-96gb", "hopper", 8), ("t4", "turing", 8), ("l4", "ada", 8)],
)  # fmt: skip
def test_generations(card: str, generation: str, node: int) -> None:
    assert (generation_of(CARDS[card]), node_size(CARDS[card])) == (generation, node)


def test_every_accelerator_of_the_catalogue_but_processors_has_a_generation() -> None:
    without = [a.id for a in CARDS.values() if a.kind != "cpu" and not generation_of(a)]
    assert without == []


# -- the fit -------------------------------------------------------------------------------------


def test_a_fit_finds_coefficients_and_effects_again() -> None:
    random = np.random.default_rng(0)
    slopes, cards = random.normal(0.0, 1.0, 400), random.integers(0, 8, 400)
    effects = random.normal(0.0, 0.3, 8)
    effects -= effects.mean()
    truth = -1.0 + 0.4 * slopes + effects[cards] + random.normal(0.0, 0.05, 400)
    traits = [
        Traits({"base": 1.0, "slope": s}, {"accelerator": str(c)})
        for s, c in zip(slopes, cards, strict=True)
    ]
    sources = [{"source": str(i % 5)} for i in range(400)]
    found = fitted(traits, sources, truth)
    by = dict(zip(found.columns, found.values, strict=True))
    assert by["", "slope"] == pytest.approx(0.4, abs=0.02)
    assert [by["accelerator", str(c)] for c in range(8)] == pytest.approx(list(effects), abs=0.12)
    assert found.sds["source"] < 0.12


def test_an_outlier_weighs_little() -> None:
    random = np.random.default_rng(0)
    truth = -1.0 + random.normal(0.0, 0.05, 60)
    truth[:3] += 3.0
    traits = [Traits({"base": 1.0}, {}) for _ in truth]
    found = fitted(traits, [{} for _ in truth], truth)
    assert found.values[0] == pytest.approx(-1.0, abs=0.03)


def test_an_unknown_label_counts_in_the_interval_only() -> None:
    fit = shipped()["language"]
    known = traits_of(llama(CARDS["h100-sxm"]))
    _, parts = predicted(fit, known)
    other = replace(known, labels={**known.labels, "accelerator": "new"})
    _, more = predicted(fit, other)
    assert parts["accelerator"] == 0.0
    assert more["accelerator"] == pytest.approx(fit.sds["accelerator"])


def test_few_degrees_of_freedom_keep_an_outlier_from_moving_a_coefficient() -> None:
    terms = [{"base": 1.0} for _ in range(12)]
    traits = [Traits(terms=term, labels={}) for term in terms]
    truth = np.array([0.01 * (i % 3) for i in range(11)] + [3.0])
    heavy, light = (fitted(traits, [{} for _ in truth], truth, tails=t).values[0] for t in (2, 50))
    assert abs(heavy - 0.01) < 0.03 < light


def an_encoder(**changes: object) -> MfuQuestion:
    """BERT-large in bfloat16, 512 tokens, 32 sequences on each of 8 A100."""
    asked = MfuQuestion(
        family="encoder",
        accelerator=CARDS["a100-sxm-80gb"],
        flops_per_sample=6.0 * 340e6 * 512.0,
        precision="bfloat16",
        devices=8,
        params=340e6,
        active_params=340e6,
        sequence=512.0,
        batch=256.0,
    )
    return replace(asked, **changes)  # type: ignore[arg-type]


def test_software_tuned_for_a_benchmark_is_faster_by_the_factor_that_is_shown() -> None:
    factor = benchmark_factor(an_encoder())
    assert factor is not None
    assert 1.05 < factor < 1.6
    assert value(an_encoder(benchmark=True)) == pytest.approx(factor * value(an_encoder()))


def resnet(card: str, **changes: object) -> MfuQuestion:
    asked = MfuQuestion(
        family="cnn", accelerator=CARDS[card], flops_per_sample=24.5e9, precision="float16",
        batch=256.0, network="resnet50",
    )  # fmt: skip
    return replace(asked, **changes)  # type: ignore[arg-type]


def images_per_s(question: MfuQuestion) -> float:
    peak = question.accelerator.peak_flops_per_s["float16"]
    return value(question) * peak / question.flops_per_sample


def test_submissions_of_convolutional_networks_are_faster_by_their_own_factor() -> None:
    asked = resnet("a100-sxm-80gb")
    factor = benchmark_factor(asked)
    assert factor is not None
    assert 1.3 < factor < 3.0
    assert value(replace(asked, benchmark=True)) == pytest.approx(factor * value(asked))


def test_families_without_that_term_have_no_factor_and_the_same_speed() -> None:
    card = CARDS["h100-sxm"]
    for family in ("dense", "vit", "graph"):
        assert benchmark_factor(llama(card, family=family)) is None
    assert value(llama(card, benchmark=True)) == value(llama(card))
    vit = resnet("h100-sxm", family="vit", network="vitb16")
    assert value(replace(vit, benchmark=True)) == value(vit)


def test_loading_holds_up_a_fast_accelerator_and_widens_its_interval() -> None:
    files, made_up = resnet("b200"), resnet("b200", loads=False)
    assert images_per_s(files) < 3_300.0 < images_per_s(made_up)
    assert sd(files) > sd(made_up)
    slow = [images_per_s(resnet("t4", loads=loads)) for loads in (True, False)]
    assert slow[0] == pytest.approx(slow[1], rel=0.05)
    assert value(resnet("b200", image_px=32.0)) == pytest.approx(value(made_up), rel=0.02)


def test_layers_of_few_outputs_reach_more_and_those_of_many_less() -> None:
    shares = [
        parts.step * 1e12 / question.flops_per_sample
        for network, flops in (("alexnet", 4.3e9), ("resnet18", 10.9e9), ("mobilenetv2", 1.8e9))
        for question in [resnet("v100-sxm-16gb", network=network, flops_per_sample=flops)]
        for parts in [parts_of(question)]
    ]
    assert shares == sorted(shares)
    assert shares[2] > 3.0 * shares[1]


def test_parameters_cross_the_memory_once_a_step() -> None:
    one, many = (parts_of(resnet("a100-sxm-80gb", network="vgg16", batch=b)) for b in (1.0, 64.0))
    assert one.parameters == pytest.approx(64.0 * many.parameters)
    assert one.parameters > one.computes


def test_an_unlisted_network_has_the_parts_of_its_kind() -> None:
    listed, unlisted = (parts_of(resnet("t4", network=n)) for n in ("resnet50", "ournet"))
    assert unlisted.moves == pytest.approx(listed.moves, rel=0.4)
    light = parts_of(resnet("t4", network="ourmobilenet"))
    assert light.kind == "depthwise"
    assert light.moves > unlisted.moves


def test_an_encoder_in_single_precision_is_slower_by_less_than_the_peaks_differ() -> None:
    volta = CARDS["v100-sxm-16gb"]
    half, single = (
        value(an_encoder(accelerator=volta, precision=p)) for p in ("float16", "float32")
    )
    peaks = volta.peak_flops_per_s
    assert 2.0 < half / single < peaks["float16"] / peaks["float32"]


def test_a_larger_vision_transformer_reaches_more_of_the_peak() -> None:
    small, large = (
        value(
            MfuQuestion(
                family="vit",
                accelerator=CARDS["a100-sxm-80gb"],
                flops_per_sample=flops,
                precision="float16",
                batch=128.0,
            )
        )
        for flops in (7e9, 370e9)
    )
    assert small < large < 0.6


def test_the_fixed_part_of_a_step_weighs_less_where_multiplications_are_slower() -> None:
    def short(precision: str) -> float:
        asked = resnet("v100-sxm-16gb", family="detection", precision=precision, batch=4.0)
        return traits_of(asked).terms["short step"]

    assert short("float32") < 0.7 * short("float16")


def test_columns_of_many_labels_are_solved_like_the_others() -> None:
    rng = np.random.default_rng(3)
    names = [f"n{i % 17}" for i in range(120)]
    traits = [
        Traits({"base": 1.0, "size": float(x)}, {"maker": f"m{i % 3}", "network": names[i]})
        for i, x in enumerate(rng.normal(size=120))
    ]
    y = rng.normal(size=120) * 0.2 - 1.0
    plain = [
        Traits(t.terms, {"maker": t.labels["maker"], "net": names[i]}) for i, t in enumerate(traits)
    ]
    sparse, dense = (fitted(rows, [{}] * 120, y) for rows in (traits, plain))
    assert sparse.values == pytest.approx(dense.values)
    assert sparse.covariance == pytest.approx(dense.covariance)


def test_a_step_of_few_images_waits_for_its_launches() -> None:
    def step_s(batch: float, flops: float = 24.5e9) -> float:
        question = resnet("v100-sxm-16gb", precision="float32", batch=batch, flops_per_sample=flops)
        return batch * flops / value(question)

    assert step_s(2.0) < 1.25 * step_s(1.0)
    assert step_s(64.0) > 1.8 * step_s(32.0)
    assert step_s(2.0, 7000e9) > 1.8 * step_s(1.0, 7000e9)
