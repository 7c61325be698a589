"""With a deadline or a budget: rank, tie and probabilities tell one story."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.compare import LIKELY_IN_TIME, better, chance_to_meet, sentence
from planner.compare.comparison import Comparison, Limits, Row, RowDraws, by_id
from planner.compare.evaluation import DECIDED, ranked, standing
from planner.compare.undecided import undecided
from planner.core import Floats
from planner.cost import DRAWS, quantiles
from tests.planner.compare.answers import compared
from tests.planner.compare.made import called

HALVES = np.arange(DRAWS) % 2 == 0
DEADLINES = st.one_of(st.none(), st.floats(10.0, 1e5))
BUDGETS = st.one_of(st.none(), st.floats(0.1, 500.0))
WANTED = st.builds(
    Limits, order=st.sampled_from(["cost", "time"]), deadline_s=DEADLINES, budget_usd=BUDGETS
)


@cache
def _plain() -> Comparison:
    return compared()


def made(name: str, time_s: Floats | float, cost: Floats | float) -> Row:
    """A made option that takes and costs this much in each draw."""
    times, costs = (np.broadcast_to(x, DRAWS).astype(np.float64) for x in (time_s, cost))
    first = _plain().rows[0]
    drawn = RowDraws(work_s=times, wall_s=times, cost=costs, to_pay=costs)
    one = called(replace(first.candidate, id=name), name)
    paid = quantiles(costs)
    return replace(
        first, candidate=one, drawn=drawn, time=quantiles(times), cost=paid, to_pay=paid, rank=None
    )


def asked_of(rows: Sequence[Row], limits: Limits) -> Comparison:
    question = replace(_plain().question, limits=limits)
    return Comparison(question=question, rows=ranked(rows, limits))


def _ranks(rows: Sequence[Row], limits: Limits) -> dict[str, int | None]:
    return {r.candidate.id: r.rank for r in ranked(rows, limits)}


LUCKY = np.arange(DRAWS) % 20 < 11
LATE_HALF = made("late half", np.where(HALVES, 5.0, 15.0), 1.0)
SURE = made("sure", 5.0, 2.0)
NEVER = made("never", 50.0, 0.1)
SHORT = Limits(deadline_s=10.0)


def test_a_draw_that_misses_the_deadline_counts_as_infinitely_costly() -> None:
    assert better(LATE_HALF, SURE, Limits()) == 1.0
    assert better(LATE_HALF, SURE, SHORT) == pytest.approx(0.5)
    assert better(SURE, NEVER, SHORT) == 1.0
    assert better(SURE, NEVER, Limits()) == 0.0


def test_what_is_cheaper_but_late_half_of_the_time_is_tied_with_what_is_sure() -> None:
    result = _ranks([LATE_HALF, SURE, NEVER], SHORT)
    assert result["late half"] == result["sure"] == 1
    assert result["never"] == 3
    assert _ranks([LATE_HALF, SURE, NEVER], Limits()) == {"never": 1, "late half": 2, "sure": 3}


def test_of_two_offers_of_one_machine_the_cheaper_one_is_better_whatever_the_deadline() -> None:
    times = np.where(np.arange(DRAWS) % 5 < 3, 5.0, 15.0)  # in time in three fifths of the draws
    cheap, dear = made("cheap", times, times), made("dear", times, 1.01 * times)
    assert better(cheap, dear, SHORT) == 1.0
    assert _ranks([dear, cheap], SHORT) == {"cheap": 1, "dear": 2}


def test_where_none_keeps_the_limits_the_plain_order_holds_and_nothing_is_tied_for_it() -> None:
    soon = Limits(deadline_s=1.0)
    assert better(NEVER, SURE, soon) == better(NEVER, SURE, Limits()) == 1.0
    assert _ranks([LATE_HALF, SURE, NEVER], soon) == _ranks([LATE_HALF, SURE, NEVER], Limits())


MOSTLY = made("mostly", 5.0, np.where(LUCKY, 10.0, 100.0))
SECOND, DEARER = made("second", 5.0, 20.0), made("dearer", 5.0, 30.0)


def test_what_any_of_the_group_certainly_beats_shares_no_rank_with_it() -> None:
    assert better(MOSTLY, DEARER, Limits()) == pytest.approx(0.55, abs=1e-3)
    assert better(SECOND, DEARER, Limits()) == 1.0
    for rows in permutations([MOSTLY, SECOND, DEARER]):
        assert _ranks(rows, Limits()) == {"mostly": 1, "second": 1, "dearer": 3}
    found = by_id(ranked([MOSTLY, SECOND, DEARER], Limits()))
    assert [found[n].tied for n in ("mostly", "second", "dearer")] == [True, True, False]


def test_a_group_that_begins_anew_is_tied_in_itself() -> None:
    rows = [MOSTLY, SECOND, DEARER, made("last", 5.0, np.where(LUCKY, 31.0, 29.0))]
    assert list(_ranks(rows, Limits()).values()) == [1, 1, 3, 3]


def test_an_unknown_cost_has_no_probability_of_meeting_a_budget() -> None:
    assert chance_to_meet(LATE_HALF, SHORT) == pytest.approx(0.5)
    assert chance_to_meet(LATE_HALF, Limits()) is None
    drawn = RowDraws(work_s=np.ones(DRAWS), wall_s=np.ones(DRAWS), cost=None)
    unknown = replace(SURE, drawn=drawn)
    assert chance_to_meet(unknown, replace(SHORT, budget_usd=1.0)) is None
    assert chance_to_meet(unknown, SHORT) == 1.0


def test_of_two_the_probabilities_to_be_cheapest_stand_as_better_does() -> None:
    rows = by_id(ranked([LATE_HALF, SURE], SHORT))
    shares = [rows[n].cheapest or 0.0 for n in ("late half", "sure")]
    assert better(LATE_HALF, SURE, SHORT) == pytest.approx(shares[0] / sum(shares))


def test_of_unknown_cost_an_option_stands_between_those_in_the_budget_and_those_above() -> None:
    unknown = replace(
        NEVER, drawn=RowDraws(work_s=np.ones(DRAWS), wall_s=np.ones(DRAWS), cost=None)
    )
    limits = Limits(order="time", budget_usd=1.5)
    rows = [SURE, unknown, LATE_HALF]
    assert [standing(r, limits) for r in rows] == ["misses", "not known", "keeps"]
    assert list(_ranks(rows, limits)) == ["late half", "never", "sure"]
    assert better(unknown, LATE_HALF, limits) == 0.0


@settings(max_examples=40, deadline=None)
@given(WANTED, st.randoms(use_true_random=False))
def test_what_is_better_and_worse_share_all_probability_in_any_order(
    limits: Limits, random: object
) -> None:
    rows = list(_plain().rows)
    random.shuffle(rows)  # type: ignore[attr-defined]
    found = ranked(rows, limits)
    assert _told_of(found) == _told_of(ranked(_plain().rows, limits))
    for a, b in pairwise(found):
        assert better(a, b, limits) + better(b, a, limits) == pytest.approx(1.0)


def _told_of(rows: Sequence[Row]) -> list[tuple[object, ...]]:
    """What is told of each, in order; arrays of draws cannot be compared as a whole."""
    return [(r.candidate.id, r.rank, r.tied, r.in_time, r.cheapest, r.fastest) for r in rows]


@settings(max_examples=30, deadline=None)
@given(WANTED)
def test_what_certainly_misses_is_never_better_than_what_certainly_keeps(limits: Limits) -> None:
    rows = ranked(_plain().rows, limits)
    keeps = [r for r in rows if r.in_time == 1.0]
    misses = [r for r in rows if r.in_time == 0.0]
    for a in misses:
        for b in keeps:
            assert better(a, b, limits) == 0.0
            assert (a.rank or 0) > (b.rank or 0)


@settings(max_examples=30, deadline=None)
@given(WANTED)
def test_those_that_keep_the_limits_come_first_and_ranks_never_fall(limits: Limits) -> None:
    rows = [r for r in ranked(_plain().rows, limits) if r.rank is not None]
    ranks = [r.rank or 0 for r in rows]
    assert ranks == sorted(ranks)
    kept = [r.in_time is None or r.in_time >= LIKELY_IN_TIME for r in rows]
    assert kept == sorted(kept, reverse=True)
    for a, b in combinations(rows, 2):
        if a.rank == b.rank:
            assert better(a, b, limits) < DECIDED


@settings(max_examples=30, deadline=None)
@given(st.floats(100.0, 1e5), st.floats(100.0, 1e5), BUDGETS)
def test_a_tighter_deadline_never_raises_the_chance_to_keep_it(
    a: float, b: float, budget: float | None
) -> None:
    tight, loose = (
        by_id(ranked(_plain().rows, Limits(deadline_s=d, budget_usd=budget)))
        for d in sorted((a, b))
    )
    for name, row in tight.items():
        assert (row.in_time or 0.0) <= (loose[name].in_time or 0.0)


@pytest.mark.parametrize("order", ["cost", "time"])
def test_limits_that_everybody_keeps_change_no_rank(order: str) -> None:
    plain = Limits(order=order)  # type: ignore[arg-type]
    wide = replace(plain, deadline_s=1e12, budget_usd=1e12)
    found = ranked(_plain().rows, wide)
    assert {r.in_time for r in found} == {1.0}
    nothing_asked = [replace(r, in_time=None) for r in found]
    assert _told_of(nothing_asked) == _told_of(ranked(_plain().rows, plain))


# -- in words ------------------------------------------------------------------------------------

DEAR = made("dear", np.where(np.arange(DRAWS) % 4 == 0, 15.0, 5.0), 3.0)


def test_the_sentence_says_that_cheaper_means_cheaper_in_time() -> None:
    assert sentence(asked_of([SURE, DEAR], SHORT)).endswith(
        "; in time with > 99 % probability. It is > 99 % likely a cheaper way to finish in time "
        "than renting dear."
    )
    both = replace(SHORT, order="time", budget_usd=100.0)
    assert sentence(asked_of([SURE, DEAR], both)).endswith(
        "; in time and within the budget with 75 % probability. But renting sure is 62 % likely "
        "the faster way to finish in time and within the budget. Rent sure: 5 s, in time and "
        "within the budget with > 99 % probability."
    )


def test_where_limits_decide_nothing_the_sentence_leaves_them_out_of_the_comparison() -> None:
    wide = Limits(deadline_s=1e6)
    assert sentence(asked_of([SURE, DEAR], wide)).endswith(
        "It is > 99 % likely cheaper than renting dear."
    )
    late = Limits(deadline_s=1.0)
    assert sentence(asked_of([SURE, DEAR], late)).endswith(
        "within 0.0002778 h: Rent sure comes closest, in 5 s for 2 USD."
    )


def test_what_cannot_be_distinguished_says_for_what() -> None:
    result = asked_of([LATE_HALF, SURE], SHORT)
    assert undecided(result)[0] == (
        "Rent late half and Rent sure are too close to call: either may be the cheaper way to "
        "finish in time."
    )
    assert "; in time with 50 % probability. It is as good as tied" in sentence(result)
    assert " as the cheaper way to finish in time." in sentence(result)
    quarters = np.arange(DRAWS) % 4
    first, second = quarters < 2, (quarters == 1) | (quarters == 2)
    rows = [
        made("first", np.where(first, 5.0, 15.0), 1.0),
        made("second", np.where(second, 5.0, 15.0), 1.5),
        SURE,
    ]
    assert undecided(asked_of(rows, SHORT))[0].endswith(
        ": any may be the cheapest way to finish in time."
    )


def test_what_may_never_be_the_cheapest_is_not_named_among_those_that_may() -> None:
    other = made("other", 5.0, np.where(LUCKY, 30.0, 15.0))
    result = asked_of([MOSTLY, SECOND, other], Limits())
    assert [(r.candidate.id, r.rank) for r in result.rows] == [
        ("mostly", 1), ("second", 1), ("other", 1),
    ]  # fmt: skip
    assert by_id(result.rows)["second"].cheapest == 0.0
    assert undecided(result)[0] == "Rent mostly and Rent other are too close to call."
