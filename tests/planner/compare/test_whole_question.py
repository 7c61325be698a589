"""What is chosen by name is compared, and problems stand under the name they are about."""

from __future__ import annotations

from dataclasses import replace

from planner.compare.ask import Asked, Facts, answered
from planner.compare.whole_question import answered_whole, problems_of, with_own
from tests.planner.compare.made import CATALOG, TODAY, job

FACTS = Facts(job=job(), catalog=CATALOG)
NAMED = answered(Asked(), FACTS, TODAY).chosen[0]
OWN = "rent|Plain|8|19.9"
EURO = replace(CATALOG, offers=(*CATALOG.offers, replace(CATALOG.offers[0], currency="EUR")))


def test_own_options_join_those_that_are_named() -> None:
    asked = Asked(options=(NAMED,), entries=(OWN,))
    assert with_own(asked, CATALOG) == (NAMED, "mine-rent-plain-8-19.9")
    told = answered_whole(asked, FACTS, TODAY)
    assert set(told.chosen) == {NAMED, "mine-rent-plain-8-19.9"}
    assert told.problems == ()
    named_twice = replace(asked, options=(NAMED, "mine-rent-plain-8-19.9"))
    assert answered_whole(named_twice, FACTS, TODAY).chosen == told.chosen


def test_one_own_option_too_many_is_told() -> None:
    asked = Asked(options=(NAMED,), entries=tuple(f"rent|plain|{n}|1" for n in range(1, 13)))
    (told,) = answered_whole(asked, FACTS, TODAY).problems
    assert told == "13 options; the first 12 are compared."
    (problem,) = problems_of([told], asked, CATALOG)
    assert problem.parameter == "options"


def test_offers_without_a_rate_are_told_only_to_who_named_no_option() -> None:
    facts = replace(FACTS, catalog=EURO)
    usual = answered_whole(Asked(), facts, TODAY).comparison
    named = answered_whole(Asked(options=(NAMED,)), facts, TODAY).comparison
    assert usual is not None
    assert named is not None
    assert any("left out" in note for note in usual.question.notes)
    assert named.question.notes == ()


def test_every_problem_names_its_parameter() -> None:
    asked = Asked(options=("nope", NAMED), entries=("rent|unheard|1|2", "what"), country="Atlantis")
    told = answered_whole(asked, FACTS, TODAY).problems
    found = [p.parameter for p in problems_of(told, asked, CATALOG)]
    assert sorted(found) == ["country", "options", "own", "own"]
