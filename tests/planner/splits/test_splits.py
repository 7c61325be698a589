"""A network cut over tensor x pipeline x data: memory, bubble, communication, advice."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from planner.answers._scaling_out import split_answered, split_out
from planner.catalog import Accelerator, accelerator_named
from planner.core import ParameterProblem, Refusal
from planner.job import TIGHT, Job
from planner.splits import (
    Cut,
    Split,
    advice,
    cut_of,
    cuts_of,
    data_bytes,
    split_sentences,
    splits,
    state_on_device,
    tensor_bytes,
)
from planner.store.catalog import read_catalog
from tests.shipped import ROOT

CATALOG = read_catalog(ROOT / "data" / "catalog").catalog
VALUES = {"network": "llama-3-70b", "accelerator": "h100-sxm", "count": 64,
          "network_batch": 1024.0, "micro_batch": 1.0, "precision": "bfloat16"}  # fmt: skip
JOB = Job(workload="70B", precision="bfloat16", samples_per_epoch=None, params=70e9,
          train_flops_per_sample=4e15, tokens_per_sample=8192.0, family="dense",
          active_params=70e9, layers_width=80 * 8192.0, optimizer="AdamW")  # fmt: skip


def card(name: str = "h100-sxm") -> Accelerator:
    found = accelerator_named(CATALOG, name)
    assert isinstance(found, Accelerator)
    return found


def split(tensor: int, pipeline: int, data: int, batch: float = 1024.0) -> Split:
    found = cut_of(JOB, card(), Cut(tensor=tensor, pipeline=pipeline, data=data), batch=batch)
    assert isinstance(found, Split)
    return found


def test_every_cut_uses_all_devices_and_tensor_stays_in_a_machine() -> None:
    cuts = list(cuts_of(48, layers=12))
    assert all(c.shards * c.data == 48 for c in cuts)
    assert {c.tensor for c in cuts} == {1, 2, 4, 8}
    assert max(c.pipeline for c in cuts) == 12


@pytest.mark.parametrize(("pipeline", "data"), [(2, 4), (4, 2), (8, 1)])
def test_the_bubble_is_p_minus_1_over_m_plus_p_minus_1(pipeline: int, data: int) -> None:
    found = split(8, pipeline, data, batch=32.0)
    assert found.micro_batches == 32 // data
    assert found.bubble == pytest.approx((pipeline - 1) / (32 // data + pipeline - 1))
    assert split(8, 1, 8).bubble == 0.0


def test_shards_divide_the_state_and_copies_its_optimiser() -> None:
    weights_and_gradients, optimizer = 4 * 70e9, 12 * 70e9
    for tensor, pipeline, data in ((1, 1, 64), (8, 1, 8), (4, 4, 4)):
        shards = tensor * pipeline
        expected = weights_and_gradients / shards + optimizer / (shards * data)
        assert split(tensor, pipeline, data).state_bytes == pytest.approx(expected)


def test_one_device_neither_waits_nor_communicates() -> None:
    found = split(1, 1, 1, batch=1.0)
    assert (found.bubble, found.tensor_share, found.data_share) == (0.0, 0.0, 0.0)


def test_tensor_traffic_grows_with_the_devices_that_share_a_layer() -> None:
    shares = [split(t, 1, 1).tensor_share for t in (1, 2, 4, 8)]
    assert shares == sorted(shares)
    assert shares[0] == 0.0


def test_the_advice_is_the_smallest_cut_that_fits() -> None:
    found = splits(JOB, card(), 64, layers=80)
    chosen = advice(found)
    assert chosen is not None
    assert chosen.fits
    assert not any(s.fits for s in found if s.cut.shards < chosen.cut.shards)
    same = [s for s in found if s.fits and s.cut.shards == chosen.cut.shards]
    assert chosen.samples_per_s == max(s.samples_per_s for s in same)


def test_what_fits_nowhere_is_said_with_what_the_leanest_cut_needs() -> None:
    found = splits(replace(JOB, params=700e9, active_params=700e9), card(), 8)
    assert advice(found) is None
    [text] = split_sentences(JOB, card(), 8, found)
    assert text.startswith("No: 70B does not fit on 8 x H100 SXM5 80GB.")
    assert "The leanest cut" in text


def test_activations_are_recomputed_only_where_they_do_not_fit() -> None:
    found = splits(JOB, card(), 64)
    for s in found:
        if not s.recomputes:
            assert s.fits
    assert any(s.recomputes for s in found)


def test_an_accelerator_without_memory_is_refused() -> None:
    bare = replace(card(), memory_bytes=None)
    assert isinstance(cut_of(JOB, bare, Cut(tensor=1, pipeline=1, data=1), batch=1.0), Refusal)


def test_a_named_network_is_answered_with_one_advised_cut() -> None:
    problems: list[ParameterProblem] = []
    answer = split_answered(CATALOG, VALUES, problems)
    assert answer is not None
    assert problems == []
    record = split_out(answer)
    assert sum(r.advised for r in record.rows) == 1
    assert record.sentences[0].startswith("Yes: Llama 3 70B fits on 64 x H100")


@pytest.mark.parametrize(
    ("name", "value"),
    [("network", "no such"), ("network", "resnet-50"), ("accelerator", "no such card")],
)
def test_what_cannot_be_cut_is_named(name: str, value: str) -> None:
    problems: list[ParameterProblem] = []
    assert split_answered(CATALOG, VALUES | {name: value}, problems) is None
    assert [p.parameter for p in problems] == [name]


@pytest.mark.parametrize(
    ("change", "parameter", "words"),
    [
        ({"network_batch": 10.0, "micro_batch": 100.0}, "micro_batch", "a micro-batch of 100"),
        ({"count": 1031}, "count", "No cut of 1,031 devices has a micro-batch of 1"),
        ({"accelerator": "foo"}, "accelerator", "'foo' is not in the catalogue. Choose one"),
        ({"network": "mixtral-8x7b"}, "network", "cuts are those of dense transformers"),
        ({"network": "deepseek-v3"}, "network", "is a mixture of experts"),
    ],
)
def test_a_question_without_cuts_says_why(
    change: dict[str, object], parameter: str, words: str
) -> None:
    problems: list[ParameterProblem] = []
    assert split_answered(CATALOG, {**VALUES, **change}, problems) is None
    assert [p.parameter for p in problems] == [parameter]
    assert words in problems[0].message


def test_bytes_of_a_device_by_hand() -> None:
    """4 devices share a layer, 2 stages have 40 of 80 layers each, 2 copies share the batch."""
    cut = Cut(tensor=4, pipeline=2, data=2)
    hidden = 1.5 * 3 * 8192 * 2 * 8192  # of an all-reduce
    assert tensor_bytes(JOB, cut, 3.0) == pytest.approx(4 * 40 * hidden)
    assert tensor_bytes(JOB, cut, 3.0, 80) == pytest.approx((4 * 40 + 1) * hidden)
    one = replace(cut, pipeline=1)
    assert tensor_bytes(JOB, one, 3.0, 80) == pytest.approx((4 * 80 + 2) * hidden)
    assert data_bytes(JOB, cut) == pytest.approx(2 * 70e9 / 8)
    held, gradients = state_on_device(JOB, cut)
    assert held == pytest.approx(2 * 70e9 / 8 + 12 * 70e9 / 16)
    assert gradients == pytest.approx(2 * 70e9 / 8)
    whole = Cut(tensor=1, pipeline=1, data=1)
    assert (tensor_bytes(JOB, whole, 3.0), data_bytes(JOB, whole)) == (0.0, 0.0)


def test_float32_moves_twice_the_bytes() -> None:
    cut = Cut(tensor=8, pipeline=1, data=8)
    half = cut_of(JOB, card(), cut, batch=1024.0)
    full = cut_of(replace(JOB, precision="float32"), card(), cut, batch=1024.0)
    assert isinstance(half, Split)
    assert isinstance(full, Split)
    for name in ("tensor_share", "data_share"):
        moved = [getattr(s, name) * s.step_s for s in (half, full)]
        assert moved[1] == pytest.approx(2.0 * moved[0])


def test_one_stage_says_that_it_has_no_bubble_and_several_how_large_it_is() -> None:
    one = split_sentences(JOB, card(), 64, [split(8, 1, 8)])
    assert "One stage: no bubble." in one
    several = split_sentences(JOB, card(), 64, [split(8, 2, 4)])
    assert "One stage: no bubble." not in several
    assert any(t.startswith("The bubble of 2 stages and 256 micro-batches is ") for t in several)


def test_memory_of_a_model_is_said_in_two_digits() -> None:
    said = " ".join(split_sentences(JOB, card(), 64, [split(8, 1, 8)]))
    [state, activations] = re.findall(r"([\d.,]+) GB of", said)
    assert max(len(re.sub(r"\D", "", n).lstrip("0")) for n in (state, activations)) <= 2


def test_a_cut_that_nearly_fills_the_memory_says_that_it_is_an_estimate() -> None:
    cut = split(8, 1, 8)
    loose, tight = (
        replace(cut, activation_bytes=share * cut.have_bytes - cut.state_bytes)
        for share in (TIGHT - 0.01, 0.9)
    )
    warning = "That is 90 % of it, and an estimate: try this cut before you rely on it."
    assert warning in split_sentences(JOB, card(), 64, [tight])
    assert warning not in split_sentences(JOB, card(), 64, [loose])
