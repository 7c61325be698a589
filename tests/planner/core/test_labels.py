"""Labels are as short as they can be while no two are equal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.core import distinct_labels


def test_the_first_part_is_enough_where_it_is_unlike_the_others() -> None:
    assert distinct_labels([("a", "x"), ("b", "x")]) == ["a", "b"]


def test_parts_are_added_where_they_tell_apart_and_a_number_where_none_does() -> None:
    parts = [("a", "x", "s"), ("a", "y", "s"), ("a", "y", "s"), ("b", "x", "s")]
    assert distinct_labels(parts) == ["a · x", "a · y", "a · y · run 2", "b"]


def test_nothing_has_no_labels() -> None:
    assert distinct_labels([]) == []


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("st"))))
def test_no_two_labels_are_equal(parts: list[tuple[str, ...]]) -> None:
    assert len(set(distinct_labels(parts))) == len(parts)
