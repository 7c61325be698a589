"""How long: labels, ranking, sentences, refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from planner.answers import (
    answer_rows,
    epochs_rows,
    half_width,
    ratio_rows,
    run_sources,
    total_in_words,
)
from planner.core import Estimate, Record, Refusal
from planner.epochs import (
    Option,
    chart_epochs,
    first_projected,
    later_epoch_time,
    of_several_kinds,
    options_of,
    total_time,
)
from planner.epochs.epoch_size import epoch_size
from planner.epochs.how_long import SUSPECT, how_long
from planner.runs import EpochPrior, Run
from tests.each import each

RUN = Run(
    run_id="a" * 32, result_set="s", folder="yours", file="f", status="ok", status_reason=None,
    basis="measured", source=None, source_url=None, licence="CC0", note=None,
    recorded_at=datetime(2026, 11, 21, tzinfo=UTC), model="Net", workload="Net · Data",
    system="GPU", pattern="p", software="TF", device_kind="gpu", mode="training",
    global_batch_size=64, pre_train_s=1.0, first_epoch_s=12.0, until_first_epoch_end_s=None,
    later_epoch_mean_s=10.0, later_epoch_sd_s=0.1, epochs_measured=5, total_s=None,
    steps_per_epoch=10, samples_per_epoch=640, step_time_s=1.0, samples_per_s=64.0,
    asymptotic_throughput=None, overhead_s=None,
)  # fmt: skip
FAST = replace(RUN, run_id="b" * 32, system="TPU", later_epoch_mean_s=2.0, later_epoch_sd_s=0.01)


def _options(*runs: Run) -> list[Option]:
    return options_of(runs)


def test_a_label_is_system_and_batch_where_that_is_enough() -> None:
    assert [o.label for o in _options(RUN, FAST)] == ["GPU · batch 64", "TPU · batch 64"]


def test_what_other_runs_of_its_set_showed_is_part_of_the_interval() -> None:
    noisy = replace(RUN, epoch_prior=EpochPrior().scattering(0.08))
    for kept in ({}, {RUN.run_id: (12.0, 10.0, 10.1, 9.9)}):
        here, there = (total_time(options_of([r], kept)[0], 100) for r in (RUN, noisy))
        assert isinstance(here, Estimate)
        assert isinstance(there, Estimate)
        assert there.high - there.low > 2 * (here.high - here.low)
        assert "scatter by 8 %" in there.reasons[0]


def test_labels_grow_only_where_two_would_be_equal() -> None:
    other = replace(RUN, software="JAX")
    third = replace(RUN, software="JAX", result_set="t")
    same = replace(RUN, run_id="c" * 32)
    labels = [o.label for o in _options(RUN, other, third, same, FAST)]
    assert len(set(labels)) == 5
    assert labels[1] == "GPU · batch 64 · JAX · s"
    assert labels[-1] == "TPU · batch 64"


def test_the_fastest_comes_first_and_its_ratio_is_of_the_totals() -> None:
    result = how_long(_options(RUN, FAST), 100, "GPU · batch 64")
    best = result.answers[0]
    assert best.option.run is FAST
    assert isinstance(best.total, Estimate)
    assert best.speed_ratio is not None
    assert best.total.value == pytest.approx(1 + 12 + 2 * 99)
    assert best.speed_ratio.value == pytest.approx((1 + 12 + 10 * 99) / (1 + 12 + 2 * 99))


def test_the_sentence_names_workload_batch_system_interval_and_baseline() -> None:
    answer = how_long(_options(RUN, FAST), 100, "GPU · batch 64").sentence
    assert answer.startswith("100 epochs of Net at batch 64 on TPU: 3 min 31 s (90 %: 3 min")
    assert answer.endswith("4.75x faster than GPU at batch 64.")


@pytest.mark.parametrize(
    ("epochs", "answer"),
    [(2000, "2000 epochs of"), (1_000_000, "1,000,000 epochs of"), (1, "1 epoch of")],
)
def test_many_epochs_have_their_thousands_apart(epochs: int, answer: str) -> None:
    assert how_long(_options(RUN), epochs, "GPU · batch 64").sentence.startswith(answer)


def test_from_a_hundred_hours_on_a_total_and_its_ends_are_reported_in_one_unit() -> None:
    answer = how_long(_options(RUN), 100_000, "GPU · batch 64").sentence
    assert re.search(r": 11\.6 d \(90 %: 11\.\d to 11\.\d d\)\.$", answer)
    known = how_long(_options(RUN), 10_000, "GPU · batch 64").sentence
    assert re.search(r": 27 h 47 min \(90 %: 2\d h \d+ min to ", known)
    years = how_long(_options(replace(RUN, later_epoch_mean_s=300.0)), 1_000_000,
                     "GPU · batch 64").sentence  # fmt: skip
    assert re.search(r": 9\.5 years \(90 %: 9\.\d to 9\.\d years\)\.$", years)


def test_a_rough_total_is_rounded_with_its_ends_and_a_narrow_one_keeps_its_seconds() -> None:
    rough = Estimate(value=195_849.0, low=163_000.0, high=227_000.0, level=0.9, basis="measured")
    narrow = Estimate(value=91_300.6, low=89_000.0, high=93_000.0, level=0.9, basis="measured")
    tiny = Estimate(value=1e-7, low=9e-8, high=1.1e-7, level=0.9, basis="measured")
    close = Estimate(value=7200.0, low=7199.0, high=7201.0, level=0.9, basis="measured")
    assert (total_in_words(rough), half_width(rough)) == ("2.3 d (1.9 to 2.6 d)", "± 16 %")
    assert (total_in_words(narrow), half_width(narrow)) == ("25:21:41", "± 2.2 %")
    assert total_in_words(tiny) == "0.10 µs (0.09 to 0.11 µs)"
    assert total_in_words(close) == "2:00:00"
    assert total_in_words(replace(narrow, low=91_300.6, high=91_300.6)) == "25:21:41"


def test_a_sentence_has_its_unit_once_and_never_two_equal_ends() -> None:
    rough = replace(RUN, later_epoch_mean_s=None, later_epoch_sd_s=None)
    for run in (RUN, FAST, rough):
        said = how_long(_options(run), 3, _options(run)[0].label).sentence
        ends = re.search(r"\(90 %: (.+?) to (.+?)[;)]", said)
        assert ends is None or ends[1] != ends[2]
        assert not re.search(r"\(90 %: [\d.,]+ (\S+) to [\d.,]+ \1\)", said)


def test_alone_an_option_is_compared_with_nothing() -> None:
    assert "faster" not in how_long(_options(RUN), 1, "GPU · batch 64").sentence
    assert how_long(_options(RUN), 1, "GPU · batch 64").sentence.startswith("1 epoch of Net")


def test_two_totals_within_their_joint_interval_are_not_decided() -> None:
    near = replace(RUN, run_id="d" * 32, system="GPU B", later_epoch_mean_s=10.01)
    answer = how_long(_options(RUN, near), 2000, "GPU · batch 64").undecided
    assert " is tied with " in answer
    assert "Measure both again" in answer
    assert not how_long(_options(RUN, FAST), 2000, "GPU · batch 64").undecided


@each(
    ("change", "reason"),
    [
        ({"status": "oom", "status_reason": "12 GB asked, 8 GB there"}, "12 GB asked"),
        ({"later_epoch_mean_s": None}, "Only the first epoch was measured"),
        (
            {"later_epoch_mean_s": None, "first_epoch_s": None, "samples_per_s": None},
            "Epoch times are unknown",
        ),
        ({"first_epoch_s": None}, "epoch 1 is missing"),
        ({"first_epoch_s": None, "pre_train_s": None}, "epoch 1 and the time before it"),
        ({"later_epoch_sd_s": 5.0}, "vary"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_its_way_out(
    change: dict[str, object], reason: str
) -> None:
    bad = replace(RUN, **change)  # type: ignore[arg-type]
    result = how_long(_options(bad, FAST), 10, "GPU · batch 64")
    refused = result.answers[-1].total
    assert isinstance(refused, Refusal)
    assert reason in refused.reason
    assert refused.measure_next
    assert result.answers[0].speed_ratio is None


def test_where_only_the_sum_before_epoch_2_is_known_it_is_used() -> None:
    run = replace(RUN, pre_train_s=None, first_epoch_s=None, until_first_epoch_end_s=13.0)
    total = total_time(_options(run)[0], 10)
    assert isinstance(total, Estimate)
    assert total.value == pytest.approx(13 + 9 * 10)


def test_single_epochs_and_their_summary_say_the_same() -> None:
    epochs = (12.0, 9.9, 10.1, 10.0, 10.0)
    sd = 0.0707106781
    kept = Option(label="x", short="x", run=RUN, epoch_s=epochs)
    summed = Option(label="x", short="x", run=replace(RUN, later_epoch_sd_s=sd), epoch_s=())
    a, b = total_time(kept, 500), total_time(summed, 500)
    assert isinstance(a, Estimate)
    assert isinstance(b, Estimate)
    assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high))


def test_another_session_widens_and_does_not_move() -> None:
    here, there = (total_time(_options(RUN)[0], 50, another_session=s) for s in (False, True))
    assert isinstance(here, Estimate)
    assert isinstance(there, Estimate)
    assert here.value == there.value
    assert there.high > here.high


def test_rows_of_page_and_download_hold_the_same_numbers() -> None:
    result = how_long(_options(RUN, FAST), 100, "GPU · batch 64")
    rows = answer_rows(result)
    assert [r["total_s"] for r in rows] == [211.0, 1003.0]
    assert rows[0]["total_hms"] == "0:03:31"
    assert epochs_rows([result.answers[0].option], [100])[0]["100"] == "0:03:31"
    assert run_sources([result.baseline], [])[0]["Licence"] == "CC0"


def test_the_curve_over_epochs_passes_through_the_question() -> None:
    grid = chart_epochs(777)
    assert 777 in grid
    assert grid[0] == 1
    assert (grid == grid.round()).all()


def test_nothing_chosen_and_an_unknown_baseline_say_what_to_do() -> None:
    with pytest.raises(ValueError, match="Choose at least one"):
        how_long([], 10, "x")
    with pytest.raises(ValueError, match="not among the options"):
        how_long(_options(RUN), 10, "x")


def test_the_ratio_report_gives_every_comparison_its_name() -> None:
    large = replace(RUN, run_id="e" * 32, global_batch_size=128, later_epoch_mean_s=8.0)
    rows = ratio_rows(_options(RUN, large, FAST), "TPU", "GPU", 20)
    assert [r["Comparison"] for r in rows][:2] == ["same batch, 64", "best against best"]
    assert rows[0]["Decided"] == "yes"
    assert ratio_rows(_options(RUN), "TPU", "GPU", 20) == []


def test_a_ratio_is_as_wide_as_the_scatter_of_other_runs_makes_its_times() -> None:
    noisy = [replace(r, epochs_measured=2, epoch_prior=EpochPrior(sd=0.1)) for r in (RUN, FAST)]
    quiet = [replace(r, epochs_measured=2) for r in (RUN, FAST)]
    usual, wide = (ratio_rows(_options(*runs), "TPU", "GPU", 20)[0] for runs in (quiet, noisy))
    assert usual["Decided"] == "yes"
    assert wide["90 % interval"] != usual["90 % interval"]


# -- epochs of several kinds, suspect runs -----------------------------------------------------

GROWS = (12.0, 5.0, 5.1, 5.0, 8.0, 8.1, 8.0)
"""Epoch 1, three of 5 s, three of 8 s."""


def _growing() -> Option:
    run = replace(RUN, later_epoch_mean_s=6.53, later_epoch_sd_s=1.5, epochs_measured=7)
    return options_of([run], {run.run_id: GROWS})[0]


def test_epochs_of_several_kinds_are_refused_until_the_rest_is_said_to_be_like_the_last() -> None:
    refused = total_time(_growing(), 100)
    assert isinstance(refused, Refusal)
    assert "Epoch times change during the run" in refused.reason
    answer = total_time(_growing(), 100, rest_like_last=True)
    assert isinstance(answer, Estimate)
    assert answer.value == pytest.approx(1 + sum(GROWS[:5]) + 95 * 8.05, rel=1e-3)
    assert "only if the rest continues like the last of them" in " ".join(answer.reasons)


def test_what_is_of_several_kinds_is_reported_by_its_single_epochs_alone() -> None:
    found = of_several_kinds(_growing())
    assert found is not None
    assert len(found.segments) == 2
    assert of_several_kinds(_options(RUN)[0]) is None
    steady = options_of([RUN], {RUN.run_id: (12.0, 10.0, 10.1, 9.9, 10.0)})[0]
    assert of_several_kinds(steady) is None


def test_fewer_epochs_than_came_before_the_last_kind_are_not_asked_for() -> None:
    first = first_projected(_growing(), rest_like_last=True)
    assert isinstance(total_time(_growing(), first, rest_like_last=True), Estimate)
    assert isinstance(total_time(_growing(), first - 1, rest_like_last=True), Refusal)
    assert first_projected(_growing(), rest_like_last=False) == 1


def test_the_answer_and_its_rows_remember_what_was_assumed() -> None:
    result = how_long([_growing()], 100, "GPU · batch 64", rest_like_last=True)
    assert isinstance(result.answers[0].total, Estimate)
    assert answer_rows(result)[0]["rest_like_last"] is True
    kept, asked = (epochs_rows([_growing()], [100], rest_like_last=r) for r in (False, True))
    assert kept[0]["100"] == "–" != asked[0]["100"]


def test_a_suspect_run_left_out_comes_last_and_the_sentence_counts_it() -> None:
    result = how_long(_options(RUN, FAST), 100, "GPU · batch 64", left_out={FAST.run_id, "else"})
    assert [a.option.run for a in result.answers] == [RUN, FAST]
    assert result.answers[1].total == SUSPECT
    assert result.left_out == {FAST.run_id}
    assert result.sentence.startswith("100 epochs of Net at batch 64 on GPU")
    assert result.sentence.endswith(" 1 suspect run is left out.")
    rows = answer_rows(result, {FAST.run_id: "duplicate"})
    assert [(r["suspect"], r["left_out"]) for r in rows] == [(None, False), ("duplicate", True)]


def test_without_its_baseline_nothing_is_called_faster() -> None:
    result = how_long(_options(RUN, FAST), 100, "GPU · batch 64", left_out={RUN.run_id})
    assert [a.speed_ratio for a in result.answers] == [None, None]
    assert "faster" not in result.sentence


# -- ratios beside each other ------------------------------------------------------------------


def _cell(rows: list[Record], name: str, column: str) -> str:
    return next(str(r[column]) for r in rows if str(r["Comparison"]).startswith(name))


def test_a_slower_system_is_called_slower_in_every_row_of_the_ratio_report() -> None:
    large = replace(FAST, run_id="e" * 32, global_batch_size=128, later_epoch_mean_s=12.0)
    there, back = (ratio_rows(_options(RUN, large, FAST), *names, 2000)
                   for names in (("GPU", "TPU"), ("TPU", "GPU")))  # fmt: skip
    assert _cell(there, "best against best", "Over 2,000 epochs") == "4.99x slower"
    assert _cell(back, "best against best", "Over 2,000 epochs") == "4.99x faster"
    assert _cell(there, "largest speed-up: fastest against slowest", "Per later epoch") == (
        "1.20x faster"
    )
    assert _cell(there, "largest slowdown: slowest against fastest", "Per later epoch") == (
        "5.00x slower"
    )
    assert _cell(back, "largest speed-up: fastest against slowest", "Per later epoch") == (
        "5.00x faster"
    )
    assert _cell(back, "largest slowdown: slowest against fastest", "Per later epoch") == (
        "1.20x slower"
    )


def test_a_system_that_is_ahead_everywhere_has_a_smallest_speed_up_and_no_slowdown() -> None:
    ahead, behind = (ratio_rows(_options(RUN, FAST), *names, 2000)
                     for names in (("TPU", "GPU"), ("GPU", "TPU")))  # fmt: skip
    assert [str(r["Comparison"]).split(":")[0] for r in ahead[-2:]] == [
        "largest speed-up", "smallest speed-up"
    ]  # fmt: skip
    assert [str(r["Comparison"]).split(":")[0] for r in behind[-2:]] == [
        "smallest slowdown", "largest slowdown"
    ]  # fmt: skip


def test_the_ratio_report_rests_on_the_single_epochs_that_the_answer_rests_on() -> None:
    growing, steady = _growing(), options_of([FAST])[0]
    refused = ratio_rows([growing, steady], "GPU", "TPU", 100)
    assert "change during the run" in str(refused[0]["90 % interval"])
    answer = ratio_rows([growing, steady], "GPU", "TPU", 100, rest_like_last=True)
    alone = later_epoch_time(growing, rest_like_last=True)
    assert isinstance(alone, Estimate)
    assert alone.value == pytest.approx(8.05)
    assert answer[0]["Per later epoch"] == "4.03x slower"


def test_a_suspect_run_left_out_of_the_ranking_is_left_out_of_the_ratio_report() -> None:
    odd = replace(FAST, run_id="e" * 32, later_epoch_mean_s=0.1)
    assert ratio_rows(_options(RUN, FAST, odd), "TPU", "GPU", 100) != ratio_rows(
        _options(RUN, FAST, odd), "TPU", "GPU", 100, left_out={odd.run_id}
    )
    assert ratio_rows(_options(RUN, FAST), "TPU", "GPU", 100, left_out={FAST.run_id}) == []


def test_the_sentence_about_equal_systems_calls_none_faster() -> None:
    same = replace(RUN, run_id="f" * 32, system="TPU", later_epoch_mean_s=9.9999)
    answer = how_long(_options(RUN, same), 100, "GPU · batch 64").sentence
    assert answer.endswith(", as fast as GPU at batch 64.")


def test_rows_hold_small_ratios_to_five_digits() -> None:
    slow = replace(RUN, run_id="f" * 32, system="CPU", later_epoch_mean_s=54321.0)
    rows = answer_rows(how_long(_options(slow, FAST), 1000, "TPU · batch 64"))
    assert rows[1]["speed_ratio_to_baseline"] == pytest.approx(
        (1 + 12 + 2 * 999) / (1 + 12 + 54321 * 999), rel=1e-4
    )


def test_rows_hold_the_shortest_times_to_six_digits() -> None:
    tiny = replace(RUN, pre_train_s=0.0, first_epoch_s=1.23456e-9, later_epoch_mean_s=1.23456e-9,
                   later_epoch_sd_s=0.0)  # fmt: skip
    (row,) = answer_rows(how_long(_options(tiny), 1, "GPU · batch 64"))
    assert row["total_s"] == 1.23456e-9
    assert row["low_s"]
    assert row["high_s"]


SPEED = replace(
    RUN, later_epoch_mean_s=None, later_epoch_sd_s=None, first_epoch_s=None, pre_train_s=None,
    epochs_measured=None, samples_per_epoch=None, steps_per_epoch=None, samples_per_s=500.0,
    until_first_epoch_end_s=None, train_samples=None, dataset=None,
)  # fmt: skip
"""What a published table states: samples/s, and no epoch."""


def test_samples_per_second_and_the_size_of_an_epoch_give_a_total() -> None:
    [option] = _options(SPEED)
    result = how_long([option], 10, option.label, size=epoch_size([SPEED], 100_000.0))
    total = result.answers[0].total
    assert isinstance(total, Estimate)
    assert float(total.value) == pytest.approx(10 * 100_000 / 500)
    assert float(total.low) < float(total.value) < float(total.high)
    assert "The start of the training program is not included." in total.reasons


def test_samples_per_second_alone_ask_for_the_size_of_an_epoch() -> None:
    [option] = _options(SPEED)
    refused = how_long([option], 10, option.label).answers[0].total
    assert isinstance(refused, Refusal)
    assert "samples per epoch are not stated" in refused.reason
    assert "samples_per_epoch" in refused.measure_next
