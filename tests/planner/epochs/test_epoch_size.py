"""Epochs of different size: one size for all, conversion by samples, refusals."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.answers import answer_rows, ratio_rows
from planner.core import Estimate, Refusal
from planner.epochs import (
    ADD_TIMED,
    UNLIKE,
    needs_field,
    options_of,
    project,
    project_summary,
    timed_samples,
    total_time,
    with_sizes,
)
from planner.epochs.epoch_size import ADD_SIZE, AS_TIMED, UNSTATED, conversions, epoch_size
from planner.epochs.how_long import how_long
from planner.epochs.projection import later_epoch
from planner.runs import Run, dataset_size, is_stand_in
from planner.runs._run import SIZES
from planner.throughput import with_step_times
from tests.each import each
from tests.planner.epochs.test_how_long import RUN


def _run(batch: int, step_s: float, steps: int = 12, **more: object) -> Run:
    """A run of the shipped sweeps: so many steps an epoch, whatever the batch."""
    facts: dict[str, object] = {
        "run_id": f"{batch:032d}", "global_batch_size": batch, "steps_per_epoch": steps,
        "samples_per_epoch": steps * batch, "train_samples": steps * batch,
        "dataset": "synthetic CIFAR-10", "pre_train_s": 2.0, "first_epoch_s": 3.0 + steps * step_s,
        "later_epoch_mean_s": steps * step_s, "later_epoch_sd_s": 0.01 * steps * step_s,
        "samples_per_s": batch / step_s, "step_time_s": step_s,
    }  # fmt: skip
    return replace(RUN, **{**facts, **more})  # type: ignore[arg-type]


SLOW, FAST = _run(4, 0.008), _run(256, 0.072)
"""Batch 4 takes the shorter step and the longer epoch."""


def _total(run: Run, epochs: int, samples: float) -> Estimate:
    option = with_sizes(options_of([run]), epoch_size([run], samples))[0]
    total = total_time(option, epochs)
    assert isinstance(total, Estimate)
    return total


# -- which size ---------------------------------------------------------------------------------


def test_a_size_that_was_entered_comes_before_every_other() -> None:
    size = epoch_size([replace(SLOW, dataset="CIFAR-10", train_samples=45_000)], 1_000)
    assert (size.source, size.samples) == ("given", 1_000.0)


def test_the_size_that_all_runs_state_comes_before_the_published_one() -> None:
    runs = [replace(r, dataset="CIFAR-10", train_samples=45_000) for r in (SLOW, FAST)]
    size = epoch_size([*runs, replace(SLOW, dataset="CIFAR-10", train_samples=None)])
    assert (size.source, size.samples) == ("stated", 45_000.0)


def test_another_pattern_of_the_workload_has_a_say_in_what_is_stated() -> None:
    run = replace(SLOW, dataset="own data")
    assert epoch_size([run], stated=(900,)).samples == 900.0
    assert epoch_size([run], stated=(900, 800)).source == "timed"


@pytest.mark.parametrize(
    "name",
    ["CIFAR-10", "cifar10", "CIFAR 10", "synthetic CIFAR-10", "Synthetic cifar-10 "],
)
def test_a_public_data_set_has_its_size_however_it_is_written(name: str) -> None:
    found = dataset_size(name)
    assert found is not None
    assert found.train_samples == 50_000


@each("name", [None, "", "CIFAR", "my CIFAR-10 subset", "synthetic", "10"])
def test_a_name_that_only_resembles_a_data_set_has_no_size(name: str | None) -> None:
    assert dataset_size(name) is None


def test_a_stand_in_has_the_size_of_what_it_stands_in_for() -> None:
    assert is_stand_in("synthetic CIFAR-10")
    assert not is_stand_in("synthetics")
    size = epoch_size([SLOW, replace(FAST, train_samples=SLOW.train_samples)])
    assert (size.source, size.samples) == ("published", 50_000.0)


def test_every_published_size_names_where_it_is_stated() -> None:
    for size in SIZES:
        assert size.train_samples > 0
        assert size.source.startswith(("https://", "docs/"))
        assert dataset_size(size.name) is size


def test_epochs_of_one_size_within_2_per_cent_are_that_size_and_not_converted() -> None:
    runs = [
        replace(SLOW, dataset="own", train_samples=None, samples_per_epoch=n)
        for n in (49_152, 49_664, 50_000)
    ]
    size = epoch_size(runs)
    assert (size.source, size.samples) == ("timed", 50_000.0)
    found = conversions(runs, size)
    assert [c.ratio for c in found if not isinstance(c, Refusal)] == [1.0, 1.0, 1.0]
    assert not needs_field(runs, size)


def test_runs_that_state_nothing_are_each_one_pass() -> None:
    bare = replace(RUN, samples_per_epoch=None, steps_per_epoch=None, samples_per_s=None)
    other = replace(bare, run_id="b" * 32, system="TPU", later_epoch_mean_s=2.0)
    result = how_long(options_of([bare, other]), 100, "GPU · batch 64")
    assert result.epoch_size.source == "unstated"
    assert "do not state" in result.size_sentence
    assert all(isinstance(a.total, Estimate) for a in result.answers)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_size_is_an_error(bad: float) -> None:
    with pytest.raises(ValueError, match="samples_per_epoch"):
        epoch_size([SLOW], bad)


# -- what is refused ----------------------------------------------------------------------------


def test_without_a_size_unequal_epochs_are_not_ranked_and_the_range_is_named() -> None:
    runs = [replace(r, dataset="own data") for r in (SLOW, FAST)]
    result = how_long(options_of(runs), 2000, "GPU · batch 4")
    for answer in result.answers:
        assert isinstance(answer.total, Refusal)
        assert answer.total.reason == "Epochs differ in size: 48 to 3,072 samples."
        assert answer.total.measure_next == ADD_SIZE
    assert "48 to 3,072" in result.sentence
    for output in ratio_rows([a.option for a in result.answers], "GPU", "GPU", 2000):
        assert (output["Over 2,000 epochs"], output["Per later epoch"]) == ("–", "–")
    fixed = how_long(options_of(runs), 2000, "GPU · batch 4", size=epoch_size(runs, 50_000))
    assert all(isinstance(a.total, Estimate) for a in fixed.answers)


def test_the_only_run_of_a_workload_is_answered_as_it_was_timed() -> None:
    run = replace(SLOW, dataset="own data")
    total = how_long(options_of([run]), 10, "GPU · batch 4").answers[0].total
    assert isinstance(total, Estimate)
    assert total.value == pytest.approx(2.0 + 3.096 + 9 * 0.096)


def test_a_run_has_one_answer_whichever_others_are_chosen_beside_it() -> None:
    runs = [replace(r, dataset="own data") for r in (SLOW, FAST)]
    alone = how_long(options_of(runs[:1]), 10, "GPU · batch 4", size=epoch_size(runs))
    beside = how_long(options_of(runs), 10, "GPU · batch 4", size=epoch_size(runs))
    bare = replace(
        SLOW, run_id="f" * 32, system="TPU", samples_per_epoch=None, steps_per_epoch=None,
        samples_per_s=None, train_samples=None,
    )  # fmt: skip
    lone = how_long(options_of([bare]), 10, "TPU · batch 4", size=epoch_size([SLOW, bare]))
    assert isinstance(alone.answers[0].total, Refusal)
    assert alone.answers[0].total in [a.total for a in beside.answers]
    assert isinstance(lone.answers[0].total, Refusal)
    assert lone.answers[0].total.measure_next == ADD_TIMED


def test_a_run_that_states_no_samples_is_refused_beside_runs_that_do() -> None:
    bare = replace(
        SLOW, run_id="f" * 32, system="TPU", samples_per_epoch=None, steps_per_epoch=None,
        samples_per_s=None, train_samples=None,
    )  # fmt: skip
    options = options_of([SLOW, FAST, bare])
    result = how_long(options, 100, "GPU · batch 4")
    last = result.answers[-1]
    assert last.option.run is bare
    assert isinstance(last.total, Refusal)
    assert last.total.measure_next == ADD_TIMED


@pytest.mark.parametrize("entered", [1.0, 900.0, 50_000.0, 1e12])
def test_an_entered_size_is_not_what_a_run_without_samples_timed(entered: float) -> None:
    """Its epochs may have had 48 samples or 50,000: only its own column can say so."""
    bare = replace(
        SLOW, run_id="f" * 32, system="TPU", samples_per_epoch=None, steps_per_epoch=None,
        samples_per_s=None, train_samples=None,
    )  # fmt: skip
    options = options_of([SLOW, FAST, bare])
    size = epoch_size([SLOW, FAST, bare], entered)
    result = how_long(options, 1, "GPU · batch 4", size=size)
    totals = {a.option.run.run_id: a.total for a in result.answers}
    assert totals[bare.run_id] == Refusal(reason=UNLIKE, measure_next=ADD_TIMED)
    assert "or enter" not in ADD_TIMED
    assert isinstance(totals[SLOW.run_id], Estimate)
    fixed = replace(bare, samples_per_epoch=48)
    assert isinstance(_total(fixed, 1, entered), Estimate)


@pytest.mark.parametrize("entered", [900.0, 50_000.0])
def test_where_no_run_states_samples_an_entered_size_changes_no_total(entered: float) -> None:
    bare = replace(RUN, samples_per_epoch=None, steps_per_epoch=None, samples_per_s=None)
    other = replace(bare, run_id="b" * 32, system="TPU", later_epoch_mean_s=2.0)
    options = options_of([bare, other])
    plain = how_long(options, 100, "GPU · batch 64")
    output = how_long(options, 100, "GPU · batch 64", size=epoch_size([bare, other], entered))
    assert [a.total for a in output.answers] == [a.total for a in plain.answers]
    assert all(isinstance(a.total, Estimate) for a in output.answers)
    assert UNSTATED in output.size_sentence
    assert UNSTATED not in epoch_size([SLOW], entered).sentence


def test_a_run_without_samples_has_no_step_time_beside_runs_that_state_theirs() -> None:
    bare = replace(
        SLOW, run_id="f" * 32, system="TPU", samples_per_epoch=None, steps_per_epoch=None,
        samples_per_s=None, train_samples=None, step_time_s=None,
    )  # fmt: skip
    beside = with_step_times([SLOW, bare], epoch_size([SLOW, bare], 50_000.0))
    assert beside.runs[1].step_time_s is None
    assert beside.missing == (f"No curve for TPU. {UNLIKE} {ADD_TIMED}",)
    assert not beside.needs_samples
    alone = with_step_times([bare], epoch_size([bare], 50_000.0))
    assert alone.runs[0].samples_per_s == pytest.approx(50_000 / 0.096)


def test_a_run_that_failed_has_no_say_in_the_size_and_calls_for_no_field() -> None:
    good = replace(RUN, samples_per_epoch=None, steps_per_epoch=None, samples_per_s=None)
    failed = replace(RUN, run_id="e" * 32, status="oom", samples_per_epoch=48)
    size = epoch_size([good, failed])
    assert size.source == "unstated"
    assert not isinstance(conversions([good, failed], size)[0], Refusal)
    entered = [replace(r, dataset="CIFAR-10", samples_per_epoch=50_000, train_samples=None)
               for r in (RUN, FAST)]  # fmt: skip
    bare = replace(failed, dataset="CIFAR-10", samples_per_epoch=None, steps_per_epoch=None,
                   samples_per_s=None, later_epoch_mean_s=None)  # fmt: skip
    assert not needs_field([*entered, bare], epoch_size(entered))


# -- conversion ---------------------------------------------------------------------------------


def test_the_larger_batch_wins_where_it_takes_less_time_a_sample() -> None:
    result = how_long(options_of([SLOW, FAST]), 2000, "GPU · batch 4")
    best = result.answers[0]
    assert best.option.run is FAST
    assert isinstance(best.total, Estimate)
    assert best.speed_ratio is not None
    assert best.speed_ratio.value == pytest.approx((0.008 / 4) / (0.072 / 256), rel=1e-3)
    assert "3,072 samples an epoch, converted to 50,000" in best.total.reasons[-1]
    assert best.total.basis == "extrapolated"
    assert result.size_sentence == "An epoch is 50,000 samples, the size of CIFAR-10."
    row = answer_rows(result)[0]
    assert (row["samples_per_epoch"], row["timed_samples_per_epoch"]) == (50_000.0, 3_072.0)
    assert "converted" in str(row["basis"])


def test_start_up_and_the_extra_of_epoch_1_are_not_multiplied() -> None:
    total = _total(SLOW, 10, 50_000.0)
    assert total.value == pytest.approx(2.0 + 3.0 + 10 * 50_000 / 4 * 0.008)


def test_the_relative_interval_of_a_conversion_is_that_of_the_timed_mean() -> None:
    """However many timed epochs one epoch is, the mean is no better known than it was."""
    mean = later_epoch(later_epochs=4, later_epoch_mean_s=0.096, later_epoch_sd_s=0.00096)
    assert isinstance(mean, Estimate)
    share = (mean.high - mean.low) / mean.value
    for samples in (5e4, 5e6, 5e8):
        total = _total(SLOW, 2000, samples)
        assert (total.high - total.low) / total.value >= 0.99 * share


def test_runs_whose_samples_follow_from_steps_or_speed_are_converted_too() -> None:
    steps = replace(FAST, samples_per_epoch=None)
    speed = replace(steps, steps_per_epoch=None)
    for run in (steps, speed):
        total = _total(run, 100, 50_000.0)
        assert total.value == pytest.approx(float(_total(FAST, 100, 50_000.0).value))


def test_a_dropped_last_batch_is_named_and_changes_no_digit() -> None:
    run = replace(RUN, dataset="CIFAR-100", samples_per_epoch=49_152, train_samples=50_000)
    plain, named = (total_time(o, 500) for o in (
        options_of([run])[0], with_sizes(options_of([run]), epoch_size([run]))[0]
    ))  # fmt: skip
    assert isinstance(plain, Estimate)
    assert isinstance(named, Estimate)
    assert (named.value, named.low, named.high) == (plain.value, plain.low, plain.high)
    assert "49,152 samples, 1.7 % fewer than 50,000; not converted" in named.reasons[-1]


@pytest.mark.parametrize("stated", [50_000, None])
def test_a_partial_last_batch_is_no_reason_to_convert(stated: int | None) -> None:
    """50,000 samples at batch 8,192 are 7 steps, the last one of 848 samples."""
    run = replace(RUN, dataset="CIFAR-10", global_batch_size=8_192, steps_per_epoch=7,
                  samples_per_epoch=None, samples_per_s=None, train_samples=stated)  # fmt: skip
    assert timed_samples(run, 50_000.0) == 50_000.0
    size = epoch_size([run])
    assert size.samples == 50_000.0
    assert conversions([run], size) == [AS_TIMED]
    row = answer_rows(how_long(options_of([run]), 10, "GPU · batch 8,192"))[0]
    assert row["timed_samples_per_epoch"] == 50_000.0


def test_seven_whole_batches_are_their_samples() -> None:
    """With the remainder dropped, 7 steps of 8,192 are more than the data set holds."""
    run = replace(RUN, dataset="CIFAR-10", global_batch_size=8_192, steps_per_epoch=7,
                  samples_per_epoch=None, train_samples=50_000, drop_remainder=True)  # fmt: skip
    assert timed_samples(run) == 57_344.0
    fewer = replace(run, drop_remainder=None, steps_per_epoch=4)
    assert timed_samples(fewer) == 32_768.0


def test_validation_is_converted_by_its_own_size() -> None:
    run = _run(
        64, 0.1, steps=10, validation_s=0.5, validation_samples_per_epoch=100,
        later_epoch_mean_s=1.5, first_epoch_s=1.5, later_epoch_sd_s=0.01,
    )  # fmt: skip
    total = _total(run, 1000, 50_000.0)
    training, checks = 50_000 / 640 * 1.0, 10_000 / 100 * 0.5
    assert total.value == pytest.approx(2.0 + 1000 * (training + checks), rel=1e-9)
    unknown = replace(run, validation_samples_per_epoch=None)
    assert _total(unknown, 1000, 50_000.0).value == pytest.approx(2.0 + 1000 * 1.5 * 50_000 / 640)


def test_an_epoch_smaller_than_the_timed_one_is_converted_too() -> None:
    total = _total(FAST, 1, 307.2)
    assert total.value == pytest.approx(2.0 + 3.0 + 0.1 * 12 * 0.072)


def test_kinds_of_epochs_are_counted_in_timed_epochs() -> None:
    epochs = [3.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    output = project(0.5, epochs, 10, rest_like_last=True, epoch_ratio=10.0)
    assert isinstance(output, Estimate)
    assert output.value == pytest.approx(0.5 + sum(epochs[:5]) + 2.0 * (100 - 5))
    early = project(0.5, epochs, 10, rest_like_last=True, epoch_ratio=0.1)
    assert isinstance(early, Refusal)
    assert "50 epochs" in early.reason


@given(
    speeds=st.lists(st.floats(0.1, 1e6), min_size=2, max_size=6, unique=True),
    batches=st.lists(st.integers(1, 4096), min_size=6, max_size=6, unique=True),
    steps=st.integers(1, 300),
    samples=st.integers(1, 99),
)
def test_for_many_epochs_the_order_of_totals_is_that_of_samples_per_second(
    speeds: list[float], batches: list[int], steps: int, samples: int
) -> None:
    assume(all(abs(a / b - 1.0) > 0.1 for a in speeds for b in speeds if a is not b))
    runs = [
        _run(b, b / v, steps=steps) for b, v in zip(batches[: len(speeds)], speeds, strict=True)
    ]
    options = options_of(runs)
    size = epoch_size(runs, samples * 1000.0)
    result = how_long(options, 10**6, options[0].label, size=size)
    order = [a.option.run.samples_per_s or 0.0 for a in result.answers]
    assert order == sorted(order, reverse=True)


@given(ratio=st.floats(1e-6, 1e9), epochs=st.integers(1, 10**6))
def test_a_total_grows_with_the_size_of_an_epoch_and_has_its_ends_in_order(
    ratio: float, epochs: int
) -> None:
    def total(of: float) -> Estimate:
        found = project_summary(
            epochs=epochs, later_epochs=4, later_epoch_mean_s=2.0, later_epoch_sd_s=0.05,
            pre_train_s=1.0, first_epoch_s=5.0, epoch_ratio=of,
        )  # fmt: skip
        assert isinstance(found, Estimate)
        return found

    here, more = total(ratio), total(ratio * 1.5)
    assert 0.0 < here.low <= here.value <= here.high
    assert here.value < more.value


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_ratio_is_an_error(ratio: float) -> None:
    with pytest.raises(ValueError, match="poch_ratio"):
        project(1.0, [2.0, 1.0, 1.0], 10, epoch_ratio=ratio)


def test_epochs_without_a_size_are_refused_beside_runs_that_state_samples_per_second() -> None:
    bare = replace(RUN, samples_per_epoch=None, steps_per_epoch=None, samples_per_s=None)
    speed = replace(
        bare, run_id="1" * 32, samples_per_s=5000.0, train_samples=50_000, pre_train_s=None,
        first_epoch_s=None, until_first_epoch_end_s=None, later_epoch_mean_s=None,
        epochs_measured=None,
    )  # fmt: skip
    size = epoch_size([speed, bare])
    assert size.some_state
    refused = conversions([speed, bare], size)[1]
    assert isinstance(refused, Refusal)
    assert refused.reason == UNLIKE
