"""Promises of blame: no conflict is left, and one odd number among many is the only one told."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.suspects._curves import fewest_to_blame


def conflicts(n: int, *pairs: tuple[int, int]) -> np.typing.NDArray[np.bool_]:
    table = np.zeros((n, n), dtype=bool)
    for i, j in pairs:
        table[i, j] = table[j, i] = True
    return table


def test_without_a_conflict_no_run_is_blamed() -> None:
    assert not fewest_to_blame(conflicts(3)).any()
    assert fewest_to_blame(conflicts(0)).size == 0


def test_who_contradicts_all_others_is_the_only_one() -> None:
    assert fewest_to_blame(conflicts(4, (1, 0), (1, 2), (1, 3))).tolist() == [0, 1, 0, 0]


def test_of_two_the_last_one_is_blamed() -> None:
    assert fewest_to_blame(conflicts(2, (0, 1))).tolist() == [False, True]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_no_conflict_is_left_among_the_others(pairs: list[tuple[int, int]]) -> None:
    table = conflicts(8, *(pair for pair in pairs if pair[0] != pair[1]))
    before = table.copy()
    sound = ~fewest_to_blame(table)
    assert not table[np.ix_(sound, sound)].any()
    assert (table == before).all()
