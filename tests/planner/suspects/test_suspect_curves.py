"""Promises of the checks of curves: the fewest runs that explain a contradiction are blamed."""

from __future__ import annotations

from dataclasses import replace

from numpy.testing import assert_allclose

from planner.suspects import _curves
from planner.suspects._curves import falling_flags, scaling_flags
from tests.planner.made_suspects import BATCHES, only, run

# -- curves ------------------------------------------------------------------------------------


def test_throughput_that_falls_by_more_than_10_percent_is_found_at_the_larger_batch() -> None:
    runs = [run(b, factor=1.9 if b == 256 else 1.0) for b in BATCHES]
    flag = only(falling_flags(runs))
    assert flag.run == "plain 256"
    at_128, at_256 = (r.samples_per_s or 0.0 for r in runs[2:4])
    assert_allclose(flag.value, 1 - at_256 / at_128)
    assert "less than a smaller batch reaches" in flag.evidence


def test_a_curve_of_too_many_batches_is_not_checked() -> None:
    """N batches need n^2 numbers: 100,000 of them filled the memory of the server."""
    runs = [run(1 + b, factor=1.9 if b == 256 else 1.0) for b in range(_curves.MOST)]
    assert only(falling_flags(runs)).run == "plain 257"
    assert falling_flags([*runs, run(1 + _curves.MOST)]) == []
    many = [replace(r, run_id=f"{r.run_id} {n}", devices=n)
            for r in runs for n in (1, 2)]  # fmt: skip
    assert scaling_flags(many) == []


def test_one_run_too_fast_is_blamed_and_not_all_that_are_slower_after_it() -> None:
    runs = [run(b, factor=1 / 3 if b == 64 else 1.0) for b in BATCHES]
    flag = only(falling_flags(runs))
    assert flag.run == "plain 64"
    at_64, at_128 = (r.samples_per_s or 0.0 for r in runs[1:3])
    assert_allclose(flag.value, 1 - at_128 / at_64)
    assert "of which a larger batch loses" in flag.evidence
    assert "the other batches agree" in flag.evidence


def test_of_two_batches_that_disagree_the_larger_is_reported_as_the_one_that_falls() -> None:
    assert only(falling_flags([run(128), run(256, factor=2.0)])).run == "plain 256"


def test_repeats_of_a_batch_are_judged_one_by_one() -> None:
    again = [replace(r, run_id=f"{r.run_id} {i}") for r in map(run, BATCHES) for i in range(3)]
    for factor in (0.3, 3.0):
        odd = replace(run(128, factor=factor), run_id="odd")
        assert only(falling_flags([*again, odd])).run == "odd"
    assert falling_flags([*again, replace(run(128, factor=0.89), run_id="lucky")]) == []


def test_a_fall_of_less_is_none_and_other_patterns_are_other_curves() -> None:
    assert falling_flags([run(256), run(512, factor=1.1)]) == []
    assert falling_flags([run(256), run(512, "from storage", 3.0)]) == []


def test_scaling_beyond_115_percent_of_perfect_is_impossible() -> None:
    one = run(64)
    speed = one.samples_per_s or 0.0
    fine = run(128, run_id="fine", devices=2, samples_per_s=2.2 * speed)
    wrong = run(256, run_id="wrong", devices=4, samples_per_s=6.0 * speed)
    flag = only(scaling_flags([one, fine, wrong]))
    assert flag.run == "wrong"
    assert_allclose(flag.value, 6.0 / 4 / 1.1)  # against the best of fewer devices: the two
    assert "4 devices reach 1.36 times perfect scaling" in flag.evidence


def test_one_slow_run_with_few_devices_is_blamed_and_not_all_that_seem_too_fast() -> None:
    speed = run(64).samples_per_s or 0.0
    each = {1: speed / 3, 2: 2 * speed, 4: 4 * speed, 8: 8 * speed}
    runs = [run(64 * n, run_id=f"{n}", devices=n, samples_per_s=v) for n, v in each.items()]
    flag = only(scaling_flags(runs))
    assert flag.run == "1"
    assert_allclose(flag.value, 3.0)
    assert "more devices reach up to 3.00 times" in flag.evidence


def test_strong_scaling_is_checked_at_the_same_global_batch() -> None:
    speed = run(64).samples_per_s or 0.0
    strong = run(64, run_id="strong", devices=4, samples_per_s=5.0 * speed)
    other = run(512, run_id="other", devices=4, samples_per_s=50.0 * speed)
    assert only(scaling_flags([run(64), strong, other])).run == "strong"
