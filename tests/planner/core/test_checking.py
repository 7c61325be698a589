"""Promises of how bad points are named: all of them, with their places, in one error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.convergence import fit_convergence
from planner.core import LARGEST, SMALLEST, check_flat, check_pairs, listed
from planner.core.points import SHOWN, numbers
from planner.scaling import fit_scaling
from planner.throughput import fit_throughput
from tests.each import each

NAMES = ("batch", "step_s")


def test_points_within_bounds_pass() -> None:
    check_pairs(np.array([SMALLEST, 1.0]), np.array([1.0, LARGEST]), NAMES)


def test_every_bad_value_of_both_columns_is_in_one_error() -> None:
    with pytest.raises(ValueError, match="batch: value 1 of 2 is nan; step_s: value 2 of 2 is -1"):
        check_pairs(np.array([np.nan, 1.0]), np.array([1.0, -1.0]), NAMES)


def test_a_ratio_that_cannot_be_squared_is_named() -> None:
    with pytest.raises(ValueError, match=r"batch/step_s: value 1 of 1 is 1e[+]150"):
        check_pairs(np.array([1e75]), np.array([1e-75]), NAMES)


@pytest.mark.parametrize("shape", [(0,), (2, 1), ()])
def test_columns_are_flat_and_not_empty(shape: tuple[int, ...]) -> None:
    values = np.ones(shape)
    with pytest.raises(ValueError, match="Give flat lists of one length, at least 1"):
        check_flat({"batch": values, "seed": values})


def test_columns_of_different_lengths_are_reported_with_their_shapes() -> None:
    columns = {"batch": np.ones(2), "seed": np.ones(3), "steps": np.ones(2)}
    result = r"batch, seed and steps have shapes \(2,\), \(3,\) and \(2,\)"
    with pytest.raises(ValueError, match=result):
        check_flat(columns)


def test_a_long_list_of_bad_values_is_cut_and_counted() -> None:
    values = np.zeros(1000 + SHOWN)
    result = listed(values, values > 0)
    assert result.startswith("value 1 of 1005 is 0, value 2")
    assert result.endswith("value 5 of 1005 is 0, and 1,000 more")


WORDS: list[Any] = [
    ["a", "b"],
    ["8", "16"],
    [1.0, "x"],
    [[1.0], [1.0, 2.0]],
    [10**400, 1],
    [1j, 1],
]


@each("values", WORDS)
def test_what_is_no_number_is_named_with_its_column_and_what_to_give(values: list[float]) -> None:
    seconds = [1.0, 2.0]
    asks = (
        ("batch", lambda: fit_throughput(values, seconds)),
        ("step_s", lambda: fit_throughput([8, 16], values)),
        ("batch", lambda: fit_convergence(values, seconds)),
        ("samples_to_target", lambda: fit_convergence([8, 16], values)),
        ("per_device_batch_size", lambda: fit_scaling(values, [1, 2], [1, 1], seconds)),
        ("devices", lambda: fit_scaling([8, 8], values, [1, 1], seconds)),
        ("nodes", lambda: fit_scaling([8, 8], [1, 2], values, seconds)),
        ("step_s", lambda: fit_scaling([8, 8], [1, 2], [1, 1], values)),
    )
    for name, ask in asks:
        with pytest.raises(ValueError, match=rf"^{name} holds .*, not a number. Give .*one .*per"):
            ask()


def test_the_first_that_is_no_number_is_shown() -> None:
    with pytest.raises(ValueError, match=r"^step_s holds 'fast', not a number. Give seconds.$"):
        numbers("step_s", [0.5, "fast", "slow"], "seconds")


def test_none_is_a_number_that_is_not_known() -> None:
    assert np.isnan(numbers("step_s", [None, 1], "seconds")).tolist() == [True, False]
