"""What is chosen by name is compared, and problems stand under the name they are about."""

from __future__ import annotations

from dataclasses import replace

from planner.answers.comparison import JobFacts, Request, answered_whole, with_own
from planner.answers.comparison.question import answered
from planner.core import parameter_of
from tests.planner.compare.made import CATALOG, TODAY, job

FACTS = JobFacts(job=job(), catalog=CATALOG)
NAMED = answered(Request(), FACTS, TODAY).chosen[0]
OWN = "rent|Plain|8|19.9"
DONG = replace(CATALOG, offers=(*CATALOG.offers, replace(CATALOG.offers[0], currency="VND")))


MINE = "mine-rent-plain-8-19.9"


def test_own_options_join_those_that_are_named() -> None:
    asked = Request(options=(NAMED,), entries=(OWN,))
    result = answered_whole(asked, FACTS, TODAY)
    assert result.chosen == (MINE, NAMED)
    assert result.problems == ()
    named_twice = replace(asked, options=(NAMED, MINE))
    again = answered_whole(named_twice, FACTS, TODAY)
    assert again.chosen == (NAMED, MINE)
    assert set(again.chosen) == set(result.chosen)


def test_own_options_come_first_and_none_is_left_out_before_one_that_is_named() -> None:
    assert with_own(["a", "b"], ["m"], 3) == (("m", "a", "b"), ())
    assert with_own(["a", "b", "c"], ["m"], 3) == (("m", "a", "b"), ("c",))
    assert with_own(["a", "b", "m", "c"], ["n", "m"], 3) == (("n", "a", "m"), ("b", "c"))
    assert with_own([], ["m", "n", "o"], 2) == (("m", "n"), ("o",))


def test_the_last_named_that_find_no_room_beside_ones_own_are_reported_by_name() -> None:
    asked = Request(options=(NAMED,), entries=tuple(f"rent|plain|{n}|1" for n in range(1, 13)))
    found = answered_whole(asked, FACTS, TODAY)
    assert NAMED not in found.chosen
    (result,) = found.problems
    assert result == (
        "13 options, your own among them; at most 12 are compared; the last named one is left out: "
        f"{NAMED}."
    )
    assert parameter_of(result) == "options"


def test_options_that_are_gone_take_no_room() -> None:
    ids = [c.id for c in answered(Request(), FACTS, TODAY).candidates]
    asked = Request(options=("gone", *ids[:5]), entries=(OWN,))
    assert len(answered_whole(asked, FACTS, TODAY).chosen) == 6


def test_offers_without_a_rate_are_reported_only_to_who_named_no_option() -> None:
    facts = replace(FACTS, catalog=DONG)
    usual = answered_whole(Request(), facts, TODAY).comparison
    named = answered_whole(Request(options=(NAMED,)), facts, TODAY).comparison
    assert usual is not None
    assert named is not None
    assert any("hidden" in note for note in usual.question.notes)
    assert named.question.notes == ()


def test_every_problem_names_its_parameter() -> None:
    asked = Request(
        options=("nope", NAMED), entries=("rent|unheard|1|2", "what"), country="Atlantis"
    )
    result = answered_whole(asked, FACTS, TODAY).problems
    found = [parameter_of(text) for text in result]
    assert sorted(found) == ["country", "options", "own", "own"]


def test_every_count_that_is_too_large_names_its_parameter() -> None:
    asked = Request(options=(NAMED,), entries=tuple(f"rent|plain|{n}|1" for n in range(1, 15)))
    result = answered_whole(asked, FACTS, TODAY).problems
    assert [parameter_of(text) for text in result] == ["own", "options"]
