"""Labels are as short as they can be while no two are equal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.core import distinct_labels, short_labels


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


def test_labels_are_cut_at_the_end_and_alike_ones_in_the_middle() -> None:
    name = "2 × replica on a 2-core Intel Xeon, one process for each worker"
    long = [f"{name}, even", f"{name}, one slow"]
    cut = short_labels(["A100", *long])
    assert all(len(text) <= 48 for text in cut)
    assert cut[0] == "A100"
    assert len(set(cut)) == 3
    assert cut[2].endswith("one slow")
    assert short_labels(["a" * 60]) == ["a" * 47 + "…"]
